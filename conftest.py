"""Which tests run on this machine's own TCP stack, and the option that leaves them out or runs them alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

FIXTURES = frozenset({"live_run", "trusted"})
"""Fixtures of `tests/python/conftest.py` that make live runs."""

MODULES = (
    "test_attach",
    "test_comparison_cli",
    "test_interrupts",
    "test_live",
    "test_packetdrill_live",
    "test_papers_acns_live",
    "test_papers_ngwa_live",
)
"""Beginnings of the names of modules whose tests make live runs, or hold a command to a time, without a fixture."""


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
    """Mark the tests that need the machine for themselves, and choose by ``--live``."""
    wanted = config.getoption("--live")
    chosen: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        live = _is_live(item.path.name, getattr(item, "fixturenames", ()))
        if live:
            item.add_marker(pytest.mark.live)
        (left if wanted != "with" and live != (wanted == "only") else chosen).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
    items[:] = chosen


def _is_live(file: str, fixtures: Sequence[str]) -> bool:
    return file.startswith(MODULES) or not FIXTURES.isdisjoint(fixtures)
