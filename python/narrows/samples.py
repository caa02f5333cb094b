"""Samples over time as one tidy table, built on the engine's columns without copying them.

Every column knows its unit, meaning and kind of row: they stand in the Arrow field's metadata (``unit``, ``doc``,
``kind``) and travel into Parquet. Integers are signed, so that differences are too; "no value" is null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from os import PathLike

    import pandas as pd
    import pyarrow as pa

Kind = Literal["flow", "queue", "router"]
"""What a row is about."""

KINDS: Final[tuple[Kind, ...]] = ("flow", "queue", "router")
"""All kinds, in the order in which their rows and columns come."""

CoreTable = list[tuple[str, str, str, bytes]]
"""A table as the extension gives it: name, unit, meaning and little-endian u64 values of each column."""

_NONE: Final = -1
"""2^64-1, the engine's "no value", read as a signed integer."""

_TIDY: Final[dict[str, tuple[str, str]]] = {
    "run": ("", "Index of the run, from 0."),
    "time_s": ("s", "Time of the sample."),
    "kind": ("", "flow, queue or router."),
    "name": ("", "Name of the flow, queue or router."),
}


class Samples:
    """What was sampled over time, of one run or of several.

    Rows are in the order of runs, kinds and times. Without sampling in the scenario there are columns and no rows.

    Parameters
    ----------
    tables : mapping
        One Arrow table per kind, with the columns ``run time_s kind name`` and those of the kind.
    """

    def __init__(self, tables: Mapping[Kind, pa.Table]) -> None:
        self._tables: Mapping[Kind, pa.Table] = tables

    @classmethod
    def from_core(cls, tables: Mapping[str, CoreTable], names: Mapping[Kind, Sequence[str]], run: int = 0) -> Samples:
        """Wrap the engine's columns.

        Parameters
        ----------
        tables : mapping
            The engine's tables; ``flows``, ``queues`` and ``routers`` are taken.
        names : mapping
            Names by kind, in the order of the index column.
        run : int
            Index of the run.

        Returns
        -------
        Samples
        """
        return cls(_OnDemand({kind: tables[f"{kind}s"] for kind in KINDS}, names, run))

    @classmethod
    def concat(cls, parts: Iterable[Samples]) -> Samples:
        """Put the samples of several runs one after the other, without copying.

        Parameters
        ----------
        parts : iterable of Samples
            At least one.

        Returns
        -------
        Samples
        """
        import pyarrow as pa

        listed = list(parts)
        return cls({kind: pa.concat_tables([part.table(kind) for part in listed]) for kind in KINDS})

    @classmethod
    def from_parquet(cls, path: str | PathLike[str]) -> Samples:
        """Read what `to_parquet` wrote.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Samples

        Raises
        ------
        OSError
            If the file cannot be read.
        """
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        tidy = pq.ParquetFile(path, read_dictionary=["kind", "name"]).read()
        tables: dict[Kind, pa.Table] = {}
        for kind in KINDS:
            own = [f.name for f in tidy.schema if f.name in _TIDY or (f.metadata or {}).get(b"kind") == kind.encode()]
            tables[kind] = tidy.filter(pc.equal(tidy["kind"], kind)).select(own)
        return cls(tables)

    def of_run(self, run: int) -> Samples:
        """Keep the rows of one run.

        Parameters
        ----------
        run : int
            Its index.

        Returns
        -------
        Samples
        """
        import pyarrow.compute as pc

        return Samples({kind: table.filter(pc.equal(table["run"], run)) for kind, table in self._tables.items()})

    def table(self, kind: Kind) -> pa.Table:
        """Rows of one kind, with the columns that apply to it.

        Parameters
        ----------
        kind : {"flow", "queue", "router"}

        Returns
        -------
        pyarrow.Table
            Columns ``run time_s kind name`` and those of the kind.
        """
        return self._tables[kind]

    def frame(self, kind: Kind) -> pd.DataFrame:
        """Rows of one kind as a data frame; "no value" is NaN.

        Parameters
        ----------
        kind : {"flow", "queue", "router"}

        Returns
        -------
        pandas.DataFrame
            Columns as in `table`.
        """
        frame: pd.DataFrame = self.table(kind).unify_dictionaries().to_pandas()
        return frame

    def to_arrow(self) -> pa.Table:
        """Everything as one tidy table.

        Returns
        -------
        pyarrow.Table
            Columns ``run time_s kind name``, then those of flows, queues and routers, null where they do not apply.
        """
        import pyarrow as pa

        tables = [self._tables[kind] for kind in KINDS]
        schema = pa.schema(
            [tables[0].schema.field(name) for name in _TIDY]
            + [field for table in tables for field in table.schema if field.name not in _TIDY]
        )
        return pa.concat_tables([_widen(table, schema) for table in tables]).unify_dictionaries()

    def to_pandas(self) -> pd.DataFrame:
        """Everything as one tidy data frame; see `to_arrow`.

        Returns
        -------
        pandas.DataFrame
        """
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write the tidy table as Parquet (zstd), units and meanings in the fields' metadata.

        Parameters
        ----------
        path : path
            File to write.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        import pyarrow.parquet as pq

        pq.write_table(self.to_arrow(), path, compression="zstd")

    def units(self) -> dict[str, str]:
        """Return the unit of every column, empty where it has none.

        Returns
        -------
        dict
        """
        return self._metadata(b"unit")

    def docs(self) -> dict[str, str]:
        """Return the meaning of every column.

        Returns
        -------
        dict
        """
        return self._metadata(b"doc")

    def _metadata(self, key: bytes) -> dict[str, str]:
        return {
            field.name: (field.metadata or {}).get(key, b"").decode()
            for kind in KINDS
            for field in self.table(kind).schema
        }

    def __len__(self) -> int:
        """Return the number of rows, of all kinds."""
        return sum(self._tables[kind].num_rows for kind in KINDS)

    def __repr__(self) -> str:
        """Return the number of rows by kind."""
        rows = ", ".join(f"{self._tables[kind].num_rows} {kind}" for kind in KINDS)
        return f"<Samples: {rows} rows>"


