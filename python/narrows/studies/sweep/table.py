"""Rows as Arrow tables: created from records, and arranged in the order of the plan."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from narrows.studies.sweep import columns, quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from narrows.studies.sweep.plan import Sweep, SweepRun
    from narrows.studies.sweep.record import Record

_AXIS: Final = b"axis"
"""Marks columns of axes in the metadata of fields."""

_UNIT, _SCALE, _ZIP, _LOG = "unit", "scale", "zip", "log"
"""Further metadata of these fields: the unit of the numbers, `log` if the values come from a ``log_range``, and the
name of the axis if it has several columns."""


@dataclass(frozen=True)
class Layout:
    """The columns of a data set.

    Attributes
    ----------
    axes : dict
        Types of the axes' columns, by name: ``int``, ``float``, ``bool`` or ``str``.
    metrics : tuple of str
        Metrics that are kept.
    about : dict
        Further metadata of the axes' columns, by name.
    """

    axes: Mapping[str, type]
    metrics: tuple[str, ...]
    about: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, sweep: Sweep) -> Layout:
        """Return the layout of a sweep's data set.

        Parameters
        ----------
        sweep : Sweep

        Returns
        -------
        Layout
        """
        types = {
            column: _common({type(value.labels[column]) for value in axis.values})
            for axis in sweep.axes
            for column in axis.columns
        }
        about: dict[str, dict[str, str]] = {}
        for axis in sweep.axes:
            for column in axis.columns:
                about[column] = {_UNIT: axis.units[column]} if column in axis.units else {}
                about[column] |= {_SCALE: _LOG} if column in axis.log else {}
                about[column] |= {_ZIP: axis.name} if len(axis.columns) > 1 else {}
        return cls(types, tuple(columns.kept_metrics(sweep.keep)), about)

    def axis_fields(self) -> list[pa.Field]:
        """Return the fields of the axes' columns."""
        import pyarrow as pa

        types = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
        return [
            pa.field(name, types[kind], metadata={"role": "axis", **self.about.get(name, {})})
            for name, kind in self.axes.items()
        ]

    def core_fields(self, extra: Iterable[str] = ()) -> list[pa.Field]:
        """Return the fields of all other columns, with ``extra`` metrics of runs last."""
        import pyarrow as pa

        def typed(name: str) -> pa.DataType:
            if name in columns.TEXTS:
                return pa.string()
            return pa.int64() if name in columns.INTEGERS else pa.float64()

        known = ["kind", *columns.IDENTITY, *columns.NAMES, *columns.RUN, *self.metrics]
        return [pa.field(name, typed(name)) for name in [*known, *(name for name in extra if name not in known)]]

    def axis_columns(self, runs: Sequence[SweepRun]) -> list[pa.Array]:
        """Return the axes' columns for some runs, with a row for each run."""
        import pyarrow as pa

        made = []
        for one, kind in zip(self.axis_fields(), self.axes.values(), strict=True):
            labels = [run.point.labels[one.name] for run in runs]
            made.append(pa.array([str(label) for label in labels] if kind is str else labels, type=one.type))
        return made


def from_records(records: Iterable[Record], layout: Layout) -> pa.Table:
    """Rows of finished runs, without the columns of axes.

    Parameters
    ----------
    records : iterable of Record
    layout : Layout

    Returns
    -------
    pyarrow.Table
    """
    import pyarrow as pa

    groups: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
    places: dict[tuple[str, ...], list[int]] = {}
    extra: dict[str, None] = {}
    rows = 0
    for record in records:
        identity = record.seed, record.address
        for names, values in record.all_rows():
            groups.setdefault(names, []).append((*identity, *values))
            places.setdefault(names, []).append(rows)
            rows += 1
        extra |= dict.fromkeys(record.extra)
    kept = set(layout.metrics)
    more = [name for name in extra if name in kept or name not in columns.RUN_METRICS]
    schema = pa.schema(layout.core_fields(more))
    # Rows of a kind have the same columns, so each kind is a table, and the rows are then put into their order.
    parts = [_group(("seed", "address", *names), values, schema) for names, values in groups.items()]
    if not parts:
        return schema.empty_table()
    order = [0] * rows
    for number, place in enumerate(itertools.chain.from_iterable(places.values())):
        order[place] = number
    return pa.concat_tables(parts).take(pa.array(order, pa.int64())).combine_chunks()


