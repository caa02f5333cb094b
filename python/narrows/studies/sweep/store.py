"""The directory of a sweep: finished runs as Parquet parts, written by one process at a time, by one version only.

`narrows.studies.sweep.directory` describes the layout. A part is written under a temporary name, forced to disk and
renamed (`narrows.base.durable`), so that no partial part appears. A part that is damaged all the same is moved aside,
and its runs are executed again.
"""

from __future__ import annotations

import errno
import json
import secrets
from typing import TYPE_CHECKING, Any, Final

from narrows import ownership
from narrows.base import durable
from narrows.base.engine import release_of
from narrows.base.errors import InputError, RunError
from narrows.store import store
from narrows.studies.sweep import address, merge, parts, table
from narrows.studies.sweep.directory import (
    BROKEN,
    FORMAT,
    LOCK,
    MARKER,
    OTHER,
    RUNS,
    SCENARIOS,
    SWEEP,
    kept_name,
    read_json,
)
from narrows.studies.sweep.stored import MOST_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from narrows.ownership import Target
    from narrows.studies.sweep.plan import Sweep, SweepRun
    from narrows.studies.sweep.record import Record

_FULL: Final = (errno.ENOSPC, errno.EDQUOT)

_CACHED_BYTES: Final = 256_000_000
"""Most memory for parts that are kept until the end: 40,000 runs of two flows and ten queues."""

SMALL_PARTS: Final = 64
"""Number of parts of one commit each at which they are merged into one."""

MERGED_ROWS: Final = 262_144
"""Number of rows in such parts at which they are merged all the same: 200 MB in memory."""

GROUP_ROWS: Final = 8_192
"""Rows of a row group of a merged part: 6 MB in memory."""


