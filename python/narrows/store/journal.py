"""Records of finished runs: a line of JSON each, appended to ``runs.jsonl``.

Finished runs survive any end of the process (Ctrl-C, kill -9, a power loss, a full disk), and are not repeated. An
incomplete last line is truncated. Lines of another engine or another plan are kept unchanged.
"""

from __future__ import annotations

import json
import math
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, Self, TypeVar

from narrows.base.errors import RunError
from narrows.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence
    from pathlib import Path

    from narrows.ownership import Target

RUNS: Final = "runs.jsonl"
"""Name of the file in the directory."""

_BEGIN: Final = b'{"'
"""First bytes of a record: an incomplete last line is truncated only if it starts with them."""


class Kept(Protocol):
    """A storable record: it has a key, and converts to JSON and back."""

    @property
    def key(self) -> str:
        """Content address, equal for equal work."""

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain values."""

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Self:
        """Create a record from the output of `to_json`; `KeyError`, `TypeError` or `ValueError` if it does not fit."""


R = TypeVar("R", bound=Kept)


class Journal(Store, Generic[R]):
    """The file of records in a directory.

    Parameters
    ----------
    directory : path or Claim
    kind : type
        Class of the records.
    what : str
        Kind of the directory; see `narrows.ownership`.

    Raises
    ------
    InputError
        As for `narrows.store.store.Store`.
    """

    LOCK = RUNS

    def __init__(self, directory: Target, kind: type[R], what: str) -> None:
        super().__init__(directory, what)
        self._record = kind
        self.foreign = 0
        """Records in the file that are of another plan, engine or measure."""

    def read(self, wanted: Container[str], key: Callable[[R], str] | None = None) -> dict[str, R]:
        """Read the records with wanted keys, and truncate an incomplete last line.

        Parameters
        ----------
        wanted : container of str
            Keys.
        key : callable, optional
            Returns what is looked for in ``wanted``; by default a record's ``key``.

        Returns
        -------
        dict
            Records by key.

        Raises
        ------
        RunError
            If the file cannot be read or truncated.
        """
        found: dict[str, R] = {}
        self.foreign = 0
        try:
            self._file.seek(0)
            end = 0
            for line in self._file:
                if not line.endswith(b"\n"):
                    if not line.startswith(_BEGIN[: len(line)]):
                        raise self._not_ours()
                    break
                end += len(line)
                made = self._parse(line)
                own = "" if made is None else made.key if key is None else key(made)
                if made is not None and own in wanted:
                    found[own] = made
                elif line.strip():
                    self.foreign += 1
            self._file.truncate(end)
            self._file.seek(end)
        except OSError as error:
            raise self._failed(error) from error
        return found

    def append(self, records: Sequence[R]) -> None:
        """Store records; when this returns, they survive a power loss.

        Parameters
        ----------
        records : sequence of R

        Raises
        ------
        RunError
            If they cannot be written; earlier records stay intact.
        """
        lines = b"".join(_line(record) for record in records)
        end = self._file.seek(0, os.SEEK_END)
        try:
            view = memoryview(lines)
            while view:
                view = view[self._file.write(view) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file.fileno(), end)
            raise self._failed(error) from error

    def _where(self) -> Path:
        return self.directory / RUNS

    def _not_ours(self) -> RunError:
        return RunError(
            f"{self._where()}: its last line was not written by Narrows and has no line end; allowed: end that line"
        )

    def _parse(self, line: bytes) -> R | None:
        try:
            return self._record.from_json(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None


def records(content: bytes, kind: type[R]) -> list[R]:
    """Parse the records of a file that is not open for writing; other lines are skipped.

    Parameters
    ----------
    content : bytes
        Contents of the file.
    kind : type
        Class of the records.

    Returns
    -------
    list
    """
    found = []
    for line in content.split(b"\n"):
        with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
            found.append(kind.from_json(json.loads(line)))
    return found


def _line(record: Kept) -> bytes:
    return (json.dumps(_plain(record.to_json()), separators=(",", ":"), allow_nan=False) + "\n").encode()


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
