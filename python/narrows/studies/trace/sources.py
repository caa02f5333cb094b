"""Deliveries from a capture, from a run's samples, and from a file that a scenario could read."""

from __future__ import annotations

import re
from array import array
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from narrows.base.errors import InputError
from narrows.studies.trace.deliveries import MOST_OPPORTUNITIES, OPPORTUNITY_BYTES, TUN_BYTES, Deliveries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from ipaddress import IPv4Address, IPv6Address
    from os import PathLike

    from numpy.typing import NDArray

    from narrows.outcome.run import Run

    Array = NDArray[np.float64]

_TIMES = {"time_s": 1.0, "time_ms": 1e-3, "time_us": 1e-6, "time_ns": 1e-9}
_RATES = {"rate_gbps": 1e9, "rate_mbps": 1e6, "rate_kbps": 1e3, "rate_bps": 1.0}
_LAST_MS = 2**32 - 1
_MOMENTS = re.compile(r"(?:[ \t]*[0-9]{1,18}[ \t]*(?:\n|\Z))+")
_BLOCK = 1 << 16
"""Lines that are held as text at once."""

_MAGIC = {
    b"\x0a\x0d\x0d\x0a",
    b"\xa1\xb2\xc3\xd4",
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
    b"\x4d\x3c\xb2\xa1",
}


