"""Packets of runs as files of other programs: which files each format has, and writing them into a folder."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError
from narrows.export import ns2, qlog, xplot
from narrows.packets import NEEDED, Links, of_flow, tcp_flows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from narrows.export.values import Contents
    from narrows.outcome import Run
    from narrows.packets import FlowPackets

_PLAIN = re.compile(r"[^\w.-]+")


def write(contents: Contents, folder: Path, kinds: Sequence[str], flow: str = "") -> None:
    """Write the packets of a result's runs into an existing folder; each of several runs has a folder in it.

    Parameters
    ----------
    contents : Contents
    folder : pathlib.Path
    kinds : sequence of str
        Formats of `narrows.export.values.PACKETS`.
    flow : str
        Only this flow, of the formats that have a file for each; by default all.

    Raises
    ------
    InputError
        If the result is no run, a run has no captured packets, or there is no such TCP flow.
    OSError
        If writing fails.
    """
    if contents.outcome is None:
        message = f"{contents.name}: {', '.join(kinds)} are of the packets of runs; needed: {NEEDED}"
        raise InputError(message)
    runs = contents.outcome.runs
    for run in runs:
        place = folder / f"run-{run.index}" if len(runs) > 1 else folder
        place.mkdir(parents=True, exist_ok=True)
        for kind in kinds:
            _WRITERS[kind](run, place, flow)


def _flows(run: Run, wanted: str) -> Iterator[FlowPackets]:
    links = Links(run)
    names = tcp_flows(links)
    if not names:
        message = f"{run.scenario.name}: no TCP flow passes a wired link; xplot and qlog are of TCP flows"
        raise InputError(message)
    if wanted and wanted not in names:
        message = f"flow is {wanted!r}; allowed: {', '.join(names)}"
        raise InputError(message)
    for name in [wanted] if wanted else names:
        yield of_flow(links, name)


def _xplot(run: Run, folder: Path, wanted: str) -> None:
    for flow in _flows(run, wanted):
        for graph in xplot.GRAPHS:
            xplot.write_flow(flow, folder / f"{_PLAIN.sub('-', flow.name)}_{graph}.xpl", graph)


def _qlog(run: Run, folder: Path, wanted: str) -> None:
    for flow in _flows(run, wanted):
        qlog.write_flow(run, flow, folder / f"{_PLAIN.sub('-', flow.name)}.sqlog")


def _ns2(run: Run, folder: Path, wanted: str) -> None:
    del wanted  # a trace has the packets of all flows, on every link
    ns2.write(run, folder / "packets.tr")


_WRITERS: Final[dict[str, Callable[[Run, Path, str], None]]] = {"xplot": _xplot, "ns2": _ns2, "qlog": _qlog}
