"""The order of tests: each worker begins with modules that have slow tests, and modules stay together."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

CONFTEST: Final = Path(__file__).parents[2] / "conftest.py"
TESTS: Final = {"a": (6, 0), "b": (2, 1), "c": (9, 0), "d": (5, 4), "e": (3, 2), "f": (15, 0)}
"""Modules: how many tests each has, and how many of them are slow."""


def slow_first(items: list[Any], workers: int) -> list[Any]:
    spec = importlib.util.spec_from_file_location("root_conftest", CONFTEST)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    ordered: list[Any] = module.slow_first(items, workers)
    return ordered


def items(tests: dict[str, tuple[int, int]]) -> list[Any]:
    def item(path: str, number: int, slow: bool) -> Any:
        marker = pytest.mark.slow if slow else None
        return SimpleNamespace(path=Path(path), name=f"{path}{number}", get_closest_marker=lambda _: marker)

    return [item(path, number, number < slow) for path, (count, slow) in tests.items() for number in range(count)]


def modules(of: list[Any]) -> str:
    return "".join(path.name for path, _ in itertools.groupby(item.path for item in of))


def test_each_worker_begins_with_slow_modules() -> None:
    found = slow_first(items(TESTS), 2)
    # The first half, 20 tests, is the first worker's.
    assert modules(found[:20]) == "dac"
    assert modules(found[20:]) == "ebf"


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 50])
def test_no_test_is_lost_or_repeated(workers: int) -> None:
    given = items(TESTS)
    found = slow_first(given, workers)
    assert len(found) == len(given)
    assert {item.name for item in found} == {item.name for item in given}
    of_slow = [item.name for item in found if TESTS[item.path.name][1]]
    assert len(list(itertools.groupby(name[0] for name in of_slow))) == 3, "a module with slow tests is in one piece"


def test_one_process_keeps_the_order() -> None:
    given = items(TESTS)
    assert slow_first(given, 1) == given


def test_slow_modules_alone_are_dealt_out() -> None:
    assert modules(slow_first(items({"a": (3, 3), "b": (2, 2), "c": (1, 1)}), 2)) == "abc"
