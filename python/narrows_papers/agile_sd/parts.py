"""The sweeps of the reproduction, in full or for a quick experiment."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from narrows.sweep import Sweep
from narrows_papers.agile_sd import measures
from narrows_papers.agile_sd.arms import PUBLISHED, folder
from narrows_papers.agile_sd.flows import FLOWS, TEXTS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from narrows.studies.sweep.axis import Axis
    from narrows.studies.sweep.base import Base
    from narrows.studies.sweep.plan import Measure

NAMES: tuple[str, ...] = ("buffers", "windows", "pairs", "round-trips", "sack")
"""Names of the sweeps, of their files and of their data sets."""

TITLES: dict[str, str] = {
    "buffers": "three scenarios over buffers and packet error rates",
    "windows": "cwnd over time at each buffer",
    "pairs": "two congestion controls side by side",
    "round-trips": "flows of four round-trip times",
    "sack": "the same with SACK",
}

QUICK_BUFFERS = (5, 100, 500)
"""Buffers of a quick experiment, packets."""

QUICK_PAIR_BUFFERS = (20,)
"""Buffer of the pairs in a quick experiment, packets: the one nearest to the published results."""

MEASURES: dict[str, Measure] = {
    "buffers": measures.of_run,
    "windows": measures.with_trace,
    "sack": measures.of_run,
}
"""Measures of the runs, by sweep."""


@dataclass(frozen=True)
class Part:
    """One sweep of the reproduction.

    Attributes
    ----------
    name : str
        One of `NAMES`; its data set lies in ``runs/NAME``.
    sweep : Sweep
    """

    name: str
    sweep: Sweep


def parts(*, quick: bool = False, seeds: int | None = None, flows: int = FLOWS) -> tuple[Part, ...]:
    """Return the sweeps to run.

    Parameters
    ----------
    quick : bool
        Fewer buffers and congestion controls, one seed, no packet errors, nothing with SACK.
    seeds : int, optional
        Number of seeds of sweeps that have several; by default as in their files.
    flows : int
        Number of flows in the second and third scenario.

    Returns
    -------
    tuple of Part
    """
    made = []
    for name in NAMES:
        read = _read(name, flows)
        if name in MEASURES:
            read = read.with_measure(MEASURES[name])
        if seeds is not None and len(read.seeds) > 1:
            read = replace(read, seeds=tuple(range(1, seeds + 1)))
        made.append(Part(name, read))
    return tuple(_quick(part, seeds) for part in made if part.name in _QUICK) if quick else tuple(made)


def _read(name: str, flows: int) -> Sweep:
    read = Sweep.from_file(folder() / f"sweep-{name}.toml")
    if flows == FLOWS:
        return read
    texts = {f"{scenario}.toml": make for scenario, make in TEXTS.items()}
    bases: dict[str, Base] = {
        key: replace(base, text=texts[key](flows, base.text)) if key in texts else base
        for key, base in read.bases.items()
    }
    return replace(read, bases=bases)


_ARMS = tuple(arm.name for arm in PUBLISHED)
_PAIRS = tuple(" ".join(pair) for pair in itertools.combinations((*_ARMS, "reno"), 2))

_QUICK: Mapping[str, Mapping[str, Collection[object]]] = {
    "buffers": {"scenario": ("staircase", "together"), "buffer": QUICK_BUFFERS, "per": (0,), "arm": _ARMS},
    "windows": {"buffer": QUICK_BUFFERS, "arm": _ARMS},
    "pairs": {"buffer": QUICK_PAIR_BUFFERS, "pair": _PAIRS},
}
"""Axis values of a quick experiment. Its runs of one flow come from the sweep of windows."""


def _quick(part: Part, seeds: int | None) -> Part:
    wanted, sweep = _QUICK[part.name], part.sweep
    axes = tuple(_kept(axis, wanted[axis.name]) if axis.name in wanted else axis for axis in sweep.axes)
    return Part(part.name, replace(sweep, axes=axes, seeds=sweep.seeds[: seeds or 1]))


def _kept(axis: Axis, labels: Collection[object]) -> Axis:
    return replace(axis, values=tuple(value for value in axis.values if value.labels[axis.name] in labels))
