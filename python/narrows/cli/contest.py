"""``narrows contest``: every pair of a list of congestion controls on the two flow slots of a scenario."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.cli import completion
from narrows.cli.guard import guarded, hint, warn
from narrows.cli.options import (
    Dask,
    Estimate,
    Force,
    Jobs,
    Json,
    Load,
    MaxMemory,
    NoProgress,
    Output,
    Queue,
    Set,
    claimed,
    overrides,
)

if TYPE_CHECKING:
    from narrows.studies.contest import Contest

EXAMPLE = (
    "Example: narrows contest --cc cubic,bbr,reno,agile_sd --on contest-wired --runs 5 -o results/pairs\n\n"
    "Variants of one algorithm, two of several flows, another time window: "
    "narrows contest --cc cubic,cubic:stack=linux,cubic:cc_params.beta=0.8 --on rtt-unfairness "
    "--slots rtt-20ms,rtt-80ms --window 20:60"
)


@guarded
def contest(
    cc: Annotated[
        str,
        typer.Option(
            "--cc",
            metavar="NAMES",
            help="Contestants, separated by commas: names from `narrows list cc`, with fields of tcp after colons: "
            "cubic:stack=linux.",
            autocompletion=completion.controls,
        ),
    ],
    on: Annotated[
        str,
        typer.Option(
            "--on",
            metavar="SCENARIO",
            help="A scenario file with two TCP flows, or the name of one.",
            autocompletion=completion.scenarios,
        ),
    ] = "contest-wired",
    output: Output = None,
    force: Force = False,
    runs: Annotated[
        int,
        typer.Option("--runs", "-n", metavar="N", help="Runs of each pair, all with the same random numbers."),
    ] = 5,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Seed; by default the scenario's own.")
    ] = None,
    slots: Annotated[
        str | None,
        typer.Option("--slots", metavar="A,B", help="The two flows of the contestants, if the scenario has more."),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            "--window",
            metavar="A:B",
            help="Seconds to measure; by default the time when both are active, without its first tenth.",
        ),
    ] = None,
    solo: Annotated[
        bool, typer.Option("--solo/--no-solo", metavar="", help="Also run each alone, to measure harm.")
    ] = True,
    estimate: Estimate = False,
    dask: Dask = None,
    queue: Queue = None,
    set_: Set = None,
    load: Load = None,
    jobs: Jobs = None,
    max_memory: MaxMemory = None,
    json: Json = False,
    no_progress: NoProgress = False,
) -> None:
    """Run every congestion control against every other, and compare shares, harm and times to converge.

    With -o, DIR gets a page with matrices, the numbers and every finished run. After Ctrl-C, the same command continues
    from there; more contestants or more runs add to what is there.
    """
    from narrows.base import memory
    from narrows.model import own
    from narrows.model.scenario import Scenario
    from narrows.studies import contest as contests
    from narrows.studies.contest.api import hold

    memory.allow(max_memory)
    for own_file in load or []:
        own.load(own_file)
    begin = time.monotonic()
    measured = None if window is None else contests.Window.parse(window)
    scenario = Scenario.from_file(on)
    warn(scenario if queue is None else scenario.with_queue(queue))
    plan = contests.make(
        scenario if queue is None else scenario.with_queue(queue),
        [name for name in cc.split(",") if name.strip()],
        runs=runs,
        seed=seed,
        slots=None if slots is None else [name.strip() for name in slots.split(",")],
        window=None if measured is None else (measured.start_s, measured.end_s),
        overrides=overrides(set_),
        solo=solo,
    )
    if estimate:
        from narrows.cli import estimates

        estimates.show("contest", lambda: contests.estimate(plan, jobs=jobs, dask=dask), json=json)
        return
    from narrows.cli.runs_progress import RunsDisplay

    held = claimed(output, force, [on], "contest")
    with RunsDisplay("contest", wanted=not no_progress) as display:
        made = hold(plan, held, jobs=jobs, dask=dask, progress=display)
    page = None if held is None else made.report(held)
    if json:
        from narrows.studies.contest.export import dumps

        typer.echo(dumps(made), nl=False)
    else:
        from narrows.cli.contest_tables import print_contest

        print_contest(made, time.monotonic() - begin)
    _hints(made)
    if page is not None and not json:
        hint(f"wrote {page}")


def _hints(made: Contest) -> None:
    if made.kept:
        hint(f"{made.kept} of {made.plan.total} runs were there already")
    if made.foreign:
        hint(f"{made.foreign} kept runs belong to another contest or version, and were left alone")
    if made.alike():
        hint("all runs of a pair are the same: the scenario draws nothing at random (start_jitter would)")
