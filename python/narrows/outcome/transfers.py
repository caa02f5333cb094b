"""Transfers of a run or of several: one table, a row per transfer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows.metrics.transfers import CLASSES, TransferMetrics, class_names, transfer_metrics
from narrows.outcome.times import TimeUnit, converted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    import pandas as pd
    import pyarrow as pa

    from narrows.outcome.tidy import CoreTable

_NONE: Final = -1
"""The engine's "no value", read as a signed number."""

_NS: Final = 1e9

COLUMNS: Final = {
    "run": ("", "Index of the run."),
    "name": ("", "The workload, or the flow whose requests these are."),
    "number": ("", "Number of the transfer in its workload or flow, from 0."),
    "pair": ("index", "Index of the pair of hosts; 0 for requests of a flow."),
    "size_bytes": ("bytes", "Payload: of the transfer, of the response, or of all objects of a page."),
    "start_s": ("s", "When it began: the SYN left, or the request was written."),
    "finished_s": ("s", "When its last byte reached the application; null if that did not happen."),
    "fct_s": ("s", "Completion time: from start_s to finished_s."),
    "ideal_s": ("s", "Least completion time on an empty path; null across 802.11 channels."),
    "slowdown": ("", "fct_s over ideal_s."),
    "delivered_bytes": ("bytes", "Payload received by the end of the run; null for requests under way."),
    "retransmitted_packets": ("packets", "Segments sent again; null for requests over a shared connection."),
    "timeouts": ("", "Expiries of the retransmission timer; null likewise."),
}
"""Unit and meaning of each column."""

_ALWAYS: Final = frozenset({"run", "name", "number", "size_bytes", "start_s"})
"""Columns that have a value in every row."""


