"""The workloads: networks and flows, as scenario files for Narrows and as arguments for other simulators' programs."""

from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

#: Where generated scenario files and built programs go; not in the repository.
BUILD = HERE / "build"

#: Settings common to all dumbbells. 200 ms is the shortest retransmission timeout of the other simulators, too.
TCP = """[tcp]
cc = "cubic"
recovery = "sack"
mss = "1460 B"
delayed_ack = false
timestamps = true
rto = { min = "200 ms" }
"""


@dataclass(frozen=True)
class Workload:
    """TCP flows over a dumbbell, or one over a chain of two routers if there is one pair of hosts.

    Rates in Mb/s, times in ms and s, queues in packets of 1500 bytes. Access links are ten times as fast as the
    bottleneck, whose delay is 1 ms. Base round-trip times are spread evenly over the pairs. Flows are assigned to the
    pairs in turn, and start evenly over ``spread_s``.
    """

    name: str
    title: str
    flows: int
    pairs: int
    rate_mbps: int
    rtt_min_ms: float
    rtt_max_ms: float
    queue: int
    seconds: float
    spread_s: float = 0.0
    access_queue: int = 100_000
    sampling: str = "off"
    idle: bool = False
    #: The discipline of the bottleneck, as scenarios name it. Only Narrows runs others than drop-tail.
    discipline: str = "droptail"
    #: Send and receive buffer of a connection in ns-3, which requires one.
    ns3_buffer: int = 16_000_000

    @property
    def ours_only(self) -> bool:
        """Whether other simulators do not run it: our programs for them know drop-tail alone."""
        return self.discipline != "droptail"

    @property
    def contest(self) -> bool:
        """Whether it is W3, which only Narrows and ns-2 run, from files of their own."""
        return self.name == "W3"

    def scenario(self) -> Path:
        """The scenario file, which is written unless it is one of the repository's."""
        if self.contest:
            return ROOT / "scenarios" / "hybrid-contest.toml"
        path = BUILD / f"{self.name.lower()}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = self._dumbbell() if self.pairs > 1 else self._chain()
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        return path

    def arguments(self) -> list[str]:
        """The workload for the programs below ``ns2``, ``ns3`` and ``htsim``, and for the bare loop: ``key=value``."""
        if self.contest:
            return ["first=Reno", "second=Linux/cubic", "window=20", f"seconds={self.seconds:g}"]
        values: dict[str, int | float] = {
            "flows": self.flows,
            "pairs": self.pairs,
            "rate": self.rate_mbps,
            "rtt_min": self.rtt_min_ms,
            "rtt_max": self.rtt_max_ms,
            "queue": self.queue,
            "access_queue": self.access_queue,
            "seconds": self.seconds,
            "spread": self.spread_s,
        }
        return [f"{key}={value}" for key, value in values.items()]

    def rtt_ms(self, pair: int) -> float:
        """Base round-trip time of a pair of hosts, counted from 0."""
        return self.rtt_min_ms + pair / (self.pairs - 1) * (self.rtt_max_ms - self.rtt_min_ms)

    def _bottleneck_queue(self) -> str:
        """The bottleneck's queue: its limit, and its kind unless it is the default."""
        limit = f'limit = "{self.queue} packets"'
        return limit if self.discipline == "droptail" else f'kind = "{self.discipline}", {limit}'

    def _chain(self) -> str:
        """``scenarios/speed-w1.toml`` with the sampling and the duration of this workload."""
        text = (ROOT / "scenarios" / "speed-w1.toml").read_text()
        text = text.replace('sampling = "off"', f'sampling = "{self.sampling}"')
        return text.replace('duration = "20 s"', f'duration = "{self.seconds:g} s"')

    def _dumbbell(self) -> str:
        lines = [
            f"# Workload {self.name} of the benchmark, written by bench/workloads.py.",
            "format = 1",
            f'name = "speed-{self.name.lower()}"',
            f'title = "{self.title}"',
            f'duration = "{self.seconds:g} s"',
            f'sampling = "{self.sampling}"',
            "",
            TCP,
            "[topology]",
            'kind = "dumbbell"',
            f"pairs = {self.pairs}",
            "bottleneck = "
            f'{{ rate = "{self.rate_mbps} Mb/s", delay = "1 ms", queue = {{ {self._bottleneck_queue()} }} }}',
            "access = [",
        ]
        for pair in range(self.pairs):
            delay_us = round((self.rtt_ms(pair) / 2 - 1) / 2 * 1000)
            queue = f'{{ limit = "{self.access_queue} packets" }}'
            lines.append(f'  {{ rate = "{10 * self.rate_mbps} Mb/s", delay = "{delay_us} us", queue = {queue} }},')
        lines.append("]")
        copies = self.flows // self.pairs
        gap_ns = round(self.spread_s * 1e9 / self.flows)
        for pair in range(self.pairs):
            lines += [
                "",
                "[[flows]]",
                f'name = "pair{pair + 1}"',
                f'from = "s{pair + 1}"',
                f'to = "d{pair + 1}"',
                f'start = "{pair * gap_ns} ns"',
                f"copies = {copies}",
                f'stagger = "{self.pairs * gap_ns} ns"',
            ]
            if self.idle:
                lines += ['kind = "request_response"', 'response = "1000 B"', 'think = "1000 s"']
        return "\n".join(lines) + "\n"