class _OnDemand(Mapping[Kind, "pa.Table"]):
    """The engine's columns, wrapped when somebody looks at them: of thousands of short runs nobody does."""

    def __init__(self, columns: Mapping[Kind, CoreTable], names: Mapping[Kind, Sequence[str]], run: int) -> None:
        self._columns, self._names, self._run = columns, names, run
        self._made: dict[Kind, pa.Table] = {}

    def __getitem__(self, kind: Kind) -> pa.Table:
        if kind not in self._made:
            self._made[kind] = _table(kind, self._columns[kind], self._names[kind], self._run)
        return self._made[kind]

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def _table(kind: Kind, columns: CoreTable, names: Sequence[str], run: int) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    index_name = kind
    values = {name: np.frombuffer(data, dtype="<i8") for name, _, _, data in columns}
    rows = len(values["time_ns"])
    arrays: list[Any] = [
        pa.array(np.full(rows, run, dtype=np.int32)),
        pa.array(values["time_ns"] / 1e9),
        pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array([kind])),
        pa.DictionaryArray.from_arrays(
            pa.array(values[index_name].astype(np.int32)), pa.array(list(names), type=pa.string())
        ),
    ]
    fields = [_field(name, array.type, *_TIDY[name], "") for name, array in zip(_TIDY, arrays, strict=True)]
    for name, unit, doc, data in columns:
        if name not in ("time_ns", index_name):
            arrays.append(_column(data, values[name]))
            fields.append(_field(name, pa.int64(), unit, doc, kind))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _field(name: str, dtype: pa.DataType, unit: str, doc: str, kind: str) -> pa.Field:
    import pyarrow as pa

    return pa.field(name, dtype, metadata={"unit": unit, "doc": doc, "kind": kind})


def _column(data: bytes, values: Any) -> pa.Array:
    """Wrap a column's bytes; only the bitmap of nulls is made, and only where there are any."""
    import numpy as np
    import pyarrow as pa

    missing = values == _NONE
    bitmap = pa.py_buffer(np.packbits(~missing, bitorder="little").tobytes()) if missing.any() else None
    return pa.Array.from_buffers(pa.int64(), len(values), [bitmap, pa.py_buffer(data)])


def _widen(table: pa.Table, schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    present = set(table.schema.names)
    columns = [
        table[field.name] if field.name in present else pa.chunked_array([pa.nulls(table.num_rows, field.type)])
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
