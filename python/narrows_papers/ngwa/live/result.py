"""Live and simulated results for pages and programs: transfers, claims, cells, and a summary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Cell, Claim, on_runs
from narrows_papers.ngwa import linux, linux_claims
from narrows_papers.ngwa.live import check, plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from narrows_papers.ngwa.linux import Transfers
    from narrows_papers.ngwa.live.execute import Made
    from narrows_papers.ngwa.live.plan import Job
    from narrows_papers.ngwa.live.record import Record

LIVE, SIMULATED = "live", "simulated"
"""Names of live and simulated results, in the order in which they are shown."""

AGREE_PERCENT = 1.0
"""Rates of live and simulated runs that differ by less than this count as equal."""


@dataclass(frozen=True)
class Verdict:
    """One claim, evaluated live and simulated."""

    text: str
    live: Claim
    simulated: Claim


@dataclass(frozen=True)
class World:
    """The live or the simulated runs.

    Attributes
    ----------
    records : mapping of str to Record
        Records by name of the job.
    transfers : Transfers
        The runs of the table.
    claims : tuple of Claim
        The paper's claims, then those of the check.
    """

    records: Mapping[str, Record]
    transfers: Transfers
    claims: tuple[Claim, ...]


def worlds(made: Made, lengths: plan.Lengths) -> dict[str, World]:
    """Return the live and the simulated results, live first."""
    return {LIVE: _world(made.live, lengths), SIMULATED: _world(made.simulated, lengths)}


def _world(records: Mapping[str, Record], lengths: plan.Lengths) -> World:
    transfers = {
        (plan.WINDOW, setting.name, method.name): records[plan.name(setting, method)].transfer(lengths.table_warmup_s)
        for setting in linux.SETTINGS
        for method in linux.METHODS
    }
    window = f" (window of {linux.WINDOW_TITLES[plan.WINDOW]})"
    said = [replace(one, text=one.text.removesuffix(window)) for one in linux_claims.claims(transfers, plan.WINDOW)]
    return World(records, transfers, tuple(on_runs((*said, *check.claims(records, lengths.check_warmup_s)), 1)))


def verdicts(both: Mapping[str, World]) -> list[Verdict]:
    """Return each claim with its live and simulated result."""
    return [
        Verdict(live.text, live, simulated)
        for live, simulated in zip(both[LIVE].claims, both[SIMULATED].claims, strict=True)
    ]


def claims(both: Mapping[str, World]) -> tuple[Claim, ...]:
    """Return the claims evaluated live, then those evaluated on simulated runs, marked as such."""
    simulated = (replace(one, text=f"Simulated: {one.text}") for one in both[SIMULATED].claims)
    return (*both[LIVE].claims, *simulated)


def cells(both: Mapping[str, World], jobs: Sequence[Job]) -> list[Cell]:
    """Return all cells: `WORLD/SETTING/METHOD/rate/FLOW`, `.../rtt/FLOW`, `.../lost`, `.../filled`, `.../jain`.

    Cells of the check are `WORLD/check/ARM/...`. There are no published values: the paper's rates are in lost figures.
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
    """Reasons not to trust live runs, a sentence each that names the run."""
    return tuple(f"{job.title}: {doubt}" for job in jobs for doubt in made.live[job.name].doubts)


def differences(both: Mapping[str, World]) -> dict[str, float]:
    """Difference of live from simulated total rate, per cent of simulated, by name of the table's runs."""
    found = {}
    for setting in linux.SETTINGS:
        for method in linux.METHODS:
            live, simulated = (world.transfers[plan.WINDOW, setting.name, method.name] for world in both.values())
            found[plan.name(setting, method)] = 100 * (live.total / simulated.total - 1)
    return found


def headline(both: Mapping[str, World], distrusted: int, quick: bool) -> str:
    """Summarise in one paragraph, from the runs alone, what holds live and simulated, and how far the two differ."""
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
        f"{sum(one.simulated.holds for one in ours)}. On {alike} of {len(found)} both agree.",
        f"Total rates differ by less than {AGREE_PERCENT:g} % in {near} of {len(apart)} runs, and by "
        f"{signed(apart[worst])} % at most ({worst}).",
    ]
    if distrusted:
        parts.append(f"{distrusted} of the live runs are not to be trusted.")
    if quick:
        parts.append("A first look: short runs.")
    return " ".join(parts)


def signed(percent: float) -> str:
    """Format a signed difference.

    >>> signed(-0.123), signed(4.5)
    ('−0.12', '+4.50')
    """
    return f"{percent:+.2f}".replace("-", "−")
