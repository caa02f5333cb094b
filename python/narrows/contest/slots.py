"""The two flows of a scenario that contestants take, and where the file speaks of them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from narrows.contest.window import Window
from narrows.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.contest.contestant import Contestant
    from narrows.scenario import Override, Scenario

_SHORT: Final = ("cc", "stack")
"""Fields of ``tcp`` that a flow may also say outside of it, but not in both places."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One of the two flows of the scenario that a contestant takes.

    Attributes
    ----------
    name : str
        The flow.
    index : int
        Its position among all flows of the run.
    place : str
        Its path in the file, for overrides.
    start_ns, stop_ns : int
        Its start and stop in the scenario; jitter comes on top of the start.
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
        Needed where there are more than two TCP flows.

    Returns
    -------
    tuple of Slot

    Raises
    ------
    InputError
        If there are not two, or the names are not those of two TCP flows that stand alone in the file.
    """
    flows = scenario.resolved["flows"]
    places = _places(scenario)
    tcp = [flow["name"] for flow in flows if flow.get("tcp")]
    alone = [flow["name"] for flow, place in zip(flows, places, strict=True) if flow.get("tcp") and place is not None]
    copied = [name for name in tcp if name not in alone]
    if names is None:
        if len(tcp) != 2:
            more = f"; name two with --slots: {_names(alone)}" if len(alone) > 2 else ""
            copies = f"; copies ({_names(copied)}) cannot be slots: write them as flows of their own" if copied else ""
            count = f"{len(tcp)} TCP flow{'' if len(tcp) == 1 else 's'}"
            message = f"{scenario.path}: has {count}; needed are two slots{more}{copies}"
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
        index = next(i for i, flow in enumerate(flows) if flow["name"] == name)
        place = places[index]
        if place is None:
            message = (
                f"slot {name!r}: is one of several copies; allowed: flows that stand alone in the file: {_names(alone)}"
            )
            raise InputError(message)
        taken.append(Slot(name, index, place, flows[index]["start_ns"], flows[index]["stop_ns"]))
    return taken[0], taken[1]


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (", .." if len(names) > 12 else "") or "none here"


def _places(scenario: Scenario) -> list[str | None]:
    """Path in the file of each flow of the run; ``None`` for copies."""
    places: list[str | None] = []
    for i, flow in enumerate(tomllib.loads(scenario.text)["flows"]):
        # Of overrides that mean the same field the last holds.
        ways = {f"flows[{i}].copies", f"flows.{flow.get('name', f'flow{i + 1}')}.copies", "flows[*].copies"}
        said = [value for path, value in scenario.overrides.items() if path in ways]
        copies = int((said or [flow.get("copies", 1)])[-1])
        places += [f"flows[{i}]"] if copies == 1 else [None] * copies
    return places


def fields(scenario: Scenario, slot: Slot, one: Contestant) -> dict[str, Override]:
    """Overrides that put a contestant into a slot.

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
    if "cc_params" in own and not any(key.startswith("cc_params") for key in one.tcp):
        values[f"{slot.place}.tcp.cc_params"] = {}  # the file's are those of the slot's own congestion control
    for key, value in one.tcp.items():
        inside = f"{slot.place}.tcp.{key}"
        # A field may not stand in both places, so that it goes where the file has it.
        short = key in _SHORT and key not in own and inside not in scenario.overrides
        values[f"{slot.place}.{key}" if short else inside] = value
    return values


def default_window(scenario: Scenario, slots: tuple[Slot, Slot]) -> Window:
    """Time in which both slots are active in every run, without its first tenth; on the grid of samples.

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
        If the two are never active together.
    """
    flows = scenario.resolved["flows"]
    jitter = scenario.resolved["start_jitter_ns"]
    starts = [slot.start_ns + (jitter if flows[slot.index]["jitter"] else 0) for slot in slots]
    begin, end = max(starts), min(slot.stop_ns for slot in slots)
    if end <= begin:
        message = (
            f"{scenario.path}: the flows {slots[0].name} and {slots[1].name} are never active together "
            f"({begin / 1e9:g} s to {end / 1e9:g} s)"
        )
        raise InputError(message)
    step = scenario.resolved["sampling"]["interval_ns"]
    warm = begin + (end - begin) // 10
    start = -(-warm // step) * step  # on the grid of samples, where counters are exact
    stop = end // step * step
    return Window(start / 1e9, stop / 1e9) if start < stop else Window(warm / 1e9, end / 1e9)
