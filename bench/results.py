"""Results of a benchmark, as JSON for storage and as tables for readers."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.machine import Machine
from bench.measure import Row, System, is_ours
from bench.suite import Growth, Idle, Probes
from bench.sweeps import Sweeps
from bench.workloads import HERE, WORKLOADS

RESULTS = HERE / "results"

#: Version of the JSON format.
FORMAT = 1


@dataclass(frozen=True)
class Results:
    """Results of one run of the benchmark; parts that were not selected are empty or None."""

    machine: Machine
    notes: dict[str, str]
    rows: list[Row]
    growth: list[Growth]
    idle: Idle | None
    probes: list[Probes]
    help_s: float | None
    sweeps: Sweeps | None = None

    @classmethod
    def read(cls, path: Path) -> "Results":
        """Read what ``write`` wrote."""
        data: dict[str, Any] = json.loads(path.read_text())
        if data.get("format") != FORMAT:
            raise ValueError(f"{path}: format is {data.get('format')}; this version reads {FORMAT}")
        idle = data["idle"]
        return cls(
            Machine(**data["machine"]),
            data["notes"],
            [_row(one) for one in data["rows"]],
            [Growth(one["flows"], one["hosts"], _row(one["row"])) for one in data["growth"]],
            None if idle is None else Idle(tuple(idle["flows"]), tuple(idle["peak_rss_bytes"])),
            [Probes(**one) for one in data["probes"]],
            data["help_s"],
            _sweeps(data.get("sweeps")),
        )

    def write(self, path: Path) -> None:
        """Write as JSON, atomically."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".part")
        draft.write_text(json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n")
        draft.replace(path)

    def markdown(self) -> str:
        """Tables of everything, as `docs/performance.md` and `bench/results/latest.md` show them."""
        parts = [f"Measured: {self.machine.line()}.", *self._workloads(), *self._growth(), *self._others()]
        return "\n\n".join(parts) + "\n"

    def _workloads(self) -> list[str]:
        parts = []
        for name, workload in WORKLOADS.items():
            rows = [one for one in self.rows if one.workload == name]
            if not rows:
                continue
            own = [one for one in rows if is_ours(one.system)]
            ratios = ["Narrows' is", *(f"{one.system}, is" for one in own[1:])]
            head = [
                f"| system | runs | CPU s | delivered | sent | delivered / CPU s | {' | '.join(ratios)} | peak MiB |",
                f"|---|--:|--:|--:|--:|--:|{'--:|' * len(ratios)}--:|",
            ]
            lines = [_line(one, [ours.rate for ours in own]) for one in rows]
            parts.append(f"**{name}**: {workload.title}.\n\n" + "\n".join(head + lines))
        if parts:
            said = {f"{one.system} {one.version}".strip(): self.notes.get(one.system, "") for one in self.rows}
            parts.append(
                "What each simulates (W1, W2, W4):\n\n" + "\n".join(f"- {name}: {note}" for name, note in said.items())
            )
        return parts

    def _growth(self) -> list[str]:
        if not self.growth:
            return []
        head = [
            "| system | hosts | flows | CPU s | delivered | µs of CPU per delivered packet | peak MiB |",
            "|---|---|--:|--:|--:|--:|--:|",
        ]
        lines = []
        for one in sorted(self.growth, key=_order):
            row = one.row
            cost = "" if row.rate is None else f"{1e6 / row.rate:.2f}"
            lines.append(
                f"| {row.system} | {one.hosts} | {one.flows:,} | {_cpu(row)} | {_count(row.delivered_packets)} "
                f"| {cost} | {_mib(row)} |"
            )
        return ["**W5**: W2 with other numbers of flows at the same aggregate rate.\n\n" + "\n".join(head + lines)]

    def _others(self) -> list[str]:
        parts = []
        if self.idle is not None:
            few, many = self.idle.flows
            parts.append(
                f"**Idle flows**: {self.idle.bytes_per_flow:,.0f} bytes for each flow that is connected and says "
                f"nothing (peak memory of {many:,} less that of {few:,})."
            )
        if self.probes:
            lines = [
                "| workload | CPU s without samples | with | samples cost | with their digest | both cost |",
                "|---|--:|--:|--:|--:|--:|",
            ]
            lines += [
                f"| {one.workload} | {one.off_cpu_s:.3f} | {one.on_cpu_s:.3f} | {one.overhead:+.1%} "
                f"| {one.digest_cpu_s:.3f} | {one.digest_overhead:+.1%} |"
                for one in self.probes
            ]
            parts.append(
                f"**Probes**: all flows and queues sampled every {self.probes[0].every}.\n\n" + "\n".join(lines)
            )
        if self.sweeps is not None:
            few, many = self.sweeps.runs
            parts.append(
                f"**Sweeps**: {1e3 * self.sweeps.per_run_s:.2f} ms of CPU for each run of 1 ms of a dumbbell with two "
                f"flows, each a point of its own (`narrows sweep` with {many:,} runs less that with {few:,})."
            )
        if self.help_s is not None:
            parts.append(f"`narrows --help` takes {self.help_s:.2f} s of wall-clock time.")
        return parts


def notes(systems: list[System]) -> dict[str, str]:
    """The description of each system's TCP, by the system's name."""
    return {system.name: system.note for system in systems}


def _row(data: dict[str, Any]) -> Row:
    return Row(**{**data, "cpu_s_all": tuple(data["cpu_s_all"])})


def _sweeps(data: dict[str, Any] | None) -> Sweeps | None:
    return None if data is None else Sweeps(tuple(data["runs"]), tuple(data["cpu_s"]))


def _order(one: Growth) -> tuple[bool, str, bool, int]:
    """Narrows first, shared hosts before own ones, then by the number of flows."""
    return (not is_ours(one.row.system), one.row.system, one.hosts != "shared", one.flows)


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _cpu(row: Row) -> str:
    return "over the limit" if row.cpu_s is None else f"{row.cpu_s:.2f}"


def _mib(row: Row) -> str:
    return "" if row.peak_rss_bytes is None else f"{row.peak_rss_bytes / 1024**2:,.1f}"


def _line(row: Row, own: list[float | None]) -> str:
    """A row of a table, with the rate of each build of Narrows as a multiple of this row's."""
    rate = "" if row.rate is None else f"**{row.rate:,.0f}**"
    ratios = ["" if row.rate is None or ours is None else f"{ours / row.rate:.2f} x" for ours in own]
    cells = [
        f"{row.system} {row.version}".strip(),
        str(row.runs),
        _cpu(row),
        _count(row.delivered_packets),
        _count(row.sent_packets),
        rate,
        *ratios,
        _mib(row),
    ]
    return f"| {' | '.join(cells)} |"
