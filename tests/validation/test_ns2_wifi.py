"""One TCP flow over 802.11 at 1 to 11 Mb/s, compared with ns-2.35."""

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean

import pytest

import narrows as nw

HERE = Path(__file__).resolve().parents[2] / "validation"
NS2 = shutil.which("ns") or shutil.which("ns2")
SEEDS = range(1, 6)
WITHIN = 0.02
SECONDS = 60.0

pytestmark = [
    pytest.mark.ns2,
    pytest.mark.skipif(NS2 is None, reason="ns-2 is not installed (Debian package ns2), so nothing to compare with"),
]


def theirs(mbps: str, rts: bool) -> float:
    """ns-2's goodput in Mb/s, averaged over the seeds.

    It is measured from 5 s, because a lost ARP request delays the flow, which starts at 1 s, by a timeout of 3 s.
    """

    def run(seed: int) -> float:
        assert NS2 is not None
        keys = [f"rate={mbps}", f"rts={0 if rts else 3000}", "from=5", "to=65", f"seed={seed}"]
        done = subprocess.run(
            [NS2, str(HERE / "wifi.tcl"), *keys], check=True, capture_output=True, text=True, timeout=120
        )
        report = json.loads(done.stderr[done.stderr.rindex('{"version"') :])
        assert report["timeouts"] == 0
        return float(report["delivered_bytes"]) * 8e-6 / SECONDS

    with ThreadPoolExecutor() as pool:
        return fmean(pool.map(run, SEEDS))


def ours(phy: str, mbps: str, rts: bool) -> float:
    """Narrows' goodput in Mb/s, averaged over the seeds."""
    overrides = {"wifi.phy": phy, "wifi.rate": f"{mbps} Mb/s", "wifi.rts_threshold": "0 B" if rts else "never"}
    batch = nw.run(HERE / "wifi.toml", seed=1, runs=len(SEEDS), overrides=overrides)
    return fmean(run.flows[0].delivered_bytes * 8e-6 / SECONDS for run in batch.runs)


@pytest.mark.parametrize("rts", [False, True], ids=["basic", "rts"])
@pytest.mark.parametrize(
    ("phy", "mbps"), [("802.11", "1"), ("802.11", "2"), ("802.11b", "5.5"), ("802.11b", "11")], ids=lambda value: value
)
def test_goodput_is_within_2_percent_of_ns2(phy: str, mbps: str, rts: bool) -> None:
    """The same frame exchanges carry the same amount of data."""
    measured, published = ours(phy, mbps, rts), theirs(mbps, rts)
    assert measured == pytest.approx(published, rel=WITHIN)
