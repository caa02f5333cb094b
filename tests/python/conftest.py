"""What several tests need: a short scenario, results of it, and columns as the engine gives them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from narrows.outcome import Batch, Run
    from narrows.samples import CoreTable
    from narrows.scenario import Scenario

NONE = 2**64 - 1


@pytest.fixture(scope="session")
def short() -> Scenario:
    """Return a bundled scenario, cut to twelve seconds."""
    from narrows.scenario import Scenario

    return Scenario.from_file("dumbbell-cubic", {"duration": "12 s"})


@pytest.fixture(scope="session")
def one(short: Scenario) -> Run:
    """Return one run of the short scenario."""
    from narrows.outcome import Run
    from narrows.runs import run

    made = run(short, seed=3)
    assert isinstance(made, Run)
    return made


@pytest.fixture(scope="session")
def three(short: Scenario) -> Batch:
    """Return three runs of the short scenario."""
    from narrows.outcome import Batch
    from narrows.runs import run

    made = run(short, seed=3, runs=3)
    assert isinstance(made, Batch)
    return made


@pytest.fixture(scope="session")
def core_table() -> Callable[[dict[str, Sequence[int | None]]], CoreTable]:
    """Return a function that packs columns as the engine does; ``None`` becomes its "no value"."""

    def pack(columns: dict[str, Sequence[int | None]]) -> CoreTable:
        return [
            (name, "ns" if name.endswith("_ns") else "", f"What {name} means.", _packed(values))
            for name, values in columns.items()
        ]

    return pack


def _packed(values: Sequence[int | None]) -> bytes:
    return struct.pack(f"<{len(values)}Q", *(NONE if value is None else value for value in values))
