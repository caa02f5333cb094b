#!/usr/bin/env python3
"""The search for a calibration of the ACNS evaluation: both arms of every point, ranked by distance to the published table.

What the papers' lost figure held is varied over what two sites with slow last miles could be; everything else is as published.
Every point runs without and with ACNS from one and the same text, and the distance counts both arms alike: no arm is tuned alone.

    python experiments/acns/search.py --out experiments/acns/search.csv --jobs 2
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from narrows.outcome import Batch, Run
from narrows.papers.acns.evaluation import FLOWS, Evaluation, Published, change, values
from narrows.runs import Task, run_all
from narrows.scenario import Scenario
from narrows.stats import mean_ci

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Point:
    """One calibration. Rates in Mb/s, delays in ms, queues in packets, windows in segments (0: unlimited)."""

    up: str = "shared"
    """Last mile of the sending site: one for the site (`shared`) or one for each node (`node`)."""
    down: str = "shared"
    """Last mile of the receiving site, likewise."""
    up_rate: float = 3.0
    down_rate: float = 3.0
    up_queue: int = 20
    down_queue: int = 20
    one_way: float = 150.0
    """Propagation from host to host."""
    sack: bool = True
    hystart: bool = False
    initial_window: int = 2
    initial_ssthresh: int = 0
    max_cwnd: int = 0
    udp_payload: int = 1000
    base: str = "cubic"


def text(point: Point) -> str:
    """The scenario of a point, with ACNS."""
    lan, provider = 2.0, 20.0
    last_mile = (point.one_way - 2 * lan - provider) / 2
    lines = [
        'name = "acns-evaluation"',
        'title = "ACNS evaluation: two sites over an over-provisioned provider"',
        'duration = "118 s"',
        'start_jitter = "100 ms"',
        'sampling = "off"',
        "",
        "[tcp]",
        f'cc = "{point.base}"',
        'mss = "1000 B"',
        "timestamps = false",
        "delayed_ack = false",
        f"initial_window = {point.initial_window}",
        f"sack = {str(point.sack).lower()}",
        f'initial_ssthresh = "{point.initial_ssthresh * 1000} B"' if point.initial_ssthresh else "",
        f'max_cwnd = "{point.max_cwnd * 1000} B"' if point.max_cwnd else "",
        'rto = { style = "ns2" }',
        "",
        "[acns]",
        "",
    ]
    if point.base == "cubic":
        lines.insert(lines.index("[acns]") - 1, f"cc_params = {{ hystart = {str(point.hystart).lower()} }}")
    routers = ["P1", "P2"]
    links = [("P1", "P2", "100 Mb/s", provider, 1000, 1000)]
    for side, sites, rate, queue, edge in (
        ("up", ("N0", "N1", "N2"), point.up_rate, point.up_queue, "P1"),
        ("down", ("N3", "N4", "N5"), point.down_rate, point.down_queue, "P2"),
    ):
        shared = getattr(point, side) == "shared"
        gates = ["A" if side == "up" else "B"] * 3 if shared else [f"R{node[1]}" for node in sites]
        for gate in dict.fromkeys(gates):
            routers.append(gate)
            ends = (gate, edge) if side == "up" else (edge, gate)
            links.append((*ends, f"{rate:g} Mb/s", last_mile, queue, queue))
        for node, gate in zip(sites, gates, strict=True):
            ends = (node, gate) if side == "up" else (gate, node)
            links.append((*ends, "100 Mb/s", lan, 1000, 1000))
    for node in (f"N{i}" for i in range(6)):
        lines += ["[[nodes]]", f'name = "{node}"', ""]
    for node in routers:
        lines += ["[[nodes]]", f'name = "{node}"', 'kind = "router"', ""]
    for a, b, rate, delay, queue, _ in links:
        lines += [
            "[[links]]",
            f'between = ["{a}", "{b}"]',
            f'rate = "{rate}"',
            f'delay = "{delay:g} ms"',
            f'queue = {{ limit = "{queue} packets" }}',
            "",
        ]
    for name, source, sink, start, dscp in (
        ("tcp1", "N0", "N5", 0.1, 0),
        ("tcp2", "N0", "N4", 15.1, 26),
        ("tcp3", "N1", "N3", 30.1, 46),
    ):
        lines += ["[[flows]]", f'name = "{name}"', f'from = "{source}"', f'to = "{sink}"', f'start = "{start} s"', f"dscp = {dscp}", ""]
    for name, source, sink, start, rate in (
        ("udp1", "N0", "N3", 0.1, 0.5),
        ("udp2", "N1", "N4", 20.1, 0.6),
        ("udp3", "N2", "N5", 40.1, 0.5),
    ):
        lines += [
            "[[flows]]", f'name = "{name}"', 'kind = "udp"', f'from = "{source}"', f'to = "{sink}"', f'start = "{start} s"',
            f'rate = "{rate} Mb/s"', f'payload = "{point.udp_payload} B"', "",
        ]
    return "\n".join(lines)


GRIDS: dict[str, dict[str, Sequence[object]]] = {
    "topology": {
        "up": ("shared", "node"),
        "down": ("shared", "node"),
        "up_rate": (2.0, 2.5, 3.0, 3.5, 4.0),
        "down_rate": (2.0, 3.0, 4.0, 100.0),
        "up_queue": (10, 20, 40, 60),
        "down_queue": (20, 60),
        "sack": (True, False),
    },
}


def points(grid: str) -> Iterator[Point]:
    """All points of a grid."""
    axes = GRIDS[grid]
    for combination in itertools.product(*axes.values()):
        yield replace(Point(), **dict(zip(axes, combination, strict=True)))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Outcome:
    """What a point gave: means of both arms, changes, and the distance to the published table."""

    sent: dict[str, list[float]]
    rtt: dict[str, list[float]]
    lost: dict[str, list[float]]
    data: float
    rtt_change: float
    lost_change: float
    order_without: bool
    order_acns: bool
    distance: float

    @property
    def goals(self) -> int:
        """How many of the five claims hold."""
        return sum((self.order_without, self.order_acns, self.data >= 30, self.rtt_change < 0, self.lost_change <= -90))


def judge(runs: Sequence[Run], published: Published) -> Outcome:
    """Compare the runs of one point, those without ACNS first."""
    half = len(runs) // 2
    arms = [Batch(scenario=part[0].scenario, seed=part[0].seed, runs=tuple(part)) for part in (runs[:half], runs[half:])]
    evaluation = Evaluation(*arms)

    def means(quantity: str) -> dict[str, list[float]]:
        return {arm: [mean_ci(values(evaluation.arm(arm), quantity, flow)).mean for flow in FLOWS] for arm in ("without", "acns")}

    sent, rtt, lost = means("sent"), means("rtt_mean"), means("lost")
    terms = []
    for quantity, found in (("sent", sent), ("rtt_mean", rtt), ("lost", lost)):
        for arm, row in found.items():
            for flow, value in zip(FLOWS, row, strict=True):
                wanted = published.values[arm, quantity, flow][0]
                # Losses with ACNS are published as 0, 2 and 0, so all losses are measured against those without it.
                scale = published.values["without", quantity, flow][0] if quantity == "lost" else wanted
                terms.append(((value - wanted) / scale) ** 2)
    one, two, three = sent["without"]
    first, second, third = sent["acns"]
    return Outcome(
        sent, rtt, lost,
        change(evaluation, "sent").mean, change(evaluation, "rtt_mean").mean, change(evaluation, "lost").mean,
        one > two > three, third > second > first, math.sqrt(math.fsum(terms) / len(terms)),
    )


def search(candidates: Sequence[Point], runs: int, jobs: int, out: Path) -> list[tuple[Point, Outcome]]:
    """Run all candidates, write the CSV as they come, and return them ranked."""
    published = Published.read(HERE / "published.csv")
    found: list[tuple[Point, Outcome]] = []
    chunk = 40
    for start in range(0, len(candidates), chunk):
        part = candidates[start : start + chunk]
        tasks = []
        for point in part:
            treated = Scenario.from_text(text(point), "search.toml")
            plain = treated.with_overrides({"acns.enabled": False})
            tasks += [Task(arm, 1, index) for arm in (plain, treated) for index in range(runs)]
        made = run_all(tasks, jobs=jobs)
        for i, point in enumerate(part):
            found.append((point, judge(made[i * 2 * runs : (i + 1) * 2 * runs], published)))
        write(out, ranked(found))
        sys.stderr.write(f"\r{start + len(part)} of {len(candidates)} points")
        sys.stderr.flush()
    sys.stderr.write("\n")
    return ranked(found)


def ranked(found: Sequence[tuple[Point, Outcome]]) -> list[tuple[Point, Outcome]]:
    """Most claims first, then the least distance."""
    return sorted(found, key=lambda pair: (-pair[1].goals, pair[1].distance))


def write(path: Path, found: Sequence[tuple[Point, Outcome]]) -> None:
    """Write all points with what they gave."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        head = [f"{q}_{arm}_{flow}" for q in ("sent", "rtt", "lost") for arm in ("without", "acns") for flow in FLOWS]
        rows.writerow(["claims", "distance", "data_percent", "rtt_percent", "lost_percent", *asdict(Point()), *head])
        for point, o in found:
            numbers = [v for q in (o.sent, o.rtt, o.lost) for arm in ("without", "acns") for v in q[arm]]
            rows.writerow(
                [o.goals, f"{o.distance:.3f}", f"{o.data:.1f}", f"{o.rtt_change:.1f}", f"{o.lost_change:.1f}"]
                + list(asdict(point).values())
                + [f"{v:.2f}" for v in numbers]
            )


def main() -> None:
    """Search a grid and print the best points."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--grid", default="topology", choices=sorted(GRIDS))
    parser.add_argument("--runs", type=int, default=2, help="runs per arm and point")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=HERE / "search.csv")
    given = parser.parse_args()
    found = search(list(points(given.grid)), given.runs, given.jobs, given.out)
    for point, outcome in found[:10]:
        sys.stdout.write(
            f"{outcome.goals} claims, distance {outcome.distance:.2f}, data {outcome.data:+.1f} %, RTT {outcome.rtt_change:+.1f} %, "
            f"lost {outcome.lost_change:+.1f} %: {point}\n"
        )


if __name__ == "__main__":
    main()
