"""Phase effects: a share that steps where the round-trip time is a whole number of packets (docs/live.md)."""

from pathlib import Path
from statistics import mean

import pytest

import narrows as nw

HALF = Path(__file__).parents[2] / "validation" / "live" / "pairs" / "cubic-bbr-half.toml"
SLOW = {"topology.bottleneck.queue.limit": "17 packets", "topology.bottleneck.rate": "10 Mb/s"}
NEAR = {"topology.bottleneck.queue.limit": "25 packets"}

# Times in ms. A round trip without a queue takes the propagation, the packet twice at 1 Gb/s, and the ACK of 52 bytes
# twice at 1 Gb/s and once at the bottleneck's rate: 2 x 0.012 + 0.001 + 0.021 at 20 Mb/s. A packet takes 0.6 there, so
# a round trip is 67 packets long if the bottleneck's delay is 19.077.
STEPS: dict[str, tuple[dict[str, str], float, float]] = {
    "20 Mb/s, 67 packets": ({}, 19.07, 19.08),
    "20 Mb/s, 51 packets": (NEAR, 14.27, 14.28),
    "10 Mb/s, 34 packets": (SLOW, 19.36, 19.37),
}


def share(overrides: dict[str, str], delay: float) -> float:
    """Return CUBIC's mean goodput beside BBR in Mb/s, of six runs, once the start is over."""
    changed = {"topology.bottleneck.delay": f"{delay} ms", "duration": "10 s", "sampling": "100 ms", **overrides}
    goodput = []
    for seed in range(1, 7):
        samples = nw.run(HALF, seed=seed, overrides=changed).samples.to_pandas()
        delivered = samples[samples.name == "cubic"].set_index("time_s").delivered_bytes
        goodput.append(float(delivered.iloc[-1] - delivered[:4.0].iloc[-1]) * 8e-6 / 6)
    return mean(goodput)


@pytest.mark.parametrize("case", STEPS)
def test_cubic_s_share_beside_bbr_steps_where_the_rtt_is_a_whole_number_of_packets(case: str) -> None:
    overrides, before, after = STEPS[case]
    assert share(overrides, after) > 1.3 * share(overrides, before)
