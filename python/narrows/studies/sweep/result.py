"""Results of a sweep: data frames with the axes as columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError
from narrows.outcome import joint_digest
from narrows.studies.sweep import columns
from narrows.studies.sweep.directory import data_set, marker
from narrows.studies.sweep.quantity import shown
from narrows.studies.sweep.stored import Rows
from narrows.studies.sweep.table import axes_of, units_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    import pandas as pd
    import pyarrow as pa


_EFFECTS: Final = [
    "measure",
    "axis",
    "share",
    "low",
    "high",
    "low_mean",
    "high_mean",
    "difference",
    "difference_low",
    "difference_high",
]


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that failed.

    Attributes
    ----------
    labels : dict
        Values by column of the axes.
    seed : int
    error : str
        Why it failed.
    units : dict
        Units by column of the axes, where they have one.
    """

    labels: dict[str, object]
    seed: int
    error: str
    units: dict[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """The point and the seed."""
        point = [f"{name} = {shown(label, self.units.get(name))}" for name, label in self.labels.items()]
        return ", ".join([*point, f"seed {self.seed}"])

    def __str__(self) -> str:
        """Return the point, the seed and the error."""
        return f"{self.where}: {self.error}"


@dataclass(frozen=True, kw_only=True)
class SweepResult:
    """The stored runs of a sweep, in the order of the sweep file.

    Attributes
    ----------
    rows : Rows
        The data set, in memory or in a file.
    axes : tuple of str
        Columns of the axes.
    directory : Path or None
        Directory of the sweep.
    asked : int
        Number of runs in the sweep.
    kept, made : int
        Runs that were already there; runs executed now, including failed ones.
    seconds : float
        Wall-clock time of the execution, s.
    broken : int
        Damaged files of the data set that were moved aside; their runs were executed again.
    """

    rows: Rows
    axes: tuple[str, ...]
    directory: Path | None = None
    asked: int
    kept: int = 0
    made: int = 0
    seconds: float = 0.0
    broken: int = 0
    _frames: dict[str, pd.DataFrame] = field(default_factory=dict, repr=False, compare=False)

    @property
    def table(self) -> pa.Table:
        """The data set: one tidy table whose column ``kind`` distinguishes rows of runs, flows, queues and so on.

        Of a large sweep it is read from the directory each time, and takes as much memory as all rows.
        """
        return self.rows.table()

    def frame(self, kind: str) -> pd.DataFrame:
        """Rows of one kind.

        Parameters
        ----------
        kind : {"run", "flow", "queue", "router", "station", "channel"}

        Returns
        -------
        pandas.DataFrame
            Columns of the axes, ``seed``, ``address``, the name in a column named after the kind, and the metrics.

        Raises
        ------
        InputError
            If the kind is unknown.
        """
        if kind != "run" and kind not in columns.KINDS:
            message = f"kind is {kind!r}; allowed: run, {', '.join(columns.KINDS)}"
            raise InputError(message)
        if kind not in self._frames:
            self._frames[kind] = self._frame(kind)
        return self._frames[kind]

    def metrics(self, kind: str) -> list[str]:
        """Return the metrics of the rows of a kind, without reading them.

        Parameters
        ----------
        kind : {"run", "flow", "queue", "router", "station", "channel"}

        Returns
        -------
        list of str
            Those in the data set, in the order of the columns of `frame`.
        """
        there, extra = self.rows.schema.names, self._extra()
        if kind == "run":
            return [name for name in there if name in columns.RUN_METRICS or name in extra]
        return [name for name in columns.metrics_of(kind) if name in there]

    def _frame(self, kind: str) -> pd.DataFrame:
        there = self.rows.schema.names
        about = ["name", *{"flow": ["flow_cc"], "queue": ["channel"], "station": ["channel", "role"]}.get(kind, [])]
        wanted = [*self.axes, *columns.IDENTITY, *(columns.RUN if kind == "run" else about), *self.metrics(kind)]
        chosen = self.rows.of_kind(kind, [name for name in wanted if name in there])
        frame: pd.DataFrame = chosen.to_pandas().rename(columns={"name": kind})
        return frame

    def _extra(self) -> set[str]:
        known = {"kind", *self.axes, *columns.IDENTITY, *columns.NAMES, *columns.RUN, *columns.all_metrics()}
        return {name for name in self.rows.schema.names if name not in known}

    @property
    def units(self) -> dict[str, str]:
        """Units of the axes whose values are numbers with a unit, by column: ``{"buffer": "packets"}``."""
        return units_of(self.rows.schema)

    @property
    def runs(self) -> pd.DataFrame:
        """A row per run: axes, ``seed``, ``address``, ``status``, ``error``, ``digest``, ``cpu_s``, ..., ``jain``."""
        return self.frame("run")

    @property
    def flows(self) -> pd.DataFrame:
        """A row per run and flow: axes, ``seed``, ``address``, ``flow``, ``flow_cc``, and the flow's metrics."""
        return self.frame("flow")

    @property
    def queues(self) -> pd.DataFrame:
        """A row per run and queue: axes, ``seed``, ``address``, ``queue``, ``channel``, and the queue's metrics."""
        return self.frame("queue")

    @property
    def failures(self) -> list[Failure]:
        """Runs that failed, in order."""
        runs = self.runs
        bad = runs[runs["status"] == "failed"]
        return [
            Failure({name: row[name] for name in self.axes}, int(row["seed"]), str(row["error"]), self.units)
            for row in bad.to_dict("records")
        ]

    def effects(self, measures: Sequence[str] | None = None) -> pd.DataFrame:
        """Rank the axes by their effect on each measure; see `narrows.studies.sweep.effects` for the definitions.

        Parameters
        ----------
        measures : sequence of str, optional
            Columns of the data set; by default all whose values differ between runs.

        Returns
        -------
        pandas.DataFrame
            A row per measure and axis, largest share first: ``measure``, ``axis``, ``share`` (of the variance between
            runs), ``low`` and ``high`` (values of the axis with the smallest and the largest mean, as text),
            ``low_mean``, ``high_mean``, their ``difference`` paired by seed, and its simultaneous 95 % interval
            ``difference_low``, ``difference_high`` (NaN with one seed), in the unit of the measure.

        Raises
        ------
        InputError
            If there is no such measure.
        """
        import pandas as pd

        from narrows.studies.sweep.effects import effects
        from narrows.studies.sweep.measured import measured

        data = measured(self)
        for name in measures or ():
            if name not in data.measures:
                message = f"measure is {name!r}; allowed: {', '.join(data.measures) or 'none'}"
                raise InputError(message)
        rows = [
            (
                name,
                one.name,
                one.share,
                one.low,
                one.high,
                one.low_mean,
                one.high_mean,
                one.difference.mean,
                one.difference.low,
                one.difference.high,
            )
            for name in (data.varying if measures is None else measures)
            for one in effects(data, name).axes
        ]
        return pd.DataFrame(rows, columns=_EFFECTS)

    @property
    def cpu_s(self) -> float:
        """Processor time of all runs, s."""
        return float(self.runs["cpu_s"].sum())

    @property
    def digest(self) -> str:
        """SHA-256 over the runs' digests in order; failed runs have an empty one."""
        return joint_digest(digest or "" for digest in self.runs["digest"].fillna(""))

    def to_pandas(self) -> pd.DataFrame:
        """Everything as one tidy data frame.

        Returns
        -------
        pandas.DataFrame
        """
        frame: pd.DataFrame = self.table.to_pandas()
        return frame

    def __repr__(self) -> str:
        """Return the number of runs."""
        return f"<SweepResult: {len(self.runs)} of {self.asked} runs, {len(self.failures)} failed>"


def load(directory: str | PathLike[str]) -> SweepResult:
    """Read the data set of a sweep without running anything.

    Parameters
    ----------
    directory : path

    Returns
    -------
    SweepResult
        The stored runs; of a sweep in progress, the finished ones.

    Raises
    ------
    InputError
        If the directory is not that of a sweep, or cannot be read.
    """
    marker(directory)
    table = data_set(directory)
    count = len(set(table["address"].to_pylist()))
    return SweepResult(
        rows=Rows(table), axes=tuple(axes_of(table.schema)), directory=Path(directory), asked=count, kept=count
    )
