"""``narrows validate``: the same variants on the same networks on another simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.guard import guarded, hint, note
from narrows.cli.options import Jobs, Json, NoProgress  # noqa: TC001 - Typer reads the annotations

EXAMPLE = "Example: narrows validate --against ns2 --cc reno,cubic --quick -o out/validation.md"


@guarded
def validate(
    against: Annotated[str, typer.Option("--against", metavar="SIMULATOR", help="The other simulator: ns2.")] = "ns2",
    cc: Annotated[
        str | None,
        typer.Option("--cc", metavar="NAMES", help="Only these variants, separated by commas; * stands for anything."),
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option("--scenario", metavar="NAMES", help="Only these networks, separated by commas; * likewise."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", metavar="", help="A first look in seconds: few pairs, few seeds.")
    ] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The page (.md), or a directory for it.")
    ] = Path("docs/validation.md"),
    jobs: Jobs = None,
    json: Json = False,
    no_progress: NoProgress = False,
) -> None:
    """Run variants of TCP on Narrows and on ns-2, and compare.

    Writes a page with tables and the windows over time. Exits with 1 if a difference is beyond the target and nothing
    accounts for it.
    """
    from narrows.cli.progress import Bar
    from narrows.validation import validate as run_both
    from narrows.validation.validate import write

    with Bar(f"validating against {against}", wanted=not no_progress) as bar:
        made = run_both(against, _names(cc), _names(scenario), quick=quick, jobs=jobs, progress=bar)
    paths = write(made, output)
    if json:
        import json as codec

        typer.echo(codec.dumps(made.to_json(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        from narrows.cli.tables import print_validation

        print_validation(made)
    hint(f"wrote {paths[0]}")
    if made.unexplained:
        note(f"{made.unexplained} flows or medians differ from ns-2 by more than allowed, and nothing accounts for it")
        raise typer.Exit(1)


def _names(given: str | None) -> list[str] | None:
    return None if given is None else [name.strip() for name in given.split(",") if name.strip()]
