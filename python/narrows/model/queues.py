"""Overrides that put one queue discipline before the links of a scenario."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from narrows.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from narrows.model.scenario import Override, Scenario


def with_queue(scenario: Scenario, text: str) -> Scenario:
    """Return a scenario with another queue discipline.

    In a scenario with a shorthand topology, the discipline replaces that of the bottleneck. In others it replaces the
    disciplines of all links and channels. Limits stay; parameters of the replaced discipline are dropped.

    Parameters
    ----------
    scenario : Scenario
    text : str
        A discipline of ``narrows list queues``, with parameters after colons: ``fq_codel:target=10 ms:ecn=false``.

    Returns
    -------
    Scenario

    Raises
    ------
    InputError
        If a parameter is not an assignment.
    ScenarioError
        If the discipline or a parameter is unknown or out of range.

    Examples
    --------
    >>> from narrows.model.scenario import Scenario
    >>> made = with_queue(Scenario.from_file("dumbbell-cubic"), "codel:target=10 ms")
    >>> bottleneck = made.resolved.links[0]
    >>> [side.queue.kind for side in (bottleneck.forward, bottleneck.reverse)]
    ['codel', 'codel']
    """
    kind, *rest = (part.strip() for part in text.split(":"))
    values: dict[str, str] = {}
    for assignment in rest:
        key, equals, value = (part.strip() for part in assignment.partition("="))
        if not equals or not key or not value or key == "kind":
            message = (
                f"queue {text!r}: {assignment!r} is not an assignment; allowed: KIND:PARAMETER=VALUE with a parameter "
                f"of `narrows list queues`, such as fq_codel:target=10 ms"
            )
            raise InputError(message)
        values[key] = value
    made: dict[str, Override] = {}
    for place, limit in _places(scenario):
        made[place] = {"kind": kind, **limit}
        made |= {f"{place}.{key}": value for key, value in values.items()}
    return scenario.with_overrides(made)


def _places(scenario: Scenario) -> Iterator[tuple[str, dict[str, Any]]]:
    """Tables of the file that describe a queue to replace, with their limits."""
    file = tomllib.loads(scenario.text)
    bottleneck = file.get("topology", {}).get("bottleneck")
    if bottleneck is not None:
        yield from _tables(bottleneck, "topology.bottleneck", always=True)
        return
    yield "queue", _limit(file.get("queue", {}))
    for index, link in enumerate(file.get("links", [])):
        yield from _tables(link, f"links[{index}]")
    wifi = file.get("wifi", [])
    several = isinstance(wifi, list)
    for index, channel in enumerate(wifi if several else [wifi]):
        for key in ("queue", "station_queue"):
            if key in channel:
                yield f"wifi[{index}].{key}" if several else f"wifi.{key}", _limit(channel[key])


def _tables(link: dict[str, Any], path: str, *, always: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    if always or "queue" in link:
        yield f"{path}.queue", _limit(link.get("queue", {}))
    for side in ("forward", "reverse"):
        if "queue" in link.get(side, {}):
            yield f"{path}.{side}.queue", _limit(link[side]["queue"])


def _limit(queue: dict[str, Any]) -> dict[str, Any]:
    return {"limit": queue["limit"]} if "limit" in queue else {}