def _group(names: tuple[str, ...], rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    """Return rows with these columns as a table; columns of the schema that they have not are null."""
    import pyarrow as pa

    given = dict(zip(names, zip(*rows, strict=True), strict=True))
    arrays = [pa.array(given[f.name], type=f.type) if f.name in given else pa.nulls(len(rows), f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def labelled(records: Sequence[Record], plan: Mapping[str, Sequence[SweepRun]], layout: Layout) -> pa.Table:
    """Rows of finished runs with the columns of axes, in the order of the records.

    Parameters
    ----------
    records : sequence of Record
    plan : mapping
        Runs by content address; several if points have the same scenario.
    layout : Layout

    Returns
    -------
    pyarrow.Table
    """
    import pyarrow as pa

    pairs = [(record, run) for record in records for run in plan[record.address]]
    body = from_records([record for record, _ in pairs], layout)
    repeated = pa.array([i for i, (record, _) in enumerate(pairs) for _ in range(1 + len(record.rows))], pa.int64())
    return _with_axes(body, [run for _, run in pairs], repeated, layout)


def core(table: pa.Table) -> pa.Table:
    """Drop the columns of axes, including those of earlier versions of the sweep file.

    Parameters
    ----------
    table : pyarrow.Table

    Returns
    -------
    pyarrow.Table
    """
    return table.select([f.name for f in table.schema if (f.metadata or {}).get(b"role") != _AXIS])


def axes_of(schema: pa.Schema) -> list[str]:
    """Return the names of the columns of axes.

    Parameters
    ----------
    schema : pyarrow.Schema

    Returns
    -------
    list of str
    """
    return [f.name for f in schema if (f.metadata or {}).get(b"role") == _AXIS]


def units_of(schema: pa.Schema) -> dict[str, str]:
    """Return the units of the columns of axes that have one.

    Parameters
    ----------
    schema : pyarrow.Schema

    Returns
    -------
    dict
        Units by column.
    """
    return _noted(schema, _UNIT)


def log_axes(schema: pa.Schema) -> set[str]:
    """Return the columns of axes whose values come from a ``log_range``.

    Parameters
    ----------
    schema : pyarrow.Schema

    Returns
    -------
    set of str
    """
    return set(_noted(schema, _SCALE))


def zipped(schema: pa.Schema) -> dict[str, str]:
    """Return the name of the axis of each column that changes together with other columns.

    Parameters
    ----------
    schema : pyarrow.Schema

    Returns
    -------
    dict
        Names of axes by column.
    """
    return _noted(schema, _ZIP)


def _noted(schema: pa.Schema, key: str) -> dict[str, str]:
    found = {name: (schema.field(name).metadata or {}).get(key.encode()) for name in axes_of(schema)}
    return {name: value.decode() for name, value in found.items() if value is not None}


def described_alike(one: pa.Schema, other: pa.Schema) -> bool:
    """Whether two tables say the same about their axes: which columns they are, units, scales and zipped columns.

    Parameters
    ----------
    one, other : pyarrow.Schema

    Returns
    -------
    bool
    """
    return all(_noted(one, key) == _noted(other, key) for key in ("role", _UNIT, _SCALE, _ZIP))


def typed(table: pa.Table) -> pa.Table:
    """Turn texts that are quantities into numbers: earlier versions stored ``"20 packets"`` as text.

    Parameters
    ----------
    table : pyarrow.Table

    Returns
    -------
    pyarrow.Table
        The same rows; columns of axes whose texts are all quantities of one dimension are numbers, with their unit.
    """
    import pyarrow as pa

    for name in axes_of(table.schema):
        place = table.schema.get_field_index(name)
        old = table.schema.field(place)
        if not pa.types.is_string(old.type):
            continue
        texts = list(dict.fromkeys(table[name].to_pylist()))
        found = quantity.typed(texts)
        if found is None:
            continue
        number = dict(zip(texts, found.values, strict=True))
        made = pa.array([number[text] for text in table[name].to_pylist()])
        new = pa.field(name, made.type, metadata={**(old.metadata or {}), _UNIT: found.unit})
        table = table.set_column(place, new, made)
    return table


def agreed(parts: Sequence[pa.Table]) -> list[pa.Table]:
    """Give columns of axes one type: parts of an interrupted sweep may have texts where later ones have numbers.

    Parameters
    ----------
    parts : sequence of pyarrow.Table

    Returns
    -------
    list of pyarrow.Table
        Where one part has texts, numbers of the others are texts too, with their unit.
    """
    import pyarrow as pa

    texts = {
        name for part in parts for name in axes_of(part.schema) if pa.types.is_string(part.schema.field(name).type)
    }
    made = []
    for part in parts:
        units = units_of(part.schema)
        changed = part
        for name in axes_of(part.schema):
            place = part.schema.get_field_index(name)
            field = part.schema.field(place)
            if name in texts and not pa.types.is_string(field.type):
                values = [quantity.shown(value, units.get(name)) for value in part[name].to_pylist()]
                metadata = {"role": "axis"}
                changed = changed.set_column(
                    place, pa.field(name, pa.string(), metadata=metadata), pa.array(values, pa.string())
                )
        made.append(changed)
    return made


def ordered(table: pa.Table, plan: Mapping[str, Sequence[SweepRun]], layout: Layout) -> pa.Table:
    """Arrange rows in the order of the plan and add the columns of the axes; rows of other runs are left out.

    Parameters
    ----------
    table : pyarrow.Table
        Without columns of axes; the rows of a run are adjacent, with the run's own row first.
    plan : mapping
        Runs by content address; several if points have the same scenario.
    layout : Layout

    Returns
    -------
    pyarrow.Table
    """
    import numpy as np
    import pyarrow as pa

    listed: list[SweepRun] = []
    rows: list[int] = []
    counts: list[int] = []
    at: dict[str, list[int]] = {}
    repeats = False  # the row belongs to a copy of a run: a part repeats runs for points with the same scenario
    for row, (address, kind) in enumerate(zip(table["address"].to_pylist(), table["kind"].to_pylist(), strict=True)):
        if kind == "run":
            repeats = address in at
        if not repeats:
            at.setdefault(address, []).append(row)
    for address, found in at.items():
        for run in plan.get(address, ()):
            listed.append(run)
            rows += found
            counts.append(len(found))
    starts = np.concatenate(([0], np.cumsum(counts)[:-1])) if counts else np.zeros(0, dtype=int)
    order = sorted(range(len(listed)), key=lambda i: listed[i].index)
    taken = [rows[int(starts[i]) + j] for i in order for j in range(counts[i])]
    repeated = pa.array([i for i in order for _ in range(counts[i])], type=pa.int64())
    return _with_axes(table.take(pa.array(taken, type=pa.int64())), listed, repeated, layout)


def _with_axes(body: pa.Table, runs: Sequence[SweepRun], repeated: pa.Array, layout: Layout) -> pa.Table:
    """Insert the columns of axes after ``kind``; ``repeated`` is the index of each row's run."""
    import pyarrow as pa

    labels = [column.take(repeated) for column in layout.axis_columns(runs)]
    fields = [body.schema.field("kind"), *layout.axis_fields(), *(f for f in body.schema if f.name != "kind")]
    arrays = [body["kind"], *labels, *(body[name] for name in body.schema.names if name != "kind")]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _common(kinds: set[type]) -> type:
    if len(kinds) == 1 and kinds <= {int, float, bool, str}:
        return next(iter(kinds))
    return float if kinds == {int, float} else str
