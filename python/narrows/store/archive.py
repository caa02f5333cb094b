"""Whole runs, metrics and samples: a ZIP archive each, named by content address."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from narrows.base import durable
from narrows.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from pathlib import Path

_ARCHIVE: Final = re.compile(r"([0-9a-f]{64})\.zip")
_PARTIAL: Final = re.compile(r"\.[0-9a-f]{64}\.zip\.\d+\.partial")


class Archive(Store):
    """The archives of a directory."""

    LOCK = "lock"

    def read(self, wanted: Container[str]) -> dict[str, bytes]:
        """Read the archives with wanted keys, and remove what a killed process left half-written.

        Parameters
        ----------
        wanted : container of str
            Keys.

        Returns
        -------
        dict
            Contents by key.

        Raises
        ------
        RunError
            If the directory cannot be read.
        """
        found = {}
        try:
            for path in sorted(self._held.directory.iterdir()):
                name = _ARCHIVE.fullmatch(path.name)
                if name is not None and name[1] in wanted:
                    found[name[1]] = path.read_bytes()
                elif _PARTIAL.fullmatch(path.name):
                    path.unlink()
        except OSError as error:
            raise self._failed(error) from error
        return found

    def append(self, runs: Iterable[tuple[str, bytes]]) -> None:
        """Store runs; when this returns, they survive a power loss.

        Parameters
        ----------
        runs : iterable of tuple
            Key and content of each.

        Raises
        ------
        RunError
            If they cannot be written; earlier runs stay intact.
        """
        try:
            for key, content in runs:
                durable.write(self._held.directory / f"{key}.zip", content)
        except OSError as error:
            raise self._failed(error) from error

    def drop(self, key: str) -> None:
        """Remove a damaged archive, so that its run is made again.

        Parameters
        ----------
        key : str
        """
        with suppress(OSError):
            (self._held.directory / f"{key}.zip").unlink()

    def _where(self) -> Path:
        return self.directory
