"""A congestion control of your own in Python: AIMD with an increase and a decrease to choose, against CUBIC.

Run it with ``python examples/own_congestion_control.py``. From the shell, ``narrows run dumbbell-cubic --load
examples/own_congestion_control.py --set flows.first.cc=aimd`` makes the same class known to a scenario file.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import narrows as nw

if TYPE_CHECKING:
    from narrows.own import Ack, Congestion, Path, Window


@nw.congestion_control("aimd")
class Aimd:
    """Additive increase, multiplicative decrease."""

    def __init__(self, increase: float = 1.0, decrease: float = 0.5) -> None:
        self.increase = increase
        self.decrease = decrease

    def on_ack(self, ack: Ack, path: Path, window: Window) -> None:
        """Double per round-trip time in slow start, then add ``increase`` segments per round-trip time."""
        if not path.cwnd_limited:
            return  # the window was not what held the sender back, so that it was not exceeded says nothing
        if window.in_slow_start:
            window.cwnd += ack.acked
        else:
            window.cwnd += self.increase * path.smss * ack.acked / window.cwnd

    def on_congestion(self, event: Congestion, path: Path, window: Window) -> None:
        """Keep ``decrease`` of the window; after a timeout begin again from one segment."""
        kept = max(self.decrease * window.cwnd, 2 * path.smss)
        if not event.repeated:
            window.ssthresh = kept
        window.cwnd = path.smss if event.kind == "timeout" else kept


def main() -> None:
    """Run it in the place of the first flow of a bundled scenario, in two ways."""
    for increase in (1, 4):
        changes = {
            "flows.first.cc": "aimd",
            "flows.first.tcp.cc_params.increase": increase,
            "duration": "30 s",
        }
        run = nw.run("dumbbell-cubic", seed=1, overrides=changes)
        for flow in run.flows:
            name = f"{flow.cc} ({increase} per round)" if flow.cc == "aimd" else str(flow.cc)
            sys.stdout.write(f"{name:24} {flow.goodput_mbps:6.2f} Mb/s, {flow.lost_packets} packets lost\n")


if __name__ == "__main__":
    main()
