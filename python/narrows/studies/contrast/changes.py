"""What differs between two scenarios: values by their path, as ``--set`` writes it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from narrows.model.scenario import Scenario

ABSENT: Final = "–"
"""Stands for a value that a scenario does not have."""

NO_EFFECT: Final = frozenset({"name", "title", "description", "seed", "format"})
"""Settings of a scenario that affect no run: a run replaces the seed, which is listed with the results."""

RANDOM: Final = frozenset(
    {"start_jitter", "workloads", "per", "corrupt", "loss", "jitter", "reorder", "duplicate", "ack_loss", "wifi"}
)
"""Parts of a path that name a random input: something that random numbers are drawn for whatever TCP does."""

_CHOICES: Final = ("cc", "kind")
"""Keys that choose a control, a queue discipline or a kind of traffic, whose parameters are beside or below them."""

_SHORT: Final = ("cc", "stack")
"""TCP settings that a flow has beside its table ``tcp``."""

_LONGEST: Final = 60
"""Longest value that is shown whole, in characters."""

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Change:
    """A value that two scenarios do not share.

    Attributes
    ----------
    path : str
        As ``--set`` takes it: ``flows.first.cc``. With ``*`` for a name: every flow or link changes in the same way.
    before, after : str
        The value in either scenario; `ABSENT` if there is none.
    follows : bool
        Whether it comes with another change: a parameter of a congestion control that differs, or one that only one of
        two queue disciplines or kinds has.
    """

    path: str
    before: str
    after: str
    follows: bool = False

    @property
    def is_random(self) -> bool:
        """Whether it changes what random numbers decide apart from the flows' own behaviour."""
        return not RANDOM.isdisjoint(self.path.split("."))

    def __str__(self) -> str:
        """Return path and both values."""
        return f"{self.path}: {self.before} → {self.after}"


def between(before: Scenario, after: Scenario) -> tuple[Change, ...]:
    """List what differs between two scenarios, every default included.

    Parameters
    ----------
    before, after : Scenario

    Returns
    -------
    tuple of Change
        In the order of the file; flows, links, nodes, workloads and channels are matched by name. What all flows, or
        all links, change in the same way is one entry.
    """
    first, second = (dict(_leaves(_layered(one))) for one in (before, after))
    made = []
    for path in dict.fromkeys((*first, *second)):
        if path[0] in NO_EFFECT or first.get(path) == second.get(path):
            continue
        made.append((path, _text(first.get(path)), _text(second.get(path))))
    return tuple(_together(made, (*first, *second)))


Path = tuple[str, ...]


def _layered(scenario: Scenario) -> dict[str, Any]:
    """Return the values of a scenario; each flow and workload has its own TCP settings instead of a common table."""
    values = tomllib.loads(scenario.to_toml())
    common = values.pop("tcp", {})
    udp = {name for name, control in scenario.congestion_controls().items() if control is None}
    for kind in ("flows", "workloads"):
        values[kind] = [one if one.get("name") in udp else _with_tcp(one, common) for one in values.get(kind, ())]
    return values


def _with_tcp(flow: dict[str, Any], common: dict[str, Any]) -> dict[str, Any]:
    """Return a flow with all its TCP settings; ``cc`` and ``stack`` are beside ``tcp``, where flows have them."""
    own = flow.get("tcp", {}) | {key: flow[key] for key in _SHORT if key in flow}
    base = {key: value for key, value in common.items() if key != "cc_params" or not {"cc", "cc_params"} & set(own)}
    tcp = _merged(base, own)
    return {**flow, **{key: tcp.pop(key) for key in _SHORT if key in tcp}, "tcp": tcp}


def _merged(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    made = dict(own)
    for key, value in base.items():
        inner = made.get(key)
        if isinstance(value, dict) and isinstance(inner, dict):
            made[key] = _merged(value, inner)
        else:
            made.setdefault(key, value)
    return made


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Value]]:
    """Yield values with their paths; elements of lists go by their name, or by their place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)))
    elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
        seen: dict[str, int] = {}
        for place, one in enumerate(value):
            name = _name(one, place)
            seen[name] = seen.get(name, 0) + 1
            yield from _leaves(one, (*path, name if seen[name] == 1 else f"{name}#{seen[name]}"))
    elif isinstance(value, list):
        yield path, f"[{', '.join(str(one) for one in value)}]"
    else:
        yield path, value


def _name(element: Any, place: int) -> str:
    """Return the name of an element of a list: its own, its ends, or its place."""
    if isinstance(element, dict):
        if "name" in element:
            return str(element["name"])
        ends = element.get("between")
        if isinstance(ends, list):
            return "-".join(str(one) for one in ends)
    return str(place)


def _together(changes: Sequence[tuple[Path, str, str]], every: Sequence[Path]) -> list[Change]:
    """Return changes; those that all elements of a list share become one, with ``*`` for the element."""
    members: dict[tuple[str, Path], set[str]] = {}
    for path in every:
        if len(path) > 2:
            members.setdefault((path[0], path[2:]), set()).add(path[1])
    same: dict[tuple[str, Path, str, str], set[str]] = {}
    for path, before, after in changes:
        if len(path) > 2:
            same.setdefault((path[0], path[2:], before, after), set()).add(path[1])
    chosen = {(path[-1], path[:-1]) for path, _, _ in changes if path[-1] in _CHOICES}
    made: dict[tuple[str, str, str, bool], None] = {}
    for path, before, after in changes:
        named = path
        if len(path) > 2:
            alike = same[path[0], path[2:], before, after]
            if len(alike) > 1 and alike == members[path[0], path[2:]]:
                named = (path[0], "*", *path[2:])
        made.setdefault((".".join(named), before, after, _follows(path, chosen, ABSENT in (before, after))))
    return [Change(*one) for one in made]


def _follows(path: Path, chosen: set[tuple[str, Path]], alone: bool) -> bool:
    """Return whether a setting comes with a choice that differs: a control's parameter, or one of one kind only.

    Choices are given by their key and the table that they are in.
    """
    for length in range(len(path)):
        table, rest = path[:length], path[length:]
        if rest[:2] == ("tcp", "cc_params") and ("cc", table) in chosen:
            return True
        if alone and rest != ("kind",) and ("kind", table) in chosen:
            return True
    return False


def _text(value: Value | None) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return str(value).lower()
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 2]}.."
