"""``narrows run``: run a scenario."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.cli.guard import guarded, hint
from narrows.cli.options import File, Jobs, Json, Load, NoProgress, Output, Set, overrides
from narrows.errors import InputError, Interrupted

if TYPE_CHECKING:
    from narrows.runs import Batch, Run

EXAMPLE = "Example: narrows run dumbbell-cubic --runs 20 --set 'duration=90 s' -o out"


@guarded
def run(
    file: File,
    output: Output = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Seed; by default the scenario's own.")
    ] = None,
    set_: Set = None,
    runs: Annotated[
        int, typer.Option("--runs", "-n", metavar="N", help="Number of runs; each draws random numbers of its own.")
    ] = 1,
    pcap: Annotated[
        bool,
        typer.Option("--pcap", metavar="", help="Capture packets into DIR/pcap (pcapng, a file per link or channel)."),
    ] = False,
    load: Load = None,
    jobs: Jobs = None,
    json: Json = False,
    no_progress: NoProgress = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", metavar="", help="Print nothing but errors.")] = False,
) -> None:
    """Run a scenario and print a summary; with -o, keep everything in a directory.

    The same scenario, seed and version give the same digest, whatever the number of jobs.
    """
    if pcap and output is None:
        message = "--pcap needs a directory to put the packets; add -o DIR"
        raise InputError(message)
    from narrows import own, results
    from narrows.cli.progress import Bar
    from narrows.runs import run as run_scenario
    from narrows.scenario import Scenario

    for own_file in load or []:
        own.load(own_file)
    scenario = Scenario.from_file(file, overrides(set_))
    begin = time.monotonic()
    interruption: Interrupted | None = None
    with ExitStack() as stack:
        # The directory is made first: that it cannot be written shall be known before the long wait, not after it.
        directory = stack.enter_context(results.staged(output)) if output is not None else None
        bar = stack.enter_context(Bar(scenario.name, wanted=not (no_progress or quiet)))
        captured = directory / results.PCAP if directory is not None and pcap else None
        result: Run | Batch
        try:
            result = run_scenario(scenario, seed=seed, runs=runs, jobs=jobs, pcap=captured, progress=bar)
        except Interrupted as caught:
            if not caught.finished.runs:
                raise
            interruption, result = caught, caught.finished
        if directory is not None:
            _drop_unfinished(captured, result, runs)
            results.fill(result, directory)
    if not quiet:
        _print(result, json, time.monotonic() - begin)
        if output is not None and not json:
            hint(f"results: {output}; for a page: narrows report {output}")
    if interruption is not None:
        raise interruption


def _drop_unfinished(captured: Path | None, result: Run | Batch, asked: int) -> None:
    """Packets of a run that was stopped belong to no result."""
    if captured is None or asked == 1:
        return
    import shutil

    kept = {f"run-{run.index}" for run in result.runs}
    for folder in captured.iterdir():
        if folder.name not in kept:
            shutil.rmtree(folder)


def _print(result: Run | Batch, json: bool, seconds: float) -> None:
    if json:
        from narrows import summary

        typer.echo(summary.dumps(result.summary), nl=False)
    else:
        from narrows.cli.tables import print_result

        print_result(result, seconds)
