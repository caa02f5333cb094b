"""Compare two arms under the same seeds: Reno and CUBIC on the same bottleneck, with a 95 % interval of the difference.

Run it with ``python examples/compare_two_arms.py [RUNS]``; ten runs of each take a few seconds.
"""

from __future__ import annotations

import sys

import narrows as nw
from narrows.stats import paired_difference

SCENARIO = "dumbbell-cubic"
METRICS = (("goodput_mbps", "Mb/s"), ("rtt_mean_ms", "ms"), ("lost_packets", "packets"))


def arms(runs: int) -> tuple[list[nw.Run], list[nw.Run]]:
    """Run both arms, all runs in one pool of threads."""
    cubic = nw.Scenario.from_file(SCENARIO)
    flows = cubic.resolved.flows
    reno = cubic.with_overrides({f"flows[{i}].tcp.cc": "reno" for i in range(len(flows))})
    tasks = [nw.Task(scenario, cubic.seed, index) for scenario in (reno, cubic) for index in range(runs)]
    made = nw.run_all(tasks)
    return made[:runs], made[runs:]


def main() -> None:
    """Print the difference of each metric, flow by flow."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    reno, cubic = arms(runs)
    out = sys.stdout.write
    out(f"{SCENARIO}: CUBIC minus Reno over {runs} pairs of runs, mean and 95 % interval\n")
    for flow in reno[0].flows:
        for metric, unit in METRICS:
            made = paired_difference(
                [getattr(run.flow(flow.name), metric) for run in reno],
                [getattr(run.flow(flow.name), metric) for run in cubic],
            )
            span = f"{made.difference.mean:+9.3f} [{made.difference.low:+9.3f}, {made.difference.high:+9.3f}]"
            out(f"{flow.name:8} {metric:14} {span} {unit:8} {made.percent.mean:+7.1f} %\n")


if __name__ == "__main__":
    main()
