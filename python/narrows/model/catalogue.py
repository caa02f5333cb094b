"""What a scenario can name: congestion controls, queues, schemes and 802.11 PHYs, with their parameters."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Literal

from narrows import _core
from narrows.model import own

Section = Literal["cc", "queues", "schemes", "phys"]
"""A section of the catalogue."""


def engine_catalogue() -> dict[str, list[dict[str, Any]]]:
    """Return the engine's registries, without the user's own congestion controls.

    Returns
    -------
    dict
        As for `catalogue`.
    """
    content: dict[str, list[dict[str, Any]]] = json.loads(_core.catalogue())
    return content


@cache
def scheme_names() -> tuple[str, ...]:
    """Return the names of the engine's schemes, in the order of its registry.

    They are keys of the engine's JSON of a scenario, whose values are the settings of the scheme that runs, else null.

    Returns
    -------
    tuple of str
    """
    return tuple(str(row["name"]) for row in engine_catalogue()["schemes"])


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """Return the engine's registries, with the user's own congestion controls.

    Returns
    -------
    dict
        Lists of entries under ``cc``, ``queues``, ``schemes`` and ``phys``; an entry has ``name``, ``title``,
        ``sources``, ``parameters`` and ``variables``. Congestion controls also have ``recovery``, ``needs_ecn``,
        ``l4s``, ``ns2``, ``profiles`` and ``page``. PHYs have, instead of ``parameters`` and ``variables``, values
        fixed by the standard: ``rates_bps`` or ``max_mcs``, ``widths_mhz``, ``max_streams`` and ``left_out``;
        ``basic_rates_bps``, ``slot_ns``, ``sifs_ns``, ``cw_min``, ...
    """
    content = engine_catalogue()
    for name, title, parameters in own.rows():
        described = [
            {"name": parameter, "doc": doc, "kind": "switch", "default": default}
            if isinstance(default, bool)
            else {"name": parameter, "doc": doc, "kind": "number", "unit": "", "default": default}
            for parameter, doc, default in parameters
        ]
        entry: dict[str, Any] = {
            "name": name,
            "title": title,
            "sources": ["registered from Python"],
            "parameters": described,
            "variables": [],
            "recovery": None,
            "needs_ecn": False,
            "l4s": False,
            "own_start": "is an algorithm of your own, which has its slow start itself",
            "ns2": None,
            "profiles": {},
            "page": "",
        }
        content["cc"].append(entry)
    return content


def list_algorithms(section: Section = "cc") -> list[dict[str, Any]]:
    """List the entries of one section of the catalogue.

    Parameters
    ----------
    section : {"cc", "queues", "schemes", "phys"}
        Congestion controls by default.

    Returns
    -------
    list of dict
        One entry each, in the registry's order.

    Examples
    --------
    >>> [entry["name"] for entry in list_algorithms() if entry["name"] == "cubic"]
    ['cubic']
    """
    return catalogue()[section]


def list_scenarios() -> list[dict[str, Any]]:
    """List the scenarios bundled with Narrows.

    Returns
    -------
    list of dict
        ``name``, ``title``, ``nodes`` and ``flows`` (their numbers) and ``duration_s`` of each, sorted by name.

    Examples
    --------
    >>> "dumbbell-cubic" in [entry["name"] for entry in list_scenarios()]
    True
    """
    from narrows.base.bundled import scenarios
    from narrows.model.scenario import Scenario

    entries = []
    for name, path in scenarios().items():
        scenario = Scenario.from_file(path)
        entries.append(
            {
                "name": name,
                "title": scenario.title,
                "nodes": len(scenario.resolved.nodes),
                "flows": len(scenario.resolved.flows),
                "duration_s": scenario.duration_s,
            }
        )
    return entries
