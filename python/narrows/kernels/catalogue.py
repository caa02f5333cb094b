"""The list of a suite's packages, and which of them make up its newest kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from narrows.kernels.compressed import BrokenError
from narrows.kernels.package import paragraph

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

META: Final = "linux-image-amd64"
"""The package that depends on a suite's newest kernel."""

_PART: Final = re.compile(r"linux-[a-z]+-\d\S*-amd64")
"""Packages that a kernel may be split into: image, modules, binary."""
_MOST_PARTS: Final = 8


@dataclass(frozen=True, slots=True)
class Entry:
    """A package in the list of a suite.

    Attributes
    ----------
    name : str
    version : str
    depends : tuple of str
        Names of the packages that it depends on; the first of alternatives.
    filename : str
        Relative to the archive.
    size : int
        Bytes.
    sha256 : str
        In hexadecimal.
    """

    name: str
    version: str
    depends: tuple[str, ...]
    filename: str
    size: int
    sha256: str


def kernel_packages(lines: Iterable[bytes]) -> list[Entry]:
    """Find the packages of a suite's newest kernel.

    Parameters
    ----------
    lines : iterable of bytes
        The file ``Packages`` of the suite.

    Returns
    -------
    list of Entry
        The package of the image first, then those of its parts that it depends on.

    Raises
    ------
    BrokenError
        If the list has no kernel.
    """
    entries: dict[str, Entry] = {}
    for entry in _entries(lines):
        known = entries.get(entry.name)
        if known is None or _order(known.version) < _order(entry.version):
            entries[entry.name] = entry
    if META not in entries:
        message = f"has no package {META}"
        raise BrokenError(message)
    found: list[Entry] = []
    waiting = list(entries[META].depends)
    while waiting and len(found) < _MOST_PARTS:
        name = waiting.pop(0)
        if _PART.fullmatch(name) and name in entries and entries[name] not in found:
            found.append(entries[name])
            waiting += entries[name].depends
    if not found:
        message = f"has {META}, but no kernel that it depends on"
        raise BrokenError(message)
    return found


def _entries(lines: Iterable[bytes]) -> Iterator[Entry]:
    """Yield the packages whose names begin with ``linux-``; the list has some 70,000 others."""
    wanted: list[bytes] = []
    for line in lines:
        if wanted and line.strip():
            wanted.append(line)
        elif wanted:
            yield _entry(wanted)
            wanted = []
        elif line.startswith(b"Package: linux-"):
            wanted = [line]
    if wanted:
        yield _entry(wanted)


def _entry(lines: list[bytes]) -> Entry:
    fields = paragraph(b"".join(lines).decode("utf-8", "replace"))
    filename, digest, size = (fields.get(key, "") for key in ("Filename", "SHA256", "Size"))
    leaves = not filename or filename.startswith("/") or ".." in filename.split("/")
    if leaves or not re.fullmatch("[0-9a-f]{64}", digest) or not size.isdecimal() or not fields.get("Version"):
        message = f"is damaged: the entry of {fields['Package']} is incomplete"
        raise BrokenError(message)
    depends = [one.split("|")[0].split() for one in fields.get("Depends", "").split(",")]
    names = tuple(words[0].partition(":")[0] for words in depends if words)
    return Entry(fields["Package"], fields["Version"], names, filename, int(size), digest)


def _order(version: str) -> tuple[int, list[tuple[list[int], int]]]:
    """Return a key that orders versions as deb-version(7) does.

    >>> names = ["6.1.9-1", "6.1.10-1", "6.1.10~rc1-1", "1:5.0-1", "6.1.10-1+b1"]
    >>> sorted(names, key=_order)
    ['6.1.9-1', '6.1.10~rc1-1', '6.1.10-1', '6.1.10-1+b1', '1:5.0-1']
    """
    epoch, _, rest = version.rpartition(":")
    parts = re.findall(r"(\D*)(\d*)", rest)
    # "~" sorts before the end of a part, the end before letters, and letters before anything else.
    rank = [
        ([-1 if c == "~" else ord(c) if c.isalpha() else ord(c) + 256 for c in text] + [0], int(n or 0))
        for text, n in parts
    ]
    return int(epoch) if epoch.isdigit() else 0, rank
