"""Rows as Arrow tables: created from records, and arranged in the order of the plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from narrows.studies.sweep import columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from narrows.studies.sweep.plan import Sweep, SweepRun
    from narrows.studies.sweep.record import Record

_AXIS: Final = b"axis"
"""Marks columns of axes in the metadata of fields."""


@dataclass(frozen=True)
class Layout:
    """The columns of a data set.

    Attributes
    ----------
    axes : dict
        Types of the axes' columns, by name: ``int``, ``float``, ``bool`` or ``str``.
    metrics : tuple of str
        Metrics that are kept.
    """

    axes: Mapping[str, type]
    metrics: tuple[str, ...]

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
        return cls(types, tuple(columns.kept_metrics(sweep.keep)))

    def axis_fields(self) -> list[pa.Field]:
        """Return the fields of the axes' columns."""
        import pyarrow as pa

        types = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
        return [pa.field(name, types[kind], metadata={"role": "axis"}) for name, kind in self.axes.items()]

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
        for field, kind in zip(self.axis_fields(), self.axes.values(), strict=True):
            labels = [run.point.labels[field.name] for run in runs]
            made.append(pa.array([str(label) for label in labels] if kind is str else labels, type=field.type))
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

    rows: list[Mapping[str, Any]] = []
    seeds: list[int] = []
    addresses: list[str] = []
    extra: dict[str, None] = {}
    for record in records:
        mine = record.all_rows()
        rows += mine
        seeds += [record.seed] * len(mine)
        addresses += [record.address] * len(mine)
        extra |= dict.fromkeys(record.extra)
    kept = set(layout.metrics)
    more = [name for name in extra if name in kept or name not in columns.RUN_METRICS]
    fields = layout.core_fields(more)
    given: dict[str, list[Any]] = {"seed": seeds, "address": addresses}
    arrays = [pa.array(given.get(f.name) or [row.get(f.name) for row in rows], type=f.type) for f in fields]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


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
