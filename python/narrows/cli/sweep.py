"""``narrows sweep``: a scenario over axes and seeds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
    Set,
    overrides,
)

if TYPE_CHECKING:
    from narrows.studies.sweep import Sweep, SweepResult

EXAMPLE = (
    "A sweep file: printf '%s\\n' 'scenario = \"dumbbell-cubic\"' "
    '\'axes = [{ path = "tcp.cc", values = ["reno", "cubic"] }]\' > two.toml\n\n'
    "What it would run: narrows sweep two.toml --plan\n\n"
    "How long that would take: narrows sweep two.toml --estimate\n\n"
    "Example: narrows sweep two.toml -o results/two"
)

_MANY = 5_000
"""Runs above which the page takes a moment."""


@guarded
def sweep(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A sweep file (TOML; - is standard input): format: docs/sweep.md.")
    ],
    output: Output = None,
    force: Force = False,
    plan: Annotated[
        bool, typer.Option("--plan", metavar="", help="Print the points and run nothing; with --json all of them.")
    ] = False,
    estimate: Estimate = False,
    dask: Dask = None,
    large: Annotated[
        bool,
        typer.Option("--large", metavar="", help="Allow more than 100,000 runs, or more data than the disk may hold."),
    ] = False,
    no_page: Annotated[
        bool, typer.Option("--no-page", metavar="", help="Write no page; `narrows report DIR` writes it later.")
    ] = False,
    set_: Set = None,
    load: Load = None,
    jobs: Jobs = None,
    max_memory: MaxMemory = None,
    json: Json = False,
    no_progress: NoProgress = False,
) -> None:
    """Run a scenario over axes (any of its values) and seeds, and keep every finished run in one Parquet data set.

    An interrupted sweep (Ctrl-C, kill -9, a power cut, a full disk) continues with the same command: finished runs are
    kept, failed runs are repeated. The results go into DIR, results/NAME by default, with a page, report.html: what
    has the largest effect, measures over axes, heat maps.
    """
    from narrows import ownership
    from narrows.base import memory
    from narrows.model import own
    from narrows.store.results import REPORT
    from narrows.studies.sweep import Sweep

    memory.allow(max_memory)
    for own_file in load or []:
        own.load(own_file)
    read = Sweep.from_file(file, overrides(set_))
    first = read.points[0]
    if first.refusal is None:
        # The others differ from it by what the axes set.
        warn(first.scenario)
    if plan:
        from narrows.cli.sweep_tables import print_plan

        print_plan(read, json=json)
        return
    if estimate:
        from narrows.cli import estimates
        from narrows.studies.sweep.bounds import check_runs

        if not large:
            check_runs(read)
        estimates.show(read.name, lambda: read.estimate(jobs=jobs, dask=dask), json=json)
        return
    directory = output or Path("results") / read.name
    from narrows.cli.sweep_progress import Display
    from narrows.studies.sweep import execute

    held = ownership.claim(directory, kind=ownership.SWEEP, force=force)
    page = None if no_page else directory / REPORT
    if page is not None:
        ownership.page(page)
    with Display(read, directory, wanted=not no_progress) as display:
        made = execute(read, held, jobs=jobs, dask=dask, progress=display, large=large)
    if page is not None:
        if len(made.runs) > _MANY:
            typer.echo("writing the page ..", err=True)
        with ownership.adding(directory, f"report {page.name}") as folder:
            from narrows.studies.sweep.page import write

            write(directory, folder / page.name, made=made)
    _print(read, made, directory, page, json=json)
    if made.failures:
        raise typer.Exit(1)


def _print(read: Sweep, made: SweepResult, directory: Path, page: Path | None, *, json: bool) -> None:
    from narrows.cli import sweep_tables

    if json:
        import json as codec

        shape = sweep_tables.to_json(read, made, directory, page)
        typer.echo(codec.dumps(shape, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        sweep_tables.print_result(read, made, directory, page)
    if made.broken:
        hint(f"{made.broken} damaged files were put aside into {directory / 'broken'}; their runs were made again")
    sweep_tables.print_failures(made)
