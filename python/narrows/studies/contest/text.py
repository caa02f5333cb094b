"""The prose on the page of a contest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from narrows.report import style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.studies.contest.behaviour import Behaviour, Criteria
    from narrows.studies.contest.measures import Measure
    from narrows.studies.contest.plan import Order, Plan
    from narrows.studies.contest.result import Contest, Place
    from narrows.studies.contest.standing import Standing

ORDERS: Final[dict[Order, str]] = {
    "as_is": "The starting order of the scenario",
    "swapped": "The starting order swapped",
}

CODES: Final[dict[Behaviour | None, str]] = {"kept": "1", "relegated": "2", "shared": "=", None: "–"}
"""Behaviours as one character."""

SHORT: Final[dict[Behaviour | None, str]] = {
    "kept": "first keeps",
    "relegated": "second relegates",
    "shared": "shared",
    None: "nothing arrived",
}
"""Behaviours as two words."""

SOURCES: Final = (
    "R. Ware, M. K. Mukerjee, S. Seshan and J. Sherry, “Beyond Jain's Fairness Index: Setting the Bar for the "
    "Deployment of Congestion Control Algorithms”, HotNets 2019.",
    "R. Jain, D.-M. Chiu and W. Hawe, “A Quantitative Measure of Fairness and Discrimination for Resource Allocation "
    "in Shared Computer Systems”, DEC-TR-301, 1984.",
    "S. Floyd (ed.), “Metrics for the Evaluation of Congestion Control Mechanisms”, RFC 5166, 2008.",
    "A. M. Law, “Simulation Modeling and Analysis”, 5th edition, 2015, section 10.2 (common random numbers).",
)


def lead(contest: Contest, standings: Sequence[Standing]) -> list[str]:
    """Summarise the results in a paragraph of sentences.

    Parameters
    ----------
    contest : Contest
    standings : sequence of Standing
        Sorted by harm done, smallest first.

    Returns
    -------
    list of str
    """
    plan = contest.plan
    count = len(plan.labels)
    variants = f"{count} variant{'' if count == 1 else 's'}"
    told = [
        f"{variants} on “{plan.scenario.title}”: each takes the first slot against each in the second, its own kind "
        f"included, {plan.runs} run{'' if plan.runs == 1 else 's'} a pair."
    ]
    ranked = [one for one in standings if not math.isnan(one.harm_done.mean)]
    if len(ranked) > 1:
        gentle, rough = ranked[0], ranked[-1]
        told.append(
            f"{rough.label} takes the most from the others: beside it they get {_less(rough.harm_done.mean)} than "
            f"beside their own kind (in the median), and it has {_percent(rough.share.mean)} of the throughput. "
            f"{gentle.label} takes the least: they get {_less(gentle.harm_done.mean)}, and it has "
            f"{_percent(gentle.share.mean)}."
        )
    if count > 1:
        mixed = [(a, b) for a in plan.labels for b in plan.labels if a != b]
        found = [contest.behaviour(a, b) for a, b in mixed]
        told.append(
            f"Of {len(mixed)} pairs of different variants {found.count('shared') or 'none'} share the link within "
            f"{100 * plan.criteria.margin:g} points of one half; in {found.count('kept')} the first to start keeps it, "
            f"in {found.count('relegated')} the second relegates the first."
        )
    return told


def cards(standings: Sequence[Standing]) -> list[dict[str, str]]:
    """Choose the key figures; queue and fairness only among contestants with half of the best total throughput.

    Parameters
    ----------
    standings : sequence of Standing
        Sorted by harm done, smallest first.

    Returns
    -------
    list of dict
        ``what``, ``value`` and ``note``.
    """
    made = []
    ranked = [one for one in standings if not math.isnan(one.harm_done.mean)]
    if len(ranked) > 1:
        for what, one in (("Harms the others most", ranked[-1]), ("Harms the others least", ranked[0])):
            note = f"median harm {_percent(one.harm_done.mean)}{_spread(one.harm_done.half_width)}"
            made.append({"what": what, "value": one.label, "note": note})
    # A contestant that leaves the link idle has a short queue and shares it evenly, which is no merit.
    most = max((one.total_mbps.mean for one in standings), default=0.0)
    using = [one for one in standings if one.total_mbps.mean >= 0.5 * most > 0]
    calm = [one for one in using if not math.isnan(one.rtt_inflation.mean)]
    if calm:
        best = min(calm, key=lambda one: one.rtt_inflation.mean)
        note = f"RTT {style.number(best.rtt_inflation.mean)} times the base, two of its kind"
        made.append({"what": "Shortest queue", "value": best.label, "note": note})
    fair = [one for one in using if not math.isnan(one.jain.mean)]
    if fair:
        best = max(fair, key=lambda one: one.jain.mean)
        note = f"Jain's index {style.number(best.jain.mean)}, two of its kind"
        made.append({"what": "Fairest to its own kind", "value": best.label, "note": note})
    return made


def notes(contest: Contest) -> list[str]:
    """State the caveats that a reader needs to interpret the numbers.

    Parameters
    ----------
    contest : Contest

    Returns
    -------
    list of str
    """
    plan = contest.plan
    told = []
    if plan.runs == 1:
        told.append("One run of each match, and so no confidence intervals: repeat with --runs for them.")
    if contest.alike():
        told.append(
            "All runs of a match are the same: nothing in this scenario is drawn at random, so the intervals have "
            "zero width and carry no information. A start_jitter in the scenario makes runs differ."
        )
    flows = plan.scenario.resolved.flows
    for slot in plan.slots:
        traffic = flows[slot.index].traffic
        if traffic.kind != "bulk" or traffic.size_bytes is not None:
            told.append(
                f"The flow {slot.name} does not always have data to send, so that its share is not decided by "
                "congestion control alone."
            )
    others = len(flows) - 2
    if others:
        told.append(
            f"{others} more flow{' runs' if others == 1 else 's run'} beside the two slots; shares and Jain's index "
            "are over the slots."
        )
    return told


def behaviour(contest: Contest, first: str, second: str, order: Order) -> str:
    """Describe the behaviour of a pair, with a question mark if the share's interval includes another behaviour.

    Parameters
    ----------
    contest : Contest
    first, second : str
        The pair.
    order : str

    Returns
    -------
    str
    """
    told = SHORT[contest.behaviour(first, second, order)]
    return told if contest.is_sure(first, second, order) else f"{told}?"


def code(contest: Contest, first: str, second: str, order: Order) -> str:
    """Encode the behaviour of a pair in one or two characters.

    Parameters
    ----------
    contest, first, second, order
        As for `behaviour`.

    Returns
    -------
    str
    """
    told = CODES[contest.behaviour(first, second, order)]
    return told if contest.is_sure(first, second, order) else f"{told}?"


def map_title(measure: Measure, place: Place) -> tuple[str, str]:
    """Return title and caption of a heat map.

    Parameters
    ----------
    measure : Measure
    place : {"first", "second"}
        The slot whose measure the map shows.

    Returns
    -------
    title, caption : str
    """
    unit = "per cent" if measure.percent else measure.unit
    tail = f", {unit}" if unit else ""
    if measure.of == "pair":
        return measure.title + tail, _CAPTIONS.get(measure.key, "")
    whose = "row" if place == "first" else "column"
    title = {
        "share": "Share of the row's flow",
        "harm": f"Harm to the {whose}'s flow",
        "harm_rtt": f"Harm to the {whose}'s RTT",
        "harm_solo": f"Harm to the {whose}'s flow",
        "harm_rtt_solo": f"Harm to the {whose}'s RTT",
    }.get(measure.key, f"{measure.title} of the {whose}'s flow")
    return title + tail, _CAPTIONS.get(measure.key, "")


_CAPTIONS: Final = {
    "share": "50 is even. Blue: the first slot has more; vermillion: the second.",
    "jain": "1 is even, 0.5 is all for one.",
    "tpp_mbps": "Rate sent times packets arrived over packets sent.",
    "harm": "Throughput lost against being paired with its own kind; the diagonal is 0. Below 0 it gained.",
    "harm_rtt": "Mean RTT gained against being paired with its own kind. Below 0 the path got faster.",
    "harm_solo": "Throughput lost against having the link alone; an even share of a full link is 50.",
    "harm_rtt_solo": "Mean RTT gained against being alone.",
    "rtt_inflation": "Mean RTT over the smallest that any run saw in this slot.",
    "loss_ratio": "Packets lost of those sent.",
}


def behaviours(criteria: Criteria) -> str:
    """Define the three behaviours with the numbers in use.

    Parameters
    ----------
    criteria : Criteria

    Returns
    -------
    str
    """
    low, high = 50 - 100 * criteria.margin, 50 + 100 * criteria.margin
    return (
        f"By the share that the later flow has of the throughput in the window: below {low:g} % the first keeps the "
        f"link (1), above {high:g} % the second relegates the first (2), between them they share it (=). The two are "
        f"in balance where their throughputs over the last {criteria.smooth_s:g} s differ by at most "
        f"{100 * criteria.band:g} % of their sum. The time to equilibrium is from the later flow's start to the first "
        f"moment of a balance that lasts {criteria.hold_s:g} s. The definition is ours: the contest of fifteen "
        "variants names three behaviours without one; it puts that paper's examples where the paper puts them."
    )


def method(plan: Plan) -> str:
    """Describe how the contest was run and measured.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    str
    """
    step = plan.scenario.resolved.sampling.interval_ns / 1e9
    solo = " Each also ran alone in each slot." if plan.has_solo else ""
    return (
        f"Every ordered pair ran {plan.runs} time{'' if plan.runs == 1 else 's'}, run i of all pairs from the same "
        "random streams (common random numbers), so that harm is taken run by run and what runs have in common cancels."
        f"{solo} Intervals are Student's over the runs, 95 %. Measured is from {plan.window.start_s:g} s to "
        f"{plan.window.end_s:g} s, from samples every {style.duration(step)}: counters are exact at samples and taken "
        "to grow evenly between them; round-trip times are means over time, not over packets."
    )


def limits() -> list[str]:
    """List the limits of validity.

    Returns
    -------
    list of str
    """
    return [
        "A matrix belongs to its scenario: another rate, round-trip time or queue may reverse it. Repeat "
        "it with --set.",
        "Two flows are not many: what happens among tens of flows may differ from what happens between two.",
        "The base of the RTT inflation is the smallest round-trip time seen in the slot; where all contestants keep "
        "the queue full, it lies above that of the empty path. As a rule it is the handshake's, whose packets are "
        "small: on a slow link a full segment takes longer even when nothing waits.",
        "Packets that arrived are counted by their bytes, which is exact while all segments are full, as those of bulk "
        "flows are.",
    ]


def _less(harm: float) -> str:
    return f"{abs(100 * harm):.0f} % {'less' if harm >= 0 else 'more'}"


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %".replace("-", "−")


def _spread(half: float) -> str:
    return "" if math.isnan(half) or half <= 0 else f" ± {100 * half:.1f}"
