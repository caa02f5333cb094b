"""Rows as Arrow tables: created from records, and arranged in the order of the plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from narrows.studies.sweep import columns, quantity
from narrows.studies.sweep.nulls import taken
from narrows.studies.sweep.rows import from_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

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
    import numpy as np
    import pyarrow as pa

    pairs = [(record, run) for record in records for run in plan[record.address]]
    body = from_records([record for record, _ in pairs], layout)
    repeated = pa.array(np.repeat(np.arange(len(pairs)), [record.size for record, _ in pairs]), pa.int64())
    return with_axes(body, [run for _, run in pairs], repeated, layout)


def core(table: pa.Table) -> pa.Table:
    """Drop the columns of axes, including those of earlier versions of the sweep file.

    Parameters
    ----------
    table : pyarrow.Table

    Returns
    -------
    pyarrow.Table
    """
    return table.select(core_schema(table.schema).names)


def core_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a table without the columns of axes.

    Parameters
    ----------
    schema : pyarrow.Schema

    Returns
    -------
    pyarrow.Schema
    """
    import pyarrow as pa

    return pa.schema([f for f in schema if (f.metadata or {}).get(b"role") != _AXIS])


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

    addresses, rows, begins = _by_address(table)
    listed: list[SweepRun] = []
    homes: list[int] = []
    for number, address in enumerate(addresses):
        found = plan.get(address, ())
        listed += found
        homes += [number] * len(found)
    order = np.argsort(np.array([run.index for run in listed], dtype=np.int64), kind="stable")
    chosen = np.array(homes, dtype=np.int64)[order]
    counts = begins[chosen + 1] - begins[chosen]
    chosen_rows = pa.array(rows[spread(begins[chosen], counts)], type=pa.int64())
    repeated = pa.array(np.repeat(order, counts), type=pa.int64())
    return with_axes(taken(table, chosen_rows), listed, repeated, layout)


def spread(begins: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of the rows of runs, one run after the other.

    Parameters
    ----------
    begins, counts : array
        First row of each run, and how many it has.

    Returns
    -------
    array
    """
    import numpy as np

    behind = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    rows: NDArray[np.int64] = np.repeat(begins, counts) + behind
    return rows


def _by_address(table: pa.Table) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Return addresses in order of appearance, the rows of each, one after the other, and where those of each begin.

    A part repeats runs for points with the same scenario: only the first of them counts.
    """
    import numpy as np
    import pyarrow.compute as pc

    coded = table["address"].combine_chunks().dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    own = pc.equal(table["kind"], "run").to_numpy().astype(bool)
    _, first = np.unique(codes[own], return_index=True)
    copies = np.ones(int(own.sum()) + 1, dtype=bool)  # of the run before which there is none, and of each run
    copies[0] = False
    copies[first + 1] = False
    kept = np.flatnonzero(~copies[np.cumsum(own)])
    rows = kept[np.argsort(codes[kept], kind="stable")]
    counts = np.bincount(codes[kept], minlength=len(coded.dictionary))
    return coded.dictionary.to_pylist(), rows, np.concatenate(([0], np.cumsum(counts)))


def with_axes(body: pa.Table, runs: Sequence[SweepRun], repeated: pa.Array, layout: Layout) -> pa.Table:
    """Insert the columns of axes after ``kind``.

    Parameters
    ----------
    body : pyarrow.Table
        Rows of runs, without columns of axes.
    runs : sequence of SweepRun
    repeated : pyarrow.Array
        Index of each row's run.
    layout : Layout

    Returns
    -------
    pyarrow.Table
    """
    import pyarrow as pa

    labels = [column.take(repeated) for column in layout.axis_columns(runs)]
    fields = [body.schema.field("kind"), *layout.axis_fields(), *(f for f in body.schema if f.name != "kind")]
    arrays = [body["kind"], *labels, *(body[name] for name in body.schema.names if name != "kind")]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _common(kinds: set[type]) -> type:
    if len(kinds) == 1 and kinds <= {int, float, bool, str}:
        return next(iter(kinds))
    return float if kinds == {int, float} else str
