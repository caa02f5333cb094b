"""What all stores of finished runs have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from narrows import ownership
from narrows.base import durable
from narrows.base.errors import InputError, RunError

if TYPE_CHECKING:
    from types import TracebackType

    from narrows.ownership import Target


class Store(ABC):
    """A directory of finished runs, open for writing in one process at a time.

    Parameters
    ----------
    directory : path or Claim
        Created if it is missing; refused if it holds something else.
    kind : str
        Kind of the directory; see `narrows.ownership`.

    Raises
    ------
    InputError
        If the directory cannot be used, or another process writes to it.
    """

    LOCK: str
    """File whose lock tells that a process writes to the directory."""

    def __init__(self, directory: Target, kind: str) -> None:
        self._held = ownership.claim(directory, kind=kind)
        self.directory = Path(self._held.named)
        self._kind = kind
        self._file = self._open()

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the store."""
        self.close()

    def close(self) -> None:
        """Close the store; the lock is released."""
        with suppress(OSError):
            self._file.close()

    @abstractmethod
    def _where(self) -> Path:
        """Return the file or directory that messages name."""

    def _open(self) -> IO[bytes]:
        self._held.make()
        try:
            file = (self._held.directory / self.LOCK).open("ab+", buffering=0)
        except OSError as error:
            message = f"{self._held.named}: cannot be written: {error.strerror or error}"
            raise InputError(message) from None
        if not durable.locked(file):
            file.close()
            message = (
                f"{self._held.named}: another {self._kind} is writing there; allowed: one at a time, or another "
                "directory"
            )
            raise InputError(message)
        return file

    def _failed(self, error: OSError) -> RunError:
        what = error.filename or self._where()
        return RunError(
            f"{what}: cannot be written: {error.strerror or error}; what had finished is kept, and the same command "
            "continues from there"
        )
