"""``narrows reproduce``: repeat a paper's experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from narrows.base.errors import InputError
from narrows.cli import completion
from narrows.cli.guard import guarded, hint, note
from narrows.cli.options import (  # noqa: TC001 - Typer reads the annotations
    Dask,
    Estimate,
    Force,
    Jobs,
    Json,
    MaxMemory,
    NoProgress,
    Output,
)

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.cli.runs_progress import RunsDisplay
    from narrows.execution.forecast import Estimate as TimeEstimate
    from narrows.studies.reproduction.result import Reproduction
    from narrows.studies.sweep import Sweep

LISTED = 20
"""Most failed runs to list."""

EXAMPLE = (
    "Example: narrows reproduce acns --quick -o results/acns\n\n"
    "One pair of the contest over time: narrows reproduce contest --pair westwood hybla\n\n"
    "Beyond the paper: narrows reproduce ngwa --beyond --quick\n\n"
    "On this machine's own TCP, as root: narrows reproduce acns --live --quick\n\n"
    "A paper's sweep, resumable: narrows reproduce agile-sd --quick -o results/agile-sd"
)


@guarded
def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER", help="The paper: acns, agile-sd, contest or ngwa.", autocompletion=completion.papers
        ),
    ],
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", metavar="", help="Fewer runs, for a first look: under half a minute (agile-sd: two minutes)."
        ),
    ] = False,
    output: Output = None,
    force: Force = False,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs",
            "--seeds",
            "-n",
            metavar="N",
            help="Runs per arm (agile-sd, contest: seeds; ngwa: rounds); by default the paper's number.",
        ),
    ] = None,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--pair", metavar="A B", help="contest only: run this pair and show it over time; A starts first."
        ),
    ] = None,
    beyond: Annotated[
        bool,
        typer.Option(
            "--beyond",
            metavar="",
            help="Answer the questions that the paper leaves open, in a separate report.",
        ),
    ] = False,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            metavar="",
            help="acns and ngwa only: also run on this machine's own TCP, in real time. Needs root.",
        ),
    ] = False,
    live_jobs: Annotated[
        int | None,
        typer.Option(
            "--live-jobs",
            metavar="N",
            help="ngwa --live only: concurrent live runs, 1 by default. Each has its own network and its own "
            "conditions.",
        ),
    ] = None,
    flows: Annotated[
        int | None,
        typer.Option(
            "--flows", metavar="N", help="agile-sd only: flows in its second and third scenario, 4 by default."
        ),
    ] = None,
    page: Annotated[
        bool,
        typer.Option("--page", metavar="", help="agile-sd only: write the page from the runs in DIR; run nothing."),
    ] = False,
    estimate: Estimate = False,
    dask: Dask = None,
    jobs: Jobs = None,
    max_memory: MaxMemory = None,
    json: Json = False,
    no_progress: NoProgress = False,
) -> None:
    """Repeat a paper's experiments and compare published with measured values.

    The page, the figures and the numbers go into DIR, results/PAPER by default. After Ctrl-C the
    same command continues: finished runs are kept in DIR, or in DIR.runs until the page is written.
    If runs of a sweep failed, the page shows the others and the exit code is 1.
    """
    from narrows.base import memory
    from narrows.cli.progress import Bar
    from narrows.studies.reproduction import reproduce as repeat

    memory.allow(max_memory)

    if estimate:
        _estimate(paper, quick=quick, runs=runs, jobs=jobs, dask=dask, beyond=beyond, live=live, flows=flows, json=json)
        return

    def watch(what: Sweep | str, directory: Path) -> RunsDisplay:
        from narrows.cli.runs_progress import RunsDisplay
        from narrows.cli.sweep_progress import Display

        if isinstance(what, str):
            return RunsDisplay(what, wanted=not no_progress)
        return Display(what, directory, wanted=not no_progress)

    # Live runs have a bar of their own: their time is known.
    with Bar(f"reproducing {paper}", wanted=live and not no_progress, quiet=not live) as bar:
        made = repeat(
            paper,
            output,
            quick=quick,
            runs=runs,
            jobs=jobs,
            dask=dask,
            pair=pair,
            beyond=beyond,
            live=live,
            live_jobs=live_jobs,
            flows=flows,
            page_only=page,
            progress=bar,
            watch=watch,
            say=hint,
            force=force,
        )
    if json:
        import json as codec

        typer.echo(codec.dumps(made.to_json(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        from narrows.cli.reference_tables import print_reproduction

        print_reproduction(made)
        for path in made.paths:
            hint(f"wrote {path}")
    if made.failures:
        _print_failures(made)
        raise typer.Exit(1)


def _estimate(
    paper: str,
    *,
    quick: bool,
    runs: int | None,
    jobs: int | None,
    dask: str | None,
    beyond: bool,
    live: bool,
    flows: int | None,
    json: bool,
) -> None:
    from narrows.cli import estimates
    from narrows.studies import reproduction

    if live:
        message = "--estimate: cannot be combined with --live, which prints its own estimate before it begins"
        raise InputError(message)

    def make() -> TimeEstimate:
        return reproduction.estimate(paper, quick=quick, runs=runs, jobs=jobs, dask=dask, beyond=beyond, flows=flows)

    estimates.show(paper, make, json=json)


def _print_failures(made: Reproduction) -> None:
    count = len(made.failures)
    told = "run failed and is" if count == 1 else "runs failed and are"
    note(f"{count:,} {told} missing from these results; narrows reproduce {made.paper} tries again")
    for failure in made.failures[:LISTED]:
        typer.echo(f"  {failure}", err=True)
    if count > LISTED:
        hint(f"  and {count - LISTED:,} more, in summary.json")
