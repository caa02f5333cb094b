"""Simulated runs to make, as values, with the ranges of their numbers."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.model.scenario import Scenario

MOST_THREADS: Final = 64
"""Largest number of threads of one run."""


@dataclass(frozen=True, slots=True)
class Task:
    """One run to make.

    Attributes
    ----------
    scenario : Scenario
        What to run.
    seed, index : int
        Seed, and index of the run under it.
    pcap_dir : Path or None
        An existing directory for captured packets (pcapng, a file per link and 802.11 channel), or ``None``.
    threads : int or None
        How many threads the run has if its network can be divided; ``None`` is as many as pay. Results do not depend
        on it. The default is one, because several runs at a time use all processors anyway.
    """

    scenario: Scenario
    seed: int
    index: int = 0
    pcap_dir: Path | None = None
    threads: int | None = 1


@dataclass(frozen=True, slots=True)
class Judged:
    """How a run of a test case is made: it ends as soon as everything is decided.

    Attributes
    ----------
    looks : tuple of float or None
        Begin and end, s, of the time in which the case's variables are recorded.
    """

    looks: tuple[float, float] | None = None


def threads_of(threads: int | None, runs: int) -> int | None:
    """Return how many threads each of some runs has.

    Parameters
    ----------
    threads : int, optional
        As for `run`.
    runs : int
        Number of runs.

    Returns
    -------
    int or None
        ``None`` is as many as pay. Runs of a process that others have started for their own parallel work have one.

    Raises
    ------
    InputError
        If the number is out of range.
    """
    if threads is not None:
        return in_range("threads", threads, 1, MOST_THREADS)
    processes = sys.modules.get("multiprocessing.process")
    alone = processes is None or processes.current_process().name == "MainProcess"
    return None if runs == 1 and alone else 1


def in_range(what: str, value: int, low: int, high: int) -> int:
    """Refuse a number outside its range.

    Parameters
    ----------
    what : str
        Its name.
    value, low, high : int

    Returns
    -------
    int
        The value.

    Raises
    ------
    InputError
    """
    if not low <= value <= high:
        message = f"{what} is {value}; allowed: {low} to {high}"
        raise InputError(message)
    return value