class Store(store.Store):
    """The directory of a sweep, open for writing.

    Parameters
    ----------
    directory : path or Claim
        Created if it is missing; refused if it holds something else.
    sweep : Sweep

    Raises
    ------
    InputError
        If the directory cannot be used, belongs to another sweep, engine or version, or another process writes to it.
    """

    LOCK = LOCK

    def __init__(self, directory: Target, sweep: Sweep) -> None:
        self._layout = table.Layout.of(sweep)
        self._sweep = sweep
        self._next = 0
        self._small: list[Path] = []
        self._rows = 0
        self._cached: dict[Path, pa.Table] = {}
        self._room = _CACHED_BYTES
        self.walls: dict[str, float] = {}
        """What runs that are there took, on the clock (s), by content address; after `load`."""
        self.broken = 0
        """Parts that could not be read, and were put aside."""
        super().__init__(directory, ownership.SWEEP)
        try:
            self._mark()
        except BaseException:
            self.close()
            raise

    def load(self) -> dict[str, str]:
        """Read the statuses of the stored runs.

        Returns
        -------
        dict
            Statuses by content address, of all runs in the directory.

        Raises
        ------
        RunError
            If the directory cannot be read or written.
        """
        try:
            self._sweep_up()
            found: dict[str, str] = {}
            for path in [*parts.listed(self.directory / OTHER), *parts.listed(self.directory / RUNS)]:
                part = self._runs(path)
                if part is not None:
                    found |= parts.better(parts.statuses(part), found)
                    self.walls |= parts.walls(part)
        except OSError as error:
            raise self._failed(error) from error
        return found

    def append(self, records: Sequence[Record], plan: Mapping[str, Sequence[SweepRun]]) -> None:
        """Store finished runs; when this returns they survive a power loss.

        Parameters
        ----------
        records : sequence of Record
        plan : mapping
            Runs by content address.

        Raises
        ------
        RunError
            If they cannot be written; stored runs are not affected.
        """
        made = table.labelled(records, plan, self._layout)
        try:
            path = self._write(self.directory / RUNS, made, stays=False)
            self._small.append(path)
            self._cache(path, made)
            self._rows += made.num_rows
            if len(self._small) >= SMALL_PARTS or self._rows >= MERGED_ROWS:
                self._merge(plan)
        except OSError as error:
            raise self._failed(error) from error

    def _merge(self, plan: Mapping[str, Sequence[SweepRun]]) -> None:
        """Merge the latest small parts into one, to bound the overhead of parts.

        As in `compact`, every run is stored at least once at any time, even if this is interrupted. A part that is not
        kept in memory has its runs in the order of the plan, and small row groups, for `narrows.studies.sweep.merge`.
        """
        folder, small = self.directory / RUNS, self._small
        self._small, self._rows = [], 0
        merged = parts.unique([self._part(path) for path in small], self._layout)
        if all(path in self._cached for path in small):
            self._cached[self._write(folder, merged, stays=False)] = merged
        else:
            rows = table.ordered(table.core(merged), plan, self._layout)
            self._stream(folder, (rows.slice(begin, GROUP_ROWS) for begin in range(0, len(rows), GROUP_ROWS)))
        for path in small:
            self._cached.pop(path, None)
            path.unlink()
        durable.sync(folder)

    def table(self) -> pa.Table:
        """Read all rows, each run once, without the columns of axes.

        Returns
        -------
        pyarrow.Table

        Raises
        ------
        RunError
            If the directory cannot be read.
        """
        try:
            return parts.all_rows(
                [*parts.listed(self.directory / OTHER), *parts.listed(self.directory / RUNS)], self._layout
            )
        except OSError as error:
            raise self._failed(error) from error

    def compact(self, plan: Mapping[str, Sequence[SweepRun]]) -> pa.Table | Path:
        """Merge all parts into one, in the order of the plan; rows of other runs go into a separate folder.

        There is one part, whatever its size: a part has all rows of its runs (see
        `narrows.studies.sweep.parts.unique`), and points with the same scenario have the same runs. Every run is stored
        at least once at any time, even if this is interrupted, and `load` and `table` take each run once.

        Parameters
        ----------
        plan : mapping
            Runs by content address.

        Returns
        -------
        pyarrow.Table or pathlib.Path
            The rows of the plan's runs, in its order; if there are more than `narrows.studies.sweep.stored.MOST_ROWS`,
            the part that has them.

        Raises
        ------
        RunError
            If the directory cannot be written; nothing is lost.
        """
        runs, other = self.directory / RUNS, self.directory / OTHER
        old, old_other = parts.listed(runs), parts.listed(other)
        try:
            many = sum(parts.opened(path).metadata.num_rows for path in [*old, *old_other]) > MOST_ROWS
            if not self._wants_order(old, old_other, plan):
                return old[0] if many else table.ordered(self.table(), plan, self._layout)
            mine = (self._merged if many else self._whole)(old, old_other, plan)
            self._cached.clear()
            for path in [*old, *old_other]:
                path.unlink()
            durable.sync(runs)
            if old_other:
                durable.sync(other)
        except OSError as error:
            raise self._failed(error) from error
        except ValueError as error:
            raise RunError(f"{error}; the same command puts it aside and makes its runs again") from error
        return mine

    def _whole(
        self, old: Sequence[Path], old_other: Sequence[Path], plan: Mapping[str, Sequence[SweepRun]]
    ) -> pa.Table:
        """Write what `compact` writes, with all rows in memory, and return those of the plan."""
        everything = parts.unique([table.core(self._part(path)) for path in [*old_other, *old]], self._layout)
        foreign = parts.others(everything, plan)
        if foreign.num_rows:
            (self.directory / OTHER).mkdir(exist_ok=True)
            self._write(self.directory / OTHER, foreign)
        mine = table.ordered(everything, plan, self._layout)
        if mine.num_rows:
            self._write(self.directory / RUNS, mine)
        return mine

    def _merged(
        self, old: Sequence[Path], old_other: Sequence[Path], plan: Mapping[str, Sequence[SweepRun]]
    ) -> pa.Table | Path:
        """Write the same some rows at a time, and return the part of the plan."""
        sources = [merge.Source(path, self._cached.get(path)) for path in [*old_other, *old]]
        mine, foreign = merge.chosen(sources, plan)
        if len(foreign.homes):
            (self.directory / OTHER).mkdir(exist_ok=True)
            self._stream(self.directory / OTHER, merge.batches(sources, foreign, self._layout))
        if not len(mine.homes):
            return table.ordered(parts.unique([], self._layout), plan, self._layout)
        return self._stream(self.directory / RUNS, merge.batches(sources, mine, self._layout))

    def _mark(self) -> None:
        """Check the marker of the directory, or write it into a new one."""
        wanted = self._description()
        files = {MARKER: json.dumps(wanted, indent=2, ensure_ascii=False) + "\n"}
        files |= {kept_name(base.name): base.text for base in self._sweep.bases.values()}
        files[SWEEP] = self._sweep.text
        try:
            marker = self.directory / MARKER
            if marker.exists():
                self._compare(read_json(marker), wanted)
            if any(not _holds(self.directory / name, text) for name, text in files.items()):
                with ownership.staged(self._held, part="sweep", alone=False) as folder:
                    (folder / SCENARIOS).mkdir()
                    for name, text in files.items():
                        (folder / name).write_bytes(text.encode())
            (self.directory / RUNS).mkdir(exist_ok=True)
        except OSError as error:
            message = f"{self.directory}: cannot be written: {error.strerror or error}"
            raise (RunError if error.errno in _FULL else InputError)(message) from None

    def _description(self) -> dict[str, Any]:
        engine = address.engine()
        return {
            "format": FORMAT,
            "name": self._sweep.name,
            "version": engine.version,
            "build": engine.build,
            "axes": list(self._sweep.columns),
            "units": self._sweep.units,
            "keep": None if self._sweep.keep is None else list(self._layout.metrics),
        }

    def _compare(self, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        directory = self.directory
        if found.get("format") != FORMAT:
            message = f"{directory / MARKER}: format is {found.get('format')!r}; allowed: {FORMAT}"
            raise InputError(message)
        if (release_of(str(found.get("version"))), found.get("build")) != (address.engine().release, wanted["build"]):
            message = (
                f"{directory}: holds runs of narrows {found.get('version')} (build {found.get('build')}), and this is "
                f"{address.engine()}: runs of two versions are never mixed; allowed: a new directory (-o), or the "
                "version that began this one"
            )
            raise InputError(message)
        if found.get("name") != wanted["name"]:
            message = (
                f"{directory}: holds the sweep {found.get('name')!r}; allowed: another directory for {wanted['name']!r}"
            )
            raise InputError(message)
        kept = found.get("keep")
        more = [] if kept is None else [metric for metric in self._layout.metrics if metric not in kept]
        if more:
            message = (
                f"{directory}: its runs kept {', '.join(kept or [])}, and not {', '.join(more[:3])}"
                f"{' ..' if len(more) > 3 else ''}; allowed: keep = a part of that, or a new directory (-o)"
            )
            raise InputError(message)

    def _sweep_up(self) -> None:
        """Remove files that a killed process left half-written, and continue numbering after the existing parts."""
        for name in (RUNS, OTHER):
            folder = self.directory / name
            if folder.is_dir():
                for path in folder.iterdir():
                    if parts.is_partial(path):
                        path.unlink()
        numbers = [parts.number_of(path) for name in (RUNS, OTHER) for path in parts.listed(self.directory / name)]
        self._next = max(numbers, default=-1) + 1

    def _runs(self, path: Path) -> pa.Table | None:
        """Read the rows of a part's runs; a damaged part is put aside."""
        try:
            return parts.runs(path)
        except ValueError:  # pyarrow raises ArrowInvalid for files that are not Parquet or are damaged
            aside = self.directory / BROKEN
            aside.mkdir(exist_ok=True)
            path.replace(aside / path.name)
            durable.sync(aside)
            durable.sync(path.parent)
            self.broken += 1
            return None

    def _write(self, folder: Path, rows: pa.Table, *, stays: bool = True) -> Path:
        path = self._new(folder)
        durable.write(path, parts.encoded(rows, stays=stays))
        return path

    def _stream(self, folder: Path, batches: Iterable[pa.Table]) -> Path:
        path = self._new(folder)
        with durable.writing(path) as file:
            parts.write(file, batches)
        return path

    def _new(self, folder: Path) -> Path:
        self._next += 1
        return folder / f"part-{self._next - 1:08d}-{secrets.token_hex(4)}.parquet"

    def _cache(self, path: Path, rows: pa.Table) -> None:
        """Keep a part that was just written, if there is room, so that it is not read again for the final order."""
        need = rows.get_total_buffer_size()
        if need <= self._room:
            self._room -= need
            self._cached[path] = rows

    def _part(self, path: Path) -> pa.Table:
        cached = self._cached.get(path)
        return parts.read(path) if cached is None else cached

    def _wants_order(self, old: Sequence[Path], other: Sequence[Path], plan: Mapping[str, Sequence[SweepRun]]) -> bool:
        if len(old) != 1 or other:
            return bool(old or other)
        own = parts.runs(old[0])
        wanted = table.ordered(table.core(own), plan, self._layout)
        in_order: bool = wanted.equals(own) and table.described_alike(wanted.schema, own.schema)
        return not in_order

    def _where(self) -> Path:
        return self.directory


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()
