"""The plan of an evaluation: a row for each criterion and network, and the scenarios that each row runs."""

from __future__ import annotations

import difflib
import functools
import hashlib
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from narrows.base import bundled
from narrows.base.engine import engine
from narrows.base.errors import InputError
from narrows.model import own
from narrows.model.catalogue import engine_catalogue
from narrows.model.scenario import Override, Scenario
from narrows.studies.contest.contestant import Contestant
from narrows.studies.evaluate import live as on_kernel
from narrows.studies.evaluate import measures
from narrows.studies.evaluate.criteria import UNDER_TEST, base, catalogue
from narrows.studies.evaluate.decide import LEAST
from narrows.studies.sweep.address import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from narrows.studies.evaluate.criteria import Criterion, Network

REFERENCE: Final = "cubic"
"""The control that relative thresholds compare with: the standard's (RFC 9438) and the most deployed one."""

QUICK_LOOKS: Final = (3, 6, 12, 24)
LOOKS: Final = (3, 6, 12, 24, 48)
"""Numbers of seeds at which a criterion is judged; see `narrows.studies.evaluate.decide`."""

LIVE_QUICK_LOOKS: Final = (3, 7)
LIVE_LOOKS: Final = (3, 8, 16)
"""Numbers of seeds of live evaluations, which take the time of their scenarios; the last ones allow for a sign test."""

_ANSWERS: Final = ("reduces",)
"""Beginnings of the responses of controls that answer an ECN echo."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A network with its congestion controls.

    Attributes
    ----------
    network : Network
    scenario : Scenario
    tested : tuple of str
        Names of the flows under test.
    identity : str
        SHA-256 over the scenario with all defaults, own controls, and how it is measured.
    label : str
        Network and given controls, for the name of a file.
    world : str
        Empty for simulated runs; else the kernel that makes live ones, in words.
    """

    network: Network
    scenario: Scenario
    tested: tuple[str, ...]
    identity: str
    label: str
    world: str = ""

    def key(self, seed: int) -> str:
        """Content address of a run's record: what is run, by which engine, and how it is measured.

        Parameters
        ----------
        seed : int

        Returns
        -------
        str
            SHA-256, hexadecimal.
        """
        made = engine()
        return _hash(self.identity, str(seed), made.release, made.build, *([self.world] if self.world else ()))

    def portable(self, seed: int, behaviour: str) -> str:
        """Content address that is the same for all builds of a version; see `narrows.studies.evaluate.reference`.

        Parameters
        ----------
        seed : int
        behaviour : str
            What stands for the engine's behaviour.

        Returns
        -------
        str
        """
        return _hash(self.identity, str(seed), behaviour)


