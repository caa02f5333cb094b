"""Thinning samples: every n-th row of each name."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


def every_nth(chunks: Iterable[pa.Table], step: int) -> pa.Table:
    """Keep every n-th row of each name in each run.

    Parameters
    ----------
    chunks : iterable of pyarrow.Table
        Rows with the columns ``run`` and ``name``; at least one chunk.
    step : int
        The step n.

    Returns
    -------
    pyarrow.Table
    """
    import pyarrow as pa

    count = _Counter()
    kept = [chunk.filter(pa.array(count.turns(chunk) % step == 0)) for chunk in chunks]
    return pa.concat_tables(kept).unify_dictionaries()


class _Counter:
    """Counts the rows of each name in each run, chunk after chunk."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, str], int] = {}

    def turns(self, chunk: pa.Table) -> NDArray[np.int64]:
        """Number each row within its run and name, from 0."""
        import numpy as np

        table = chunk.select(["run", "name"]).unify_dictionaries().combine_chunks()
        turns = np.zeros(table.num_rows, dtype=np.int64)
        if not table.num_rows:
            return turns
        name = table["name"].chunk(0)
        run, index = table["run"].to_numpy(), name.indices.to_numpy()
        labels = name.dictionary.to_pylist()
        order = np.lexsort((np.arange(len(run)), index, run))
        cuts = np.flatnonzero(np.diff(run[order]) | np.diff(index[order])) + 1
        for rows in np.split(order, cuts):
            key = (int(run[rows[0]]), cast("str", labels[index[rows[0]]]))
            begin = self._seen.get(key, 0)
            turns[rows] = begin + np.arange(len(rows))
            self._seen[key] = begin + len(rows)
        return turns
