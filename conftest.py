"""Which tests run on this machine's own TCP stack, the option that leaves them out or alone, and the order of tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FIXTURES = frozenset({"live_run", "trusted"})
"""Fixtures of `tests/python/conftest.py` that make live runs."""

MODULES = (
    "test_attach",
    "test_comparison_cli",
    "test_interrupts",
    "test_check_live",
    "test_live",
    "test_packetdrill_live",
)
"""Beginnings of the names of modules whose tests make live runs, or hold a command to a time, without a fixture.

In other modules such a test has the marker ``live``.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--live``."""
    parser.addoption(
        "--live",
        choices=("with", "without", "only"),
        default="with",
        help="tests that need the machine for themselves, because they judge real time: with the others (the default), "
        "left out, or alone",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that need the machine for themselves, choose by ``--live``, and put slow modules first."""
    wanted = config.getoption("--live")
    chosen: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        live = item.get_closest_marker("live") is not None
        if not live and _is_live(item.path.name, getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.live)
            live = True
        (left if wanted != "with" and live != (wanted == "only") else chosen).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
    items[:] = slow_first(chosen, getattr(config, "workerinput", {}).get("workercount", 1))


def slow_first(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """Order the tests of parallel workers so that each begins with slow ones, and none ends with one alone.

    ``--dist worksteal`` first gives each worker an equal number of consecutive tests; one that is done takes half of
    what another has left. Tests of a module stay together, because they share fixtures.

    Parameters
    ----------
    items : sequence of pytest.Item
        In the order of their modules.
    workers : int
        Number of processes; with one the order does not matter, and stays.

    Returns
    -------
    list of pytest.Item
        The same tests.
    """
    if workers < 2:
        return list(items)
    modules: dict[Path, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(item.path, []).append(item)
    slow = {path: sum(item.get_closest_marker("slow") is not None for item in some) for path, some in modules.items()}
    quick = [item for path, some in modules.items() if not slow[path] for item in some]
    hands: list[list[pytest.Item]] = [[] for _ in range(workers)]
    held = [0] * workers
    for path in sorted(filter(slow.__getitem__, modules), key=slow.__getitem__, reverse=True):
        least = held.index(min(held))
        hands[least] += modules[path]
        held[least] += slow[path]
    ordered: list[pytest.Item] = []
    for number, hand in enumerate(hands):
        room = max((len(items) - len(ordered)) // (workers - number) - len(hand), 0)
        ordered += [*hand, *quick[:room]]
        quick = quick[room:]
    return [*ordered, *quick]


def _is_live(file: str, fixtures: Sequence[str]) -> bool:
    return file.startswith(MODULES) or not FIXTURES.isdisjoint(fixtures)
