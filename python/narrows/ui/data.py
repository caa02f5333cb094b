"""What the page shows of a run: the engine's tables as columns of float64, thinned if they are too long for a page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    import numpy.typing as npt

    from narrows import _core
    from narrows.outcome.tidy import CoreTable
    from narrows.ui.frames import Column

    Words = npt.NDArray[np.uint64]

NONE: Final = 2**64 - 1
"""The engine's "no value"."""

MOST_ROWS: Final = 1_000_000
"""Most rows of samples that a page gets: it holds about 150 bytes for each."""

SAMPLED: Final[dict[str, tuple[str, ...]]] = {
    "flows": ("flow",),
    "queues": ("queue",),
    "routers": ("router",),
    "subqueues": ("queue", "subqueue"),
    "state": ("series",),
}
"""Tables over time, and the columns that say what a row belongs to."""


@dataclass(slots=True)
class Table:
    """A table of a run.

    Attributes
    ----------
    name : str
        As the engine names it.
    described : list of tuple
        Name, unit and meaning of each column.
    columns : list of numpy.ndarray
        Values; NaN is "no value".
    """

    name: str
    described: list[tuple[str, str, str]]
    columns: list[Column]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0]) if self.columns else 0


@dataclass(slots=True)
class Data:
    """The page's ``RunData``, without the log of packets and the calls of a user's control.

    Attributes
    ----------
    events, packets : int
    names : dict
        Names by kind, in the order of the tables' indices.
    series : list of dict
        What the rows of ``state`` describe.
    tables : list of Table
    took_ms : float
        Time that the run took, ms.
    step : int
        Every so many samples of each flow, queue, router and variable are kept.
    """

    events: int
    packets: int
    names: dict[str, list[Any]]
    series: list[dict[str, Any]]
    tables: list[Table] = field(default_factory=list)
    took_ms: float = 0.0
    step: int = 1

    def header(self) -> dict[str, Any]:
        """Return what is not columns, for a frame."""
        tables = [
            {
                "name": table.name,
                "rows": table.rows,
                "columns": [{"name": name, "unit": unit, "doc": doc} for name, unit, doc in table.described],
            }
            for table in self.tables
        ]
        return {
            "events": self.events,
            "packets": self.packets,
            "names": self.names,
            "series": self.series,
            "tables": tables,
            "took_ms": self.took_ms,
            "step": self.step,
        }

    def columns(self) -> list[Column]:
        """Return all columns, in the order of the header."""
        return [column for table in self.tables for column in table.columns]


def of_result(result: _core.Result, took_ms: float = 0.0, check: Callable[[], None] = lambda: None) -> Data:
    """Take what the engine yields.

    Parameters
    ----------
    result : narrows._core.Result
    took_ms : float
        Time that the run took, ms.
    check : callable
        Called between parts; may raise to stop.

    Returns
    -------
    Data
    """
    series = [
        {"owner": o, "index": i, "algorithm": a, "variable": v, "unit": u, "doc": d, "words": list(w)}
        for o, i, a, v, u, d, w in result.series()
    ]
    names: dict[str, list[Any]] = {
        "flows": result.flow_names,
        "queues": result.queue_names,
        "routers": result.router_names,
        "stations": result.station_names,
        "channels": result.channel_names,
        "workloads": result.workload_names,
        "subqueues": [list(one) for one in result.subqueue_names],
    }
    step = step_of(sum(result.sampled(name)[0] for name in SAMPLED))
    made = Data(result.events, result.packets, names, series, took_ms=took_ms, step=step)
    for name, key in SAMPLED.items():
        chunks = (result.chunk(name, number) for number in range(result.sampled(name)[1]))
        made.tables.append(_sampled(name, chunks, Thinning(key, step), check))
    for name, columns in result.tables().items():
        check()
        described = [(column, unit, doc) for column, unit, doc, _ in columns]
        made.tables.append(Table(name, described, [numbers(words(data)) for *_, data in columns]))
    return made


def step_of(rows: int) -> int:
    """Return how many samples stand for one, so that a page gets at most `MOST_ROWS`.

    Parameters
    ----------
    rows : int
        Of all tables over time together.

    Returns
    -------
    int

    Examples
    --------
    >>> step_of(0), step_of(1_000_000), step_of(1_000_001)
    (1, 1, 2)
    """
    return max(1, -(-rows // MOST_ROWS))


class Thinning:
    """Keeps every n-th row of each object, over chunks of rows.

    Parameters
    ----------
    key : sequence of str
        Columns that say what a row belongs to.
    step : int
        The n.
    """

    def __init__(self, key: Sequence[str], step: int) -> None:
        self.key = tuple(key)
        self.step = step
        self._seen: dict[int, int] = {}

    def kept(self, keys: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.bool_] | slice:
        """Choose rows of the next chunk.

        Parameters
        ----------
        keys : sequence of numpy.ndarray
            Values of the columns of the key.

        Returns
        -------
        numpy.ndarray or slice
            The index of the rows that are kept.
        """
        import numpy as np

        if self.step == 1:
            return slice(None)
        key = np.zeros(len(keys[0]), dtype=np.int64)
        for one in keys:
            key = (key << 32) | one.astype(np.int64)
        found, codes, counts = np.unique(key, return_inverse=True, return_counts=True)
        order = np.argsort(codes, kind="stable")
        first = np.cumsum(counts) - counts
        number = np.empty(len(key), dtype=np.int64)
        number[order] = np.arange(len(key)) - np.repeat(first, counts)
        before = np.array([self._seen.get(int(one), 0) for one in found], dtype=np.int64)
        for one, count in zip(found, counts, strict=True):
            self._seen[int(one)] = self._seen.get(int(one), 0) + int(count)
        chosen: npt.NDArray[np.bool_] = (number + before[codes]) % self.step == 0
        return chosen


def words(data: bytes) -> Words:
    """Wrap a column's bytes.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    numpy.ndarray
    """
    import numpy as np

    return np.frombuffer(data, dtype="<u8")


def numbers(column: Words) -> Column:
    """Convert a column of integers as the page's engine does; integers above 2^53 are rounded.

    Parameters
    ----------
    column : numpy.ndarray

    Returns
    -------
    numpy.ndarray
        Float64; NaN is "no value".
    """
    import numpy as np

    made: Column = column.astype(np.float64)
    made[column == NONE] = np.nan
    return made


def _sampled(name: str, chunks: Iterable[CoreTable], thinning: Thinning, check: Callable[[], None]) -> Table:
    """Convert a table over time, chunk by chunk."""
    import numpy as np

    described: list[tuple[str, str, str]] = []
    parts: list[list[Column]] = []
    for chunk in chunks:
        check()
        described = [(column, unit, doc) for column, unit, doc, _ in chunk]
        values = {column: words(data) for column, _, _, data in chunk}
        kept = thinning.kept([values[column] for column in thinning.key])
        parts.append([numbers(column[kept]) for column in values.values()])
    whole = parts[0] if len(parts) == 1 else [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Table(name, described, whole)
