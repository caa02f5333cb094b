"""The catalogue: what RFC 9743 asks, as criteria over networks, read from the TOML files in ``catalogue``.

A criterion is data: a section and what it asks, networks, a measure, and a threshold with its source. The files are
TOML and not Python so that a reviewer reads and disputes them without reading code, and so that a change of a threshold
is a change of one line. The names of measures are those of `narrows.studies.evaluate.measures`.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

FOLDER: Final = Path(__file__).resolve().parent / "catalogue"
"""Folder of the catalogue."""

SECTIONS: Final = {
    "4": "Specifying Algorithms for Use in Controlled Environments",
    "5.1": "Single Algorithm Behavior",
    "5.1.1": "Protection Against Congestion Collapse",
    "5.1.2": "Protection Against Bufferbloat",
    "5.1.3": "Protection Against High Packet Loss",
    "5.1.4": "Fairness within the Proposed Congestion Control Algorithm",
    "5.1.5": "Short Flows",
    "5.2": "Mixed Algorithm Behavior",
    "5.2.1": "Existing General-Purpose Congestion Control",
    "5.2.2": "Real-Time Congestion Control",
    "5.2.3": "Short and Long Flows",
    "5.3.1": "Differences with Congestion Control Principles",
    "5.3.2": "Incremental Deployment",
    "6.1": "Paths with Tail-drop Queues",
    "6.2": "Tunnel Behavior",
    "6.3": "Wired Paths",
    "6.4": "Wireless Paths",
    "7.1": "Active Queue Management (AQM)",
    "7.2": "Operation with the Envelope Set by Network Circuit Breakers",
    "7.3": "Paths with Varying Delay",
    "7.4": "Internet of Things and Constrained Nodes",
    "7.5": "Paths with High Delay",
    "7.6": "Misbehaving Nodes",
    "7.7": "Extreme Packet Reordering",
    "7.8": "Transient Events",
    "7.9": "Sudden Changes in the Path",
    "7.10": "Multipath Transport",
    "7.11": "Data Centers",
}
"""Titles of the sections of RFC 9743."""

UNDER_TEST: Final = "CC"
"""Stands for the control under test in a `Criterion.cast`."""

Side = Literal["at_most", "at_least"]


@dataclass(frozen=True, slots=True)
class Threshold:
    """What a measure is compared with.

    Attributes
    ----------
    side : {"at_most", "at_least"}
        On which side of the threshold a control meets the criterion.
    value : float or None
        The threshold, in the unit of the measure; ``None`` if it is relative.
    cubic : float or None
        Factor of the value of CUBIC in the same network and under the same seed; ``None`` if it is absolute.
    plus : float
        What is added to that.
    """

    side: Side
    value: float | None = None
    cubic: float | None = None
    plus: float = 0.0

    def of(self, reference: float | None) -> float | None:
        """Return the threshold of one seed.

        Parameters
        ----------
        reference : float or None
            The value of CUBIC.

        Returns
        -------
        float or None
            ``None`` if the threshold is relative and there is no reference.

        Examples
        --------
        >>> Threshold("at_most", cubic=1.0, plus=0.5).of(2.0), Threshold("at_least", value=3.0).of(None)
        (2.5, 3.0)
        """
        if self.cubic is None:
            return self.value
        return None if reference is None else self.cubic * reference + self.plus


@dataclass(frozen=True, slots=True)
class Network:
    """A network of the catalogue; ``catalogue/networks.toml`` explains the fields.

    Attributes
    ----------
    name, base, title, path_class : str
        Name; file of the base scenario; in words; path class.
    settings : dict
        Values by path of the scenario.
    from_s, until_s, event_s : float or None
        Begin and end of the measured window, and time of the change, s.
    quiet_s : tuple of float or None
        Interval in which nothing arrives, s.
    rtt_ms, loss, target_mbps : float or None
        Round-trip time of the empty path, share lost at random, rate to recover to.
    queue : str
        The queue that is measured.
    ecn : bool
        Whether flows under test have ECN.
    full : bool
        Whether ``--quick`` leaves it out.
    no_live : str
        Why its runs say nothing on a real machine; empty if they do.
    """

    name: str
    base: str
    title: str
    path_class: str
    settings: dict[str, Any] = field(hash=False)
    from_s: float
    until_s: float | None
    event_s: float | None
    quiet_s: tuple[float, float] | None
    rtt_ms: float | None
    loss: float | None
    target_mbps: float | None
    queue: str
    ecn: bool
    full: bool
    no_live: str

    @property
    def measured(self) -> str:
        """The fields that decide how a run is measured, as text, for content addresses."""
        return repr(
            (
                self.from_s,
                self.until_s,
                self.event_s,
                self.quiet_s,
                self.rtt_ms,
                self.loss,
                self.target_mbps,
                self.queue,
            )
        )


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion.

    Attributes
    ----------
    name, section, asks : str
        Name, section of RFC 9743, and what is asked, in a sentence.
    networks : tuple of str
        Networks, each a row of the result.
    cast : dict
        Congestion control by flow or workload; `UNDER_TEST` stands for the control under test. Empty: every flow whose
        name begins with ``test`` has it.
    measure : str
        Name of a measure.
    threshold : Threshold
    source : str
        Where the threshold comes from.
    live : tuple of str
        Those of its networks that ``--live --quick`` makes.
    """

    name: str
    section: str
    asks: str
    networks: tuple[str, ...]
    cast: dict[str, str] = field(hash=False)
    measure: str
    threshold: Threshold
    source: str
    live: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotEvaluated:
    """What RFC 9743 asks and this catalogue does not evaluate.

    Attributes
    ----------
    section, what, reason : str
    """

    section: str
    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All criteria and networks.

    Attributes
    ----------
    criteria : tuple of Criterion
        In the order of sections.
    networks : dict
        By name.
    not_evaluated : tuple of NotEvaluated
    """

    criteria: tuple[Criterion, ...]
    networks: dict[str, Network] = field(hash=False)
    not_evaluated: tuple[NotEvaluated, ...]


@functools.cache
def catalogue() -> Catalogue:
    """Read the catalogue.

    Returns
    -------
    Catalogue

    Examples
    --------
    >>> {one.section for one in catalogue().criteria} <= set(SECTIONS)
    True
    """
    networks = {name: _network(name, table) for name, table in _toml(FOLDER / "networks.toml").items()}
    criteria, missing = [], []
    for path in sorted(FOLDER.glob("[0-9]*.toml")):
        content = _toml(path)
        criteria += [_criterion(table) for table in content["criteria"]]
        missing += [NotEvaluated(**table) for table in content.get("not_evaluated", ())]
    return Catalogue(tuple(sorted(criteria, key=lambda one: order(one.section))), networks, tuple(missing))


def order(section: str) -> tuple[int, ...]:
    """Return what sections are sorted by.

    Parameters
    ----------
    section : str

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> sorted(["7.10", "7.2", "5.1.1", "5.1"], key=order)
    ['5.1', '5.1.1', '7.2', '7.10']
    """
    return tuple(int(part) for part in section.split("."))


@functools.cache
def base(name: str) -> str:
    """Read a base scenario.

    Parameters
    ----------
    name : str
        Of a file in ``catalogue/bases``, without its ending.

    Returns
    -------
    str
        TOML.
    """
    return (FOLDER / "bases" / f"{name}.toml").read_text(encoding="utf-8")


def _toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _network(name: str, table: dict[str, Any]) -> Network:
    quiet = table.get("quiet")
    return Network(
        name=name,
        base=table["base"],
        title=table["title"],
        path_class=table["class"],
        settings=table.get("set", {}),
        from_s=float(table["from"]),
        until_s=table.get("until"),
        event_s=table.get("event"),
        quiet_s=None if quiet is None else (quiet[0], quiet[1]),
        rtt_ms=table.get("rtt_ms"),
        loss=table.get("loss"),
        target_mbps=table.get("target"),
        queue=table.get("queue", "r1->r2"),
        ecn=table.get("ecn", False),
        full=table.get("full", False),
        no_live=table.get("no_live", ""),
    )


def _criterion(table: dict[str, Any]) -> Criterion:
    side: Side = "at_most" if "at_most" in table else "at_least"
    return Criterion(
        name=table["id"],
        section=table["section"],
        asks=table["asks"],
        networks=tuple(table["networks"]),
        cast=table.get("cast", {}),
        measure=table["measure"],
        threshold=Threshold(side, **table[side]),
        source=table["source"],
        live=tuple(table.get("live", ())),
    )
