#!/usr/bin/env python3
"""The search for a calibration of the ACNS evaluation: both arms of every point, by distance to the published table.

What the papers' lost figure held is varied over what two sites with slow last miles could be; all else is as
published. Every point runs without and with ACNS from one and the same text, and the distance counts both arms
alike: no arm is tuned alone.

    python experiments/acns/search.py --grid topology --runs 2 --jobs 2
    python experiments/acns/search.py --grid near --runs 6
    python experiments/acns/search.py --grid variations --runs 20
    python experiments/acns/search.py --grid seeds --runs 20

The grid `seeds` runs `scenario.toml` itself with seeds that had no part in the selection.
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

from narrows import _core
from narrows.model.scenario import Scenario
from narrows.outcome import Batch, Run
from narrows.runs.simulated import Task, run_all
from narrows.stats import Estimate, mean_ci
from narrows_papers.acns.evaluation import ARMS, FLOWS, Evaluation, Published, change, scenario, values

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Point:
    """One calibration. Rates in Mb/s, delays in ms, queues in packets, windows in segments (0: unlimited).

    The defaults are the calibration that was chosen: that of `scenario.toml`.
    """

    up: str = "node"
    """Last mile of the sending site: one for the site (`site`) or one for each node (`node`)."""
    down: str = "site"
    """Last mile of the receiving site, likewise."""
    up_rate: float = 3.0
    down_rate: float = 4.25
    up_queue: int = 100
    down_queue: int = 80
    one_way: float = 150.0
    """Propagation from host to host."""
    recovery: str = "reno"
    """Loss recovery: `sack` (RFC 6675), `newreno` (RFC 6582), `reno` (RFC 2581); only the first offers SACK."""
    max_cwnd: int = 85
    initial_ssthresh: int = 20
    slow_start: str = "profile"
    """Of CUBIC: `profile` (RFC 9438: HyStart++) or `standard`."""
    delayed_ack: bool = True
    acns: str = ""
    """Lines of the table `[acns]`: another reading of what the papers leave open."""


def text(point: Point) -> str:
    """The scenario of a point, with ACNS."""
    lan, provider = 2.0, 20.0
    last_mile = (point.one_way - 2 * lan - provider) / 2
    lines = [
        'name = "acns-evaluation"',
        'duration = "118 s"',
        'start_jitter = "100 ms"',
        'sampling = "off"',
        "[tcp]",
        'cc = "cubic"',
        f'cc_params = {{ slow_start = "{point.slow_start}" }}',
        'mss = "1000 B"',
        "timestamps = false",
        "initial_window = 2",
        f"sack = {str(point.recovery == 'sack').lower()}",
        f'recovery = "{point.recovery}"',
        f'initial_ssthresh = "{point.initial_ssthresh * 1000} B"' if point.initial_ssthresh else "",
        f'max_cwnd = "{point.max_cwnd * 1000} B"' if point.max_cwnd else "",
        "" if point.delayed_ack else "delayed_ack = false",
        "[acns]",
        *point.acns.split("; "),
        "",
    ]
    routers = ["P1", "P2"]
    links = [("P1", "P2", "100 Mb/s", provider, 1000)]
    for side, sites, rate, queue, edge in (
        ("up", ("N0", "N1", "N2"), point.up_rate, point.up_queue, "P1"),
        ("down", ("N3", "N4", "N5"), point.down_rate, point.down_queue, "P2"),
    ):
        shared = getattr(point, side) == "site"
        gates = ["A" if side == "up" else "B"] * 3 if shared else [f"R{node[1]}" for node in sites]
        for gate in dict.fromkeys(gates):
            routers.append(gate)
            ends = (gate, edge) if side == "up" else (edge, gate)
            links.append((*ends, f"{rate:g} Mb/s", last_mile, queue))
        for node, gate in zip(sites, gates, strict=True):
            ends = (node, gate) if side == "up" else (gate, node)
            links.append((*ends, "100 Mb/s", lan, 1000))
    for node in (f"N{i}" for i in range(6)):
        lines += ["[[nodes]]", f'name = "{node}"', ""]
    for node in routers:
        lines += ["[[nodes]]", f'name = "{node}"', 'kind = "router"', ""]
    for a, b, speed, delay, limit in links:
        lines += [
            "[[links]]",
            f'between = ["{a}", "{b}"]',
            f'rate = "{speed}"',
            f'delay = "{delay:g} ms"',
            f'queue = {{ limit = "{limit} packets" }}',
            "",
        ]
    for name, source, sink, start, dscp in (
        ("tcp1", "N0", "N5", 0.1, 0),
        ("tcp2", "N0", "N4", 15.1, 26),
        ("tcp3", "N1", "N3", 30.1, 46),
    ):
        lines += [
            "[[flows]]",
            f'name = "{name}"',
            f'from = "{source}"',
            f'to = "{sink}"',
            f'start = "{start} s"',
            f"dscp = {dscp}",
            "",
        ]
    for name, source, sink, start, mbps in (
        ("udp1", "N0", "N3", 0.1, 0.5),
        ("udp2", "N1", "N4", 20.1, 0.6),
        ("udp3", "N2", "N5", 40.1, 0.5),
    ):
        lines += [
            "[[flows]]",
            f'name = "{name}"',
            'kind = "udp"',
            f'from = "{source}"',
            f'to = "{sink}"',
            f'start = "{start} s"',
            f'rate = "{mbps} Mb/s"',
            'payload = "972 B"',
            "",
        ]
    return "\n".join(lines)


Grid = dict[str, Sequence[object]]

GRIDS: dict[str, Grid] = {
    # Which links are the bottlenecks, how large their queues are, and how losses are repaired.
    "topology": {
        "up": ("site", "node"),
        "down": ("site", "node"),
        "up_rate": (2.0, 3.0, 4.0),
        "down_rate": (3.0, 3.5, 4.25, 5.0),
        "up_queue": (15, 40, 100),
        "down_queue": (15, 40, 80),
        "recovery": ("sack", "newreno", "reno"),
        "max_cwnd": (0, 85),
    },
    # Around the chosen point, more finely.
    "near": {
        "down_rate": (4.0, 4.25, 4.5, 4.75),
        "up_queue": (80, 100, 120),
        "down_queue": (60, 70, 80, 90),
        "max_cwnd": (75, 80, 85, 90),
        "recovery": ("newreno", "reno"),
        "initial_ssthresh": (20, 32),
    },
}

#: One thing changed at a time; the first row is the chosen point.
VARIATIONS: tuple[tuple[str, dict[str, object]], ...] = (
    ("as chosen", {}),
    ("NewReno recovery (RFC 6582)", {"recovery": "newreno"}),
    ("SACK recovery (RFC 6675)", {"recovery": "sack"}),
    ("standard slow start", {"slow_start": "standard"}),
    ("an ACK per segment", {"delayed_ack": False}),
    ("no bound on cwnd", {"max_cwnd": 0}),
    ("cwnd at most 70 segments", {"max_cwnd": 70}),
    ("cwnd at most 110 segments", {"max_cwnd": 110}),
    ("first ssthresh unlimited", {"initial_ssthresh": 0}),
    ("first ssthresh 32 segments", {"initial_ssthresh": 32}),
    ("one last mile for the sending site", {"up": "site"}),
    ("a last mile for each receiving node", {"down": "node"}),
    (
        "both sites with one last mile of 3 Mb/s, queues of 20 packets",
        {"up": "site", "down_rate": 3.0, "up_queue": 20, "down_queue": 20},
    ),
    ("receiving last mile of 3 Mb/s", {"down_rate": 3.0}),
    ("receiving last mile of 4 Mb/s", {"down_rate": 4.0}),
    ("receiving last mile of 4.5 Mb/s", {"down_rate": 4.5}),
    ("receiving last mile of 5 Mb/s", {"down_rate": 5.0}),
    ("receiving queue of 40 packets", {"down_queue": 40}),
    ("receiving queue of 60 packets", {"down_queue": 60}),
    ("receiving queue of 100 packets", {"down_queue": 100}),
    ("sending queues of 50 packets", {"up_queue": 50}),
    ("sending queues of 150 packets", {"up_queue": 150}),
    ("140 ms one way", {"one_way": 140.0}),
    ("160 ms one way", {"one_way": 160.0}),
    # Readings of ACNS itself.
    ('each ACK\'s command is obeyed (command_scope = "ack")', {"acns": 'command_scope = "ack"'}),
    ('largest priority in the table (p_max = "observed")', {"acns": 'p_max = "observed"'}),
    ('formula of the thesis (formula = "thesis2013")', {"acns": 'formula = "thesis2013"'}),
    ("loss thresholds 1.84 and 2.15 (DCNET's rounding)", {"acns": "th_L1 = 1.84; th_L2 = 2.15"}),
    ("freeze from 0.8 (th_A1)", {"acns": "th_A1 = 0.8"}),
    ("freeze and fallback from 1.0 (th_A1)", {"acns": "th_A1 = 1.0"}),
    ("fallback from 1.2 (th_A2)", {"acns": "th_A2 = 1.2"}),
    ("priority and age alike (v_p = v_a = 0.5)", {"acns": "v_p = 0.5; v_a = 0.5"}),
    ("a trend of 5 commands", {"acns": "trend_count = 5"}),
    ("a trend of 20 commands", {"acns": "trend_count = 20"}),
    ("sigma 1", {"acns": "trend_sigma = 1.0"}),
    ('window history per ACK (history_step = "ack")', {"acns": 'history_step = "ack"'}),
    ('equation 9 as printed (fallback_window = "difference")', {"acns": 'fallback_window = "difference"'}),
    ('losses before any warning to CUBIC (normal_only_losses = "base")', {"acns": 'normal_only_losses = "base"'}),
)


def points(grid: str) -> Iterator[tuple[str, Point]]:
    """All points of a grid, or the variations, each with what it is called."""
    if grid == "variations":
        for name, changed in VARIATIONS:
            yield name, replace(Point(), **changed)  # type: ignore[arg-type]
        return
    axes = GRIDS[grid]
    for combination in itertools.product(*axes.values()):
        yield "", replace(Point(), **dict(zip(axes, combination, strict=True)))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Outcome:
    """What a point gave: means of both arms, changes, and the distance to the published table."""

    sent: dict[str, list[float]]
    rtt: dict[str, list[float]]
    lost: dict[str, list[float]]
    data: Estimate
    rtt_change: Estimate
    lost_change: Estimate
    order_without: bool
    order_acns: bool
    distance: float

    @property
    def goals(self) -> int:
        """How many of the five claims hold."""
        return sum(
            (
                self.order_without,
                self.order_acns,
                self.data.mean >= 30,
                self.rtt_change.mean < 0,
                self.lost_change.mean <= -90,
            )
        )


def judge(runs: Sequence[Run], published: Published) -> Outcome:
    """Compare the runs of one point, those without ACNS first."""
    half = len(runs) // 2
    arms = [
        Batch(scenario=part[0].scenario, seed=part[0].seed, runs=tuple(part)) for part in (runs[:half], runs[half:])
    ]
    evaluation = Evaluation(*arms)

    def means(quantity: str) -> dict[str, list[float]]:
        return {arm: [mean_ci(values(evaluation.arm(arm), quantity, flow)).mean for flow in FLOWS] for arm in ARMS}

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
        sent,
        rtt,
        lost,
        change(evaluation, "sent"),
        change(evaluation, "rtt_mean"),
        change(evaluation, "lost"),
        one > two > three,
        third > second > first,
        math.sqrt(math.fsum(terms) / len(terms)),
    )


Found = tuple[str, Point, Outcome]

#: Batches of seeds that had no part in the selection of the calibration.
SEEDS = range(1001, 1011)


def with_seeds(runs: int, jobs: int) -> list[Found]:
    """Run both arms of `scenario.toml` with each of the `SEEDS`."""
    published = Published.read(HERE / "published.csv")
    treated = scenario().with_overrides({"sampling": "off"})
    arms = (treated.with_overrides({"acns.enabled": False}), treated)
    tasks = [Task(arm, seed, index) for seed in SEEDS for arm in arms for index in range(runs)]
    made = run_all(tasks, jobs=jobs)
    return [
        (f"seed {seed}", Point(), judge(made[i * 2 * runs : (i + 1) * 2 * runs], published))
        for i, seed in enumerate(SEEDS)
    ]


def search(candidates: Sequence[tuple[str, Point]], runs: int, jobs: int) -> list[Found]:
    """Run both arms of all candidates under the same seeds."""
    published = Published.read(HERE / "published.csv")
    found: list[Found] = []
    chunk = 40
    for start in range(0, len(candidates), chunk):
        part = candidates[start : start + chunk]
        tasks = []
        for _, point in part:
            treated = Scenario.from_text(text(point), "search.toml")
            plain = treated.with_overrides({"acns.enabled": False})
            tasks += [Task(arm, 1, index) for arm in (plain, treated) for index in range(runs)]
        made = run_all(tasks, jobs=jobs)
        for i, (name, point) in enumerate(part):
            found.append((name, point, judge(made[i * 2 * runs : (i + 1) * 2 * runs], published)))
        sys.stderr.write(f"\r{start + len(part)} of {len(candidates)} points")
        sys.stderr.flush()
    sys.stderr.write("\n")
    return found


def ranked(found: Sequence[Found]) -> list[Found]:
    """Most claims first, then the least distance."""
    return sorted(found, key=lambda one: (-one[2].goals, one[2].distance))


def write(path: Path, found: Sequence[Found], runs: int) -> None:
    """Write all points with what they gave."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# {runs} runs per arm and point, version {_core.version().split('+')[0]}. Written by search.py.\n")
        rows = csv.writer(file, lineterminator="\n")
        head = [f"{q}_{arm}_{flow}" for q in ("sent", "rtt", "lost") for arm in ARMS for flow in FLOWS]
        changes = [
            "data_percent",
            "data_low",
            "data_high",
            "rtt_percent",
            "rtt_low",
            "rtt_high",
            "lost_percent",
            "lost_low",
            "lost_high",
        ]
        orders = ["order_without", "order_acns"]
        rows.writerow(["name", "claims", "distance", *changes, *orders, *asdict(Point()), *head])
        for name, point, o in found:
            intervals = [f"{v:.1f}" for e in (o.data, o.rtt_change, o.lost_change) for v in (e.mean, e.low, e.high)]
            means = [f"{v:.2f}" for q in (o.sent, o.rtt, o.lost) for arm in ARMS for v in q[arm]]
            rows.writerow(
                [
                    name,
                    o.goals,
                    f"{o.distance:.3f}",
                    *intervals,
                    o.order_without,
                    o.order_acns,
                    *asdict(point).values(),
                    *means,
                ]
            )


def main() -> None:
    """Search a grid and print the best points."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--grid", default="topology", choices=[*sorted(GRIDS), "variations", "seeds"])
    parser.add_argument("--runs", type=int, default=2, help="runs per arm and point")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="by default search-GRID.csv beside this script")
    given = parser.parse_args()
    out = given.out or HERE / f"search-{given.grid}.csv"
    if given.grid == "seeds":
        found = with_seeds(given.runs, given.jobs)
    else:
        found = search(list(points(given.grid)), given.runs, given.jobs)
    write(out, found if given.grid in ("variations", "seeds") else ranked(found), given.runs)
    for name, point, o in ranked(found)[:10]:
        sys.stdout.write(
            f"{o.goals} claims, distance {o.distance:.2f}, data {o.data.mean:+.1f} %, RTT {o.rtt_change.mean:+.1f} %, "
            f"lost {o.lost_change.mean:+.1f} %: {name or point}\n"
        )


if __name__ == "__main__":
    main()