@dataclass(frozen=True, slots=True)
class Row:
    """A criterion in a network.

    Attributes
    ----------
    name : str
        ``CRITERION`` or, where a criterion has several networks, ``CRITERION.NETWORK``.
    criterion : Criterion
    network : Network
    test : Arm
        With the control under test.
    cubic : Arm or None
        With CUBIC in its place; ``None`` if the threshold is absolute.
    alone : Arm or None
        With silent flows under test, for harm.
    inapplicable : str
        Why the row is not judged; empty if it is.
    """

    name: str
    criterion: Criterion
    network: Network
    test: Arm
    cubic: Arm | None
    alone: Arm | None
    inapplicable: str

    @property
    def definition(self) -> str:
        """What the row's values mean, as a hash: network, controls beside it, measure; not the control or threshold."""
        network = self.network
        settings, cast = sorted(network.settings.items()), sorted(self.criterion.cast.items())
        parts = (base(network.base), repr(settings), network.measured, repr(cast), self.criterion.measure)
        return _hash(*parts, str(measures.VERSION))[:16]

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that are run."""
        return tuple(arm for arm in (self.test, self.cubic, self.alone) if arm is not None)


@dataclass(frozen=True, slots=True)
class Plan:
    """An evaluation.

    Attributes
    ----------
    control : str
        The control under test as it was given: ``NAME`` or ``NAME:FIELD=VALUE``.
    quick : bool
        Whether it is the quick one.
    seed : int
        First seed; run i of every arm has the seed ``seed + i`` (common random numbers).
    looks : tuple of int
        Numbers of seeds at which rows are judged.
    rows : tuple of Row
    world : str
        Empty for simulated runs; else what makes live ones: ``live, kernel X``.
    only : tuple of str
        The rows, criteria or sections that were asked for; empty for all.
    """

    control: str
    quick: bool
    seed: int
    looks: tuple[int, ...]
    rows: tuple[Row, ...]
    world: str = ""
    only: tuple[str, ...] = ()


def make(
    control: str,
    *,
    quick: bool = False,
    seed: int = 1,
    most: int | None = None,
    only: Iterable[str] | None = None,
    live: bool = False,
) -> Plan:
    """Plan an evaluation.

    Parameters
    ----------
    control : str
        A congestion control, with fields of a flow's ``tcp`` after colons, as in a contest.
    quick : bool
        Leave out the networks that take long, and make fewer runs.
    seed : int
        First seed.
    most : int, optional
        Most seeds of a row, 3 or more; by default 24 with ``quick``, else 48.
    only : iterable of str, optional
        Rows, criteria or sections to evaluate; by default all.
    live : bool
        Make the runs on this machine's own TCP stack. Rows that cannot be run there are not judged and say why; with
        ``quick``, only the rows that the catalogue chooses for it are made.

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        If an argument is out of range, or the control or a row is unknown.
    ScenarioError
        If a scenario refuses the control's settings.
    LiveError
        If no row can be run live, with the reason of the first.
    """
    under_test = Contestant.parse(control)
    if live and is_own(control):
        message = (
            f"--live with {control}: it is written in Python, and a kernel cannot run it; allowed: a congestion "
            "control of Linux or of Narrows' eBPF programs, or a simulated evaluation"
        )
        raise InputError(message)
    looks: tuple[int, ...] = (LIVE_QUICK_LOOKS if quick else LIVE_LOOKS) if live else QUICK_LOOKS if quick else LOOKS
    if most is not None:
        if most < LEAST:
            message = f"runs is {most}; allowed: {LEAST} or more, the seeds that a verdict needs at least"
            raise InputError(message)
        looks = (*(look for look in looks if look < most), most)
    if not 0 <= seed <= 2**63 - 1 - looks[-1]:
        message = f"seed is {seed}; allowed: 0 to {2**63 - 1 - looks[-1]}"
        raise InputError(message)
    known = catalogue()
    named = [
        (name, one, network)
        for one in known.criteria
        for network in (known.networks[key] for key in one.networks)
        if not (quick and network.full)
        for name in (one.name if len(one.networks) == 1 else f"{one.name}.{network.name}",)
    ]
    chosen = () if only is None else tuple(only)
    if only is not None:
        named = _chosen(named, chosen)
    elif live and quick:
        named = [row for row in named if row[2].name in row[1].live]
    rows = tuple(_row(name, one, network, under_test) for name, one, network in named)
    if not live:
        return Plan(under_test.label, quick, seed, looks, rows, only=chosen)
    return Plan(under_test.label, quick, seed, looks, on_kernel.rows(rows), on_kernel.world(), chosen)


def shipped() -> tuple[str, ...]:
    """Return the congestion controls of the engine.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> "cubic" in shipped()
    True
    """
    return tuple(str(row["name"]) for row in engine_catalogue()["cc"])


Named = tuple[str, "Criterion", "Network"]


def _chosen(named: list[Named], only: Sequence[str]) -> list[Named]:
    allowed = {text for name, one, _ in named for text in (name, one.name, one.section)}
    for text in only:
        if text not in allowed:
            close = difflib.get_close_matches(text, sorted(allowed), n=3)
            hint = f"did you mean {' or '.join(close)}?" if close else "see `narrows evaluate --criteria`"
            message = f"--only {text!r}: no such criterion or section; {hint}"
            raise InputError(message)
    return [row for row in named if {row[0], row[1].name, row[1].section} & set(only)]


def _row(name: str, one: Criterion, network: Network, control: Contestant) -> Row:
    text = base(network.base)
    cast = dict(one.cast) or {key: UNDER_TEST for key in _places(text) if key.startswith("test")}
    tested = tuple(key for key, cc in cast.items() if cc == UNDER_TEST)
    reference = Contestant(REFERENCE, {"cc": REFERENCE})
    absent = one.measure == measures.HARM
    return Row(
        name,
        one,
        network,
        _arm(network, cast, tested, control),
        None if one.threshold.cubic is None else _arm(network, cast, tested, reference),
        _arm(network, cast, tested, None) if absent else None,
        _inapplicable(network, control),
    )


def _inapplicable(network: Network, control: Contestant) -> str:
    cc = _facts(str(control.tcp["cc"]))
    if not network.ecn or "ecn" in control.tcp or cc is None or cc["l4s"] or cc["needs_ecn"]:
        return ""
    if str(cc["response"]).startswith(_ANSWERS):
        return ""
    name = control.tcp["cc"]
    return f"{name} does not answer marks, so its flows have no ECN; to evaluate it with ECN: {control.label}:ecn=true"


def _facts(name: str) -> Mapping[str, Any] | None:
    """The row of a control of the engine; ``None`` of one in Python."""
    return next((row for row in engine_catalogue()["cc"] if row["name"] == name), None)


@functools.cache
def _places(text: str) -> dict[str, str]:
    """The path of each flow and workload of a scenario, by name."""
    content = tomllib.loads(text)
    return {row["name"]: f"{kind}.{row['name']}" for kind in ("flows", "workloads") for row in content.get(kind, ())}


def _arm(network: Network, cast: Mapping[str, str], tested: tuple[str, ...], control: Contestant | None) -> Arm:
    text = base(network.base)
    places = _places(text)
    values: dict[str, Override] = dict(network.settings)
    for name, cc in cast.items():
        if name not in tested:
            values[f"{places[name]}.tcp.cc"] = _quoted(cc)
    for name in tested:
        if control is None:
            # A flow cannot be left out: it starts 1 ns before the end, so that its first packet never arrives.
            values |= {f"{places[name]}.start": f"{_duration_ns(network) - 1} ns", f"{places[name]}.jitter": False}
        else:
            values |= {f"{places[name]}.tcp.{key}": value for key, value in _settings(control, network).items()}
    made = Scenario.from_text(text, str(bundled.directory("scenarios") / f"{network.base}.toml"), values)
    parts = [f"{name} {fingerprint(factory)}" for name, factory in sorted(made.own_controls().items())]
    silent = () if control is None else tested
    identity = _hash(made.to_nameless_toml(), *parts, repr(silent), network.measured, str(measures.VERSION))
    given = [f"{name}-{'test' if cc == UNDER_TEST else cc}" for name, cc in cast.items() if name != "test"]
    label = ".".join((network.name, *(given if len(cast) > 1 and not set(cast) <= set(tested) else ())))
    return Arm(network, made, silent, identity, label)


def _settings(control: Contestant, network: Network) -> dict[str, Override]:
    cc = _facts(str(control.tcp["cc"]))
    given = {**control.tcp, "cc": _quoted(str(control.tcp["cc"]))}
    wants = network.ecn and (cc is None or (not cc["l4s"] and str(cc["response"]).startswith(_ANSWERS)))
    if "ecn" not in given and (wants or (cc is not None and cc["needs_ecn"])):
        given["ecn"] = "true"
    return given


@functools.cache
def _scenario_ns(base_name: str, duration: str) -> int:
    text = base(base_name)
    return Scenario.from_text(text, base_name, {"duration": duration} if duration else {}).resolved.duration_ns


def _duration_ns(network: Network) -> int:
    return _scenario_ns(network.base, str(network.settings.get("duration", "")))


def _quoted(name: str) -> str:
    """Return a name as text of TOML: without quotes, one such as `nan` would be a number."""
    return f'"{name}"'


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(("narrows evaluate", *parts)).encode()).hexdigest()


def is_own(control: str) -> bool:
    """Return whether a control is one of the user's, written in Python.

    Parameters
    ----------
    control : str

    Returns
    -------
    bool
    """
    return control.partition(":")[0] in own.controls()
