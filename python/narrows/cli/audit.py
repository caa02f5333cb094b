"""``narrows audit``: what routers of ACNS or NGWA wrote in captures, computed again from the packets."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.cli.guard import guarded, hint
from narrows.cli.options import Json  # noqa: TC001 - Typer reads the annotations

if TYPE_CHECKING:
    from rich.console import Console

    from narrows.studies.audit import Audit, Decision

EXAMPLE = (
    "A run with captures: narrows run acns --pcap -o results/acns\n\n"
    "Example: narrows audit results/acns\n\n"
    "Other settings than the run's: narrows audit results/acns --scenario acns"
)


@guarded
def audit(
    capture: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A run with captures, or its directory of captures."),
    ],
    scheme: Annotated[
        str | None, typer.Option("--scheme", metavar="NAME", help="acns or ngwa; by default the scenario's.")
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            "--scenario", metavar="FILE", help="The routers' settings, a file or a name; by default the run's."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Compute every command of ACNS or value of NGWA again from captures, and compare it with what routers wrote.

    Queues, ages and priorities are rebuilt from the packets alone. Decisions that depend on the order of events of one
    instant are ties, and are named. The exit status is 1 if a decision differs.
    """
    from narrows.studies.audit import audit as make

    made = make(capture, scheme, scenario=scenario, tell=lambda router: hint(f"reading the links of {router}"))
    if json:
        from json import dumps

        typer.echo(dumps(made.to_json(), indent=2, allow_nan=False))
    else:
        _print(made)
    if not made.passed:
        raise typer.Exit(1)


def _print(made: Audit) -> None:
    from rich.console import Console

    from narrows.cli.plain import new_table

    out = Console(highlight=False)
    table = new_table()
    table.add_column("router")
    for heading in ("packets", made.title, "equal", "ties", "different"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in made.routers:
        numbers = (one.packets, one.decisions, one.equal, one.tied, one.different)
        table.add_row(one.name, *(f"{number:,}" for number in numbers))
    out.print(table)
    if made.scheme == "acns":
        for one in made.routers:
            if one.written:
                out.print(f"{one.name}: " + ", ".join(f"{count:,} {name}" for name, count in one.written.most_common()))
    for one in made.routers:
        for title, named, number in (("tie", one.ties, one.tied), ("differs", one.differences, one.different)):
            for decision in named:
                _name(out, one.name, title, decision)
            if number > len(named):
                out.print(f"{one.name}: {number - len(named):,} more ({title})")
    decisions = sum(one.decisions for one in made.routers)
    different = sum(one.different for one in made.routers)
    if made.passed:
        out.print(f"All {decisions:,} {made.title} are as the packets say.")
    elif decisions:
        out.print(f"{different:,} of {decisions:,} {made.title} differ.")
    else:
        out.print(f"No router had to write {made.title}; there is nothing to compare.")


def _name(out: Console, router: str, title: str, one: Decision) -> None:
    out.print(
        f"{router} {title} at {one.time_s:.9f} s, {one.flow}, into {one.out}: wrote {one.written}, expected "
        f"{' or '.join(one.expected)} ({one.state})"
    )
