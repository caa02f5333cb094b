"""The captures of a run by link direction, with the times at which packets arrive at a link's other end."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from narrows.base.errors import InputError
from narrows.packets.capture import Capture, read

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.model.resolved import Direction
    from narrows.outcome.run import Run
    from narrows.packets.capture import Integers

NEEDED: Final = "narrows run SCENARIO --pcap -o DIR, or narrows.run(scenario, pcap=DIR)"
"""What gives a run captures."""

Ends = tuple[str, str]
"""Names of the nodes at both ends of a link direction, the sender first."""


class Links:
    """The captures of a run, each read once.

    Parameters
    ----------
    run : Run

    Attributes
    ----------
    folder : pathlib.Path
        Where the captures are.
    scenario : Scenario
        As run.
    end_ns : int
        When a simulated run ended, ns: what arrives later is under way. A live run has no exact end.

    Raises
    ------
    InputError
        If the run has no captures.
    """

    def __init__(self, run: Run) -> None:
        if run.captures is None or not run.captures.is_dir():
            where = "" if run.captures is None else f" ({run.captures} is missing)"
            message = f"{run.scenario.name}: has no captured packets{where}; needed: {NEEDED}"
            raise InputError(message)
        self.folder: Path = run.captures
        self.scenario = run.scenario
        self.end_ns: int = run.scenario.resolved.duration_ns if run.conditions is None else 1 << 62
        self._flows = {flow.name: flow for flow in run.flows}
        self._read: dict[tuple[Path, str], Capture] = {}

    @cached_property
    def _files(self) -> dict[Ends, tuple[Path, Path, Direction]]:
        """Return by direction: the capture of its link, the file of drops, and its settings."""
        made: dict[Ends, tuple[Path, Path, Direction]] = {}
        taken: set[str] = set()
        for link in self.scenario.resolved.links:
            # Parallel links have a number in their names, as the engine gives it.
            name = f"{link.a}-{link.b}"
            name = f"{name}-{len(taken)}" if name in taken else name
            taken.add(name)
            files = self.folder / f"{name}.pcapng", self.folder / f"{link.a}-{link.b}.drops.pcapng"
            made.setdefault((link.a, link.b), (*files, link.forward))
            made.setdefault((link.b, link.a), (*files, link.reverse))
        return made

    @property
    def ends(self) -> tuple[Ends, ...]:
        """All directions of wired links; only wired links have captures of packets."""
        return tuple(self._files)

    def direction(self, ends: Ends) -> Direction:
        """Return the settings of a direction.

        Parameters
        ----------
        ends : (str, str)

        Returns
        -------
        Direction
        """
        return self._files[ends][2]

    def sent(self, ends: Ends) -> Capture:
        """Return the packets whose transmission on a direction started, in order of time.

        Parameters
        ----------
        ends : (str, str)

        Returns
        -------
        Capture

        Raises
        ------
        InputError
            If the file cannot be read.
        """
        return self._of(self._files[ends][0], ends)

    def dropped(self, ends: Ends) -> Capture | None:
        """Return the packets that the queue of a direction dropped, in order of time; ``None`` if there are none.

        Parameters
        ----------
        ends : (str, str)

        Returns
        -------
        Capture or None

        Raises
        ------
        InputError
            If the file cannot be read.
        """
        path = self._files[ends][1]
        return self._of(path, ends) if path.is_file() else None

    def _of(self, path: Path, ends: Ends) -> Capture:
        name = "->".join(ends)
        if (path, name) not in self._read:
            whole = read(path)
            if name not in whole.names:
                message = f"{path}: has no interface {name}; allowed: the capture of this run"
                raise InputError(message)
            for place, one in enumerate(whole.names):
                self._read[path, one] = whole.only(whole.interface == place)
        return self._read[path, name]

    @cached_property
    def paths(self) -> dict[str, list[Ends]]:
        """Wired directions that the packets of each flow pass from its ``from`` to its ``to``, by the flow's name."""
        names = [node.name for node in self.scenario.resolved.nodes]
        wired = set(self.ends)
        made = {}
        for flow, path in zip(self.scenario.resolved.flows, self.scenario.paths(), strict=False):
            made[flow.name] = [(names[a], names[b]) for a, b in pairwise(path) if (names[a], names[b]) in wired]
        return made

    def lost_packets(self, flow: str) -> float:
        """Return the packets with payload that a flow lost, by the run's own count.

        Parameters
        ----------
        flow : str

        Returns
        -------
        float
        """
        return self._flows[flow].lost_packets

    def whole(self, flow: str) -> bool:
        """Return whether the captures of all wired links on a flow's path are there.

        Parameters
        ----------
        flow : str

        Returns
        -------
        bool
        """
        return all(self._files[ends][0].is_file() for ends in self.paths[flow])

    def size(self, flow: str) -> int:
        """Return the bytes of the largest capture on a flow's path.

        Parameters
        ----------
        flow : str

        Returns
        -------
        int
        """
        files = {self._files[ends][0] for ends in self.paths[flow]}
        return max((file.stat().st_size for file in files if file.is_file()), default=0)

    def arrivals(self, ends: Ends, sent: Capture) -> Integers:
        """Return when packets arrive at a link's other end: after transmission and delay, ns.

        Fractions of a nanosecond are cut. Where jitter or a trace decides, this is the earliest or the mean time.

        Parameters
        ----------
        ends : (str, str)
        sent : Capture
            Some of the packets of `sent`.

        Returns
        -------
        array
        """
        direction = self.direction(ends)
        rate = np.full(len(sent), direction.rate_bps, dtype=np.int64)
        delay = np.full(len(sent), direction.delay_ns, dtype=np.int64)
        for change in direction.changes:
            later = sent.time_ns >= change.at_ns
            if change.rate_bps is not None:
                rate[later] = change.rate_bps
            if change.delay_ns is not None:
                delay[later] = change.delay_ns
        return sent.time_ns + sent.length * 8_000_000_000 // np.maximum(rate, 1) + delay

    def exact(self, ends: Ends) -> bool:
        """Return whether `arrivals` of a direction are exact.

        Parameters
        ----------
        ends : (str, str)

        Returns
        -------
        bool
        """
        direction = self.direction(ends)
        return direction.trace is None and direction.impairments is None
