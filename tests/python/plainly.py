"""A resolved scenario as the engine's JSON has it, for tests that look at single settings or compare whole parts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from narrows.model.scenario import Scenario


def as_json(scenario: Scenario) -> dict[str, Any]:
    """Return the engine's JSON, with names in place of indices."""
    made: dict[str, Any] = json.loads(scenario.core.to_json())
    directions, stops, traffics, tcps = (made.pop(key) for key in ("directions", "stops", "traffics", "tcps"))
    names = [node["name"] for node in made["nodes"]]
    for link in made["links"]:
        link["a"], link["b"] = names[link["a"]], names[link["b"]]
        link["forward"], link["reverse"] = directions[link["forward"]], directions[link["reverse"]]
    for flow in made["flows"]:
        flow["from"], flow["to"] = names[flow["from"]], names[flow["to"]]
        flow["stop_ns"] = stops[flow["stop_ns"]]
        flow["traffic"] = traffics[flow["traffic"]]
        flow["tcp"] = None if flow["tcp"] is None else tcps[flow["tcp"]]
    return made
