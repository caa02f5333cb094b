"""The guest's file system: an archive that the kernel unpacks into memory (cpio, format "newc").

The format is that of Linux's Documentation/driver-api/early-userspace/buffer-format.rst.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

DIRECTORY: Final = 0o040755
PROGRAM: Final = 0o100755
FILE: Final = 0o100644
CONSOLE: Final = 0o020600

_MAGIC: Final = b"070701"
_ALIGNMENT: Final = 4


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of the archive.

    Attributes
    ----------
    name : str
        Path without a leading slash. Directories come before their files.
    mode : int
        Type and permissions.
    data : bytes
        Content of a file.
    device : tuple of int
        Major and minor number of a device.
    """

    name: str
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def pack(entries: Iterable[Entry]) -> bytes:
    """Return the archive of these files.

    Parameters
    ----------
    entries : iterable of Entry

    Returns
    -------
    bytes
        All times and owners are 0, so that equal files give equal archives.

    Examples
    --------
    >>> pack([Entry("init", PROGRAM, b"x")])[:6], len(pack([])) % 4
    (b'070701', 0)
    """
    made = bytearray()
    for number, entry in enumerate([*entries, Entry("TRAILER!!!", 0)], 1):
        name = entry.name.encode() + b"\0"
        fields = (number, entry.mode, 0, 0, 1, 0, len(entry.data), 0, 0, *entry.device, len(name), 0)
        made += _MAGIC + b"".join(b"%08X" % field for field in fields) + name
        made += b"\0" * (-len(made) % _ALIGNMENT)
        made += entry.data
        made += b"\0" * (-len(made) % _ALIGNMENT)
    return bytes(made)
