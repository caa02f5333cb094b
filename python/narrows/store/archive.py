"""Whole runs, metrics and samples: a ZIP archive each, named by content address."""

from __future__ import annotations

import os
import re
import shutil
import struct
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows.base import durable
from narrows.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

_ARCHIVE: Final = re.compile(r"([0-9a-f]{64})\.zip")
_PARTIAL: Final = re.compile(r"\.[0-9a-f]{64}\.zip\.\d+\.partial")

_CHUNK: Final = 1 << 20

_DAMAGE: Final = (zipfile.BadZipFile, EOFError, RuntimeError, struct.error, zlib.error)
"""What `zipfile` raises on damaged archives; a RuntimeError if one seems encrypted, or compressed in an unknown way."""


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

    def keys(self) -> set[str]:
        """Return the keys of all archives, and remove what a killed process left half-written.

        Returns
        -------
        set of str

        Raises
        ------
        RunError
            If the directory cannot be read.
        """
        try:
            for path in self._held.directory.iterdir():
                if _PARTIAL.fullmatch(path.name):
                    path.unlink()
            names = (_ARCHIVE.fullmatch(path.name) for path in self._held.directory.iterdir())
            return {name[1] for name in names if name is not None}
        except OSError as error:
            raise self._failed(error) from error

    def add(self, key: str, folder: Path) -> None:
        """Store the files of a folder. After a power loss the archive may be damaged, and is then made again.

        Parameters
        ----------
        key : str
        folder : pathlib.Path

        Raises
        ------
        RunError
            If it cannot be written; earlier runs stay intact.
        """
        target = self._held.directory / f"{key}.zip"
        temporary = target.with_name(f".{target.name}.{os.getpid()}.partial")
        try:
            with zipfile.ZipFile(temporary, "w") as archive:
                for file in sorted(folder.iterdir()):
                    archive.write(file, file.name)
            temporary.replace(target)
        except BaseException as error:
            with suppress(OSError):
                temporary.unlink()
            if isinstance(error, OSError):
                raise self._failed(error) from error
            raise

    def extract(self, key: str, folder: Path) -> bool:
        """Write the files of an archive into a folder.

        Parameters
        ----------
        key : str
        folder : pathlib.Path

        Returns
        -------
        bool
            False if there is no such archive.

        Raises
        ------
        ValueError
            If it is damaged.
        OSError
            If it cannot be read, or the files not written.
        """
        path = self._held.directory / f"{key}.zip"
        if not path.is_file():
            return False
        try:
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    with archive.open(name) as source, (folder / Path(name).name).open("wb") as target:
                        shutil.copyfileobj(source, target, _CHUNK)
        except _DAMAGE as error:
            message = f"{path}: is damaged: {error}"
            raise ValueError(message) from None
        return True

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
