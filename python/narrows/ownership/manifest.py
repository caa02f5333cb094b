"""``.narrows.json``: the list of the files that Narrows wrote into a directory.

::

    {"narrows_files": 1, "kind": "results", "files": {"summary.json": {"size": 5, "sha256": "..", "part": "results"}}}

While files are put in place, ``incoming`` lists the new ones and ``staging`` names the folder that they come from.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

MANIFEST: Final = ".narrows.json"
"""Name of the list's file, in the directory that it describes."""

FORMAT: Final = 1

RESULTS: Final = "results"
"""Kind of a directory whose files are written and replaced together."""
CONTEST: Final = "contest"
SWEEP: Final = "sweep"
AQM: Final = "comparison of queue disciplines"
EVALUATION: Final = "evaluation"
AGILE_SD: Final = "reproduction of agile-sd"
NGWA_LIVE: Final = "live reproduction of NGWA"
UNFINISHED: Final = "set of unfinished runs"
"""Kind of a directory of finished runs beside the output that is made of them; see `narrows.store.pending`."""
KERNEL: Final = "kernel"
"""Kind of a directory that holds one kernel; see `narrows.kernels.cache`."""
PAGES: Final = "pages"
"""Kind of a directory that holds only pages (``narrows report -o``) or exports (``narrows export``)."""

_PART: Final = r"part-\d{8}-[0-9a-f]{8}\.parquet"

GROWING: Final = {
    CONTEST: re.compile(r"runs\.jsonl"),
    AQM: re.compile(r"runs\.jsonl"),
    EVALUATION: re.compile(r"runs\.jsonl"),
    NGWA_LIVE: re.compile(r"runs\.jsonl"),
    UNFINISHED: re.compile(r"runs\.jsonl|lock|[0-9a-f]{64}\.zip|\.[0-9a-f]{64}\.zip\.\d+\.partial"),
    SWEEP: re.compile(rf"lock|(runs|other|broken)(/({_PART}|\.{_PART}\.\d+\.partial))?"),
    AGILE_SD: re.compile(r"runs"),
}
"""Files and folders, by kind and relative to the directory, that commands update themselves while they work. They are
not listed, and this package does not remove them."""

NESTED: Final = {AGILE_SD: (re.compile(r"runs/[a-z0-9-]+"), SWEEP)}
"""Folders, by kind of their directory, that have a list of their own, and the kind of that list."""

_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """A file as Narrows wrote it.

    Attributes
    ----------
    size : int
        Bytes.
    sha256 : str
        Of its content, in hexadecimal.
    part : str
        The step that wrote it; a step replaces its own files.
    """

    size: int
    sha256: str
    part: str

    @classmethod
    def of(cls, path: Path, part: str) -> Entry:
        """Describe a file.

        Parameters
        ----------
        path : pathlib.Path
        part : str

        Returns
        -------
        Entry

        Raises
        ------
        OSError
            If it cannot be read.
        """
        digest = hashlib.sha256()
        size = 0
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
        return cls(size, digest.hexdigest(), part)

    def describes(self, path: Path) -> bool:
        """Return whether a file is still as it was written.

        Parameters
        ----------
        path : pathlib.Path

        Returns
        -------
        bool
            False also for a link, anything but a regular file, and an unreadable file.
        """
        try:
            found = path.lstat()
            if not stat.S_ISREG(found.st_mode) or found.st_size != self.size:
                return False
            return Entry.of(path, self.part).sha256 == self.sha256
        except OSError:
            return False


