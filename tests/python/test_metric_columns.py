"""Metrics of many flows and queues at once are, to the last bit, those of each alone."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import narrows as nw
from narrows import _core
from narrows.base import bundled
from narrows.metrics.columns import columns
from narrows.metrics.flows import flow_metrics
from narrows.metrics.queues import queue_metrics
from narrows.model.schemes import control_of
from narrows.runs import simulated
from narrows.runs.simulated import Task

if TYPE_CHECKING:
    from collections.abc import Sequence

_NONE = 2**64 - 1
Row = dict[str, int | None]
Values = st.SearchStrategy[int | None]


def _engine_names() -> dict[str, tuple[str, ...]]:
    task = Task(nw.Scenario.load("speed-w1", {"duration": "50 ms"}), 1)

    def names(result: _core.Result) -> dict[str, tuple[str, ...]]:
        return {kind: result.totals(f"{kind}_totals")[0] for kind in ("flow", "queue")}

    return simulated.converted(task, _core.Progress(), names)


_NAMES = _engine_names()
"""The columns of the engine's totals."""

_value = st.one_of(
    st.none(),
    st.integers(0, 3),
    st.integers(0, 10**6),
    st.integers(0, 2**40),
    st.integers(2**52, 2**54),
    st.integers(0, 2**62),
    st.integers(2**63 - 2, 2**64 - 2),
)
_small = st.one_of(st.none(), st.integers(0, 3), st.integers(0, 2**40 - 1))


def _one_by_one(kind: str, rows: Sequence[Row]) -> list[dict[str, float | None]]:
    made = [flow_metrics("x", None, row) if kind == "flow" else queue_metrics("x", row) for row in rows]
    words = {"name", "cc", "channel"}
    return [{key: value for key, value in one.to_dict().items() if key not in words} for one in made]


def _packed(names: Sequence[str], rows: Sequence[Row]) -> bytes:
    values = [_NONE if row[name] is None else row[name] for row in rows for name in names]
    return struct.pack(f"<{len(values)}Q", *values)


@pytest.mark.parametrize("kind", ["flow", "queue"])
@pytest.mark.parametrize("value", [_value, _small], ids=["any", "exact"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_columns_are_the_metrics_of_each_row(
    kind: str, value: st.SearchStrategy[int | None], data: st.DataObject
) -> None:
    names = _NAMES[kind]
    row = st.fixed_dictionaries(dict.fromkeys(names, value))
    rows = data.draw(st.lists(row, min_size=1, max_size=4))
    found = columns(kind, names, _packed(names, rows))
    for number, wanted in enumerate(_one_by_one(kind, rows)):
        assert set(found) == set(wanted)
        for metric, expected in wanted.items():
            got = float(found[metric][number])
            if expected is None:
                assert math.isnan(got), metric
            else:
                assert got == float(expected), metric


@pytest.mark.parametrize("value", [2**51 - 1, 2**51, 2**53 // 3 + 1, 2**53 - 1, 2**63, 2**64 - 2])
def test_sums_and_products_of_large_totals_are_those_of_integers(value: int) -> None:
    row: Row = dict.fromkeys(_NAMES["queue"], value)
    row["arrived_packets"] = 3
    found = columns("queue", _NAMES["queue"], _packed(_NAMES["queue"], [row]))
    assert found["drop_ratio"].tolist() == [float(value)]
    assert found["dropped_packets"].tolist() == [float(3 * value)]
    assert found["max_bytes"].tolist() == [float(value)]


def test_totals_of_the_engine_are_its_rows_of_totals() -> None:
    task = Task(nw.Scenario.load("dumbbell-cubic", {"duration": "12 s"}), 1)

    def both(result: _core.Result) -> None:
        for kind in ("flow", "queue"):
            names, values = result.totals(f"{kind}_totals")
            rows = result.rows(f"{kind}_totals", 0, 1000)
            assert [tuple(row) for row in rows] == [names] * len(rows)
            assert values == _packed(names, rows)

    simulated.converted(task, _core.Progress(), both)


@pytest.mark.parametrize("kind", ["flow", "queue"])
def test_no_rows_are_no_values(kind: str) -> None:
    assert {len(column) for column in columns(kind, _NAMES[kind], b"").values()} == {0}


def test_controls_and_queues_are_those_of_the_resolved_scenario() -> None:
    for name in sorted(bundled.scenarios()):
        scenario = nw.Scenario.load(name)
        resolved = scenario.resolved
        assert scenario.congestion_controls() == {flow.name: control_of(flow, resolved) for flow in resolved.flows}
        assert scenario.channels == resolved.wifi
