"""Measures of a sweep's runs as arrays: a value per run, with the run's place on each axis and its seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from narrows.studies.sweep import columns, quantity, table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from narrows.studies.sweep.result import SweepResult
    from narrows.studies.sweep.stored import Rows

_KINDS: Final = ("run", *columns.KINDS)
"""Kinds of rows, in the order in which a measure is looked for."""

_UNITS: Final = (
    ("_mbps", "Mb/s"),
    ("_ms", "ms"),
    ("_s", "s"),
    ("_bytes", "B"),
    ("_packets", "packets"),
    ("_frames", "frames"),
)
"""Units by the end of a column's name."""

_ROUNDING: Final = 1e-9
"""Relative difference up to which values of a measure are the same."""

DECADE: Final = 10.0
"""Ratio of an axis's largest to its smallest value from which its scale is logarithmic."""


@dataclass(frozen=True)
class Measure:
    """A number of each run.

    Attributes
    ----------
    name : str
        Its column in the data set.
    unit : str
        Empty for ratios and counts without a unit.
    kind : str
        Kind of row that has it: ``run``, or the parts over which each run's mean is taken.
    values : numpy.ndarray
        A value per run, shape (runs,), in `unit`; NaN where a run has none.
    """

    name: str
    unit: str
    kind: str
    values: NDArray[np.float64]

    @property
    def title(self) -> str:
        """The name with the unit."""
        return quantity.headed(self.name, self.unit or None)


@dataclass(frozen=True)
class Column:
    """The column of an axis.

    Attributes
    ----------
    name : str
    unit : str or None
    levels : tuple
        Its values: numbers ascending, others in the order of the sweep.
    codes : numpy.ndarray
        Index of each run's value, shape (runs,).
    numeric : bool
        Whether all values are numbers.
    log : bool
        Whether its scale is logarithmic: its values come from a ``log_range`` or span a decade, and are above zero.
    axis : str
        Name of the axis; columns that change together have the same.
    """

    name: str
    unit: str | None
    levels: tuple[object, ...]
    codes: NDArray[np.int64]
    numeric: bool
    log: bool
    axis: str

    @property
    def title(self) -> str:
        """The name with the unit."""
        return quantity.headed(self.name, self.unit)

    def text(self, level: int, *, unit: bool = False) -> str:
        """Write one of the values, with its unit if asked for."""
        return quantity.shown(self.levels[level], self.unit if unit else None)


@dataclass(frozen=True)
class Measured:
    """The successful runs of a sweep.

    Attributes
    ----------
    columns : tuple of Column
        Of the axes.
    seeds : tuple of int
    seed_codes : numpy.ndarray
        Index of each run's seed, shape (runs,).
    points : numpy.ndarray
        Index of each run's point, from 0 in the order of the sweep, shape (runs,).
    measures : dict
        Measures that have a value in some run, by name.
    total, failed : int
        Runs in the data set; failed ones among them.
    asked_points : int
        Points in the data set, also those whose runs all failed.
    """

    columns: tuple[Column, ...]
    seeds: tuple[int, ...]
    seed_codes: NDArray[np.int64]
    points: NDArray[np.int64]
    measures: dict[str, Measure]
    total: int
    failed: int
    asked_points: int

    def column(self, name: str) -> Column:
        """Return the column of an axis by its name."""
        return next(column for column in self.columns if column.name == name)

    @property
    def varying(self) -> list[str]:
        """Names of the measures that differ between runs by more than rounding."""
        return [
            name
            for name, one in self.measures.items()
            if np.nanmax(one.values) - np.nanmin(one.values) > _ROUNDING * np.nanmax(np.abs(one.values))
        ]


def measured(made: SweepResult) -> Measured:
    """Gather the measures of all successful runs.

    Parameters
    ----------
    made : SweepResult

    Returns
    -------
    Measured
        Each measure is a value of the run itself, or else the mean over the run's flows, queues, routers, stations or
        channels, the first of these that have it.
    """
    data = made.rows
    kinds = np.array(data.column("kind").to_pylist(), dtype=object)
    numbers = np.cumsum(kinds == "run") - 1  # a run's own row comes before those of its parts
    runs = made.runs
    fine = (runs["status"] == "ok").to_numpy(dtype=bool)
    log, zipped = table.log_axes(data.schema), table.zipped(data.schema)
    axes = []
    for name in made.axes:
        labels = runs[name].tolist()
        levels = tuple(quantity.in_order(labels))
        place = {level: index for index, level in enumerate(levels)}
        codes = np.array([place[label] for label in labels], dtype=np.int64)
        numeric = bool(levels) and all(quantity.is_number(level) for level in levels)
        spread = _ratio(levels) if numeric else 0.0
        logarithmic = len(levels) > 1 and spread > 0 and (name in log or spread >= DECADE)
        axes.append(
            Column(name, made.units.get(name), levels, codes[fine], numeric, logarithmic, zipped.get(name, f"\0{name}"))
        )
    seeds = tuple(sorted(set(runs["seed"].tolist())))
    where = [tuple(row) for row in runs[list(made.axes)].itertuples(index=False)] if made.axes else [()] * len(runs)
    point_of = {point: index for index, point in enumerate(dict.fromkeys(where))}
    points = np.array([point_of[point] for point in where], dtype=np.int64)
    return Measured(
        columns=tuple(axes),
        seeds=seeds,
        seed_codes=np.searchsorted(np.array(seeds), runs["seed"].to_numpy())[fine].astype(np.int64),
        points=points[fine],
        measures=_measures(data, kinds, numbers, fine),
        total=len(runs),
        failed=int((~fine).sum()),
        asked_points=len(point_of),
    )


def _ratio(levels: tuple[Any, ...]) -> float:
    low, high = float(min(levels)), float(max(levels))
    return high / low if low > 0 else 0.0


def _measures(
    data: Rows, kinds: NDArray[Any], numbers: NDArray[np.int64], fine: NDArray[np.bool_]
) -> dict[str, Measure]:
    """Read every metric: the mean of each run over the rows of the first kind that has values."""
    known = {"kind", *columns.IDENTITY, *columns.NAMES, *columns.RUN, *table.axes_of(data.schema)}
    of_kind = {kind: kinds == kind for kind in _KINDS}
    made = {}
    for name in data.schema.names:
        if name in known:
            continue
        values = data.column(name).to_numpy().astype(np.float64)
        there = np.isfinite(values)
        for kind, mask in of_kind.items():
            chosen = mask & there
            if not chosen.any():
                continue
            count = np.bincount(numbers[chosen], minlength=len(fine))
            total = np.bincount(numbers[chosen], weights=values[chosen], minlength=len(fine))
            with np.errstate(invalid="ignore"):
                mean = (total / count)[fine]
            if np.isfinite(mean).any():
                made[name] = Measure(name, unit_of(name), kind, mean)
                break
    order = [*(n for n in made if made[n].kind != "run"), *(n for n in made if made[n].kind == "run")]
    return {name: made[name] for name in order}


def unit_of(name: str) -> str:
    """Return the unit that ends the name of a measure.

    Parameters
    ----------
    name : str

    Returns
    -------
    str
        Empty without one.

    Examples
    --------
    >>> unit_of("throughput_mbps"), unit_of("rtt_mean_ms"), unit_of("jain")
    ('Mb/s', 'ms', '')
    """
    return next((unit for end, unit in _UNITS if name.endswith(end)), "")
