"""``narrows check``: test cases with steps and expectations, run over a grid and judged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.cli import completion
from narrows.cli.guard import ending, guarded, hint
from narrows.cli.options import Dask, Force, Jobs, Json, Load, MaxMemory, NoProgress, Output, claimed

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from narrows.studies.check import CaseResult, Check, Plan
    from narrows.studies.contest.contestant import Contestant

EXAMPLE = "Example: narrows check cubic\n\nWith a page, JUnit XML and JSON: narrows check cubic -o results/check"


@guarded
def check(
    cases: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|DIR..",
            help="Test cases (TOML), directories of them, or names of bundled sets.",
            autocompletion=completion.cases,
        ),
    ],
    cc: Annotated[
        str | None,
        typer.Option(
            "--cc",
            metavar="NAMES",
            help="Controls for the flow under test, separated by commas, with fields of tcp after colons: "
            "bbr3:cc_params.profile=linux. By default each file's own, or those of --load.",
            autocompletion=completion.controls,
        ),
    ] = None,
    load: Load = None,
    grid: Annotated[
        str | None,
        typer.Option(
            "--grid",
            metavar="CELLS",
            help="Cells to run: all, base (the file as it is), or cells separated by commas: '10 Mb/s x 100 ms'. By "
            "default base and all cells with at most 500,000 packets.",
        ),
    ] = None,
    select: Annotated[
        str | None,
        typer.Option("-k", metavar="EXPR", help="Run those whose name has these parts: 'startup and not loss'."),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", metavar="", help="List the runs, and the cells that are not run; run nothing.")
    ] = False,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed; by default each file's own.")] = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            metavar="",
            help="Run on this machine's own TCP, in real time (as root). By default of each case the file as it is.",
        ),
    ] = False,
    output: Output = None,
    force: Force = False,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML for a CI service.")
    ] = None,
    dask: Dask = None,
    jobs: Jobs = None,
    max_memory: MaxMemory = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", metavar="", help="Show steps and expectations of all runs.")
    ] = False,
    json: Json = False,
    no_progress: NoProgress = False,
) -> None:
    """Run test cases: scenarios with a timeline of steps, and expectations that are judged.

    A failure shows each step and expectation with time, value and what was expected; with -o, DIR gets a page with
    plots. Exits with 1 if a case fails, with 2 if one cannot be read or none applies to the control.
    """
    from narrows.base import memory
    from narrows.cli.runs_progress import RunsDisplay
    from narrows.execution.means import Means
    from narrows.studies import check as study
    from narrows.studies.check import directory, files

    memory.allow(max_memory)
    chosen = _controls(cc, load)
    found = files.find(cases)
    plan = study.make(study.load(found.files), chosen, grid=grid, select=select, seed=seed, live=live)
    if list_:
        _list(plan)
        return
    held = claimed(output, force, [file.path for file in found.files], directory.KIND)
    if junit is not None:
        _check_junit(junit)
    means = Means(jobs=jobs, dask=dask, watch=lambda what: RunsDisplay(what, wanted=not no_progress))
    made = study.execute(plan, means)
    if held is not None:
        made.report(held, means)
    if junit is not None:
        _write_junit(made, junit)
    if json:
        typer.echo(directory.dumps(made), nl=False)
    else:
        _print(made, verbose=verbose)
    if found.skipped:
        count = len(found.skipped)
        hint(f"{count} file{'' if count == 1 else 's'} without steps or expectations skipped")
    if held is not None:
        hint(f"wrote {Path(held.named) / directory.PAGE}")
    raise ending(0 if made.passed else 1)


def _controls(cc: str | None, load: list[Path] | None) -> list[Contestant]:
    """Return the contestants of ``--cc``, or the controls that the files of ``--load`` register."""
    from narrows.model import own
    from narrows.studies.contest.contestant import contestants

    before = set(own.controls())
    for file in load or []:
        own.load(file)
    if cc is None:
        return list(contestants(name for name in own.controls() if name not in before)) if load else []
    return list(contestants(name for name in cc.split(",") if name.strip()))


def _list(plan: Plan) -> None:
    from rich.console import Console
    from rich.text import Text

    from narrows.cli.plain import new_table
    from narrows.studies.check.dumbbell import MOST_PACKETS

    out = Console(highlight=False)
    table = new_table()
    for heading in ("case", "control", "cell", "runs"):
        table.add_column(heading, overflow="fold")
    for item in plan.items:
        runs = "yes" if item.inapplicable is None else f"not applicable: {item.inapplicable}"
        table.add_row(Text(item.name), Text(item.cc), Text(item.cell.label), Text(runs))
    for one in plan.not_run:
        table.add_row(Text(one.name), Text(one.cc), Text(one.cell.label), Text(f"no: {one.packets:,.0f} packets"))
    out.print(table)
    left = (
        f"; {len(plan.not_run):,} cells not run (by default at most {MOST_PACKETS:,} packets)" if plan.not_run else ""
    )
    out.print(Text(f"{len(plan.items):,} run{'' if len(plan.items) == 1 else 's'}{left}"))


def _check_junit(path: Path) -> None:
    """Refuse a file of JUnit XML that another program wrote, before anything is run."""
    from narrows.base.errors import InputError

    if path.is_dir() or not path.resolve().parent.is_dir():
        message = f"--junit {path}: is a directory, or is in none; allowed: a file in an existing directory"
        raise InputError(message)
    if path.exists() and '<testsuite name="narrows check"' not in path.read_text(encoding="utf-8", errors="replace"):
        message = f"--junit {path}: exists, and Narrows did not write it; allowed: another name"
        raise InputError(message)


def _write_junit(made: Check, path: Path) -> None:
    from narrows.report import render
    from narrows.studies.check import junit

    render.write_text(path, junit.text(made))


_STYLES = {"passed": "green", "met": "green", "happened": "green", "not applicable": "dim", "does not apply": "dim"}


_MOST_ROWS = 50
"""Most runs that are listed one by one; of more there is a row per case."""


def _print(made: Check, *, verbose: bool) -> None:
    from rich.console import Console
    from rich.text import Text

    out = Console(highlight=False)
    out.print(_table(made) if verbose or len(made.cases) <= _MOST_ROWS else _overview(made))
    for group in made.groups():
        told = [one for one in group.runs if one.failed or verbose or one.doubts or one.verdict == "not applicable"]
        for one in told if verbose else told[:1]:
            _print_case(out, one)
        others = [one.cell for one in group.failed[1:]]
        if others and not verbose:
            cells = f"{len(others)} other cell{'' if len(others) == 1 else 's'}"
            out.print(Text(f"failed in {cells} too: {', '.join(others)} (-v shows them)"))
    style = "green" if made.passed else "red"
    out.print(Text(made.summary, style=style))
    out.file.flush()


def _table(made: Check) -> Table:
    """Return a row per run."""
    from rich.text import Text

    from narrows.cli.plain import NAME_WIDTH, new_table

    table = new_table()
    table.add_column("case", overflow="fold", min_width=NAME_WIDTH)
    for heading in ("control", "cell", "verdict"):
        table.add_column(heading, overflow="fold")
    table.add_column("ended\ns", justify="right", no_wrap=True)
    for one in made.cases:
        ended = "" if one.outcome is None else f"{one.outcome.ended_s:.4g}"
        verdict = Text(one.shown, style="yellow" if one.doubts else _STYLES.get(one.verdict, "red"))
        table.add_row(Text(one.name), Text(one.item.cc), Text(one.cell), verdict, ended)
    return table


def _overview(made: Check) -> Table:
    """Return a row per case and control: the verdict of the file as it is, and the cells that are met."""
    from rich.text import Text

    from narrows.cli.plain import NAME_WIDTH, new_table

    table = new_table()
    table.add_column("case", overflow="fold", min_width=NAME_WIDTH)
    for heading in ("control", "base"):
        table.add_column(heading, overflow="fold")
    table.add_column("cells met", justify="right", no_wrap=True)
    for group in made.groups():
        base = group.base or ""
        table.add_row(Text(group.name), Text(group.cc), Text(base, style=_STYLES.get(base, "red")), group.cells)
    return table


def _print_case(out: Console, one: CaseResult) -> None:
    from rich.text import Text

    from narrows.cli.plain import new_table
    from narrows.studies.check.page import timeline

    out.print()
    out.print(Text(f"{one.item.id}: {one.shown}", style="bold"))
    for doubt in one.doubts:
        out.print(Text(f"  doubtful after {one.tries} runs: {doubt}", style="yellow"))
    if one.item.about.source:
        out.print(Text(one.item.about.source, style="dim"))
    if one.outcome is None or one.verdict == "not applicable":
        out.print(Text(f"  {one.reason}"))
        return
    table = new_table()
    for heading in ("step or expectation", "line", "time\ns", "outcome", "value and what was expected"):
        table.add_column(heading, overflow="fold", justify="right" if heading in ("line", "time\ns") else "left")
    for what, line, time, outcome, told in timeline(one.outcome):
        table.add_row(Text(what), line, time, Text(outcome, style=_STYLES.get(outcome, "red")), Text(told))
    out.print(table)
