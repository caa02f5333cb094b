"""Metrics compared with manually calculated values, and properties that hold for all inputs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from narrows import metrics
from narrows.metrics.aggregate import fairness
from narrows.metrics.flows import FlowMetrics, flow_metrics
from narrows.metrics.queues import queue_metrics

S = 1_000_000_000
MS = 1_000_000

# A flow from 1 s to 11 s: 2,500,000 IP bytes arrived, 2,400,000 payload bytes were delivered.
FLOW: dict[str, int | None] = {
    "start_ns": 1 * S,
    "stop_ns": 11 * S,
    "sent_bytes": 2_600_000,
    "sent_packets": 2_000,
    "arrived_bytes": 2_500_000,
    "arrived_packets": 1_960,
    "delivered_bytes": 2_400_000,
    "lost_packets": 40,
    "retransmitted_packets": 44,
    "retransmitted_bytes": 57_200,
    "timeouts": 1,
    "fast_retransmits": 3,
    "triple_duplicate_acks": 5,
    "later_duplicate_acks": 60,
    "ecn_reductions": 0,
    "spurious": 0,
    "rtt_samples": 4,
    "rtt_sum_ns": 100 * MS,
    "rtt_min_ns": 10 * MS,
    "rtt_max_ns": 40 * MS,
    "rtt_p50_ns": 20 * MS,
    "rtt_p95_ns": 39 * MS,
    "rtt_p99_ns": 40 * MS,
    "max_bin_bytes": 500_000,
    "commands_normal": 7,
    "commands_freeze": 2,
    "commands_fallback": 1,
    "window_options": 11,
    "window_options_ignored": 6,
    "transactions": 0,
    "finished_ns": None,
    "aborted_ns": None,
}

QUEUE: dict[str, int | None] = {
    "arrived_packets": 1_000,
    "forwarded_bytes": 1_000_000,
    "unsent_bytes": 10_000,
    "forwarded_packets": 940,
    "dropped_overflow": 30,
    "dropped_early": 20,
    "dropped_forced": 5,
    "corrupted": 2,
    "marked": 8,
    "waiting_packets": 5,
    "busy_ns": 8 * S,
    "delay_samples": 940,
    "delay_sum_ns": 940 * 3 * MS,
    "delay_max_ns": 9 * MS,
    "delay_p50_ns": 3 * MS,
    "delay_p95_ns": 8 * MS,
    "delay_p99_ns": 9 * MS,
    "max_packets": 20,
    "max_bytes": 20_000,
    "capacity_bits": 10_000_000,
}


@pytest.mark.parametrize("column", ["timeouts", "fast_retransmits", "spurious", "triple_duplicate_acks"])
def test_what_nobody_can_tell_is_no_value_and_not_zero(column: str) -> None:
    assert getattr(flow_metrics("a", "cubic", {**FLOW, column: None}), column) is None
    assert getattr(flow_metrics("a", "cubic", {**FLOW, column: 0}), column) == 0


def test_flow_metrics_are_those_worked_out_by_hand() -> None:
    flow = flow_metrics("a", "cubic", FLOW)
    assert flow.throughput_mbps == pytest.approx(2.0)  # 2.5 MB * 8 / 10 s
    assert flow.goodput_mbps == pytest.approx(1.92)
    assert flow.throughput_max_mbps == pytest.approx(4.0)
    assert flow.loss_ratio == pytest.approx(0.02)
    assert flow.rtt_mean_ms == pytest.approx(25.0)
    assert (flow.rtt_min_ms, flow.rtt_p50_ms, flow.rtt_p95_ms, flow.rtt_p99_ms, flow.rtt_max_ms) == (10, 20, 39, 40, 40)
    assert (flow.start_s, flow.active_s, flow.finished_s) == (1, 10, None)
    assert (flow.commands_normal, flow.commands_freeze, flow.commands_fallback) == (7, 2, 1)
    assert (flow.fast_retransmits, flow.triple_duplicate_acks, flow.later_duplicate_acks) == (3, 5, 60)
    assert (flow.window_options, flow.window_options_ignored) == (11, 6)


def test_a_bounded_transfer_is_measured_until_its_last_byte() -> None:
    flow = flow_metrics("a", "cubic", {**FLOW, "finished_ns": 6 * S})
    assert flow.active_s == 5
    assert flow.throughput_mbps == pytest.approx(4.0)
    assert flow.finished_s == 6


def test_a_flow_that_gave_up_is_measured_until_then() -> None:
    flow = flow_metrics("a", "cubic", {**FLOW, "stop_ns": 5 * S, "aborted_ns": 5 * S})
    assert (flow.active_s, flow.aborted_s, flow.finished_s) == (4, 5, None)
    assert flow_metrics("a", "cubic", FLOW).aborted_s is None


def test_what_was_not_measured_has_no_value() -> None:
    none = dict.fromkeys(["rtt_min_ns", "rtt_max_ns", "rtt_p50_ns", "rtt_p95_ns", "rtt_p99_ns"])
    flow = flow_metrics(
        "a", None, {**FLOW, **none, "rtt_samples": 0, "rtt_sum_ns": 0, "stop_ns": 1 * S, "sent_packets": 0}
    )
    assert flow.rtt_mean_ms is None
    assert flow.rtt_p95_ms is None
    assert flow.throughput_mbps is None
    assert flow.loss_ratio is None


def test_queue_metrics_are_those_worked_out_by_hand() -> None:
    queue = queue_metrics("A->B", QUEUE)
    assert queue.utilisation == pytest.approx(0.792)  # 990 kB * 8 / 10 Mb
    assert queue.dropped_packets == 55
    assert queue.drop_ratio == pytest.approx(0.055)
    assert queue.delay_mean_ms == pytest.approx(3.0)
    assert (queue.delay_p50_ms, queue.delay_p95_ms, queue.delay_p99_ms) == (3, 8, 9)
    assert queue.corrupted_packets == 2
    assert queue.marked_packets == 8


def test_an_unused_queue_has_no_delay_and_no_ratio() -> None:
    empty: dict[str, int | None] = dict.fromkeys(QUEUE, 0)
    queue = queue_metrics(
        "A->B", {**empty, "delay_max_ns": None, "delay_p50_ns": None, "delay_p95_ns": None, "delay_p99_ns": None}
    )
    assert (queue.utilisation, queue.drop_ratio, queue.delay_mean_ms, queue.delay_max_ms) == (None, None, None, None)


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=50))
def test_jains_index_lies_between_one_nth_and_one(values: list[float]) -> None:
    index = metrics.jains_index(values)
    if max(values) == 0:
        assert index is None
    else:
        assert index is not None
        assert 1 / len(values) - 1e-9 <= index <= 1 + 1e-9


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=20), st.floats(1e-3, 1e3))
def test_jains_index_does_not_depend_on_the_unit(values: list[float], factor: float) -> None:
    assert metrics.jains_index(values) == pytest.approx(metrics.jains_index([value * factor for value in values]))


def test_jains_index_of_k_equal_shares_among_n_is_k_over_n() -> None:
    assert metrics.jains_index([4.0] * 3 + [0.0] * 5) == pytest.approx(3 / 8)


def test_udp_does_not_count_in_fairness() -> None:
    def flow(cc: str | None, arrived: int) -> FlowMetrics:
        return flow_metrics("x", cc, {**FLOW, "arrived_bytes": arrived})

    assert fairness([flow("cubic", 1000), flow("reno", 1000), flow(None, 9)]) == pytest.approx(1.0)
    assert fairness([flow(None, 1000)]) is None


@given(st.integers(0, 10**12), st.integers(1, 10**12))
def test_rate_times_time_is_what_was_carried(nbytes: int, time_ns: int) -> None:
    rate = metrics.rate_mbps(nbytes, time_ns)
    assert rate is not None
    assert rate * 1e6 * time_ns / 1e9 == pytest.approx(nbytes * 8)


@given(st.integers(0, 10**15), st.integers(0, 10**15), st.none() | st.integers(0, 10**15))
def test_active_time_is_never_negative(start: int, stop: int, finished: int | None) -> None:
    assert metrics.active_ns(start, stop, finished) >= 0


@given(
    st.lists(st.tuples(st.floats(0.001, 2), st.integers(0, 10**7)), min_size=1, max_size=60),
    st.sampled_from([0.1, 0.5, 1.0]),
)
def test_rates_over_time_add_up_to_the_counter(steps: list[tuple[float, int]], width: float) -> None:
    time = np.concatenate([[0.0], np.cumsum([gap for gap, _ in steps])])
    total = np.concatenate([[0.0], np.cumsum([size for _, size in steps])])
    start, rate = metrics.rate_over_time(time, total, width)
    end = start[-1] + width if start.size else 0.0
    carried = float(np.sum(rate)) * width / 8e-6
    assert carried == pytest.approx(float(np.interp(end, time, total)), abs=1e-3)
    assert (rate >= 0).all()
    assert end <= time[-1] + 1e-6


def test_rate_over_time_leaves_out_a_bin_that_is_not_covered() -> None:
    start, rate = metrics.rate_over_time([0, 2.5], [0, 2.5 * 125_000], 1.0)
    assert start.tolist() == [0, 1]
    assert rate == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("width", [0, -1.0, float("nan")])
def test_a_bin_without_width_is_refused(width: float) -> None:
    with pytest.raises(ValueError, match="bin_s"):
        metrics.rate_over_time([0, 1], [0, 1], width)


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="2 times and 1 values"):
        metrics.rate_over_time([0, 1], [0])
