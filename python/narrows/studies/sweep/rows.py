"""Rows of finished runs as an Arrow table, from their records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from narrows.studies.sweep import columns, totals
from narrows.studies.sweep.nulls import Nulls, taken

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from narrows.studies.sweep.record import Record
    from narrows.studies.sweep.table import Layout
    from narrows.studies.sweep.totals import Totals


def from_records(records: Iterable[Record], layout: Layout) -> pa.Table:
    """Rows of finished runs, without the columns of axes.

    Parameters
    ----------
    records : iterable of Record
    layout : Layout

    Returns
    -------
    pyarrow.Table
        The rows of each record are adjacent, with the run's own row first.
    """
    import numpy as np
    import pyarrow as pa

    listed = list(records)
    blocks = _blocks(listed)
    found = [totals.metrics([part for _, part in block]) for block in blocks.values()]
    jain = _jain(list(blocks.values()), found)
    groups, places = _groups(listed, jain)
    extra = dict.fromkeys(name for record in listed for name in record.extra)
    kept = set(layout.metrics)
    schema = pa.schema(layout.core_fields(name for name in extra if name in kept or name not in columns.RUN_METRICS))
    # Rows of a kind have the same columns, so each kind is a table, and the rows are then put into their order.
    parts = [_group(("seed", "address", *names), values, schema) for names, values in groups.items()]
    where = [np.array(place, dtype=np.int64) for place in places.values()]
    begins = np.concatenate(([0], np.cumsum([record.size for record in listed], dtype=np.int64)))
    for (kind, _), block, metrics in zip(blocks, blocks.values(), found, strict=True):
        parts.append(_block(kind, block, metrics, listed, schema))
        where += [begins[home] + offset + np.arange(len(part.names)) for (home, offset), part in block]
    if not parts:
        return schema.empty_table()
    order = np.empty(int(begins[-1]), dtype=np.int64)
    order[np.concatenate(where)] = np.arange(len(order))
    return taken(pa.concat_tables(parts), pa.array(order, pa.int64()))


_Block = list[tuple[tuple[int, int], "Totals"]]
"""Totals of one kind with the same columns, each with the index of its record, and of its first row in that."""


def _blocks(records: Sequence[Record]) -> dict[tuple[str, tuple[str, ...]], _Block]:
    blocks: dict[tuple[str, tuple[str, ...]], _Block] = {}
    for number, record in enumerate(records):
        offset = 1
        for part in record.totals:
            if part.names:
                blocks.setdefault((part.kind, part.columns), []).append(((number, offset), part))
            offset += len(part.names)
    return blocks


def _jain(blocks: Sequence[_Block], found: Sequence[Mapping[str, NDArray[np.float64]]]) -> dict[int, float | None]:
    """Jain's index of each run that has totals, by the index of its record."""
    jain: dict[int, float | None] = {}
    for block, metrics in zip(blocks, found, strict=True):
        parts = [part for _, part in block]
        if parts[0].kind == "flow":
            indices = totals.jain(parts, metrics["throughput_mbps"])
            jain |= {number: index for ((number, _), _), index in zip(block, indices, strict=True)}
    return jain


def _groups(
    records: Sequence[Record], jain: Mapping[int, float | None]
) -> tuple[dict[tuple[str, ...], list[tuple[Any, ...]]], dict[tuple[str, ...], list[int]]]:
    """Return the rows of runs, routers, stations and channels by their columns, and the place of each row."""
    groups: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
    places: dict[tuple[str, ...], list[int]] = {}
    begin = 0
    for number, record in enumerate(records):
        identity = record.seed, record.address
        end = begin + record.size
        own = record.own_row({"jain": jain[number]} if number in jain else {})
        rows = [(begin, own), *zip(range(end - len(record.rows), end), record.rows, strict=True)]
        for place, (names, values) in rows:
            groups.setdefault(names, []).append((*identity, *values))
            places.setdefault(names, []).append(place)
        begin = end
    return groups, places


def _group(names: tuple[str, ...], rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    """Return rows with these columns as a table; columns of the schema that they have not are null."""
    import pyarrow as pa

    given = dict(zip(names, zip(*rows, strict=True), strict=True))
    nulls = Nulls(len(rows))
    arrays = [pa.array(given[f.name], type=f.type) if f.name in given else nulls.of(f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _block(
    kind: str,
    block: _Block,
    metrics: Mapping[str, NDArray[np.float64]],
    records: Sequence[Record],
    schema: pa.Schema,
) -> pa.Table:
    """Return the rows of flows or queues as a table, likewise."""
    import numpy as np
    import pyarrow as pa

    parts = [part for _, part in block]
    owners = [records[number] for (number, _), _ in block]
    repeated = pa.array(np.repeat(np.arange(len(parts)), [len(part.names) for part in parts]), pa.int64())
    size = len(repeated)
    given = {
        "kind": pa.array([kind] * size, pa.string()),
        "seed": pa.array([record.seed for record in owners], pa.int64()).take(repeated),
        "address": pa.array([record.address for record in owners], pa.string()).take(repeated),
        "name": pa.array(totals.names(parts), pa.string()),
        {"flow": "flow_cc", "queue": "channel"}[kind]: pa.array(totals.words(parts), pa.string()),
    }
    given |= {name: pa.array(values, pa.float64(), from_pandas=True) for name, values in metrics.items()}
    nulls = Nulls(size)
    arrays = [given[f.name] if f.name in given else nulls.of(f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)
