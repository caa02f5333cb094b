"""Result directories: written whole or not at all, and read back.

A directory holds ``scenario.toml`` (as run, every default shown), ``summary.json`` (`narrows.summary`),
``samples.parquet`` (`narrows.samples`), ``pcap/`` if packets were captured, and on demand ``report.html`` with
``figures/``.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from contextlib import contextmanager, suppress
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from narrows import durable
from narrows import summary as summaries
from narrows.errors import InputError, NarrowsError, RunError
from narrows.outcome import Batch, Run
from narrows.routers import RouterMetrics
from narrows.samples import Samples
from narrows.scenario import Scenario
from narrows.stations import StationMetrics
from narrows.stats import Reached
from narrows.totals import FlowMetrics, QueueMetrics

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from narrows.outcome import Outcome

SCENARIO: Final = "scenario.toml"
SUMMARY: Final = "summary.json"
SAMPLES: Final = "samples.parquet"
REPORT: Final = "report.html"
PCAP: Final = "pcap"
COMPARISON: Final = "comparison.json"

_MARKERS: Final = (SUMMARY, "reproduction.json", COMPARISON)
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def staged(directory: str | PathLike[str]) -> Iterator[Path]:
    """Make a directory that appears whole or not at all.

    The block fills a directory under a temporary name beside the wanted one. When the block ends well, everything is
    forced to disk and renamed; when it raises, nothing is left behind. A result directory of before is replaced; any
    other directory with something in it is refused, before the block is entered.

    Parameters
    ----------
    directory : path
        The wanted directory; missing parents are made.

    Yields
    ------
    pathlib.Path
        Where to write.

    Raises
    ------
    InputError
        If the directory cannot be made there, or is something else than a result directory.
    RunError
        If writing failed: a full disk, say.
    """
    wanted = Path(os.path.abspath(directory))  # noqa: PTH100 - resolve() would follow a link at the end
    _refuse_foreign(wanted, directory)
    made: list[Path] = []
    try:
        made = _make_parents(wanted.parent)
        temporary = wanted.parent / f".{wanted.name}.{secrets.token_hex(4)}.partial"
        temporary.mkdir()
    except OSError as error:
        _remove_empty(made)
        kind = RunError if error.errno in _FULL else InputError
        message = f"{directory}: cannot be written: {error.strerror or error}"
        raise kind(message) from None
    try:
        yield temporary
        _sync_tree(temporary)
        _put_in_place(temporary, wanted)
    except OSError as error:
        _discard(temporary, made)
        message = f"{directory}: results cannot be written: {error.strerror or error}; nothing was kept there"
        raise RunError(message) from error
    except BaseException:
        _discard(temporary, made)
        raise


def write(result: Outcome, directory: str | PathLike[str]) -> Path:
    """Write a result directory, whole or not at all.

    Parameters
    ----------
    result : Run or Batch
    directory : path
        As for `staged`.

    Returns
    -------
    pathlib.Path
        The directory.

    Raises
    ------
    InputError, RunError
        As `staged` does.
    """
    with staged(directory) as temporary:
        fill(result, temporary)
    return Path(directory)


def write_with_report(result: Outcome, directory: str | PathLike[str]) -> Path:
    """Write a result directory with a report in it, whole or not at all.

    Parameters
    ----------
    result : Run or Batch
    directory : path
        As for `staged`.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    InputError, RunError
        As `staged` does.
    """
    from narrows.report import write_report

    with staged(directory) as temporary:
        fill(result, temporary)
        write_report(cast("Run | Batch", result), temporary / REPORT)
    return Path(directory) / REPORT


def fill(result: Outcome, directory: Path) -> None:
    """Write scenario, summary and samples into an existing directory.

    Parameters
    ----------
    result : Run or Batch
    directory : pathlib.Path
        Such as `staged` gives.

    Raises
    ------
    OSError
        If writing fails.
    """
    (directory / SCENARIO).write_text(_as_run(result), encoding="utf-8")
    if result.runs:
        result.samples.to_parquet(directory / SAMPLES)
    (directory / SUMMARY).write_text(summaries.dumps(summaries.of(result)), encoding="utf-8")


def _as_run(result: Outcome) -> str:
    """The scenario with the seed of the run, so that the file alone repeats it."""
    scenario = result.scenario
    return (scenario if scenario.seed == result.seed else scenario.with_overrides({"seed": result.seed})).to_toml()


def load(directory: str | PathLike[str]) -> Run | Batch:
    """Read a result directory.

    Parameters
    ----------
    directory : path

    Returns
    -------
    Run or Batch
        What was written, digests and metrics included.

    Raises
    ------
    InputError
        If it is not a result directory, or one of another format, or cannot be read.
    ScenarioError
        If this version refuses the scenario in it.
    """
    root = Path(directory)
    try:
        data = json.loads((root / SUMMARY).read_text(encoding="utf-8"))
        text = (root / SCENARIO).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        message = f"{directory}: is not a result directory: it has no {Path(str(error.filename)).name}"
        if (root / COMPARISON).is_file():
            message = f"{directory}: holds a comparison; allowed: a result directory, such as those within it"
        raise InputError(message) from None
    except (OSError, ValueError) as error:
        message = f"{directory}: cannot be read: {error}"
        raise InputError(message) from None
    if not isinstance(data, dict) or data.get("format") != summaries.FORMAT:
        found = data.get("format") if isinstance(data, dict) else None
        message = f"{root / SUMMARY}: format is {found!r}; allowed: {summaries.FORMAT}"
        raise InputError(message)
    try:
        return _revive(root, data, Scenario.from_text(text, str(root / SCENARIO)))
    except NarrowsError:
        raise
    except (OSError, KeyError, TypeError, ValueError) as error:
        message = f"{directory}: is damaged: {error!r}"
        raise InputError(message) from None


def _revive(root: Path, data: dict[str, Any], scenario: Scenario) -> Run | Batch:
    details = data.get("runs_detail")
    everything = Samples.from_parquet(root / SAMPLES) if (root / SAMPLES).exists() else None

    def revive(row: dict[str, Any], alone: bool) -> Run:
        index = int(row.get("run", 0))
        if everything is None:
            message = f"{root / SAMPLES} is missing"
            raise OSError(message)
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
            samples=everything if alone else everything.of_run(index),
            conditions=row.get("conditions"),
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


def _own(
    row_type: type[FlowMetrics | QueueMetrics | RouterMetrics | StationMetrics], row: dict[str, Any]
) -> dict[str, Any]:
    """The fields of a row; those with a default may be missing, for older versions did not write them."""
    return {field.name: row[field.name] for field in fields(row_type) if field.name in row or field.default is MISSING}


def _refuse_foreign(wanted: Path, named: str | PathLike[str]) -> None:
    try:
        if not wanted.exists():
            return
        if not wanted.is_dir():
            message = f"{named}: is a file; allowed: a new directory, an empty one, or one with results"
            raise InputError(message)
        if any(wanted.iterdir()) and not _is_ours(wanted):
            message = (
                f"{named}: holds something else than results and is left as it is; "
                "allowed: a new directory, an empty one, or one with results"
            )
            raise InputError(message)
    except OSError as error:
        message = f"{named}: cannot be looked at: {error.strerror or error}"
        raise InputError(message) from None


def _is_ours(directory: Path) -> bool:
    for marker in _MARKERS:
        with suppress(OSError, ValueError):
            content = json.loads((directory / marker).read_text(encoding="utf-8"))
            if isinstance(content, dict) and "format" in content:
                return True
    return False


def _make_parents(parent: Path) -> list[Path]:
    """Make a directory and what it needs; return what was made, the innermost last."""
    missing = []
    while not parent.exists():
        missing.append(parent)
        parent = parent.parent
    made: list[Path] = []
    try:
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            made.append(path)
    except OSError:
        _remove_empty(made)
        raise
    return made


def _remove_empty(made: list[Path]) -> None:
    for path in reversed(made):
        with suppress(OSError):
            path.rmdir()


def _discard(temporary: Path, made: list[Path]) -> None:
    shutil.rmtree(temporary, ignore_errors=True)
    _remove_empty(made)


def _sync_tree(root: Path) -> None:
    for folder, _, files in os.walk(root, topdown=False):
        for name in files:
            durable.sync(Path(folder) / name)
        durable.sync(Path(folder))


def _put_in_place(temporary: Path, wanted: Path) -> None:
    """Rename; what was there before steps aside first, and comes back if the renaming fails."""
    aside = None
    if wanted.exists() and any(wanted.iterdir()):
        aside = wanted.parent / f".{wanted.name}.{secrets.token_hex(4)}.old"
        wanted.rename(aside)
    try:
        temporary.rename(wanted)
    except OSError:
        if aside is not None:
            aside.rename(wanted)
        raise
    durable.sync(wanted.parent)
    if aside is not None:
        shutil.rmtree(aside, ignore_errors=True)
