"""``narrows verify``: whether this machine gives the digests that are listed for this version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from narrows.cli import completion
from narrows.cli.guard import guarded
from narrows.cli.options import Jobs, Json, NoProgress  # noqa: TC001 - Typer reads the annotations

if TYPE_CHECKING:
    from rich.console import Console

    from narrows.runs.verify import Verification, Verified

EXAMPLE = "Example: narrows verify dumbbell-cubic wifi-cell\n\nAll bundled scenarios: narrows verify"

REPORTS = "https://github.com/narrows/narrows/issues"
"""Where a difference is reported."""

STYLES = {"same": "green", "different": "bold red", "failed": "bold red"}


@guarded
def verify(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Names from `narrows list scenarios`; by default all.",
            autocompletion=completion.scenario_lists,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="VERSION", help="Compare with the list of an earlier version of Narrows."),
    ] = None,
    jobs: Jobs = None,
    json: Json = False,
    no_progress: NoProgress = False,
) -> None:
    """Run the bundled scenarios, and compare their digests with those listed for this version.

    Equal digests mean that this installation gives every sample and total of these runs as the listed version does. The
    exit status is 1 if a digest differs.
    """
    from narrows.cli.progress import Bar
    from narrows.runs.verify import verify as check

    with Bar("verifying", wanted=not no_progress, quiet=no_progress) as bar:
        made = check(names or (), against=against, jobs=jobs, progress=bar)
    if json:
        from json import dumps

        typer.echo(dumps(made.to_json(), indent=2, allow_nan=False))
    else:
        _print(made)
    if not made.passed:
        raise typer.Exit(1)


def _print(made: Verification) -> None:
    from rich.console import Console
    from rich.text import Text

    from narrows.cli.plain import new_table

    out = Console(highlight=False)
    table = new_table()
    table.add_column("scenario", no_wrap=True)
    table.add_column("digest", no_wrap=True)
    table.add_column("time, s", justify="right", no_wrap=True)
    for one in made.scenarios:
        table.add_row(one.name, Text(one.status, style=STYLES[one.status]), f"{one.seconds:.1f}")
    out.print(table)
    out.print()
    if made.passed:
        count = len(made.scenarios)
        what = "The scenario has" if count == 1 else f"All {count} scenarios have"
        out.print(f"{what} the digest{'' if count == 1 else 's'} listed for Narrows {made.against}.", soft_wrap=True)
        return
    for one in made.scenarios:
        if one.status != "same":
            _print_difference(out, one)
    _print_advice(out, made)


def _print_difference(out: Console, one: Verified) -> None:
    out.print(f"{one.name}:", style="bold", soft_wrap=True)
    out.print(f"  listed  {one.expected}", soft_wrap=True)
    out.print(f"  here    {one.found or f'no digest: {one.error}'}", markup=False, soft_wrap=True)


def _print_advice(out: Console, made: Verification) -> None:
    from narrows.base.engine import told
    from narrows.runs.verify import platform_of

    here = platform_of()
    wrong = len(made.scenarios) - made.count("same")
    out.print()
    out.print(f"{wrong} of {len(made.scenarios)} digests are not those listed for Narrows {made.against}.")
    out.print(f"engine:   {told(made.engine.version)} (build {made.engine.build})", markup=False, soft_wrap=True)
    system = f"{here['system']} {here['release']}, {here['machine']}, {here['libc'] or 'unknown libc'}"
    out.print(f"platform: {system}, Python {here['python']}", soft_wrap=True)
    if made.against != made.engine.release:
        out.print("CHANGELOG.md names the changes of results between the two versions.")
    elif ".dirty" in made.engine.version:
        out.print("This engine was built from changed sources (.dirty): verify a clean build first.", soft_wrap=True)
    else:
        out.print(f"Report it with this output, or that of --json: {REPORTS}", soft_wrap=True)
