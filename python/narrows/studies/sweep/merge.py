"""Putting the runs of many parts into the order of the plan, some rows at a time.

Memory then depends on the number of parts and not on the number of runs: at any time one row group of each part and
one batch of the result are there. Parts are read forwards if their runs are in the order of the plan, as those of
`narrows.studies.sweep.store` are; others are read again for each batch, and give the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from narrows.studies.sweep import parts, table
from narrows.studies.sweep.nulls import taken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from narrows.studies.sweep.plan import SweepRun

BATCH_ROWS: Final = 65_536
"""Least number of rows of a batch that is not the last: 50 MB in memory."""


class Source:
    """The runs of a part.

    Parameters
    ----------
    path : pathlib.Path
    rows : pyarrow.Table, optional
        The part, if it is in memory.

    Raises
    ------
    OSError, ValueError
        As `narrows.studies.sweep.parts.read`.
    """

    def __init__(self, path: Path, rows: pa.Table | None = None) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        groups: Iterable[pa.Table]
        if rows is None:
            file = parts.opened(path)
            schema, groups = file.schema_arrow, parts.groups(file, path, ["kind", "address", "status"])
            self._read: Callable[[int], pa.Table] = lambda number: next(parts.groups(file, path, None, [number]))
        else:
            schema, groups = rows.schema, [rows]
            self._read = lambda _: rows
        self.schema: pa.Schema = table.core_schema(schema)
        """Columns, without those of axes."""
        self.addresses: list[str] = []
        """Content address of each run, in the order of the part; a run may be there several times."""
        self.statuses: list[str] = []
        begins, edges = [], [0]
        for group in groups:
            own = np.flatnonzero(pc.equal(group["kind"], "run").to_numpy())
            chosen = pa.array(own, pa.int64())
            self.addresses += group["address"].take(chosen).to_pylist()
            self.statuses += group["status"].take(chosen).to_pylist()
            begins.append(own + edges[-1])
            edges.append(edges[-1] + group.num_rows)
        self._edges = np.array(edges, dtype=np.int64)
        self.begins = np.concatenate([*begins, [edges[-1]]]).astype(np.int64)
        """First row of each run, and the number of rows of the part."""
        self._group: tuple[int, pa.Table] | None = None

    def take(self, rows: NDArray[np.int64]) -> list[pa.Table]:
        """Return rows without columns of axes.

        Parameters
        ----------
        rows : array
            Rising indices.

        Returns
        -------
        list of pyarrow.Table
        """
        import numpy as np
        import pyarrow as pa

        found = []
        homes = np.searchsorted(self._edges, rows, side="right") - 1
        for group in np.unique(homes).tolist():
            if self._group is None or self._group[0] != group:
                self._group = None  # before the next one is read, so that only one is there
                self._group = group, table.core(self._read(group))
            inside = rows[homes == group] - self._edges[group]
            found.append(taken(self._group[1], pa.array(inside, pa.int64())))
        return found


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs to be written, in order: a source and a place in it for each.

    Attributes
    ----------
    homes, places : array
        Index of the source, and of the run in it.
    runs : list of SweepRun or None
        The runs of the plan; ``None`` for runs that are not in it.
    """

    homes: NDArray[np.int64]
    places: NDArray[np.int64]
    runs: list[SweepRun] | None


def chosen(sources: Sequence[Source], plan: Mapping[str, Sequence[SweepRun]]) -> tuple[Runs, Runs]:
    """Choose where each run is taken from: the latest source, except that a failure never replaces a success.

    Parameters
    ----------
    sources : sequence of Source
        Later ones take precedence.
    plan : mapping
        Runs by content address.

    Returns
    -------
    tuple of Runs
        The runs of the plan in its order, and those that are not in it.
    """
    import numpy as np

    status: dict[str, str] = {}
    home: dict[str, int] = {}
    for number, source in enumerate(sources):
        won = parts.better(dict(zip(source.addresses, source.statuses, strict=True)), status)
        status |= won
        home |= dict.fromkeys(won, number)
    listed: list[tuple[int, int, SweepRun]] = []
    foreign: list[tuple[int, int]] = []
    for number, source in enumerate(sources):
        copies: dict[str, list[int]] = {}
        for place, address in enumerate(source.addresses):
            if home[address] == number:
                copies.setdefault(address, []).append(place)
        for address, places in copies.items():
            # A run that several points share is there once for each of them, or once: the copies are equal.
            wanted = plan.get(address, ())
            listed += [(number, places[min(turn, len(places) - 1)], run) for turn, run in enumerate(wanted)]
            if not wanted:
                foreign.append((number, places[0]))
    listed.sort(key=lambda one: one[2].index)
    mine = np.array([one[:2] for one in listed], dtype=np.int64).reshape(-1, 2)
    others = np.array(foreign, dtype=np.int64).reshape(-1, 2)
    return Runs(mine[:, 0], mine[:, 1], [run for *_, run in listed]), Runs(others[:, 0], others[:, 1], None)


def batches(sources: Sequence[Source], what: Runs, layout: table.Layout, most: int = BATCH_ROWS) -> Iterator[pa.Table]:
    """Yield the rows of runs in their order, with the columns of axes if the runs are in the plan.

    Parameters
    ----------
    sources : sequence of Source
    what : Runs
    layout : Layout
    most : int
        Rows after which a batch ends with its last run.

    Yields
    ------
    pyarrow.Table
        All with the same columns.

    Raises
    ------
    OSError, ValueError
        As `narrows.studies.sweep.parts.read`.
    """
    import numpy as np
    import pyarrow as pa

    if not len(what.homes):
        return
    schema = pa.unify_schemas([source.schema for source in sources], promote_options="permissive")
    begins = np.empty(len(what.homes), dtype=np.int64)
    counts = np.empty(len(what.homes), dtype=np.int64)
    for number, source in enumerate(sources):
        here = what.homes == number
        begins[here] = source.begins[what.places[here]]
        counts[here] = source.begins[what.places[here] + 1] - begins[here]
    first, ends = 0, np.cumsum(counts)
    while first < len(counts):
        done = int(ends[first - 1]) if first else 0
        last = min(int(np.searchsorted(ends, done + most)) + 1, len(counts))
        part = slice(first, last)
        body = _gathered(sources, what.homes[part], begins[part], counts[part], schema)
        if what.runs is None:
            yield body
        else:
            repeated = pa.array(np.repeat(np.arange(last - first), counts[part]), pa.int64())
            yield table.with_axes(body, what.runs[part], repeated, layout)
        first = last


def _gathered(
    sources: Sequence[Source],
    homes: NDArray[np.int64],
    begins: NDArray[np.int64],
    counts: NDArray[np.int64],
    schema: pa.Schema,
) -> pa.Table:
    """Return the rows of some runs, one run after the other."""
    import numpy as np
    import pyarrow as pa

    rows, of_run = table.spread(begins, counts), np.repeat(homes, counts)
    found, places = [schema.empty_table()], []
    for number in np.unique(homes).tolist():
        wanted = np.flatnonzero(of_run == number)
        distinct, back = np.unique(rows[wanted], return_inverse=True)
        before = sum(one.num_rows for one in found)
        found += sources[number].take(distinct)
        places.append((wanted, before + back))
    order = np.empty(len(rows), dtype=np.int64)
    for wanted, place in places:
        order[wanted] = place
    return taken(pa.concat_tables(found, promote_options="permissive"), pa.array(order, pa.int64()))
