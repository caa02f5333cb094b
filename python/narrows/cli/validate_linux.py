"""``narrows validate --against linux``: variants beside Linux in virtual time."""

from __future__ import annotations

import json as json_format
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.text import Text

from narrows.cli.guard import hint, note
from narrows.cli.plain import new_table, print_doubts

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.cli.runs_progress import RunsDisplay
    from narrows.studies.linux import LinuxValidation


def against_linux(
    cc: list[str] | None,
    scenarios: list[str] | None,
    kernels: list[str] | None,
    page: Path,
    *,
    runs: int | None,
    quick: bool,
    earlier: bool,
    jobs: int | None,
    json: bool,
    bar: bool,
) -> None:
    """Run variants on Narrows and on Linux in virtual time, write the page, and print the medians.

    Parameters
    ----------
    cc, scenarios, kernels : list of str or None
        As for `narrows.studies.linux.validate`.
    page : pathlib.Path
    runs : int or None
        As for `narrows.studies.linux.validate`.
    quick : bool
    earlier : bool
        Likewise.
    jobs : int or None
    json, bar : bool
        Whether to print JSON; to show a progress bar.

    Raises
    ------
    NarrowsError
        As for `narrows.studies.linux.validate`.
    typer.Exit
        With 1 if a median is beyond its target, a cell is unexplained, or a variant could not be run.
    """
    from narrows.cli.runs_progress import RunsDisplay
    from narrows.store import pending
    from narrows.studies.linux import validate, write
    from narrows.studies.linux.page import TITLE
    from narrows.studies.validation.own import check_page
    from narrows.studies.validation.page import check_figures

    def watch(what: str) -> RunsDisplay:
        return RunsDisplay(what, wanted=bar)

    check_page(page, TITLE)
    check_figures(page)
    with pending.lasting(page) as held:
        made = validate(
            cc, scenarios, kernels=kernels, runs=runs, quick=quick, earlier=earlier, jobs=jobs, keep=held, watch=watch
        )
        paths = write(made, page)
    if json:
        typer.echo(json_format.dumps(made.to_json(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print_linux(made)
    hint(f"wrote {paths[0]}; finished runs: {held.named}")
    told = [f"{one.variant} on Linux {one.kernel} is beyond the target of a median" for one in made.missed]
    if made.unexplained:
        told.append(f"{made.unexplained} cells are beyond the limit and unexplained")
    told += dict.fromkeys(f"{one.variant} could not be run on Linux {one.kernel}: {one.why}" for one in made.failures)
    for one in told:
        note(one)
    if told:
        raise typer.Exit(1)


def print_linux(made: LinuxValidation, console: Console | None = None) -> None:
    """Print the medians of each variant on each kernel.

    Parameters
    ----------
    made : LinuxValidation
    console : rich.console.Console, optional
        Standard output by default.
    """
    from narrows.studies.linux.description import JUDGED
    from narrows.studies.linux.words import TITLES, percent

    out = console or Console(highlight=False)
    print_doubts(out, made.doubts)
    table = new_table()
    table.add_column("variant", no_wrap=True)
    table.add_column("Linux", no_wrap=True)
    for key in JUDGED:
        table.add_column(TITLES[key], justify="right")
    for heading in ("beyond the limit", "unexplained"):
        table.add_column(heading, justify="right")
    targets = made.description.targets if made.description.judged else {}
    for one in made.verdicts:
        own = [cell for cell in made.cells if (cell.pair.variant, cell.pair.kernel) == (one.variant, one.kernel)]
        missed = one.missed(targets)
        table.add_row(
            one.variant,
            one.kernel,
            *(Text(percent(one.medians[key]), style="red" if key in missed else "") for key in JUDGED),
            str(len(own)),
            str(sum(cell.unexplained for cell in own)),
        )
    out.print(table)
    out.print(Text("medians of the absolute differences over all flows, simulated against Linux", style="dim"))
    out.file.flush()
