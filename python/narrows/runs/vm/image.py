"""The kernel's image as QEMU starts it: unpacked, if the kernel allows that, because the guest would take longer.

A ``vmlinuz`` is a program that unpacks the kernel (Documentation/arch/x86/boot.rst). An emulated processor takes three
seconds for that. QEMU also starts the unpacked kernel, an ELF file with an entry for PVH (``CONFIG_PVH``).
"""

from __future__ import annotations

import hashlib
import os
import struct
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows.kernels import directory
from narrows.kernels.compressed import BrokenError, expanded

if TYPE_CHECKING:
    from narrows.kernels import Kernel

_SECTORS_AT: Final = 0x1F1
_PAYLOAD_AT: Final = 0x248
_SECTOR: Final = 512
_ELF: Final = b"\x7fELF"
_LARGEST: Final = 512 << 20


@cache
def file_hash(path: Path) -> str:
    """Return SHA-256 of a file in hexadecimal digits.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    str
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def bootable(kernel: Kernel) -> Path:
    """Return the file that QEMU is to start; it is unpacked once, into the cache.

    Parameters
    ----------
    kernel : narrows.kernels.Kernel

    Returns
    -------
    pathlib.Path
        The unpacked kernel, or the image itself if it cannot be unpacked, or the cache cannot be written.
    """
    if kernel.config.get("CONFIG_PVH") != "y":
        return kernel.vmlinuz
    place = directory().with_name("images") / f"vmlinux-{file_hash(kernel.vmlinuz)}"
    if place.is_file():
        return place
    unpacked = unpack(kernel.vmlinuz.read_bytes())
    if unpacked is None:
        return kernel.vmlinuz
    name = None
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=".vmlinux-")
        with os.fdopen(descriptor, "wb") as file:
            file.write(unpacked)
        Path(name).replace(place)
    except OSError:
        if name is not None:
            Path(name).unlink(missing_ok=True)
        return kernel.vmlinuz
    return place


def unpack(image: bytes) -> bytes | None:
    """Return the kernel that an image contains.

    Parameters
    ----------
    image : bytes
        A ``vmlinuz`` of x86.

    Returns
    -------
    bytes or None
        An ELF file; None if the image has another form.

    Examples
    --------
    >>> unpack(b"no kernel") is None
    True
    """
    if len(image) < _PAYLOAD_AT + 8:
        return None
    offset, length = struct.unpack_from("<II", image, _PAYLOAD_AT)
    begin = (image[_SECTORS_AT] + 1) * _SECTOR + offset
    payload = image[begin : begin + length]
    # Behind the compressed data are four bytes with the size of the kernel.
    try:
        unpacked = expanded(payload[:-4], _LARGEST)
    except BrokenError:
        return None
    return unpacked if unpacked.startswith(_ELF) else None
