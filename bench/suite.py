"""The measurements of one `make bench`: the table of workloads, growth, idle flows and the cost of sampling."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bench.measure import Effort, MeasurementError, Row, System, interleaved, median_cpu_s, row
from bench.workloads import GROWTH, W1, W2, Workload, growth, idle

#: Two numbers of flows; the difference in memory gives the memory of one flow.
IDLE = (1_000, 11_000)

#: Sampling interval of flows and queues in the measurement of the cost of sampling.
SAMPLING = "10 ms"

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Growth:
    """W5 at one number of flows: ``hosts`` is ``shared`` (100 pairs) or ``own`` (a pair for each flow)."""

    flows: int
    hosts: str
    row: Row


@dataclass(frozen=True)
class Idle:
    """Memory of a connected flow that sends nothing: the growth of peak memory with the number of flows."""

    flows: tuple[int, int]
    peak_rss_bytes: tuple[int, int]

    @property
    def bytes_per_flow(self) -> float:
        """Bytes per flow, including both ends and its part of the scenario."""
        return (self.peak_rss_bytes[1] - self.peak_rss_bytes[0]) / (self.flows[1] - self.flows[0])


@dataclass(frozen=True)
class Probes:
    """Median CPU time in seconds of a workload without samples, with them, and with them and their digest."""

    workload: str
    every: str
    off_cpu_s: float
    on_cpu_s: float
    digest_cpu_s: float

    @property
    def overhead(self) -> float:
        """CPU time that sampling adds, as a share of the run without it."""
        return self.on_cpu_s / self.off_cpu_s - 1

    @property
    def digest_overhead(self) -> float:
        """CPU time that sampling and the digest of the samples add, as a share of the run without them."""
        return self.digest_cpu_s / self.off_cpu_s - 1


def table(workload: Workload, systems: Sequence[System], effort: Effort, tell: Tell) -> list[Row]:
    """All systems that can run a workload, interleaved."""
    commands = {system.name: system.command(workload) for system in systems}
    able = [system for system in systems if commands[system.name] is not None]
    runs = interleaved(
        {name: command for name, command in commands.items() if command is not None},
        effort,
        lambda what: tell(f"{workload.name}: {what}"),
    )
    return [row(workload.name, system, runs[system.name]) for system in able]


def grow(systems: Sequence[System], effort: Effort, tell: Tell) -> list[Growth]:
    """W5; builds of Narrows also with a pair of hosts for each flow. A system past the limit stops there."""
    found = []
    for own_hosts in (False, True):
        left = [one for one in systems if one.ours or not own_hosts]
        for flows in GROWTH:
            if own_hosts and flows <= W2.pairs:
                continue
            rows = table(growth(flows, own_hosts=own_hosts), left, effort, tell)
            found += [Growth(flows, "own" if own_hosts else "shared", one) for one in rows]
            late = {one.system for one in rows if one.cpu_s is None}
            left = [system for system in left if system.name not in late]
    return found


def idle_flows(narrows: System, effort: Effort, tell: Tell) -> Idle:
    """Peak memory with few and with many idle flows."""
    peaks = []
    for flows in IDLE:
        (one,) = table(idle(flows), [narrows], replace(effort, repeat=1), tell)
        if one.peak_rss_bytes is None:
            raise MeasurementError(f"{flows:,} idle flows took more than {effort.limit_s:g} s of CPU time")
        peaks.append(one.peak_rss_bytes)
    return Idle(IDLE, (peaks[0], peaks[1]))


def probes(narrows: System, effort: Effort, tell: Tell) -> list[Probes]:
    """W1 and W2 without samples, with samples in memory, and with samples and their digest, interleaved."""
    found = []
    for workload in (W1, W2):
        sampled = replace(workload, name=f"{workload.name}-sampled", sampling=SAMPLING)
        on = narrows.command(sampled)
        commands = {"off": narrows.command(workload), "on": on, "digest": None if on is None else [*on, "--digest"]}
        runs = interleaved(
            {name: command for name, command in commands.items() if command is not None},
            effort,
            lambda what, name=workload.name: tell(f"{name}, samples {what}"),  # type: ignore[misc]
        )
        if all(runs.values()):
            off_s, on_s, digest_s = (median_cpu_s(runs[name]) for name in ("off", "on", "digest"))
            found.append(Probes(workload.name, SAMPLING, off_s, on_s, digest_s))
    return found
