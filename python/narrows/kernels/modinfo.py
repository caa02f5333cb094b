"""What a kernel module says about itself: its ELF section ``.modinfo`` and the functions of the kernel that it calls.

`depmod` derives ``modules.dep`` and ``modules.alias`` from the same section, when a package is installed.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, Self

from narrows.kernels.compressed import BrokenError

CONGESTION_CONTROL: Final = "congestion control"
QDISC: Final = "qdisc"

_REGISTERS: Final = {b"\0tcp_register_congestion_control\0": CONGESTION_CONTROL, b"register_qdisc\0": QDISC}
"""Ends of symbols in a module's string table, and what a module that uses them provides.

The linker stores ``register_qdisc`` as the end of ``unregister_qdisc``."""

_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_IDENT: Final = b"\x7fELF\x02\x01\x01"
"""A 64-bit little-endian ELF file, version 1."""
_RELOCATABLE: Final = 1


@dataclass(frozen=True, slots=True)
class Module:
    """A kernel module.

    Attributes
    ----------
    path : str
        Its file, relative to the directory of modules: ``kernel/net/ipv4/tcp_vegas.ko``.
    depends : tuple of str
        Names of the modules that it cannot be loaded without.
    before : tuple of str
        Names or aliases of modules that must be there when it begins to work (``softdep=pre:``).
    aliases : tuple of str
        Other names of it, without patterns.
    provides : str
        `CONGESTION_CONTROL`, `QDISC`, or empty.
    """

    path: str
    depends: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    provides: str = ""

    @property
    def name(self) -> str:
        """Its name in the kernel, such as ``tcp_vegas``."""
        return name_of(self.path)

    @classmethod
    def read(cls, path: str, data: bytes) -> Self:
        """Read a module, decompressed.

        Parameters
        ----------
        path : str
            As for `path`.
        data : bytes
            The whole file.

        Returns
        -------
        Module

        Raises
        ------
        BrokenError
            If it is no kernel module.
        """
        found = _sections(data)
        info = _values(found.get(b".modinfo", b""))
        symbols = found.get(b".strtab", b"")
        soft = [word for line in info.get("softdep", []) for word in _before(line)]
        return cls(
            path=path,
            depends=tuple(filter(None, ",".join(info.get("depends", [])).split(","))),
            before=tuple(dict.fromkeys(soft)),
            aliases=tuple(alias for alias in info.get("alias", []) if not set("*?[") & set(alias)),
            provides=next((what for symbol, what in _REGISTERS.items() if symbol in symbols), ""),
        )


def name_of(file: str) -> str:
    """Return the kernel's name of a module's file, or of a module's name in any spelling.

    Parameters
    ----------
    file : str

    Returns
    -------
    str

    Examples
    --------
    >>> name_of("kernel/crypto/xts-aes.ko.xz"), name_of("tcp_vegas.ko"), name_of("sch_fq")
    ('xts_aes', 'tcp_vegas', 'sch_fq')
    """
    return PurePosixPath(file).name.partition(".ko")[0].replace("-", "_")


def _sections(data: bytes) -> dict[bytes, bytes]:
    """Return the sections that matter of an ELF file, each with a zero byte before it."""
    try:
        ident, kind, *_, at, _, _, _, _, size, count, names = _HEADER.unpack_from(data)
        if not ident.startswith(_IDENT) or kind != _RELOCATABLE or size != _SECTION.size:
            message = "is not a kernel module"
            raise BrokenError(message)
        headers = [_SECTION.unpack_from(data, at + number * size) for number in range(count)]
        strings = _content(data, headers[names])
    except (struct.error, IndexError):
        message = "is not a whole kernel module"
        raise BrokenError(message) from None
    found = {}
    for header in headers:
        name = strings[header[0] :].partition(b"\0")[0] if header[0] < len(strings) else b""
        if name in {b".modinfo", b".strtab"}:
            found[name] = b"\0" + _content(data, header)
    return found


def _content(data: bytes, header: tuple[int, ...]) -> bytes:
    offset, size = header[4], header[5]
    if offset + size > len(data):
        message = "is not a whole kernel module"
        raise BrokenError(message)
    return data[offset : offset + size]


def _values(section: bytes) -> dict[str, list[str]]:
    """Return the values of ``key=value`` strings."""
    values: dict[str, list[str]] = {}
    for entry in section.split(b"\0"):
        key, is_pair, value = entry.decode("utf-8", "replace").partition("=")
        if is_pair:
            values.setdefault(key, []).append(value)
    return values


def _before(softdep: str) -> list[str]:
    """Return the modules that must be loaded before another one.

    >>> _before("pre: crc32c post: other")
    ['crc32c']
    """
    where, names = "", []
    for word in softdep.split():
        if word in {"pre:", "post:"}:
            where = word
        elif where == "pre:":
            names.append(word)
    return names
