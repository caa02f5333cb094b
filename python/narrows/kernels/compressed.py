"""Decompression of packages and kernel modules as streams: xz, zstd and gzip, told apart by their first bytes.

xz and gzip are Python's own. zstd is pyarrow's, which Narrows needs anyway; Python has it from 3.14 on.
"""

from __future__ import annotations

import io
import lzma
import zlib
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

_XZ: Final = b"\xfd7zXZ\x00"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_GZIP: Final = b"\x1f\x8b"

_MEMORY: Final = 256 << 20
"""Memory that a decompressor may take, bytes: `xz -9` needs 65 MiB."""

_CHUNK: Final = 1 << 18


class BrokenError(Exception):
    """Data that are not what they should be; the text says what is wrong."""


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return at most so many bytes; none at the end."""


def opened(source: Readable) -> Readable:
    """Return a stream of the decompressed bytes of another one, or that one's bytes if they are not compressed.

    Parameters
    ----------
    source : Readable

    Returns
    -------
    Readable
        Reading from it raises `BrokenError` if the compressed data are damaged or end early.
    """
    head = _exactly(source, len(_XZ))
    rest = _Again(head, source)
    if head == _XZ:
        return _Decoder(rest, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY))
    if head.startswith(_GZIP):
        return _Decoder(rest, _Gzip)
    if head.startswith(_ZSTD):
        return _Zstd(rest)
    return rest


def expanded(data: bytes, limit: int) -> bytes:
    """Decompress a whole file; return it as it is if it is not compressed.

    Parameters
    ----------
    data : bytes
    limit : int
        Largest size allowed, bytes.

    Returns
    -------
    bytes

    Raises
    ------
    BrokenError
        If the data are damaged, or larger than the limit.
    """
    stream = opened(io.BytesIO(data))
    found = _exactly(stream, limit + 1)
    if len(found) > limit:
        message = f"is larger than {limit >> 20} MiB when decompressed"
        raise BrokenError(message)
    return found


def _exactly(source: Readable, size: int) -> bytes:
    """Read so many bytes, or all up to the end."""
    parts = []
    while size and (part := source.read(min(size, _CHUNK))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class _Again:
    """A stream whose first bytes have been looked at."""

    def __init__(self, head: bytes, rest: Readable) -> None:
        self._head = head
        self._rest = rest

    def read(self, size: int, /) -> bytes:
        if self._head:
            part, self._head = self._head[:size], self._head[size:]
            return part
        return self._rest.read(size)


class _Gzip:
    """zlib's decompressor with the interface of lzma's."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


class _Decoder:
    """The decompressed bytes of a stream; several compressed streams after each other count as one, as for `xz`."""

    def __init__(self, source: Readable, make: Callable[[], Any]) -> None:
        self._source = source
        self._make = make
        self._inner = make()
        self._begun = False

    def read(self, size: int, /) -> bytes:
        while True:
            data = b""
            if self._inner.eof:
                data = self._inner.unused_data.lstrip(b"\0") or self._source.read(_CHUNK).lstrip(b"\0")
                if not data:
                    return b""
                self._inner = self._make()
            elif self._inner.needs_input:
                data = self._source.read(_CHUNK)
                if not data:
                    message = "ends early"
                    raise BrokenError(message)
            try:
                part: bytes = self._inner.decompress(data, size)
            except (lzma.LZMAError, zlib.error) as error:
                message = f"is damaged: {error}"
                raise BrokenError(message) from None
            if part:
                return part


class _Zstd:
    """The decompressed bytes of a stream of zstd."""

    def __init__(self, source: Readable) -> None:
        import pyarrow as pa

        self._stream = pa.CompressedInputStream(pa.PythonFile(_File(source), mode="r"), "zstd")

    def read(self, size: int, /) -> bytes:
        try:
            return bytes(self._stream.read(size))
        except (OSError, ValueError) as error:  # pyarrow's errors are of these classes
            message = f"is damaged: {error}"
            raise BrokenError(message) from None


class _File(io.RawIOBase):
    """A stream as a file object."""

    def __init__(self, source: Readable) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        return self._source.read(_CHUNK if size < 0 else size)