class Transfers:
    """Transfers of one run or of several, in the order of runs, workloads and numbers.

    Parameters
    ----------
    table : pyarrow.Table, optional
        With the columns of `COLUMNS`; empty by default.
    """

    def __init__(self, table: pa.Table | None = None) -> None:
        self._given = table

    @property
    def _table(self) -> pa.Table:
        """The table. An empty one is made when it is asked for: making it loads pyarrow, and pandas with it."""
        if self._given is None:
            self._given = _empty()
        return self._given

    @classmethod
    def from_core(cls, table: CoreTable, workloads: Sequence[str], flows: Sequence[str], run: int = 0) -> Transfers:
        """Wrap the engine's columns.

        Parameters
        ----------
        table : list
            The engine's table ``transfers``.
        workloads, flows : sequence of str
            Names in the order of the index columns.
        run : int
            Index of the run.

        Returns
        -------
        Transfers
        """
        if not any(data for _, _, _, data in table):
            return cls()
        import numpy as np
        import pyarrow as pa

        raw = {name: np.frombuffer(data, dtype="<i8") for name, _, _, data in table}
        count = len(raw["number"])
        labels = np.array([*workloads, *flows], dtype=object)
        of_flow = raw["workload"] == _NONE
        index = np.where(of_flow, raw["flow"] + len(workloads), raw["workload"])
        start = raw["start_ns"] / _NS

        def seconds(column: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
            return np.where(raw[column] == _NONE, np.nan, raw[column] / _NS)

        finished, ideal = seconds("finished_ns"), seconds("ideal_ns")
        took = np.where(np.isnan(finished), np.nan, (raw["finished_ns"] - raw["start_ns"]) / _NS)
        values: dict[str, object] = {
            "run": np.full(count, run, dtype=np.int64),
            "name": labels[index],
            "number": raw["number"],
            "pair": raw["pair"],
            "size_bytes": raw["size_bytes"],
            "start_s": start,
            "finished_s": finished,
            "fct_s": took,
            "ideal_s": ideal,
            "slowdown": took / ideal,
            "delivered_bytes": raw["delivered_bytes"],
            "retransmitted_packets": raw["retransmitted_packets"],
            "timeouts": raw["timeouts"],
        }
        schema = _schema()
        arrays = []
        for field in schema:
            column = np.asarray(values[field.name])
            absent = np.isnan(column) if field.type == pa.float64() else column == _NONE
            arrays.append(pa.array(column, type=field.type, mask=None if field.name == "name" else absent))
        return cls(pa.Table.from_arrays(arrays, schema=schema))

    @classmethod
    def concat(cls, parts: Iterable[Transfers]) -> Transfers:
        """Concatenate the transfers of several runs.

        Parameters
        ----------
        parts : iterable of Transfers

        Returns
        -------
        Transfers
        """
        listed = [part._table for part in parts if len(part)]
        if not listed:
            return cls()
        import pyarrow as pa

        return cls(pa.concat_tables(listed))

    @classmethod
    def from_parquet(cls, path: str | PathLike[str]) -> Transfers:
        """Read a file that `to_parquet` wrote.

        Parameters
        ----------
        path : path

        Returns
        -------
        Transfers

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If it has other columns.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(path)
            return cls(table.select(list(COLUMNS)).cast(_schema()))
        except (pa.ArrowInvalid, KeyError) as error:
            message = f"{path}: is no file of transfers: {error}"
            raise ValueError(message) from None

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write the table.

        Parameters
        ----------
        path : path

        Raises
        ------
        OSError
            If writing fails.
        """
        import pyarrow.parquet as pq

        pq.write_table(self._table, path, compression="zstd")

    def of_run(self, run: int) -> Transfers:
        """Keep the transfers of one run.

        Parameters
        ----------
        run : int
            Index of the run.

        Returns
        -------
        Transfers
        """
        if not len(self):
            return Transfers()
        import pyarrow.compute as pc

        return Transfers(self._table.filter(pc.equal(self._table["run"], run)))

    def to_csv(self, path: str | PathLike[str], *, time: TimeUnit | None = "s") -> None:
        """Write the table as CSV; "no value" is empty.

        Parameters
        ----------
        path : path
            File to write.
        time : {"s", "ms", "us", "ns"} or None
            Unit of all times; the names of their columns end in it.

        Raises
        ------
        InputError
            If there is no such unit.
        OSError
            If it cannot be written.
        """
        from narrows.outcome import text

        table = converted(self._table, time)
        text.write_csv(path, table.schema, [table])

    def to_pandas(self, *, time: TimeUnit | None = "s") -> pd.DataFrame:
        """Return the transfers as a data frame, with one unit for all times.

        Parameters
        ----------
        time : {"s", "ms", "us", "ns"} or None
            As for `to_csv`.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        InputError
            If there is no such unit.
        """
        frame: pd.DataFrame = converted(self._table, time).to_pandas()
        return frame

    def table(self) -> pa.Table:
        """Return the Arrow table; each field's metadata has its ``unit`` and its ``doc``."""
        return self._table

    def frame(self, name: str | None = None) -> pd.DataFrame:
        """Return the transfers as a pandas table.

        Parameters
        ----------
        name : str, optional
            Only those of this workload or flow.

        Returns
        -------
        pandas.DataFrame
            With the columns of `COLUMNS`.

        Raises
        ------
        InputError
            If nothing has this name.
        """
        from narrows.base.errors import InputError

        frame: pd.DataFrame = self._table.to_pandas()
        if name is None:
            return frame
        if name not in self.names:
            message = f"name is {name!r}; allowed: {', '.join(self.names) or 'none here'}"
            raise InputError(message)
        chosen: pd.DataFrame = frame[frame["name"] == name].reset_index(drop=True)
        return chosen

    @property
    def names(self) -> list[str]:
        """Workloads and flows that have transfers, in their order."""
        names: list[str] = self._table["name"].unique().to_pylist()
        return names

    def __len__(self) -> int:
        """Return the number of transfers."""
        return 0 if self._given is None else int(self._given.num_rows)

    def metrics(self, bounds: Sequence[int] = CLASSES) -> tuple[TransferMetrics, ...]:
        """Compute completion times and slow-downs by name and size class.

        Parameters
        ----------
        bounds : sequence of int
            Upper bounds of the classes, bytes, rising.

        Returns
        -------
        tuple of TransferMetrics
            Per name: all transfers, then each class that has some, if there are several.
        """
        if not len(self):
            return ()
        import numpy as np

        rows: list[TransferMetrics] = []
        frame = self._table.select(["name", "size_bytes", "fct_s", "slowdown"]).to_pandas()
        for name in self.names:
            part = frame[frame["name"] == name]
            size, fct, slow = (part[key].to_numpy(dtype=np.float64) for key in ("size_bytes", "fct_s", "slowdown"))
            rows.append(transfer_metrics(f"{name} all", size, fct, slow))
            # A size equal to a bound is in the class below it.
            classes = np.searchsorted(np.asarray(bounds, dtype=np.float64), size, side="left")
            present = sorted(set(classes.tolist()))
            if len(present) > 1:
                labels = class_names(bounds)
                for one in present:
                    chosen = classes == one
                    rows.append(transfer_metrics(f"{name} {labels[one]}", size[chosen], fct[chosen], slow[chosen]))
        return tuple(rows)


def _schema() -> pa.Schema:
    import pyarrow as pa

    floats = {"start_s", "finished_s", "fct_s", "ideal_s", "slowdown"}

    def field(name: str, meta: Mapping[str, str]) -> pa.Field:
        kind = pa.string() if name == "name" else pa.float64() if name in floats else pa.int64()
        return pa.field(name, kind, nullable=name not in _ALWAYS, metadata=dict(meta))

    return pa.schema([field(name, {"unit": unit, "doc": doc}) for name, (unit, doc) in COLUMNS.items()])


def _empty() -> pa.Table:
    return _schema().empty_table()
