"""The baseline of ACNS's evaluation, flow by flow, compared with ns-2.35.

A single run is chaotic in both simulators: a start a few milliseconds later changes a flow's data by a quarter. So
both run with many start jitters, and their means are compared.
"""

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import pytest

import narrows as nw

HERE = Path(__file__).resolve().parents[2] / "experiments" / "acns" / "ns2"
NS2 = shutil.which("ns") or shutil.which("ns2")
FLOWS = ("tcp1", "tcp2", "tcp3")
SEEDS = range(1, 31)
SENT_WITHIN = 0.15
RTT_WITHIN = 0.05

pytestmark = [
    pytest.mark.ns2,
    pytest.mark.slow,
    pytest.mark.skipif(NS2 is None, reason="ns-2 is not installed (Debian package ns2), so nothing to compare with"),
]


class Mean(NamedTuple):
    """Means over the seeds."""

    sent_mb: float
    rtt_ms: float
    lost_packets: float


def run_ns2(seed: int) -> dict[str, Mean]:
    """Run ns-2 once."""
    assert NS2 is not None
    command = [NS2, str(HERE / "baseline.tcl"), f"seed={seed}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    report = json.loads(done.stderr[done.stderr.rindex('{"version"') :])
    return {
        flow["name"]: Mean(flow["sent_bytes"] / 1e6, flow["rtt_mean_ms"], flow["lost_packets"])
        for flow in report["flows"]
    }


def mean(runs: list[dict[str, Mean]], flow: str) -> Mean:
    """Average a flow over runs."""
    return Mean(*(fmean(values) for values in zip(*(run[flow] for run in runs), strict=True)))


@pytest.fixture(scope="module")
def theirs() -> dict[str, Mean]:
    """ns-2's means."""
    with ThreadPoolExecutor() as pool:
        runs = list(pool.map(run_ns2, SEEDS))
    return {flow: mean(runs, flow) for flow in FLOWS}


@pytest.fixture(scope="module")
def ours() -> dict[str, Mean]:
    """Narrows' means."""
    batch = nw.run(HERE / "baseline.toml", seed=1, runs=len(SEEDS), overrides={"sampling": "off"})
    runs = []
    for run in batch.runs:
        rows = {}
        for flow in run.flows:
            if flow.cc is not None:
                assert flow.rtt_mean_ms is not None
                rows[flow.name] = Mean(flow.sent_bytes / 1e6, flow.rtt_mean_ms, flow.lost_packets)
        runs.append(rows)
    return {flow: mean(runs, flow) for flow in FLOWS}


@pytest.mark.parametrize("flow", FLOWS)
def test_data_sent_is_within_15_percent_of_ns2(flow: str, ours: dict[str, Mean], theirs: dict[str, Mean]) -> None:
    """A flow's data does not depend on the simulator."""
    assert ours[flow].sent_mb == pytest.approx(theirs[flow].sent_mb, rel=SENT_WITHIN), f"{ours} {theirs}"


@pytest.mark.parametrize("flow", FLOWS)
def test_mean_rtt_is_within_5_percent_of_ns2(flow: str, ours: dict[str, Mean], theirs: dict[str, Mean]) -> None:
    """The same queue fills to the same height."""
    assert ours[flow].rtt_ms == pytest.approx(theirs[flow].rtt_ms, rel=RTT_WITHIN), f"{ours} {theirs}"


def test_the_older_flow_sends_more_in_both(ours: dict[str, Mean], theirs: dict[str, Mean]) -> None:
    """Flows that start earlier send more, as published."""
    for world in (ours, theirs):
        sent = [world[flow].sent_mb for flow in FLOWS]
        assert sent == sorted(sent, reverse=True), world
