"""The Linux section (the paper's section 4.3) in simulation: iperf between PCs over 10 and 100 Mb/s."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from narrows.metrics import jains_index, rate_over_time
from narrows.model.scenario import Scenario
from narrows.report import style
from narrows.runs.simulated import Task
from narrows.stats import batch_means, sum_of_independent
from narrows_papers.ngwa.arms import WITHOUT, folder
from narrows_papers.ngwa.rounds import BATCHES, BYTES_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.model.scenario import Override
    from narrows.outcome import Run
    from narrows.stats import BatchMeans

PACKET_BYTES = 1700
"""Packet size with which the paper converts RED's limits to bytes; `packet_size` of the scenario is the same."""

BIN_S = 0.1
"""Width of the bins whose rates are the observations, s."""

WARMUP_S = 10.0
"""Time left out at the beginning, s, because the paper measures in steady state."""

QUICK: dict[str, Override] = {"duration": "25 s"}
"""Overrides of a quick experiment."""

FURTHER: dict[str, Override] = {"duration": "70 s"}
"""Overrides of further seeds, which decide claims and are not drawn: a minute of steady state instead of two."""


@dataclass(frozen=True)
class Method:
    """Configuration of routers and end points: one group of bars in the paper's figures 8 and 9."""

    name: str
    title: str
    colour: str
    mode: int | None = None
    red: bool = False


METHODS: tuple[Method, ...] = (
    *(Method(f"mode{n}", f"NGWA mode {n}", style.colour(i + 1), mode=n) for i, n in enumerate((1, 2, 5, 6))),
    Method("newreno", "NewReno, FIFO", style.OKABE_ITO[0]),
    Method("red", "NewReno, RED", style.OKABE_ITO[5], red=True),
)

NGWA: tuple[str, ...] = tuple(method.name for method in METHODS if method.mode is not None)
OTHERS: tuple[str, ...] = tuple(method.name for method in METHODS if method.mode is None)


@dataclass(frozen=True)
class Setting:
    """One network of the section: rate of the middle link in Mb/s, queue in packets, number of flows."""

    rate_mbps: int
    packets: int
    flows: int

    @property
    def name(self) -> str:
        """Key of the setting in cells.

        >>> Setting(10, 100, 1).name
        '1-flow-10Mbps-100p'
        """
        return f"{self.flows}-flow-{self.rate_mbps}Mbps-{self.packets}p"

    @property
    def title(self) -> str:
        """Name for readers."""
        return f"{self.rate_mbps} Mb/s, {self.packets} packets"


ONE: tuple[Setting, ...] = tuple(Setting(rate, packets, 1) for rate in (10, 100) for packets in (100, 1000))
TWO: tuple[Setting, ...] = tuple(Setting(100, packets, 2) for packets in (100, 1000))
SETTINGS: tuple[Setting, ...] = (*ONE, *TWO)

WINDOWS: dict[str, dict[str, Override]] = {"64kB": {}, "96kB": {"tcp.recv_buffer": "96 KiB"}}
"""Windows: 64 KB as stated, and Linux's result of `iperf -w 64K`: it allocates twice that and advertises 3/4 of it."""

WINDOW_TITLES: dict[str, str] = {"64kB": "64 KB", "96kB": "96 KB"}


@dataclass(frozen=True)
class Transfer:
    """Results of one run: rates of its flows, losses, timeouts and queue.

    Attributes
    ----------
    rates : tuple of BatchMeans
        Payload delivered, bytes/s, by flow, as iperf reports it.
    lost, timeouts : float
        Packets dropped by queues, and expiries of the retransmission timer, over all flows.
    filled : float
        Largest number of bytes in the queue before the middle link.
    used : float
        Utilisation of the middle link over the whole run, in [0, 1].
    digest : str
        Digest of the run.
    """

    rates: tuple[BatchMeans, ...]
    lost: float
    timeouts: float
    filled: float
    used: float
    digest: str = ""

    @property
    def total(self) -> float:
        """Rate of all flows, bytes/s."""
        return sum(one.estimate.mean for one in self.rates)

    @property
    def half(self) -> float:
        """Half width of the interval of `total`, assuming that the flows' errors are independent, bytes/s."""
        return sum_of_independent(one.estimate for one in self.rates).half_width

    @property
    def jain(self) -> float:
        """Jain's index over the flows, from 1/n to 1."""
        return jains_index(one.estimate.mean for one in self.rates) or 0.0


