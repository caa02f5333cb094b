"""Reading Debian packages: the archive of the format ``ar``, and the ``tar`` archives in it, as streams.

The `ar` format is a magic line and headers of 60 bytes (deb(5)). The reader below is shorter than the use of a library
for it, and the packages of PyPI for it read more variants than Debian's. Nothing is unpacked here: `members` yields
files, and the caller chooses where they go. So no path or link in a package can point anywhere.
"""

from __future__ import annotations

import tarfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Final, Self

from narrows.base import interruption
from narrows.kernels.compressed import BrokenError, Readable, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MAGIC: Final = b"!<arch>\n"
_HEADER: Final = 60
_LARGEST_HEADER: Final = 1 << 20
"""Largest extended header of a `tar` member, bytes: longer ones would be collected in memory."""
_LARGEST_CONTROL: Final = 1 << 20
_LARGEST_TOTAL: Final = 8 << 30
"""Largest size of a package's files together, bytes: Debian's kernels have 0.5 GB."""
_CHUNK: Final = 1 << 18
_EXTENDED: Final = {tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME}
_EXTENDED_LINK: Final = _EXTENDED | {tarfile.GNUTYPE_LONGLINK}
_PLAIN: Final = {tarfile.REGTYPE, tarfile.AREGTYPE}


@dataclass(frozen=True, slots=True)
class Package:
    """A Debian package.

    Attributes
    ----------
    path : pathlib.Path
        Its file.
    name : str
        Such as ``linux-image-6.1.0-56-amd64``.
    version : str
        Such as ``6.1.192-2``.
    architecture : str
        Debian's name, such as ``amd64``.
    """

    path: Path
    name: str
    version: str
    architecture: str


@dataclass(frozen=True, slots=True)
class Member:
    """A file of a package, readable until the next one is asked for.

    Attributes
    ----------
    path : str
        Relative to the root of the file system, normalised: ``boot/vmlinuz-6.1.0-56-amd64``.
    is_plain : bool
        Whether it is a regular file; otherwise it is a link, and has no content.
    size : int
        Bytes.
    content : Readable
    """

    path: str
    is_plain: bool
    size: int
    content: Readable

    def read(self, limit: int) -> bytes:
        """Return the whole content.

        Parameters
        ----------
        limit : int
            Largest size allowed, bytes.

        Returns
        -------
        bytes

        Raises
        ------
        BrokenError
            If it is no regular file, too large, or ends early.
        """
        if not self.is_plain or self.size > limit:
            message = f"{self.path} is {f'larger than {limit >> 20} MiB' if self.is_plain else 'a link'}"
            raise BrokenError(message)
        return b"".join(self.chunks())

    def chunks(self) -> Iterator[bytes]:
        """Yield the content in pieces.

        Yields
        ------
        bytes
        """
        left = self.size
        while left:
            part = self.content.read(min(left, _CHUNK))
            if not part:
                message = f"{self.path} ends early"
                raise BrokenError(message)
            left -= len(part)
            yield part


def read(path: Path) -> Package:
    """Read name and version of a package.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    Package

    Raises
    ------
    BrokenError
        If it is no Debian package.
    OSError
        If it cannot be read.
    """
    with _archive(path, "control.tar") as (source, _):
        for member in _members(source):
            if member.path == "control":
                fields = paragraph(member.read(_LARGEST_CONTROL).decode("utf-8", "replace"))
                break
        else:
            fields = {}
    missing = [key for key in ("Package", "Version", "Architecture") if not fields.get(key)]
    if missing:
        message = f"is not a Debian package: its control file has no {missing[0]}"
        raise BrokenError(message)
    return Package(path, fields["Package"], fields["Version"], fields["Architecture"])


def members(path: Path, progress: Callable[[float], None] | None = None) -> Iterator[Member]:
    """Yield the files and links of a package, in its order.

    Parameters
    ----------
    path : pathlib.Path
    progress : callable, optional
        Called with the share that was read, in [0, 1].

    Yields
    ------
    Member

    Raises
    ------
    BrokenError
        If the package is damaged, or has a device, or a path that leaves the root of the file system.
    OSError
        If it cannot be read.
    """
    with _archive(path, "data.tar") as (source, raw):
        for member in _members(source):
            interruption.check()
            if progress is not None:
                progress(raw.fraction)
            yield member


