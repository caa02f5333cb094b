"""Samples over time as one tidy table, made from the engine's columns.

Each column carries its unit, meaning and kind of row in the Arrow field's metadata (``unit``, ``doc``, ``kind``), also
in Parquet. Integers are signed, so that differences are signed too; "no value" is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows.base import memory
from narrows.base.errors import InputError
from narrows.outcome import parquet, rewritten, times
from narrows.outcome.chunks import Chunks, Engine, Joined, Nothing, OfRun, Whole
from narrows.outcome.states import States
from narrows.outcome.thinning import every_nth
from narrows.outcome.tidy import ALL_KINDS, KINDS, SUBQUEUE, CoreTable, Kind, from_core, tidy_schema, widen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    import pandas as pd
    import pyarrow as pa

    from narrows import _core

__all__ = ["ALL_KINDS", "KINDS", "CoreTable", "Kind", "Samples"]

_WIDTH: Final = 9
"""Bytes per value in a table: eight, plus its share of the null bitmap and of dictionaries."""


class Samples:
    """Samples over time, of one run or of several.

    Rows are in the order of runs, kinds and times. Without sampling in the scenario there are columns and no rows.

    Parameters
    ----------
    tables : mapping
        One Arrow table per kind, with the columns ``run time_s kind name`` and those of the kind, or one
        `narrows.outcome.chunks.Chunks`.
    state : States, optional
        State of algorithms over time, if it was sampled.

    Attributes
    ----------
    state : States
        State of algorithms over time; without rows unless the scenario asks for it.
    """

    def __init__(self, tables: Mapping[Kind, pa.Table | Chunks], state: States | None = None) -> None:
        self.state = States() if state is None else state

        # A table has `num_rows`, chunks have not. Asking for the class would load pyarrow where nobody reads samples.
        self._made: dict[Kind, pa.Table] = {kind: t for kind, t in tables.items() if hasattr(t, "num_rows")}
        self._chunks: dict[Kind, Chunks] = {
            kind: Whole(table) if kind in self._made else table for kind, table in tables.items()
        }
        if SUBQUEUE not in self._chunks and "queue" in self._chunks:
            self._chunks[SUBQUEUE] = Nothing(self._chunks["queue"])

    @classmethod
    def from_core(cls, tables: Mapping[str, CoreTable], names: Mapping[Kind, Sequence[str]], run: int = 0) -> Samples:
        """Wrap the engine's columns.

        Parameters
        ----------
        tables : mapping
            The engine's tables; ``flows``, ``queues`` and ``routers`` are used.
        names : mapping
            Names by kind, in the order of the index column.
        run : int
            Index of the run.

        Returns
        -------
        Samples
        """
        return cls({kind: from_core(kind, tables[f"{kind}s"], names[kind], run) for kind in KINDS})

    @classmethod
    def from_result(cls, result: _core.Result, run: int = 0) -> Samples:
        """Wrap the samples of an engine's run; they are unpacked only on access.

        Parameters
        ----------
        result : narrows._core.Result
        run : int
            Index of the run.

        Returns
        -------
        Samples
        """
        names = {"flow": result.flow_names, "queue": result.queue_names, "router": result.router_names}
        chunks: dict[Kind, Chunks] = {kind: Engine(result, kind, names[kind], run) for kind in KINDS}
        if parts := result.subqueue_names:
            labels = [f"{result.queue_names[queue]}/{label}" for queue, _, label in parts]
            places = [(queue, number) for queue, number, _ in parts]
            chunks[SUBQUEUE] = Engine(result, SUBQUEUE, labels, run, places)
        return cls(chunks, States.from_result(result, run))

    @classmethod
    def concat(cls, parts: Iterable[Samples]) -> Samples:
        """Concatenate the samples of several runs, without copying.

        Parameters
        ----------
        parts : iterable of Samples
            At least one.

        Returns
        -------
        Samples
        """
        listed = list(parts)
        tables = {kind: Joined([part._chunks[kind] for part in listed]) for kind in ALL_KINDS}
        return cls(tables, States.concat(part.state for part in listed))

    @classmethod
    def from_parquet(cls, path: str | PathLike[str]) -> Samples:
        """Read a file that `to_parquet` wrote.

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
        ValueError, TypeError
            If it has other columns, or columns of another type. A file of up to a million rows that another program has
            rewritten can be read as long as its values are unchanged.
        """
        return cls(parquet.read(path))

    def lacking(self) -> list[str]:
        """Name the columns of a run's samples that are missing here, apart from those that earlier versions lack.

        Returns
        -------
        list of str
        """
        return [name for kind in KINDS for name in rewritten.lacking(self.schema(kind).names, kind)]

    def of_run(self, run: int) -> Samples:
        """Keep the rows of one run.

        Parameters
        ----------
        run : int
            Index of the run.

        Returns
        -------
        Samples
        """
        tables = {kind: OfRun(chunks, run) for kind, chunks in self._chunks.items()}
        return Samples(tables, self.state.of_run(run))

    def rows(self, kind: Kind) -> int:
        """Count the rows of one kind.

        Parameters
        ----------
        kind : {"flow", "queue", "router", "subqueue"}

        Returns
        -------
        int
        """
        return self._chunks[kind].rows

    def schema(self, kind: Kind) -> pa.Schema:
        """Return the columns of one kind, with units and meanings in their metadata.

        Parameters
        ----------
        kind : {"flow", "queue", "router", "subqueue"}

        Returns
        -------
        pyarrow.Schema
        """
        return self._chunks[kind].schema

    def batches(self, kind: Kind) -> Iterator[pa.Table]:
        """Yield the rows of one kind in parts, however many there are.

        Parameters
        ----------
        kind : {"flow", "queue", "router", "subqueue"}

        Yields
        ------
        pyarrow.Table
            Columns as in `table`; at most some hundred thousand rows each.
        """
        yield from self._chunks[kind]

    def table(self, kind: Kind) -> pa.Table:
        """Return the rows of one kind, with the columns that apply to it.

        Parameters
        ----------
        kind : {"flow", "queue", "router", "subqueue"}

        Returns
        -------
        pyarrow.Table
            Columns ``run time_s kind name`` and those of the kind.

        Raises
        ------
        InputError
            If the rows do not fit in memory; `batches` and `thinned` work on them all the same.
        """
        if kind not in self._made:
            import pyarrow as pa

            self._check(kind, 1)
            self._made[kind] = pa.concat_tables(self._chunks[kind])
        return self._made[kind]

    def thinned(self, kind: Kind, most: int) -> tuple[pd.DataFrame, int]:
        """Return a data frame of about ``most`` rows of one kind: every n-th of each flow, queue or router.

        Parameters
        ----------
        kind : {"flow", "queue", "router", "subqueue"}
        most : int
            Wanted number of rows; names with few rows may add a few more.

        Returns
        -------
        frame : pandas.DataFrame
            As from `frame`.
        step : int
            The step n; 1 if nothing is left out.
        """
        step = -(-self.rows(kind) // max(1, most)) or 1
        if step == 1:
            return self.frame(kind), 1
        frame: pd.DataFrame = every_nth(self.batches(kind), step).to_pandas()
        return frame, step

    def _check(self, kind: Kind, copies: int) -> None:
        """Refuse to load more into memory than fits."""
        rows = self.rows(kind)
        memory.check(
            copies * rows * _WIDTH * len(self.schema(kind)),
            f"{rows:,} samples of {kind}s in one table",
            "less often sampled (sampling), or read in parts: Samples.batches, Samples.thinned, "
            "or samples.parquet by row groups",
        )

    def frame(self, kind: Kind) -> pd.DataFrame:
        """Return the rows of one kind as a data frame; "no value" is NaN.

        Parameters
        ----------
        kind : {"flow", "queue", "router", "subqueue"}

        Returns
        -------
        pandas.DataFrame
            Columns as in `table`.

        Raises
        ------
        InputError
            As for `table`.
        """
        self._check(kind, 2)
        frame: pd.DataFrame = self.table(kind).unify_dictionaries().to_pandas()
        return frame

    def to_arrow(self) -> pa.Table:
        """Return all samples as one tidy table.

        Returns
        -------
        pyarrow.Table
            Columns ``run time_s kind name``, then those of flows, queues and routers, null where they do not apply.
        """
        import pyarrow as pa

        tables = [self.table(kind) for kind in ALL_KINDS if kind in KINDS or self.rows(kind)]
        schema = self._tidy()
        return pa.concat_tables([widen(table, schema) for table in tables]).unify_dictionaries()

    def _tidy(self) -> pa.Schema:
        return tidy_schema({kind: self.schema(kind) for kind in KINDS})

    def to_pandas(self, kind: Kind | None = None, *, time: times.TimeUnit | None = "s") -> pd.DataFrame:
        """Return samples as a tidy data frame, with one unit for all times.

        Parameters
        ----------
        kind : {"flow", "queue", "router", "subqueue"}, optional
            Rows of one kind with the columns that apply to it; by default all rows with all columns.
        time : {"s", "ms", "us", "ns"} or None
            Unit of all times; the names of their columns end in it: ``time_s``, ``srtt_s``. ``None`` keeps the units
            of `to_arrow` (``time_s``, ``srtt_ns``).

        Returns
        -------
        pandas.DataFrame
            "No value" is NaN. With a kind, counts that every row has are ``int64``; without one, columns that do not
            apply to the rows of another kind are ``float64``.

        Raises
        ------
        InputError
            If there is no such kind or unit, or the rows do not fit in memory.

        Examples
        --------
        >>> import narrows as nw
        >>> samples = nw.run("dumbbell-cubic", seed=1, overrides={"duration": "12 s"}).samples
        >>> frame = samples.to_pandas("flow")
        >>> str(frame["sent_packets"].dtype), "srtt_s" in frame, "srtt_ms" in samples.to_pandas("flow", time="ms")
        ('int64', True, True)
        """
        times.check(time)
        table = self.to_arrow() if kind is None else self.table(self._known(kind)).unify_dictionaries()
        frame: pd.DataFrame = times.converted(table, time).to_pandas()
        return frame

    def to_csv(self, path: str | PathLike[str], kind: Kind | None = None, *, time: times.TimeUnit | None = "s") -> None:
        """Write samples as CSV, part by part; "no value" is empty.

        Parameters
        ----------
        path : path
            File to write.
        kind, time
            As for `to_pandas`.

        Raises
        ------
        InputError
            If there is no such kind or unit.
        OSError
            If it cannot be written.
        """
        from narrows.outcome import text

        times.check(time)
        schema = self._tidy() if kind is None else self.schema(self._known(kind))
        parts = (widen(part, schema) for one in (ALL_KINDS if kind is None else (kind,)) for part in self.batches(one))
        text.write_csv(
            path,
            times.converted(schema.empty_table(), time).schema,
            (times.converted(part, time) for part in parts),
        )

    def _known(self, kind: Kind) -> Kind:
        if kind not in ALL_KINDS:
            message = f"kind is {kind!r}; allowed: {', '.join(ALL_KINDS)}"
            raise InputError(message)
        return kind

    def __reduce__(self) -> tuple[type[Samples], tuple[dict[Kind, pa.Table], States]]:
        """Return how a copy is made in another process: from whole tables."""
        import pyarrow as pa

        whole = {}
        for kind in ALL_KINDS:
            self._check(kind, 1)
            whole[kind] = self._made[kind] if kind in self._made else pa.concat_tables(self._chunks[kind])
        return Samples, (whole, self.state)

    def to_parquet(self, path: str | PathLike[str], check: Callable[[], None] = lambda: None) -> None:
        """Write the tidy table as Parquet (zstd), with units and meanings in the fields' metadata.

        It is written row group by row group, so that memory use does not depend on the number of rows.

        Parameters
        ----------
        path : path
            File to write.
        check : callable
            Called before each part; may raise to stop.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        schema = self._tidy()

        def widened() -> Iterator[pa.Table]:
            for kind in ALL_KINDS:
                for chunk in self.batches(kind):
                    check()
                    yield widen(chunk, schema)

        parquet.write(path, schema, widened())

    def units(self) -> dict[str, str]:
        """Return the unit of every column; empty for a column without a unit.

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
            field.name: (field.metadata or {}).get(key, b"").decode() for kind in KINDS for field in self.schema(kind)
        }

    def __len__(self) -> int:
        """Return the number of rows, of all kinds."""
        return sum(self.rows(kind) for kind in ALL_KINDS)

    def __repr__(self) -> str:
        """Return the number of rows by kind."""
        shown = (kind for kind in ALL_KINDS if kind in KINDS or self.rows(kind))
        rows = ", ".join(f"{self.rows(kind)} {kind}" for kind in shown)
        return f"<Samples: {rows} rows>"