W1 = Workload("W1", "1 flow, 1 Gb/s, 12 ms RTT, 100-packet drop-tail on every link, 20 s", 1, 1, 1000, 12, 12, 100, 20)
W2 = Workload(
    "W2",
    "100 flows, 1 Gb/s, 20 to 120 ms RTT, drop-tail of one BDP, 20 s",
    flows=100,
    pairs=100,
    rate_mbps=1000,
    rtt_min_ms=20,
    rtt_max_ms=120,
    queue=5833,  # a BDP at 70 ms
    seconds=20,
    spread_s=1,
    ns3_buffer=1_000_000,
)
W3 = Workload(
    "W3",
    "2 flows (Reno, CUBIC) to stations of one 802.11 channel, 1 Mb/s, RTS/CTS, windows of 20 packets, 120 s",
    *(2, 2, 1, 4, 4, 50, 120),
)
W4 = replace(
    W2,
    name="W4",
    title="10,000 flows between 100 pairs of hosts, 10 Gb/s, 20 to 120 ms RTT, drop-tail of one BDP, 2 s",
    flows=10_000,
    rate_mbps=10_000,
    queue=58_333,
    seconds=2,
    ns3_buffer=200_000,
)

#: W2 with active queue management at the bottleneck. DualPI2 has CUBIC flows alone, so they share its classic queue.
MANAGED = tuple(
    replace(W2, name=f"W2-{kind}", title=f"W2 with {name} at the bottleneck", discipline=kind)
    for kind, name in (("codel", "CoDel"), ("fq_codel", "FQ-CoDel"), ("pie", "PIE"), ("dualpi2", "DualPI2"))
)

WORKLOADS = {workload.name: workload for workload in (W1, W2, *MANAGED, W3, W4)}

#: Numbers of flows of W5.
GROWTH = (10, 100, 1_000, 10_000)


def growth(flows: int, *, own_hosts: bool) -> Workload:
    """W5: W2 with another number of flows at the same aggregate rate.

    Flows share 100 pairs of hosts, as in W4, or each has a pair and so links of its own.
    """
    pairs = flows if own_hosts else min(flows, 100)
    title = f"W2 with {flows:,} flows between {pairs:,} pairs of hosts"
    buffer = 4_000_000 if flows < W2.flows else 200_000
    name = f"W5-{flows}{'-own' if own_hosts else ''}"
    return replace(W2, name=name, title=title, flows=flows, pairs=pairs, ns3_buffer=buffer)


def idle(flows: int) -> Workload:
    """Connected flows that send one request and are then idle, between W2's 100 pairs of hosts."""
    name = f"idle-{flows}"
    return replace(W2, name=name, title=f"{flows:,} idle flows", flows=flows, seconds=10, spread_s=5, idle=True)