def is_capture(path: str | PathLike[str]) -> bool:
    """Return whether a file begins as a pcap or pcapng file does.

    Parameters
    ----------
    path : path

    Returns
    -------
    bool

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            return file.read(4) in _MAGIC
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror}"
        raise InputError(message) from None


def of_capture(
    path: str | PathLike[str],
    *,
    src: IPv4Address | IPv6Address | None = None,
    dst: IPv4Address | IPv6Address | None = None,
) -> Deliveries:
    """Return what a capture saw delivered. A packet counts its IP bytes and 4 more, as in mahimahi's format.

    Parameters
    ----------
    path : path
        A pcap or pcapng file of raw IP, Ethernet, Linux cooked capture or loopback.
    src, dst : IPv4Address, IPv6Address or None
        Only packets of this source and to this destination.

    Returns
    -------
    Deliveries

    Raises
    ------
    InputError
        If the file is no such capture, or no packet is wanted.
    """
    from narrows import _core

    try:
        times, sizes = _core.deliveries(path, src, dst)
    except ValueError as error:
        raise InputError(str(error)) from None
    if not times:
        wanted = " ".join(f"{word} {address}" for word, address in (("from", src), ("to", dst)) if address is not None)
        message = f"{path}: has no IP packet{f' {wanted}' if wanted else ''}"
        raise InputError(message)
    return Deliveries.of_packets(
        np.frombuffer(times, dtype=np.uint64), np.frombuffer(sizes, dtype=np.uint32).astype(np.float64) + TUN_BYTES
    )


def busiest(run: Run) -> str:
    """Return the name of the link direction with the highest utilisation.

    Parameters
    ----------
    run : Run

    Returns
    -------
    str
    """
    return max(run.queues, key=lambda queue: queue.utilisation or 0.0).name


def of_run(run: Run, link: str | None) -> Deliveries:
    """Return what a link of a run delivered, by its samples.

    Parameters
    ----------
    run : Run
    link : str or None
        A direction of a link, as in ``run.queues``: ``r1->r2``. None for the one with the highest utilisation.

    Returns
    -------
    Deliveries

    Raises
    ------
    InputError
        If the link is unknown or was not sampled.
    """
    names = [queue.name for queue in run.queues]
    if link is None:
        link = busiest(run)
    elif link not in names:
        message = f"--link {link}: is no link of the run; allowed: {', '.join(names)}"
        raise InputError(message)
    frame = run.samples.frame("queue")
    rows = frame[frame["name"] == link]
    if len(rows) < 2:
        message = f"{link}: has {len(rows)} samples; allowed: a run with `sampling` on"
        raise InputError(message)
    grown = rows["forwarded_bytes"].to_numpy(np.float64)
    return Deliveries(rows["time_s"].to_numpy(np.float64), grown - grown[0], at_once=False)


def read(path: str | PathLike[str]) -> Deliveries:
    """Return the deliveries that a trace describes, over one period.

    Parameters
    ----------
    path : path
        A file in mahimahi's format, or a CSV of rates.

    Returns
    -------
    Deliveries

    Raises
    ------
    InputError
        If the file cannot be read, is empty, unsorted, or of another format; names the line.
    """
    try:
        with Path(path).open(encoding="utf-8") as file:
            first = file.readline()
            if not first:
                message = f"{path}: is empty; allowed: a trace in mahimahi's format or a CSV of rates"
                raise InputError(message)
            return (
                _rates(path, first.rstrip("\n"), file) if "," in first else _opportunities(path, chain([first], file))
            )
    except UnicodeDecodeError:
        allowed = "a trace in mahimahi's format, a CSV of rates, a capture, or a run's directory"
        message = f"{path}: is not text; allowed: {allowed}"
        raise InputError(message) from None
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror}"
        raise InputError(message) from None


def _opportunities(path: str | PathLike[str], lines: Iterator[str]) -> Deliveries:
    """Read lines in blocks: the text of a long trace takes several times the memory of its times."""
    parts: list[NDArray[np.int64]] = []
    count = 0
    while block := list(islice(lines, _BLOCK)):
        if not _MOMENTS.fullmatch("".join(block)):
            _refuse_moment(path, block, before=count)
        part = np.array(block, dtype=np.int64)
        if part.max() > _LAST_MS:
            _refuse_moment(path, block, before=count)
        parts.append(part)
        count += len(block)
        if count > MOST_OPPORTUNITIES:
            message = f"{path}: has more than {MOST_OPPORTUNITIES} lines; allowed: at most {MOST_OPPORTUNITIES}"
            raise InputError(message)
    times = np.concatenate(parts)
    _check_order(path, times, first_line=1, strictly=False)
    if times[-1] == 0:
        message = f"{path}: all times are 0 ms; allowed: a last time above 0"
        raise InputError(message)
    return Deliveries.of_packets(times * 1_000_000, np.full(len(times), OPPORTUNITY_BYTES))


def _refuse_moment(path: str | PathLike[str], block: list[str], *, before: int) -> NoReturn:
    """Raise for the first line of a block that a scenario would refuse; `before` lines precede the block."""
    number, line = next(
        (number, line.rstrip("\n"))
        for number, line in enumerate(block, before + 1)
        if not _MOMENTS.fullmatch(line) or int(line) > _LAST_MS
    )
    message = f"{path}:{number}: {line!r} is not a time; allowed: whole milliseconds from 0 to {_LAST_MS}, one a line"
    raise InputError(message)


def _rates(path: str | PathLike[str], header: str, lines: Iterable[str]) -> Deliveries:
    time, _, rate = (part.strip() for part in header.partition(","))
    if time not in _TIMES or rate not in _RATES:
        allowed = f"one of {', '.join(_TIMES)}, and one of {', '.join(_RATES)}"
        message = f"{path}:1: {header!r} is not a header; allowed: {allowed}"
        raise InputError(message)
    times, rates = array("d"), array("d")
    for number, line in enumerate(lines, 2):
        shown = line.rstrip("\n")
        try:
            # Python's numbers may hold underscores and digits of other scripts; a scenario's may not.
            first, second = map(float, line.replace("_", "?").encode("ascii").split(b","))
        except ValueError:
            message = f"{path}:{number}: {shown!r} is not a time and a rate; allowed: two numbers with a comma between"
            raise InputError(message) from None
        first, second = first * _TIMES[time], second * _RATES[rate]
        if not (np.isfinite(first) and np.isfinite(second)) or second < 0 or first < 0:
            message = f"{path}:{number}: {shown!r} is out of range; allowed: times and rates from 0 on"
            raise InputError(message)
        if number == 2 and first > 0:
            message = f"{path}:2: {shown!r} does not start at time 0; allowed: 0 as the first time"
            raise InputError(message)
        times.append(first)
        rates.append(second)
    if len(times) < 2:
        message = f"{path}: has {len(times)} lines of rates; allowed: at least two, the last of them at the end"
        raise InputError(message)
    moments = np.array(times)
    _check_order(path, moments, first_line=2, strictly=True)
    return Deliveries.of_rates(moments, np.array(rates[:-1]))


def _check_order(
    path: str | PathLike[str], times: Array | NDArray[np.int64], *, first_line: int, strictly: bool
) -> None:
    steps = np.diff(times)
    wrong = np.flatnonzero(steps <= 0 if strictly else steps < 0)
    if wrong.size:
        at = int(wrong[0]) + 1
        message = f"{path}:{first_line + at}: the time is not {'above' if strictly else 'at or above'} the one before"
        raise InputError(message)
