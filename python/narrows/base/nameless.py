"""Copies of files in one temporary file without a name: they need no removal, however the process ends."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import threading
import weakref
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from narrows.base import memory

if TYPE_CHECKING:
    from pathlib import Path

_CHUNK: Final = 1 << 20


class Nameless:
    """A temporary file that holds copies of other files, one after the other.

    Closing one file takes the same time for any number of copies, and they use a single descriptor.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file: IO[bytes] | None = None
        self._end = 0

    def add(self, path: Path) -> Copy:
        """Copy a file.

        Parameters
        ----------
        path : pathlib.Path

        Returns
        -------
        Copy

        Raises
        ------
        OSError
            If it cannot be read or copied; earlier copies stay intact.
        """
        with self._lock:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=memory.spill_directory())  # noqa: SIM115 - it outlives the call
                weakref.finalize(self, self._file.close)
            begin = self._file.seek(self._end)
            with path.open("rb") as source:
                shutil.copyfileobj(source, self._file, _CHUNK)
            self._file.flush()
            self._end = self._file.tell()
            return Copy(self, begin, self._end - begin)

    def read(self, begin: int, size: int) -> bytes:
        """Read a part of the file, on any thread.

        Parameters
        ----------
        begin, size : int
            Within a copy, bytes.

        Returns
        -------
        bytes
        """
        # `pread` leaves the position of the file, which is that of `add`.
        return b"" if self._file is None else os.pread(self._file.fileno(), size, begin)


@dataclass(frozen=True)
class Copy:
    """The copy of a file.

    Attributes
    ----------
    file : Nameless
        The temporary file; it lasts as long as any of its copies.
    begin, size : int
        Where the copy begins in it, and its length, bytes.
    """

    file: Nameless
    begin: int
    size: int

    def open(self) -> Reader:
        """Open the copy for reading; any number of readers may be open.

        Returns
        -------
        Reader
        """
        return Reader(self)


class Reader(io.RawIOBase):
    """A copy, opened for reading.

    Parameters
    ----------
    copy : Copy
    """

    def __init__(self, copy: Copy) -> None:
        super().__init__()
        self._copy = copy
        self._position = 0

    def readable(self) -> bool:
        """Return true."""
        return True

    def seekable(self) -> bool:
        """Return true."""
        return True

    def tell(self) -> int:
        """Return the position, bytes."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position, and return it.

        Parameters
        ----------
        offset : int
            Bytes.
        whence : int
            Where they count from: ``os.SEEK_SET``, ``os.SEEK_CUR`` or ``os.SEEK_END``.

        Returns
        -------
        int
        """
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._copy.size}[whence]
        self._position = max(0, origin + offset)
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer in its stubs
        """Read up to the length of a buffer, and return the number of bytes.

        Parameters
        ----------
        buffer : memoryview

        Returns
        -------
        int
            0 at the end.
        """
        wanted = min(len(buffer), max(0, self._copy.size - self._position))
        found = self._copy.file.read(self._copy.begin + self._position, wanted)
        buffer[: len(found)] = found
        self._position += len(found)
        return len(found)