Transfers = dict[tuple[str, str, str], Transfer]
"""Runs by window, setting and method."""


@cache
def scenario() -> Scenario:
    """The scenario of the section."""
    return Scenario.from_file(folder() / "linux.toml")


def red(packets: int) -> str:
    """RED as in the paper: limit 170 kB, min_th 20 kB, max_th 84 kB for 100 packets, and ten times as much for 1000.

    The weight is what Linux's tc computes from the recommended burst of (2 min + max) / (3 packets): 1/32 and 1/256.
    RED is not gentle, like Linux's at that time.
    """
    times = packets // 100
    weight = {1: 1 / 32, 10: 1 / 256}[times]
    return (
        f'{{ kind = "red", limit = "{170 * times} kB", min_threshold = "{20 * times} kB",'
        f' max_threshold = "{84 * times} kB", max_p = 0.02, weight = {weight}, gentle = false, bytes_mode = true,'
        f' mean_packet = "{PACKET_BYTES} B" }}'
    )


def overrides(setting: Setting, method: Method) -> dict[str, Override]:
    """Return the overrides of `linux.toml` for a run."""
    made: dict[str, Override] = {
        "topology.bottleneck.rate": f"{setting.rate_mbps} Mb/s",
        "flows[0].copies": setting.flows,
    }
    if method.red:
        return made | WITHOUT | {"topology.bottleneck.queue": red(setting.packets)}
    made["topology.bottleneck.queue.limit"] = f"{setting.packets} packets"
    return made | ({"ngwa.mode": method.mode} if method.mode is not None else WITHOUT)


def keys(run: int = 0) -> list[tuple[str, Setting, Method]]:
    """Return the settings of a numbered run in the order of `tasks`, the longest (100 Mb/s) first.

    The paper's own window is run with every seed, the other one with the first.
    """
    ordered = sorted(SETTINGS, key=lambda setting: -setting.rate_mbps)
    windows = list(WINDOWS)[: None if run == 0 else 1]
    return [(window, setting, method) for setting in ordered for window in windows for method in METHODS]


def tasks(quick: bool = False, run: int = 0) -> list[Task]:
    """Return the tasks with a number, from which the seed follows."""
    plain = scenario()
    extra = QUICK if quick else FURTHER if run else {}
    return [
        Task(plain.with_overrides(overrides(setting, method) | WINDOWS[window] | extra), plain.seed, run)
        for window, setting, method in keys(run)
    ]


def collect(made: Sequence[Run], run: int = 0) -> Transfers:
    """Assign the runs of `tasks` to their keys."""
    return {
        (window, setting.name, method.name): _transfer(one)
        for (window, setting, method), one in zip(keys(run), made, strict=True)
    }


def has(transfers: Transfers, window: str) -> bool:
    """Whether the section was run with this window."""
    return any(one == window for one, _, _ in transfers)


def of(transfers: Transfers, window: str, setting: Setting) -> Mapping[str, Transfer]:
    """Return the transfers of one setting, by method."""
    return {method.name: transfers[window, setting.name, method.name] for method in METHODS}


def _transfer(run: Run) -> Transfer:
    frame = run.samples.frame("flow")
    names = frame["name"].astype(str)
    rates = []
    for flow in run.flows:
        rows = frame[names == flow.name]
        series = rate_over_time(rows["time_s"], rows["delivered_bytes"], BIN_S)[1] * BYTES_PER_S
        rates.append(batch_means(series, batches=BATCHES, warmup=round(WARMUP_S / BIN_S)))
    return Transfer(
        tuple(rates),
        lost=sum(flow.lost_packets for flow in run.flows),
        timeouts=sum(flow.timeouts or 0 for flow in run.flows),
        filled=run.queue("r1->r2").max_bytes,
        used=run.queue("r1->r2").utilisation or 0.0,
        digest=run.digest,
    )
