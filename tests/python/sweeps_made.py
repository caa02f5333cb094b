"""Sweeps whose runs are made up: results of a known function of point and seed, in the format of the data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.sweep import table
from narrows.studies.sweep.record import Record, failed
from narrows.studies.sweep.stored import Rows
from narrows.sweep import Sweep, SweepResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Labels = Mapping[str, str | int | float | bool]
    Value = Callable[[Labels, int], Mapping[str, float] | None]
    """Measures of a run from the labels of its point and its seed; ``None`` for a run that fails."""


def sweep(axes: str, seeds: int = 3) -> Sweep:
    """A sweep over the bundled scenario `speed-w1`, none of whose runs is made."""
    return Sweep.parse(f'name = "made"\nscenario = "speed-w1"\nseeds = {seeds}\n{axes}')


def records(made: Sweep, value: Value) -> dict[str, Record]:
    """A record per run, by content address."""
    found = {}
    for run in made.runs:
        measures = value(run.point.labels, run.seed)
        if measures is None:
            found[run.address] = failed(run.address, run.seed, "made to fail")
            continue
        flow = {"kind": "flow", "name": "one", "flow_cc": "reno", **measures}
        found[run.address] = Record(
            address=run.address,
            seed=run.seed,
            status="ok",
            digest=run.address,
            cpu_s=0.1,
            wall_s=0.1,
            events=1,
            packets=1,
            extra={},
            rows=((tuple(flow), tuple(flow.values())),),
        )
    return found


def result(made: Sweep, value: Value) -> SweepResult:
    """The results of such a sweep."""
    plan = {run.address: [run] for run in made.runs}
    layout = table.Layout.of(made)
    rows = table.labelled(list(records(made, value).values()), plan, layout)
    return SweepResult(rows=Rows(rows), axes=tuple(layout.axes), asked=len(made.runs))