def paragraph(text: str) -> dict[str, str]:
    r"""Parse the first paragraph of a control file; continued lines are joined.

    Parameters
    ----------
    text : str

    Returns
    -------
    dict
        Values by field.

    Examples
    --------
    >>> paragraph("Package: a\nDepends: b,\n c\n")
    {'Package': 'a', 'Depends': 'b, c'}
    """
    fields: dict[str, str] = {}
    key = ""
    for line in text.splitlines():
        if not line.strip():
            if fields:
                break
        elif line[0] in " \t":
            if key:
                fields[key] = f"{fields[key]} {line.strip()}"
        else:
            key, _, value = line.partition(":")
            fields[key] = value.strip()
    return fields


class _Slice:
    """A part of a file."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._size = size
        self._left = size

    @property
    def fraction(self) -> float:
        return 1 - self._left / self._size if self._size else 1.0

    def read(self, size: int, /) -> bytes:
        part = self._file.read(min(size, self._left))
        self._left -= len(part)
        if not part and self._left:
            message = "ends early"
            raise BrokenError(message)
        return part


class _Limited:
    """A stream of at most so many bytes."""

    def __init__(self, source: Readable, limit: int) -> None:
        self._source = source
        self._left = limit

    def read(self, size: int, /) -> bytes:
        part = self._source.read(size)
        self._left -= len(part)
        if self._left < 0:
            message = "is too large when decompressed"
            raise BrokenError(message)
        return part


class _Header(tarfile.TarInfo):
    """A header whose extensions are of limited size."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        made = super().frombuf(buf, encoding, errors)
        if made.size < 0 or (made.type in _EXTENDED_LINK and made.size > _LARGEST_HEADER):
            message = "is damaged: a header is too large"
            raise BrokenError(message)
        return made


@contextmanager
def _archive(path: Path, wanted: str) -> Iterator[tuple[Readable, _Slice]]:
    """Open one of the compressed `tar` archives in a package."""
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            message = "is not a Debian package"
            raise BrokenError(message)
        while True:
            header = file.read(_HEADER)
            if len(header) < _HEADER or header[58:] != b"`\n" or not header[48:58].strip().isdigit():
                message = f"is damaged: it has no {wanted}" if not header else "is damaged: a header is not readable"
                raise BrokenError(message)
            name, size = header[:16].decode("ascii", "replace").strip().rstrip("/"), int(header[48:58])
            if name.startswith(wanted):
                part = _Slice(file, size)
                yield opened(part), part
                return
            file.seek(size + size % 2, 1)


def _members(source: Readable) -> Iterator[Member]:
    try:
        with tarfile.open(
            fileobj=_Limited(source, _LARGEST_TOTAL),  # type: ignore[call-overload]
            mode="r|",
            tarinfo=_Header,
            bufsize=_CHUNK,
        ) as archive:
            for one in archive:
                archive.members = []  # else the headers of all members stay in memory
                path = _checked(one)
                if one.isdir():
                    continue
                is_plain = one.type in _PLAIN and one.sparse is None
                content = archive.extractfile(one) if is_plain else None
                if content is not None:
                    yield Member(path, True, one.size, content)
                elif one.issym() or one.islnk():
                    yield Member(path, False, 0, source)
                else:
                    message = f"has {path!r}, which is neither a file nor a link"
                    raise BrokenError(message)
    except (tarfile.TarError, ValueError, OverflowError, UnicodeError) as error:
        message = f"is damaged: {error}"
        raise BrokenError(message) from None


def _checked(member: tarfile.TarInfo) -> str:
    """Return a member's path below the root; raise if it leaves it."""
    path = PurePosixPath(member.name)
    if ".." in path.parts or path.is_absolute() or "\0" in member.name:
        message = f"has the path {member.name!r}, which leaves its folder"
        raise BrokenError(message)
    return str(path)
