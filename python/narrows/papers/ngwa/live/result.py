"""Both worlds' runs as what pages and programs take: transfers, claims of either, cells, and a paragraph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows.papers.ngwa import linux, linux_claims
from narrows.papers.ngwa.live import check, plan
from narrows.papers.reproduction import Cell, Claim

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from narrows.papers.ngwa.linux import Transfers
    from narrows.papers.ngwa.live.execute import Made
    from narrows.papers.ngwa.live.plan import Job
    from narrows.papers.ngwa.live.record import Record

LIVE, SIMULATED = "live", "simulated"
"""The two worlds, in the order in which they are shown."""

AGREE_PERCENT = 1.0
"""Rates of live and simulated runs that differ by less than this count as equal."""


@dataclass(frozen=True)
class Verdict:
    """One statement, and what either world says to it."""

    text: str
    live: Claim
    simulated: Claim


@dataclass(frozen=True)
class World:
    """The runs of one world.

    Attributes
    ----------
    records : mapping of str to Record
        By name of the job.
    transfers : Transfers
        The runs of the table.
    claims : tuple of Claim
        What the paper says, then the check.
    """

    records: Mapping[str, Record]
    transfers: Transfers
    claims: tuple[Claim, ...]


def worlds(made: Made, lengths: plan.Lengths) -> dict[str, World]:
    """Both worlds, live first."""
    return {LIVE: _world(made.live, lengths), SIMULATED: _world(made.simulated, lengths)}


def _world(records: Mapping[str, Record], lengths: plan.Lengths) -> World:
    transfers = {
        (plan.WINDOW, setting.name, method.name): records[plan.name(setting, method)].transfer(lengths.table_warmup_s)
        for setting in linux.SETTINGS
        for method in linux.METHODS
    }
    window = f" (window of {linux.WINDOW_TITLES[plan.WINDOW]})"
    said = [
        Claim(one.text.removesuffix(window), one.holds, one.measured)
        for one in linux_claims.claims(transfers, plan.WINDOW)
    ]
    return World(records, transfers, (*said, *check.claims(records, lengths.check_warmup_s)))


def verdicts(both: Mapping[str, World]) -> list[Verdict]:
    """Statement by statement, what either world says."""
    return [
        Verdict(live.text, live, simulated)
        for live, simulated in zip(both[LIVE].claims, both[SIMULATED].claims, strict=True)
    ]


def claims(both: Mapping[str, World]) -> tuple[Claim, ...]:
    """The claims decided live, then the same decided on simulated runs, which say so."""
    simulated = (Claim(f"Simulated: {one.text}", one.holds, one.measured) for one in both[SIMULATED].claims)
    return (*both[LIVE].claims, *simulated)


def cells(both: Mapping[str, World], jobs: Sequence[Job]) -> list[Cell]:
    """A cell for every number: `WORLD/SETTING/METHOD/rate/FLOW`, `.../rtt/FLOW`, `.../lost`, `.../filled`, `.../jain`.

    The check's are `WORLD/check/ARM/...`. Nothing is published: the paper's rates are in figures that are lost.
    """
    return [cell for world, one in both.items() for job in jobs for cell in _cells(world, one.records[job.name], job)]


def _cells(world: str, record: Record, job: Job) -> Iterator[Cell]:
    begin = f"{world}/{job.name}"
    transfer = record.transfer(job.warmup_s)
    for number, (rate, rtt) in enumerate(zip(transfer.rates, record.rtt_ms, strict=True), start=1):
        mean = rate.estimate
        yield Cell(f"{begin}/rate/{number}", None, mean.mean, mean.low, mean.high, "B/s")
        if rtt is not None:
            yield Cell(f"{begin}/rtt/{number}", None, rtt, None, None, "ms")
    yield Cell(f"{begin}/lost", None, record.lost, None, None, "packets")
    yield Cell(f"{begin}/dropped", None, record.dropped, None, None, "packets")
    yield Cell(f"{begin}/filled", None, record.filled, None, None, "bytes")
    if len(transfer.rates) > 1:
        yield Cell(f"{begin}/jain", None, transfer.jain, None, None, "")


def doubts(made: Made, jobs: Sequence[Job]) -> tuple[str, ...]:
    """Why live runs are not to be trusted, a sentence each, which names the run."""
    return tuple(f"{job.title}: {doubt}" for job in jobs for doubt in made.live[job.name].doubts)


def differences(both: Mapping[str, World]) -> dict[str, float]:
    """Total rate of live against simulated, per cent of simulated, by name of the table's runs."""
    found = {}
    for setting in linux.SETTINGS:
        for method in linux.METHODS:
            live, simulated = (world.transfers[plan.WINDOW, setting.name, method.name] for world in both.values())
            found[plan.name(setting, method)] = 100 * (live.total / simulated.total - 1)
    return found


def headline(both: Mapping[str, World], distrusted: int, quick: bool) -> str:
    """One paragraph from the runs alone: what holds live and in simulation, and how far the two are apart."""
    found = verdicts(both)
    paper, ours = found[: -check.CLAIMS], found[-check.CLAIMS :]
    holding = sum(one.live.holds for one in paper)
    alike = sum(one.live.holds == one.simulated.holds for one in found)
    apart = differences(both)
    worst = max(apart, key=lambda name: abs(apart[name]))
    near = sum(abs(value) < AGREE_PERCENT for value in apart.values())
    parts = [
        f"Of the {len(paper)} things that the paper says of its Linux runs {holding} hold on this machine, and "
        f"{sum(one.simulated.holds for one in paper)} in simulation; of the {len(ours)} things that the mechanism "
        f"promises for a flow that nothing else limits {sum(one.live.holds for one in ours)} and "
        f"{sum(one.simulated.holds for one in ours)}. On {alike} of {len(found)} the two say the same.",
        f"Total rates differ by less than {AGREE_PERCENT:g} % in {near} of {len(apart)} runs, and by "
        f"{signed(apart[worst])} % at most ({worst}).",
    ]
    if distrusted:
        parts.append(f"{distrusted} of the live runs are not to be trusted.")
    if quick:
        parts.append("A first look: short runs.")
    return " ".join(parts)


def signed(percent: float) -> str:
    """A difference with its sign.

    >>> signed(-0.123), signed(4.5)
    ('−0.12', '+4.50')
    """
    return f"{percent:+.2f}".replace("-", "−")
