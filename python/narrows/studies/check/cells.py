"""Cells of a case's grid: rate, round-trip time and buffer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from narrows.base.errors import InputError
from narrows.studies.sweep.quantity import typed

if TYPE_CHECKING:
    from collections.abc import Mapping


_SPLIT: Final = re.compile(r"\s*[x×]\s*")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell; ``None`` keeps the file's value.

    Attributes
    ----------
    rate_bps : int or None
        Rate of the bottleneck, bit/s.
    rtt_ns : int or None
        Two-way propagation delay of the flow under test, ns.
    buffer : float or None
        Limit of the bottleneck's queue, in bandwidth-delay products.
    """

    rate_bps: int | None = None
    rtt_ns: int | None = None
    buffer: float | None = None

    @property
    def is_base(self) -> bool:
        """Whether it is the scenario as the file has it."""
        return self == Cell()

    @property
    def label(self) -> str:
        """Name of the cell, which ``--grid`` takes."""
        if self.is_base:
            return "base"
        parts = [] if self.rate_bps is None else [rate_text(self.rate_bps)]
        parts += [] if self.rtt_ns is None else [time_text(self.rtt_ns)]
        parts += [] if self.buffer is None else [f"{self.buffer:g} BDP"]
        return " x ".join(parts)


@dataclass(frozen=True, slots=True)
class Grid:
    """The grid of a case, as its file gives it; an empty dimension keeps the file's value.

    Attributes
    ----------
    rates_bps, rtts_ns : tuple of int
    buffers : tuple of float
    """

    rates_bps: tuple[int, ...] = ()
    rtts_ns: tuple[int, ...] = ()
    buffers: tuple[float, ...] = ()

    @classmethod
    def from_json(cls, given: Mapping[str, Any] | None) -> Grid:
        """Create a grid from the engine's JSON.

        Parameters
        ----------
        given : mapping or None

        Returns
        -------
        Grid
        """
        if given is None:
            return cls()
        return cls(
            tuple(map(int, given.get("rate_bps") or ())),
            tuple(map(int, given.get("rtt_ns") or ())),
            tuple(map(float, given.get("buffer_bdp") or ())),
        )

    def cells(self) -> tuple[Cell, ...]:
        """Return all cells, the slowest and shortest first; empty without a grid.

        Returns
        -------
        tuple of Cell
        """
        if self == Grid():
            return ()
        ways = product(sorted(self.rates_bps) or (None,), sorted(self.rtts_ns) or (None,), self.buffers or (None,))
        return tuple(Cell(*one) for one in ways)


def parse(text: str, grid: Grid) -> Cell:
    """Parse a cell of ``--grid``: ``RATE x RTT``, with a third part ``N BDP`` for the buffer.

    Parameters
    ----------
    text : str
    grid : Grid
        Its only buffer, or its first, applies if the text has none.

    Returns
    -------
    Cell

    Raises
    ------
    InputError
        If it is no cell.

    Examples
    --------
    >>> parse("10 Mb/s x 100 ms", Grid()).label
    '10 Mb/s x 100 ms'
    """
    parts = [_quantity(part) for part in _SPLIT.split(text.strip())]
    known: dict[str, float] = {}
    for one in parts:
        if one is None or one[0] in known:
            message = (
                f"--grid {text!r}: is not a cell; allowed: all, base, or cells such as '10 Mb/s x 100 ms' or "
                "'10 Mb/s x 100 ms x 2 BDP', separated by commas"
            )
            raise InputError(message)
        known[one[0]] = one[1]
    buffer = known.get("BDP", grid.buffers[0] if grid.buffers else None)
    rate, rtt = known.get("b/s"), known.get("ns")
    if (rate is not None and rate < 1) or (rtt is not None and rtt < 1) or (buffer is not None and not buffer > 0):
        message = f"--grid {text!r}: a rate, a round-trip time and a buffer are above zero"
        raise InputError(message)
    return Cell(None if rate is None else round(rate), None if rtt is None else round(rtt), buffer)


def _quantity(text: str) -> tuple[str, float] | None:
    """Return base unit and value of a rate, a time, or a number of bandwidth-delay products."""
    read = typed([text])
    if read is None:
        return None
    (value,) = read.values
    scale = _SCALES.get(read.unit)
    return None if scale is None else (scale[0], value * scale[1])


_SCALES: Final = {
    **{f"{prefix}b/s": ("b/s", 10.0**power) for prefix, power in (("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12))},
    **{unit: ("ns", size) for unit, size in (("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 6e10))},
    "BDP": ("BDP", 1.0),
}


def rate_text(bps: float) -> str:
    """Write a rate with the largest unit that keeps it at one or more.

    Parameters
    ----------
    bps : float
        bit/s.

    Returns
    -------
    str

    Examples
    --------
    >>> rate_text(64_000), rate_text(10**10)
    ('64 kb/s', '10 Gb/s')
    """
    for size, unit in ((1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if bps >= size:
            return f"{bps / size:.12g} {unit}"
    return f"{bps:.12g} b/s"


def time_text(ns: float) -> str:
    """Write a time with the largest unit that keeps it at one or more.

    Parameters
    ----------
    ns : float
        ns.

    Returns
    -------
    str

    Examples
    --------
    >>> time_text(500_000), time_text(10**9)
    ('500 us', '1 s')
    """
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= size:
            return f"{ns / size:.12g} {unit}"
    return f"{ns:.12g} ns"
