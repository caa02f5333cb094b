"""A resolved scenario is the engine's JSON, typed: nothing is lost, and what is shared stays one object."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

import pytest
from tests.python.plainly import as_json

from narrows import Scenario
from narrows.base import bundled

if TYPE_CHECKING:
    from narrows.model.resolved import Settings


def untyped(value: Any) -> Any:
    """Return a resolved value with the names of the engine's JSON."""
    if is_dataclass(value) and not isinstance(value, type):
        made = {name: untyped(getattr(value, name)) for name in value.__dataclass_fields__}
        settings: Settings = made.pop("settings", {})
        renamed = {"source": "from", "sink": "to"}
        return {renamed.get(name, name): one for name, one in made.items()} | dict(settings)
    if isinstance(value, tuple | list):
        return [untyped(one) for one in value]
    return value


def held(typed: Any, given: Any) -> bool:
    """Whether a value has all that the JSON has; a typed one may have "no value" and defaults beside it."""
    if isinstance(given, dict):
        return all(name in typed and held(typed[name], one) for name, one in given.items())
    if isinstance(given, list):
        return len(typed) == len(given) and all(held(*both) for both in zip(typed, given, strict=True))
    return bool(typed == given)


@pytest.mark.parametrize("name", bundled.scenarios())
def test_nothing_of_the_engines_json_is_lost(name: str) -> None:
    scenario = Scenario.from_file(name)
    given, typed = as_json(scenario), untyped(scenario.resolved)
    assert {scheme: given.pop(scheme) for scheme in ("acns", "ngwa") if given[scheme]} == typed.pop("schemes")
    assert not any(given.pop(scheme, None) for scheme in ("acns", "ngwa"))
    del given["format"]
    assert held(typed, given)


def test_what_flows_share_is_one_object_and_a_copy_in_another_process_is_equal() -> None:
    scenario = Scenario.from_file("dumbbell-cubic")
    first, second = scenario.resolved.flows
    assert first.tcp is second.tcp
    assert scenario.resolved.flow("second") is second
    with pytest.raises(KeyError):
        scenario.resolved.flow("third")
    rebuild, arguments = scenario.__reduce__()
    assert rebuild(*arguments).resolved == scenario.resolved
    assert asdict(scenario.resolved)["name"] == "dumbbell-cubic"
