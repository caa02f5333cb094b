"""The metrics of an outcome as tables: a row for each run and each flow, queue, router, station or channel."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final, Literal, get_args

from narrows.base.errors import InputError
from narrows.outcome.rows import WORDS
from narrows.outcome.times import TimeUnit, check, converted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    import pandas as pd
    import pyarrow as pa

    from narrows.outcome.rows import AnyRow
    from narrows.outcome.run import Run

MetricKind = Literal[
    "flow",
    "queue",
    "subqueue",
    "router",
    "station",
    "channel",
    "transfer_class",
    "playback",
    "datagram",
    "impairment",
]
"""Kinds of objects with metrics, each named like the attribute of `Run` that has them, without its s."""

_ATTRIBUTES: Final = {"datagram": "datagrams", "transfer_class": "transfer_classes"}


def attribute(kind: MetricKind) -> str:
    """Return the attribute of a run that has the rows of a kind.

    Parameters
    ----------
    kind : str
        See `MetricKind`.

    Returns
    -------
    str

    Examples
    --------
    >>> attribute("flow"), attribute("transfer_class")
    ('flows', 'transfer_classes')
    """
    return _ATTRIBUTES.get(kind, f"{kind}s")


class Metrics:
    """Metrics of one run or of several.

    Parameters
    ----------
    runs : sequence of Run

    Examples
    --------
    >>> import narrows as nw
    >>> run = nw.run("dumbbell-cubic", seed=1, overrides={"duration": "12 s"})
    >>> frame = run.metrics.to_pandas()
    >>> frame[["run", "name", "timeouts"]].to_dict("list")
    {'run': [0, 0], 'name': ['first', 'second'], 'timeouts': [0, 1]}
    >>> str(frame["sent_packets"].dtype), "rtt_mean_s" in frame, "rtt_mean_ms" in run.metrics.to_pandas(time="ms")
    ('int64', True, True)
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = tuple(runs)

    def to_arrow(self, kind: MetricKind = "flow", *, time: TimeUnit | None = "s") -> pa.Table:
        """Return the metrics of one kind of object as an Arrow table.

        Parameters
        ----------
        kind : str
            See `MetricKind`.
        time : {"s", "ms", "us", "ns"} or None
            Unit of all times; the names of their columns end in it. ``None`` keeps the names of the attributes.

        Returns
        -------
        pyarrow.Table
            Column ``run``, then a column per metric. Counts are integers. A column that has a value in every row
            cannot be null by its schema; "no value" is null.

        Raises
        ------
        InputError
            If there is no such kind or unit.
        """
        import pyarrow as pa

        check(time)
        if kind not in get_args(MetricKind):
            message = f"kind is {kind!r}; allowed: {', '.join(get_args(MetricKind))}"
            raise InputError(message)
        name = attribute(kind)
        rows: list[tuple[int, AnyRow]] = [(run.index, row) for run in self._runs for row in getattr(run, name)]
        if not rows:
            return pa.table({"run": pa.array([], type=pa.int32())})
        arrays = [pa.array([run for run, _ in rows], type=pa.int32())]
        made = [pa.field("run", pa.int32(), nullable=False)]
        for field in fields(rows[0][1]):
            values = [getattr(row, field.name) for _, row in rows]
            array = pa.array(values, type=_type(field.name, values))
            arrays.append(array)
            made.append(pa.field(field.name, array.type, nullable=array.null_count > 0))
        return converted(pa.Table.from_arrays(arrays, schema=pa.schema(made)), time)

    def to_pandas(self, kind: MetricKind = "flow", *, time: TimeUnit | None = "s") -> pd.DataFrame:
        """Return the metrics of one kind of object as a data frame.

        Parameters
        ----------
        kind, time
            As for `to_arrow`.

        Returns
        -------
        pandas.DataFrame
            As from `to_arrow`: counts are ``int64``, or pandas' nullable ``Int64`` where a row has no value; other
            numbers are ``float64``, with NaN for "no value".

        Raises
        ------
        InputError
            As for `to_arrow`.
        """
        import pandas as pd
        import pyarrow as pa

        table = self.to_arrow(kind, time=time)
        frame: pd.DataFrame = table.to_pandas(integer_object_nulls=True)
        for field in table.schema:
            if pa.types.is_int64(field.type) and field.nullable:
                frame[field.name] = pd.array(table[field.name].to_pylist(), dtype="Int64")
        return frame

    def to_csv(self, path: str | PathLike[str], kind: MetricKind = "flow", *, time: TimeUnit | None = "s") -> None:
        """Write the metrics of one kind of object as CSV; "no value" is empty.

        Parameters
        ----------
        path : path
            File to write.
        kind, time
            As for `to_arrow`.

        Raises
        ------
        InputError
            As for `to_arrow`.
        OSError
            If it cannot be written.
        """
        from narrows.outcome import text

        table = self.to_arrow(kind, time=time)
        text.write_csv(path, table.schema, [table])

    def __repr__(self) -> str:
        """Return the number of runs."""
        return f"<Metrics of {len(self._runs)} run{'' if len(self._runs) == 1 else 's'}>"


def _type(name: str, values: Sequence[object]) -> pa.DataType:
    """Return the column's type: runs count in whole numbers, whatever the annotations say of means."""
    import pyarrow as pa

    if name in WORDS:
        return pa.string()
    counted = [value for value in values if value is not None]
    return pa.int64() if counted and all(isinstance(value, int) for value in counted) else pa.float64()
