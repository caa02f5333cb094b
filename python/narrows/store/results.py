"""Result directories: written whole or not at all, and read back.

A directory holds ``scenario.toml`` (as run, every default shown), ``summary.json`` (`narrows.outcome.summary`),
``samples.parquet`` (`narrows.outcome.samples`), ``state.parquet`` if the state of algorithms was sampled
(`narrows.outcome.states`), ``transfers.parquet`` if there are transfers (`narrows.outcome.transfers`), ``pcap/`` if
packets were captured, and on request ``report.html`` with ``figures/``.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from narrows import ownership
from narrows.base.errors import InputError
from narrows.metrics.datagrams import DatagramMetrics
from narrows.metrics.flows import FlowMetrics
from narrows.metrics.impairments import ImpairmentMetrics
from narrows.metrics.queues import QueueMetrics, SubqueueMetrics
from narrows.metrics.routers import RouterMetrics
from narrows.metrics.stations import StationMetrics
from narrows.metrics.transfers import PlaybackMetrics, TransferMetrics
from narrows.model.scenario import Scenario
from narrows.outcome import Batch, Run
from narrows.outcome import summary as summaries
from narrows.outcome.samples import Samples
from narrows.outcome.states import States
from narrows.outcome.transfers import Transfers
from narrows.stats import Reached
from narrows.store.saved import refusing_damage

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from narrows.outcome import Outcome

SCENARIO: Final = "scenario.toml"
SUMMARY: Final = "summary.json"
SAMPLES: Final = "samples.parquet"
STATE: Final = "state.parquet"
TRANSFERS: Final = "transfers.parquet"
REPORT: Final = "report.html"
PCAP: Final = "pcap"
COMPARISON: Final = "comparison.json"

_LARGEST: Final = 1e30
"""Larger than any metric can be: counters have 64 bits."""


def write(result: Outcome, directory: ownership.Target) -> Path:
    """Write a result directory, whole or not at all.

    Parameters
    ----------
    result : Run or Batch
    directory : path
        As for `narrows.ownership.staged`.

    Returns
    -------
    pathlib.Path
        The directory.

    Raises
    ------
    InputError, RunError
        As `narrows.ownership.staged` does.
    """
    with ownership.staged(directory) as temporary:
        fill(result, temporary)
    return Path(directory)


def fill(result: Outcome, directory: Path, check: Callable[[], None] = lambda: None) -> None:
    """Write scenario, summary and samples into an existing directory.

    Parameters
    ----------
    result : Run or Batch
    directory : pathlib.Path
        As `narrows.ownership.staged` provides it.
    check : callable
        Called between parts of the samples; may raise to stop.

    Raises
    ------
    OSError
        If writing fails.
    """
    (directory / SCENARIO).write_text(_as_run(result), encoding="utf-8")
    if result.runs:
        samples = result.samples
        samples.to_parquet(directory / SAMPLES, check)
        if samples.state.variables:
            samples.state.to_parquet(directory / STATE)
        if len(result.transfers):
            result.transfers.to_parquet(directory / TRANSFERS)
    (directory / SUMMARY).write_text(summaries.dumps(summaries.of(result)), encoding="utf-8")


def _as_run(result: Outcome) -> str:
    """Return the scenario with the seed of the run, so that the file alone repeats the run."""
    scenario = result.scenario
    return (scenario if scenario.seed == result.seed else scenario.with_overrides({"seed": result.seed})).to_file()


def load(directory: str | PathLike[str]) -> Run | Batch:
    """Read a result directory.

    Parameters
    ----------
    directory : path

    Returns
    -------
    Run or Batch
        The saved outcome, digests and metrics included.

    Raises
    ------
    InputError
        If it is not a result directory, has another format, or cannot be read.
    ScenarioError
        If this version refuses the scenario in it.
    """
    root = Path(directory)
    ownership.found(root)
    try:
        data = json.loads((root / SUMMARY).read_text(encoding="utf-8"))
        text = (root / SCENARIO).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        message = f"{directory}: is not a result directory: it has no {Path(str(error.filename)).name}"
        if (root / COMPARISON).is_file():
            message = f"{directory}: holds a comparison; allowed: a result directory, such as those within it"
        raise InputError(message) from None
    except (OSError, ValueError, RecursionError) as error:
        message = f"{directory}: cannot be read: {error}"
        raise InputError(message) from None
    if isinstance(data, dict) and "paper" in data:
        message = f"{directory}: holds the reproduction of a paper, whose page is {root / REPORT}"
        raise InputError(message)
    if not isinstance(data, dict) or data.get("format") != summaries.FORMAT:
        found = data.get("format") if isinstance(data, dict) else None
        message = f"{root / SUMMARY}: format is {found!r}; allowed: {summaries.FORMAT}"
        raise InputError(message)
    with refusing_damage(root):
        return _revive(root, data, Scenario.from_text(text, str(root / SCENARIO)))


def _revive(root: Path, data: dict[str, Any], scenario: Scenario) -> Run | Batch:
    details = data.get("runs_detail")
    everything = Samples.from_parquet(root / SAMPLES) if (root / SAMPLES).exists() else None
    transfers = Transfers.from_parquet(root / TRANSFERS) if (root / TRANSFERS).exists() else Transfers()

    if everything is not None and (root / STATE).exists():
        everything.state = States.from_parquet(root / STATE)
    if everything is not None and everything.lacking():
        message = f"{root / SAMPLES}: lacks the columns {', '.join(everything.lacking())}"
        raise ValueError(message)

    def revive(row: dict[str, Any], alone: bool) -> Run:
        index = int(row.get("run", 0))
        if everything is None:
            message = f"{root / SAMPLES} is missing"
            raise OSError(message)
        _known(row, scenario)
        return Run(
            scenario=scenario,
            seed=int(data["seed"]),
            index=index,
            digest=str(row["digest"]),
            version=str(data["version"]),
            events=int(row["events"]),
            packets=int(row["packets"]),
            flows=tuple(FlowMetrics(**_own(FlowMetrics, flow)) for flow in row["flows"]),
            queues=tuple(QueueMetrics(**_own(QueueMetrics, queue)) for queue in row["queues"]),
            routers=tuple(RouterMetrics(**_own(RouterMetrics, router)) for router in row.get("routers", ())),
            stations=tuple(StationMetrics(**_own(StationMetrics, station)) for station in row.get("stations", ())),
            subqueues=tuple(SubqueueMetrics(**_own(SubqueueMetrics, part)) for part in row.get("subqueues", ())),
            transfers=transfers if alone else transfers.of_run(index),
            transfer_classes=tuple(TransferMetrics(**_own(TransferMetrics, part)) for part in row.get("transfers", ())),
            playbacks=tuple(PlaybackMetrics(**_own(PlaybackMetrics, part)) for part in row.get("playbacks", ())),
            datagrams=tuple(DatagramMetrics(**_own(DatagramMetrics, part)) for part in row.get("datagrams", ())),
            impairments=tuple(
                ImpairmentMetrics(**_own(ImpairmentMetrics, part)) for part in row.get("impairments", ())
            ),
            samples=everything if alone else everything.of_run(index),
            conditions=row.get("conditions"),
            captures=_captures(root, index),
        )

    if details is None:
        return revive(data, alone=True)
    until = data.get("until")
    return Batch(
        scenario=scenario,
        seed=int(data["seed"]),
        runs=tuple(revive(row, alone=False) for row in details),
        until=None if until is None else Reached.from_dict(until),
    )


def _captures(root: Path, index: int) -> Path | None:
    """Return the folder with a run's captures: one of its own if there are several runs."""
    folder = (root / PCAP).absolute()
    own = folder / f"run-{index}"
    return next((one for one in (own, folder) if one.is_dir()), None)