@dataclass(frozen=True)
class Manifest:
    """The list of a directory.

    Attributes
    ----------
    kind : str
        What the directory holds; only a command of the same kind adds to it or replaces it.
    files : dict
        Entries by path relative to the directory, with ``/``.
    incoming : dict
        The same for files that are being put in place.
    staging : str or None
        Folder that the incoming files come from, relative to the directory.
    part : str or None
        Part whose old files are removed once the new ones are in place; ``None`` for all parts.
    """

    kind: str
    files: dict[str, Entry] = field(default_factory=dict)
    incoming: dict[str, Entry] = field(default_factory=dict)
    staging: str | None = None
    part: str | None = None

    def owns(self, directory: Path, name: str) -> bool:
        """Return whether a file was written by Narrows and is unchanged.

        Parameters
        ----------
        directory : pathlib.Path
        name : str
            Relative to the directory.

        Returns
        -------
        bool
        """
        return any(
            name in listed and listed[name].describes(directory / name) for listed in (self.files, self.incoming)
        )

    def dumps(self) -> str:
        """Return the list as JSON text, identical for identical lists.

        Returns
        -------
        str
        """

        def plain(listed: dict[str, Entry]) -> dict[str, Any]:
            return {
                name: {"size": one.size, "sha256": one.sha256, "part": one.part} for name, one in sorted(listed.items())
            }

        content: dict[str, Any] = {"narrows_files": FORMAT, "kind": self.kind, "files": plain(self.files)}
        if self.staging is not None:
            content |= {"incoming": plain(self.incoming), "staging": self.staging, "part": self.part}
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def read(directory: Path) -> Manifest | None:
    """Read the list of a directory.

    Parameters
    ----------
    directory : pathlib.Path

    Returns
    -------
    Manifest or None
        ``None`` if there is no list, or the file of that name is damaged or something else: then no file counts as
        Narrows'.
    """
    path = directory / MANIFEST
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["narrows_files"] != FORMAT:
            return None
        staging, part = content.get("staging"), content.get("part")
        return Manifest(
            kind=str(content["kind"]),
            files=_entries(content["files"]),
            incoming=_entries(content.get("incoming", {})),
            staging=None if staging is None else str(staging),
            part=None if part is None else str(part),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _entries(listed: Any) -> dict[str, Entry]:
    made = {name: Entry(int(one["size"]), str(one["sha256"]), str(one["part"])) for name, one in listed.items()}
    for name in made:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or name != str(path) or not path.parts:
            message = f"{name!r} is outside the directory"
            raise ValueError(message)
    return made


def describe(folder: Path, part: str) -> dict[str, Entry]:
    """Describe all files below a folder.

    Parameters
    ----------
    folder : pathlib.Path
    part : str

    Returns
    -------
    dict
        Entries by relative path.

    Raises
    ------
    OSError
        If a file cannot be read.
    """
    return {
        str(path.relative_to(folder).as_posix()): Entry.of(path, part)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def foreign(directory: Path, known: Manifest | None, skip: frozenset[str] = frozenset()) -> list[str]:
    """Find the files in a directory that are not Narrows'.

    Parameters
    ----------
    directory : pathlib.Path
    known : Manifest or None
        Its list.
    skip : frozenset of str
        Names in the directory to ignore.

    Returns
    -------
    list of str
        Paths relative to the directory, sorted; folders end in ``/``.

    Raises
    ------
    OSError
        If the directory cannot be read.
    """
    made = Manifest(RESULTS) if known is None else known
    listed = {*made.files, *made.incoming}
    folders = {str(parent) for name in listed for parent in PurePosixPath(name).parents}
    growing = GROWING.get(made.kind)
    strange: list[str] = []

    def look(folder: Path, prefix: str) -> None:
        with os.scandir(folder) as entries:
            there = sorted(entries, key=lambda entry: entry.name)
        for entry in there:
            name = prefix + entry.name
            if not prefix and (entry.name in skip or (entry.name == MANIFEST and known is not None)):
                continue
            plain = not entry.is_symlink()
            grows = plain and growing is not None and growing.fullmatch(name) is not None
            if entry.is_dir(follow_symlinks=False):
                nested = _nested(made.kind, name, folder / entry.name)
                if nested is not None:
                    strange.extend(f"{name}/{one}" for one in foreign(folder / entry.name, nested))
                elif name in folders or grows:
                    look(folder / entry.name, f"{name}/")
                else:
                    strange.append(f"{name}/")
            elif not (grows and entry.is_file(follow_symlinks=False)) and not made.owns(directory, name):
                strange.append(name)

    look(directory, "")
    return strange


def _nested(kind: str, name: str, folder: Path) -> Manifest | None:
    pattern, wanted = NESTED.get(kind, (None, None))
    if pattern is None or pattern.fullmatch(name) is None:
        return None
    found = read(folder)
    return found if found is not None and found.kind == wanted else None
