"""Pairs of the fifteen-variant contest, compared with ns-2.35.

Flows without losses share the channel evenly for any backoffs. A single run with Vegas or Hybla says little: the base
round-trip time that Vegas measures depends on the queue length when it starts. So means over seeds are compared.
"""

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean

import pytest

from narrows import contest
from narrows_papers.contest.variants import variant

HERE = Path(__file__).resolve().parents[2] / "experiments" / "contest" / "ns2"
NS2 = shutil.which("ns") or shutil.which("ns2")
SEEDS = range(1, 16)
MEBIT = 2.0**20

# ns-2's module or agent for each variant, and the tolerance for each flow's mean TPP, in Mb/s of 2^20 bits.
AGENTS = {"NewReno": "Newreno", "Cubic": "Linux/cubic", "Hybla": "Linux/hybla", "Vegas": "Vegas"}
PAIRS = {
    ("Cubic", "Cubic"): 0.01,
    ("NewReno", "Cubic"): 0.01,
    ("Hybla", "Cubic"): 0.02,
    ("Cubic", "Hybla"): 0.02,
    ("Vegas", "Cubic"): 0.015,
    ("Cubic", "Vegas"): 0.04,
    ("Vegas", "Vegas"): 0.05,
}

pytestmark = [
    pytest.mark.ns2,
    pytest.mark.slow,
    pytest.mark.skipif(NS2 is None, reason="ns-2 is not installed (Debian package ns2), so nothing to compare with"),
]


def theirs(first: str, second: str) -> tuple[float, float]:
    """ns-2's mean TPP of both flows."""

    def run(seed: int) -> list[float]:
        assert NS2 is not None
        keys = [f"first={AGENTS[first]}", f"second={AGENTS[second]}", f"seed={seed}"]
        command = [NS2, str(HERE / "contest.tcl"), *keys]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
        report = json.loads(done.stderr[done.stderr.rindex('{"version"') :])
        return [flow["received_bytes"] * 8 / 60 / MEBIT for flow in report["flows"]]

    with ThreadPoolExecutor() as pool:
        runs = list(pool.map(run, SEEDS))
    return fmean(run[0] for run in runs), fmean(run[1] for run in runs)


@pytest.fixture(scope="module")
def ours() -> dict[tuple[str, str], tuple[float, float]]:
    """Narrows' mean TPP of both flows, by pair."""
    contestants = [contest.Contestant(name, variant(name).tcp(window_limit=True)) for name in AGENTS]
    plan = contest.make("hybrid-contest", contestants, runs=len(SEEDS), window=(40.0, 100.0), solo=False)
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for record in contest.execute(plan, None).records:
        first, second = record.flows
        assert record.first is not None
        assert record.second is not None
        assert first is not None
        assert second is not None
        assert first.tpp_mbps is not None
        assert second.tpp_mbps is not None
        tpp = (first.tpp_mbps * 1e6 / MEBIT, second.tpp_mbps * 1e6 / MEBIT)
        found.setdefault((record.first, record.second), []).append(tpp)
    return {pair: (fmean(a for a, _ in runs), fmean(b for _, b in runs)) for pair, runs in found.items()}


@pytest.mark.parametrize(("pair", "room"), PAIRS.items(), ids=["-".join(pair) for pair in PAIRS])
def test_pair_is_near_ns2(pair: tuple[str, str], room: float, ours: dict[tuple[str, str], tuple[float, float]]) -> None:
    """Both flows of a pair have about the same TPP as in ns-2."""
    assert ours[pair] == pytest.approx(theirs(*pair), abs=room)
