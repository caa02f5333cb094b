"""The prose of the page: headline from the results, differences from the papers, limits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from narrows.report import style
from narrows.studies.reproduction.result import tally
from narrows_papers.acns.live import plan
from narrows_papers.acns.text import GAIN_PERCENT
from narrows_papers.frame.calibration import in_words, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.model.resolved import Resolved
    from narrows.studies.reproduction.result import Cell, Claim
    from narrows_papers.acns.live.measured import Measured


def headline(measured: Measured, cells: Sequence[Cell], claims: Sequence[Claim]) -> str:
    """Summarise the results in a paragraph.

    Parameters
    ----------
    measured : Measured
    cells : sequence of Cell
    claims : sequence of Claim

    Returns
    -------
    str
    """
    by_name = {cell.name: cell for cell in cells}
    runs = len(measured.live.evaluation.acns.runs)
    duration = measured.live.evaluation.acns.scenario.duration_s
    failing = [claim for claim in claims if claim.verdict == "differs"]
    each = "one run" if runs == 1 else f"{runs} runs"
    parts = [
        f"On Linux's own TCP, in real time and {each} per arm of {duration:g} s, claims that hold: {tally(claims)}.",
        "With ACNS the data that the three TCP flows send changes by "
        f"{_three(by_name, 'change/sent/total', '+.1f', ' %')}, their mean RTT by "
        f"{_three(by_name, 'change/rtt_mean/total', '+.1f', ' %')}, and their losses go from "
        f"{_three(by_name, 'without/lost/total', '.0f')} to {_three(by_name, 'acns/lost/total', '.0f')} packets.",
        _demonstration(by_name),
    ]
    gain = [by_name[f"{world}/change/sent/total"].measured for world in ("live", "simulated")]
    if all(one < GAIN_PERCENT for one in gain):
        parts.append(
            "The published gain in data is missing both live and simulated: as narrows reproduce acns shows, it rests "
            "on ns-2's loss recovery, which turns several losses in a window into timeouts. Linux's does not, so CUBIC "
            "fills the links by itself."
        )
    if failing:
        parts.append("What does not hold: " + "; ".join(f"“{claim.text}”" for claim in failing) + ".")
    if measured.quick:
        parts.append(
            f"This was a first look: {duration:g} s in place of {plan.evaluated(quick=False).duration_s:g} s, all "
            "flows starting so much sooner. Amounts of data and of losses are not those of the paper, and stand alone."
        )
    return re.sub(r"(?<![\w-])-(?=\d)", "−", " ".join(parts))


def _three(by_name: dict[str, Cell], name: str, form: str, unit: str = "") -> str:
    """Format a live figure, with the simulated and published ones in brackets."""
    live, ours = by_name[f"live/{name}"], by_name[f"simulated/{name}"]
    published = "" if live.published is None else f", published {live.published:{form}}{unit}"
    return f"{live.measured:{form}}{unit} (simulated {ours.measured:{form}}{unit}{published})"


def _demonstration(by_name: dict[str, Cell]) -> str:
    def both(what: str, form: str) -> tuple[str, str]:
        plain, treated = (by_name[f"live/demonstration/{arm}/{what}"].measured for arm in ("without", "acns"))
        return f"{plain:{form}}", f"{treated:{form}}"

    drops, trips, rates = both("dropped", ".0f"), both("rtt_mean", ".1f"), both("throughput_mean", ".2f")
    return (
        f"On one flow of 10 Mb/s, 12 ms and a queue of 50 packets, {drops[0]} packets are dropped without ACNS and "
        f"{drops[1]} with it, at {trips[0]} and {trips[1]} ms of mean RTT and {rates[0]} and {rates[1]} Mb/s."
    )


def calibration(measured: Measured) -> dict[str, str]:
    """Settings that differ from the calibrated scenario of ``narrows reproduce acns``, with both values.

    Parameters
    ----------
    measured : Measured

    Returns
    -------
    dict
    """
    from narrows_papers.acns import evaluation

    there, here = (_tcp(one.resolved) for one in (evaluation.scenario(), measured.live.evaluation.acns.scenario))
    return {
        f"TCP: {in_words(key)}": f"{_word(key, here[key])}; calibrated: {_word(key, there[key])}"
        for key in sorted(here)
        if here[key] != there[key]
    }


def _tcp(resolved: Resolved) -> dict[str, Any]:
    return {key: one for key, one in resolved.first_tcp.settings.items() if key not in ("cc", "cc_params")}


def _word(key: str, given: Any) -> str:
    return value(key, given)


DIFFERENCES: Final[tuple[str, ...]] = (
    "The network, the flows, their times, priorities and amounts, and the parameters of ACNS are those of the "
    "calibrated scenario (narrows reproduce acns). What Linux's TCP has in its own way is not: above all its recovery "
    "from losses, by SACK, and its first slow start, which ends where HyStart or a loss ends it. The bound of 85 "
    "segments is the receiver's window. The simulated runs on this page use Linux's TCP defaults too, so that both run "
    "the same scenario; the paper's own network with ns-2's TCP defaults is on the page of narrows reproduce acns.",
    "Simulated and live routers run the same code, simulated on packets as values and live on their bytes. At the "
    "hosts ACNS is an eBPF program: a congestion control over the kernel's CUBIC, and packet programs on the hosts' "
    "devices that write, echo and read commands, and take them off before the kernel sees them.",
)

LIMITS: Final[tuple[str, ...]] = (
    "Live runs are few, since each takes its time, and no two are alike. With one run per arm there is no interval, "
    "and a claim that holds narrowly may not hold in the next.",
    "Lost packets are counted in the network, live and simulated, and not by the senders.",
    "The published figures are of ns-2.35, once per arm. Their network is not known; see the calibration of narrows "
    "reproduce acns.",
)


def card_number(cell: Cell, form: str) -> str:
    """Format a cell's value for a card, with a true minus sign.

    Parameters
    ----------
    cell : Cell
    form : str
        Format of the number.

    Returns
    -------
    str
    """
    return style.number(None) if cell.measured != cell.measured else f"{cell.measured:{form}}".replace("-", "−")
