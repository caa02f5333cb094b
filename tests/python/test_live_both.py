"""Today's network live: DualPI2 with DCTCP on ECT(1), calls, impairments and policers on this machine's TCP stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import narrows as nw
from narrows.model.scenario import Scenario
from narrows.outcome import Run

if TYPE_CHECKING:
    from tests.python.conftest import LiveRun


def bundled(name: str, duration: str) -> Scenario:
    return Scenario.from_file(name, {"duration": duration})


def test_dctcp_on_ect1_has_a_queue_of_its_own_in_dualpi2(live_run: LiveRun) -> None:
    measured = live_run(bundled("l4s-dctcp", "6 s"))
    assert measured.conditions is not None
    assert "dctcp" in measured.conditions["cc"]["dctcp"], "the kernel's, or ours as eBPF"
    parts = {part.name: part for part in measured.subqueues}
    low, classic = parts["r1->r2/l4s"], parts["r1->r2/classic"]
    assert low.forwarded_packets > 3000, "Linux sends ECT(0), and the network makes ECT(1) of it"
    assert low.marked_packets > 50
    assert low.delay_p50_ms is not None
    assert classic.delay_p50_ms is not None
    assert low.delay_p50_ms < 3 < classic.delay_p50_ms
    assert measured.flow("l4s").lost_packets == 0
    assert (measured.flow("l4s").ecn_reductions or 1) > 0
    both = [measured.flow(name).throughput_mbps or 0 for name in ("l4s", "classic")]
    assert sum(both) == pytest.approx(40, rel=0.05)
    assert max(both) < 3 * min(both)


def test_a_call_keeps_its_delay_beside_bulk_flows(live_run: LiveRun) -> None:
    scenario = Scenario.from_file(
        "call", {"duration": "8 s", "flows.upload.start": "1 s", "flows.download.start": "1 s"}
    )
    measured = live_run(scenario, latest_ms=20)
    up, down = measured.datagrams
    assert (up.name, down.name) == ("call-up", "call-down")
    assert up.delay_min_ms == pytest.approx(18.2, abs=1.5)
    assert up.delay_p95_ms is not None
    assert down.delay_p95_ms is not None
    assert up.delay_p95_ms < 30
    assert down.delay_p95_ms < 30
    assert up.arrived_packets == pytest.approx(400, rel=0.02)
    assert down.frames == pytest.approx(240, rel=0.02)
    assert down.incomplete_ratio is not None
    assert down.incomplete_ratio < 0.05
    simulated = nw.run(scenario)
    assert isinstance(simulated, Run)
    assert simulated.datagrams[0].delay_p50_ms == pytest.approx(up.delay_p50_ms, rel=0.1)


def test_impairments_are_counted_live_too(live_run: LiveRun) -> None:
    measured = live_run(bundled("reordering", "4 s"))
    (told,) = measured.impairments
    queue = measured.queue(told.name)
    assert told.reordered == pytest.approx(queue.forwarded_packets / 100, rel=0.5)
    assert told.duplicated == 0


def test_a_policer_drops_and_does_not_delay(live_run: LiveRun) -> None:
    measured = live_run(bundled("policer", "5 s"), latest_ms=20)
    flow = measured.flow("policed")
    assert flow.throughput_mbps == pytest.approx(19.5, rel=0.1)
    assert flow.lost_packets > 10
    assert flow.rtt_mean_ms == pytest.approx(24.3, rel=0.1)
