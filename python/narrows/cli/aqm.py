"""``narrows aqm``: queue disciplines compared over the scenarios of RFC 7928."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.cli import completion
from narrows.cli.guard import guarded, hint
from narrows.cli.options import (
    Dask,
    Estimate,
    Force,
    Jobs,
    Json,
    MaxMemory,
    NoProgress,
    Output,
    Set,
    claimed,
    overrides,
)

if TYPE_CHECKING:
    from narrows.studies.aqm import Aqm

EXAMPLE = (
    "Example: narrows aqm --queues droptail,codel,fq_codel --runs 5 -o results/aqm\n\n"
    "One scenario, variants of one discipline: narrows aqm --on aqm-bursts --queues 'codel,codel:target=15 ms'"
)

_SHOWN = ("goodput_mbps", "delay_mean_ms", "delay_p50_ms", "delay_p95_ms", "drop_ratio", "mark_ratio", "jain")


@guarded
def aqm(
    queues: Annotated[
        str | None,
        typer.Option(
            "--queues",
            metavar="KINDS",
            help="Disciplines, separated by commas, with parameters after colons; by default all but "
            "shapers and policers.",
            autocompletion=completion.queues,
        ),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            "--on",
            metavar="SCENARIOS",
            help="Scenario files or names, separated by commas; by default all aqm-*.",
            autocompletion=completion.scenario_lists,
        ),
    ] = None,
    output: Output = None,
    force: Force = False,
    runs: Annotated[
        int, typer.Option("--runs", "-n", metavar="N", help="Runs of each cell, all with the same random numbers.")
    ] = 10,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed.")] = 1,
    estimate: Estimate = False,
    dask: Dask = None,
    set_: Set = None,
    jobs: Jobs = None,
    max_memory: MaxMemory = None,
    json: Json = False,
    no_progress: NoProgress = False,
) -> None:
    """Run every queue discipline on the scenarios of RFC 7928, and compare delay and goodput.

    With -o, DIR gets a page with the ellipses of delay and goodput, the numbers and every finished run. After Ctrl-C,
    the same command continues from there.
    """
    from narrows import ownership
    from narrows.base import memory
    from narrows.studies import aqm as study

    memory.allow(max_memory)
    begin = time.monotonic()
    plan = study.make(_split(queues), _split(on), runs=runs, seed=seed, overrides=overrides(set_))
    if estimate:
        from narrows.cli import estimates

        estimates.show("aqm", lambda: study.estimate(plan, jobs=jobs, dask=dask), json=json)
        return
    from narrows.cli.runs_progress import RunsDisplay
    from narrows.studies.aqm import page

    held = claimed(output, force, _split(on) or (), ownership.AQM)
    with RunsDisplay("aqm", wanted=not no_progress) as display:
        made = study.Aqm(plan, study.execute(plan, held, jobs=jobs, dask=dask, progress=display))
    written = None if held is None else page.write(made, held)
    if json:
        typer.echo(page.dumps(made), nl=False)
        return
    _print(made, time.monotonic() - begin)
    if written is not None:
        hint(f"wrote {written}")


def _split(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


def _print(made: Aqm, seconds: float) -> None:
    from rich.console import Console
    from rich.text import Text

    from narrows.base.format import number
    from narrows.cli.plain import NAME_WIDTH, new_table
    from narrows.studies.aqm.page import HEADINGS, shown

    out = Console(highlight=False)
    plan = made.plan
    for scenario in plan.scenarios:
        cell = next(one for one in plan.cells if one.scenario_label == scenario)
        over = f"mean of {plan.runs} runs" if plan.runs > 1 else "1 run"
        out.print(Text.assemble((cell.scenario.title, "bold"), f"  at {cell.observed}, seed {plan.seed}, {over}"))
        table = new_table()
        table.add_column("queue", overflow="fold", min_width=NAME_WIDTH)
        for name in _SHOWN:
            heading, unit, _, _ = HEADINGS[name]
            table.add_column(f"{heading}\n{unit}", justify="right", no_wrap=True)
        for queue in plan.queues:
            cells = [shown(made.estimate(name, queue, scenario), name)[0] for name in _SHOWN]
            table.add_row(Text(queue), *cells)
        out.print(table)
        out.print()
    out.print(Text(f"{plan.total:,} run{'' if plan.total == 1 else 's'} in {number(seconds)} s", style="dim"))
    out.file.flush()
