"""The verdict of a page: its sentences and numbers are those of the run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import narrows as nw
from narrows.metrics import rate_over_time
from narrows.report import verdict
from narrows.stats import fair_convergence_time

if TYPE_CHECKING:
    from narrows.outcome import Batch, Run


def said(result: Run | Batch) -> str:
    return " ".join(verdict.of(result).sentences)


@pytest.fixture(scope="module")
def run() -> Run:
    return nw.run("dumbbell-cubic", seed=1)


def test_it_says_who_got_what(run: Run) -> None:
    first, second = (run.flow(name).throughput_mbps or 0 for name in ("first", "second"))
    share = re.search(r"first \(cubic\) got ([\d.]+) Mb/s, (\d+) % and second \(cubic\) got ([\d.]+) Mb/s", said(run))
    assert share is not None
    assert float(share[1]) == pytest.approx(first, rel=0.01)
    assert int(share[2]) == round(100 * first / (first + second))
    assert float(share[3]) == pytest.approx(second, rel=0.01)


def test_it_says_how_full_the_queue_was(run: Run) -> None:
    queue = run.queue("r1->r2")
    told = re.search(r"The queue r1 → r2 delayed packets by ([\d.]+) ms", said(run))
    assert told is not None
    assert float(told[1]) == pytest.approx(queue.delay_mean_ms, rel=0.01)


def test_losses_add_up_and_have_a_reason(run: Run) -> None:
    dropped = sum(queue.dropped_packets + queue.corrupted_packets for queue in run.queues)
    assert f"{dropped:,} packets were lost, all because the queue r1 → r2 was full." in said(run)


def test_marks_are_no_losses() -> None:
    made = nw.run("l4s", seed=1, overrides={"duration": "5 s"})
    marked = sum(queue.marked_packets for queue in made.queues)
    assert f"{marked:,} packets were marked CE." in said(made)


def test_losses_of_links_are_told_from_those_of_queues() -> None:
    assert "corrupted them" in said(nw.run("lossy-link", seed=1, overrides={"duration": "20 s"}))


def test_the_time_until_fair_is_that_of_the_statistics() -> None:
    made = nw.run("l4s", seed=1)
    rows = [made.samples.frame("flow").query("name == @flow.name") for flow in made.flows]
    curves = [rate_over_time(one["time_s"], one["arrived_bytes"], 1.0) for one in rows]
    start = max(flow.start_s for flow in made.flows)
    fair = fair_convergence_time(curves[0][0], [rate for _, rate in curves], start_s=start)
    assert fair is not None
    told = re.search(r"shared fairly .* from ([\d.]+) s after the last of them had started", said(made))
    assert told is not None
    assert float(told[1]) == pytest.approx(fair, rel=0.01)


def test_unequal_controls_never_share_fairly() -> None:
    unfair = {"flows.second.cc": "vegas", "duration": "40 s"}
    assert "never shared fairly" in said(nw.run("dumbbell-cubic", seed=1, overrides=unfair))


def test_a_single_flow_is_not_said_to_share() -> None:
    text = said(nw.run("standard", seed=1, overrides={"duration": "10 s"}))
    assert "The flow" in text
    assert "fairly" not in text


def test_without_samples_nothing_is_said_of_fairness_over_time() -> None:
    made = nw.run("dumbbell-cubic", seed=1, overrides={"sampling": "off"})
    assert "fairly" not in said(made)
    assert any(card.what == "Jain's index" for card in verdict.of(made).cards)


def test_of_several_runs_it_says_in_how_many_they_were_fair() -> None:
    batch = nw.run("dumbbell-cubic", seed=1, runs=5)
    assert re.search(r"in 2 of 5 runs, from [\d.]+ s after", said(batch))
    assert any(card.note.endswith("in 2 of 5 runs") for card in verdict.of(batch).cards)


def test_transfers_without_flows_have_completion_times() -> None:
    made = nw.run("web-search", seed=1, overrides={"duration": "2 s"})
    assert re.search(r"transfers finished, half of them within .* and 99 % within", said(made))
