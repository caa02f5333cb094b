"""The two flows of a scenario that contestants replace, and their place in the file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from narrows.base.errors import InputError
from narrows.studies.contest.window import Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.model.scenario import Override, Scenario
    from narrows.studies.contest.contestant import Contestant

_SHORT: Final = ("cc", "stack")
"""Fields of ``tcp`` that a flow may also set outside of its ``tcp`` table, but not in both places."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A flow of the scenario that a contestant replaces.

    Attributes
    ----------
    name : str
        Name of the flow.
    index : int
        Index of the flow among all flows of the run.
    place : str
        Path of the flow in the file, for overrides.
    start_ns, stop_ns : int
        Start and stop in the scenario; jitter is added to the start.
    """

    name: str
    index: int
    place: str
    start_ns: int
    stop_ns: int


def find(scenario: Scenario, names: Sequence[str] | None) -> tuple[Slot, Slot]:
    """Find the two slots of a scenario.

    Parameters
    ----------
    scenario : Scenario
    names : two names, optional
        Required if there are more than two TCP flows.

    Returns
    -------
    tuple of Slot

    Raises
    ------
    InputError
        If there are not exactly two, or the names are not those of two TCP flows without copies.
    """
    flows = scenario.resolved.flows
    found = places(scenario)
    tcp = [flow.name for flow in flows if flow.tcp]
    alone = [flow.name for flow, place in zip(flows, found, strict=True) if flow.tcp and place is not None]
    copied = [name for name in tcp if name not in alone]
    if names is None:
        if len(tcp) != 2:
            more = f"; name two with --slots: {_names(alone)}" if len(alone) > 2 else ""
            copies = f"; copies ({_names(copied)}) cannot be slots: write them as flows of their own" if copied else ""
            count = f"{len(tcp)} TCP flow{'' if len(tcp) == 1 else 's'}"
            message = f"{scenario.path}: has {count}; needed: two slots{more}{copies}"
            raise InputError(message)
        names = tcp
    if len(names) != 2 or names[0] == names[1]:
        message = f"slots are {','.join(names)}; allowed: two different TCP flows of {_names(alone)}"
        raise InputError(message)
    for name in names:
        if name not in tcp:
            message = f"slot {name!r}: {scenario.path} has no TCP flow of this name; allowed: {_names(alone)}"
            raise InputError(message)
    taken: list[Slot] = []
    for name in names:
        index = next(i for i, flow in enumerate(flows) if flow.name == name)
        place = found[index]
        if place is None:
            message = (
                f"slot {name!r}: is one of several copies; allowed: flows that stand alone in the file: {_names(alone)}"
            )
            raise InputError(message)
        taken.append(Slot(name, index, place, flows[index].start_ns, flows[index].stop_ns))
    return taken[0], taken[1]


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (", .." if len(names) > 12 else "") or "none here"


def places(scenario: Scenario) -> list[str | None]:
    """Return the paths in the file of all flows of the run.

    Parameters
    ----------
    scenario : Scenario

    Returns
    -------
    list of str or None
        ``None`` for copies.
    """
    found: list[str | None] = []
    for i, flow in enumerate(tomllib.loads(scenario.text)["flows"]):
        # If several overrides set the same field, the last one applies.
        ways = {f"flows[{i}].copies", f"flows.{flow.get('name', f'flow{i + 1}')}.copies", "flows[*].copies"}
        said = [value for path, value in scenario.overrides.items() if path in ways]
        copies = int((said or [flow.get("copies", 1)])[-1])
        found += [f"flows[{i}]"] if copies == 1 else [None] * copies
    return found


def fields(scenario: Scenario, slot: Slot, one: Contestant) -> dict[str, Override]:
    """Return the overrides that put a contestant into a slot.

    Parameters
    ----------
    scenario : Scenario
    slot : Slot
    one : Contestant

    Returns
    -------
    dict
        Values by path.
    """
    position = int(slot.place.removeprefix("flows[").removesuffix("]"))
    own: dict[str, Any] = tomllib.loads(scenario.text)["flows"][position].get("tcp", {})
    values: dict[str, Override] = {}
    given = dict(one.tcp)
    if "cc_params" in own and "cc_params" not in given:
        # The file's parameters belong to the slot's own congestion control, so the contestant's replace them all.
        prefix = "cc_params."
        params = {key.removeprefix(prefix): given.pop(key) for key in list(given) if key.startswith(prefix)}
        values[f"{slot.place}.tcp.cc_params"] = params
    for key, value in given.items():
        inside = f"{slot.place}.tcp.{key}"
        # A field may be set in one place only, so use the place that the file uses.
        short = key in _SHORT and key not in own and inside not in scenario.overrides
        values[f"{slot.place}.{key}" if short else inside] = value
    return values


def default_window(scenario: Scenario, slots: tuple[Slot, Slot]) -> Window:
    """Time in which both slots are active in every run, without its first tenth, aligned to samples.

    Parameters
    ----------
    scenario : Scenario
    slots : tuple of Slot

    Returns
    -------
    Window

    Raises
    ------
    InputError
        If the two slots are never active together.
    """
    flows = scenario.resolved.flows
    jitter = scenario.resolved.start_jitter_ns
    starts = [slot.start_ns + (jitter if flows[slot.index].jitter else 0) for slot in slots]
    begin, end = max(starts), min(slot.stop_ns for slot in slots)
    if end <= begin:
        message = (
            f"{scenario.path}: the flows {slots[0].name} and {slots[1].name} are never active together "
            f"({begin / 1e9:g} s to {end / 1e9:g} s)"
        )
        raise InputError(message)
    step = scenario.resolved.sampling.interval_ns
    warm = begin + (end - begin) // 10
    start = -(-warm // step) * step  # aligned to samples, where counters are exact
    stop = end // step * step
    return Window(start / 1e9, stop / 1e9) if start < stop else Window(warm / 1e9, end / 1e9)