def _known(row: dict[str, Any], scenario: Scenario) -> None:
    """Check that a run's flows are those of its scenario, in its order."""
    named = [flow["name"] for flow in row["flows"]]
    wanted = [flow.name for flow in scenario.resolved.flows]
    if named != wanted:
        message = f"flows are {str(named)[:80]}, and those of {SCENARIO} {str(wanted)[:80]}"
        raise ValueError(message)


def _own(
    row_type: type[
        FlowMetrics
        | QueueMetrics
        | RouterMetrics
        | StationMetrics
        | SubqueueMetrics
        | TransferMetrics
        | PlaybackMetrics
        | DatagramMetrics
        | ImpairmentMetrics
    ],
    row: dict[str, Any],
) -> dict[str, Any]:
    """Return the fields of a row; fields with a default may be missing, since older versions did not write them."""
    return {
        field.name: _checked(field.name, row[field.name], str(field.type))
        for field in fields(row_type)
        if field.name in row or field.default is MISSING
    }


def _checked(name: str, value: object, wanted: str) -> object:
    """Return a value of a row, checked for its field's declared type and the range of a metric."""
    if value is None and "None" in wanted:
        return value
    if "str" in wanted:
        fine = isinstance(value, str)
    else:
        fine = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST
    if not fine:
        message = f"{name} is {str(value)[:40]}"
        raise ValueError(message)
    return value
