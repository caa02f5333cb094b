"""Runs of a sweep as jobs: made in this process, or by a worker that gets the text of the scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from narrows.base.errors import ScenarioError
from narrows.execution.job import Parcel
from narrows.model.scenario import Scenario
from narrows.studies.sweep import address as addresses
from narrows.studies.sweep import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows import _core
    from narrows.studies.sweep.plan import Measure, SweepRun
    from narrows.studies.sweep.record import Record


def make(run: SweepRun, gauge: _core.Progress) -> Record:
    """Execute a run of a sweep, or record why it cannot be executed.

    Parameters
    ----------
    run : SweepRun
    gauge : narrows._core.Progress

    Returns
    -------
    Record
    """
    try:
        scenario = run.point.scenario
    except ScenarioError as error:
        return record.refused(run.address, run.seed, error)
    return record.make(scenario, run.seed, run.address, run.point.sweep.measure, gauge)


def parcel(run: SweepRun) -> Parcel:
    """Return a run as it travels to a worker.

    Parameters
    ----------
    run : SweepRun

    Returns
    -------
    Parcel
    """
    point = run.point
    try:
        controls = addresses.own_controls(point.scenario)
    except ScenarioError:
        controls = {}
    refusal = None if point.refusal is None else str(point.refusal)
    what = (point.base.text, point.base.path, dict(point.overrides))
    return Parcel(remote, (*what, run.seed, run.address, point.sweep.measure, refusal), controls)


def remote(
    text: str,
    path: str,
    overrides: Mapping[str, Any],
    seed: int,
    address: str,
    measure: Measure | None,
    refusal: str | None,
    gauge: _core.Progress,
) -> Record:
    """Execute a run on a worker.

    Parameters
    ----------
    text, path : str
        Text and path of the scenario file.
    overrides : mapping
        Overrides that the point sets.
    seed : int
    address : str
        Content address.
    measure : callable or None
    refusal : str or None
        Why the scenario is refused, if it is.
    gauge : narrows._core.Progress

    Returns
    -------
    Record
    """
    if refusal is not None:
        return record.failed(address, seed, refusal)
    try:
        scenario = Scenario.from_text(text, path, overrides)
    except ScenarioError as error:
        return record.refused(address, seed, error)
    return record.make(scenario, seed, address, measure, gauge)
