"""The prose of the page: the headline from the results, what the paper leaves open, what was left out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from narrows.studies.reproduction import request
from narrows.studies.reproduction.result import tally
from narrows_papers.agile_sd import fairness
from narrows_papers.agile_sd.arms import ARMS, BUFFERS, BY_NAME, ONE, PERS, SMALLEST, per_in_words
from narrows_papers.agile_sd.flows import DURATION_S, FLOWS
from narrows_papers.agile_sd.published import published
from narrows_papers.frame.calibration import jitter_in_words, link_in_words, tcp_in_words

if TYPE_CHECKING:
    from narrows.model.scenario import Scenario
    from narrows_papers.agile_sd.claimed import Found
    from narrows_papers.agile_sd.data import Data

SOURCES: tuple[str, ...] = (
    "M. A. Alrshah, M. Othman, B. Ali, Z. M. Hanapi: Agile-SD: A Linux-based TCP congestion control algorithm for "
    "supporting high-speed and short-distance networks. Journal of Network and Computer Applications 55, 2015.",
    "R. Jain, D. Chiu, W. Hawe: A quantitative measure of fairness and discrimination for resource allocation in "
    "shared computer systems. DEC-TR-301, 1984 (the index).",
)

SEEDS = 5
"""Number of seeds of the full sweep, as in its file."""

DECISIONS: tuple[tuple[str, str], ...] = (
    (
        "Where the buffer is",
        "On all links, the senders' own among them. With equal rates one flow never fills a queue further on, and a "
        "limit of the shared link alone would never drop.",
    ),
    (
        "What a buffer of N packets is",
        "ns-2's queue-limit counts the packet that is being sent, ours does not: N - 1 may wait. Chosen since ns-2 "
        "has it so; with N, CUBIC reaches 1500 packets sooner (see the calibration).",
    ),
    (
        "Packets of 1000 bytes",
        "On the wire, so that 1500 of them fill the path, which is the paper's maximum. With segments of 1000 bytes "
        "it would be 1442.",
    ),
    (
        "SACK and FACK disabled",
        "Taken by the letter for all the paper's congestion controls and NewReno. On ns-2.35 itself the printed times "
        "come out only with SACK: see the other reading. So every claim is decided there, too.",
    ),
    (
        "BBR v3",
        "It models the path from what is delivered packet by packet, which takes SACK; without, the draft is "
        "undefined and its window runs away. As a yardstick of today it has SACK.",
    ),
    (
        "Profiles",
        "Agile-SD: the paper's rules (beta1 0.90, beta2 0.95, lambda_max 3), not the integers of the released module. "
        "CUBIC: that of ns-2.35. Compound: the draft's; the module that circulates for ns-2 stops at about the same "
        "window.",
    ),
    (
        "Packet errors",
        "On the shared link, data packets only, as an error model of ns-2 on a link in one direction. The paper does "
        "not say which links had them.",
    ),
    (
        "Starts",
        "Each flow starts up to 100 ms late, at random: seeds differ in nothing else, and in which packets are lost "
        "to errors.",
    ),
    (
        "Up to 55 %",
        "The paper does not say of what, nor over whom. Points of utilisation over one of the others: the reading "
        "under which its three gains are possible at all.",
    ),
)
"""Details that the paper leaves open, and our decisions."""

INTER_FAIRNESS: tuple[str, ...] = (
    "Beside Agile-SD. A drop-tail queue that overflows takes packets of both flows, and both reduce: Agile-SD by 5 %, "
    "CUBIC by 20 %, NewReno by half. If both lose once in T round trips, NewReno's window was 2 T packets when it "
    "lost, CUBIC's (a third of a packet per round trip) 1.7 T, and Agile-SD's 29 T, since it is back after 0.7 of the "
    "round trips that its 5 % would take at one packet each: Jain's index is 0.57 to NewReno and 0.56 to CUBIC. If "
    "packets are lost independently, as by packet errors, windows are as 4.4 to 1 and the index is 0.71. "
    "An index of 0.99 to CUBIC cannot come from two flows "
    "that reduce by these rules at a queue that they share.",
    "Separate runs. Jain's index over the throughput of runs of one flow is no explanation: with 0.99 and 0.96 to "
    "CUBIC, Agile-SD and Compound would differ by a factor of 1.9 at most, which is 0.92 and not 0.76.",
    "Without SACK ns-2's TCP/Linux finds losses by its timer alone: its scoreboard looks for them in SACK blocks and "
    "counts no duplicate ACKs. Each loss then costs 200 ms and a new slow start from one packet, and everything that "
    "was in flight is sent again. Rules of congestion avoidance hardly act, so Agile-SD and CUBIC come near to each "
    "other, while ns-2's own NewReno has its fast retransmit and is ahead of both. That is the published pattern, "
    "and table 1 has SACK disabled. It is the nearest of all conditions that were searched, on ns-2 and here, though "
    "no buffer has all six. We do not adopt it: CUBIC's window of 1500 packets after 60 s, which the paper prints as "
    "well, is out of reach then.",
    "CUBIC to NewReno. Here both share evenly: CUBIC grows by a third of a packet per round trip and gives up a fifth, "
    "NewReno grows by one and gives up a half, and they lose together. On ns-2, with SACK for CUBIC, the one whose "
    "window grows loses, since all packets come in one fixed rhythm. A random time of up to one packet's before each "
    "is sent ends that, and ns-2 has what we have: our engine draws who comes first among packets of the same instant.",
)
"""Why our inter-fairness indices differ from the published ones."""

LIMITS: tuple[str, ...] = (
    "One path, one rate, one length: nothing here applies to long paths, many flows or mixed traffic.",
    "Starts are the only random element in runs without packet errors, so their intervals show only how sensitive "
    "a point is to phases.",
    "NewReno's recovery resends one packet per round trip; after a slow start that overshoots, its timer of 200 ms "
    "ends it (RFC 6582's impatient variant, which is ns-2's). What then happens to CUBIC at medium buffers is "
    "described on the page.",
)
"""Limits of validity."""


def parameters(data: Data) -> tuple[tuple[str, str, str], ...]:
    """Parameters of the paper's table 1 and of its text: name, published value, value in these runs."""
    runs, flows = data.printed, data.flows
    buffers, pers = ", ".join(map(str, runs.buffers)), ", ".join(map(per_in_words, runs.pers))
    sending = ", ".join(map(str, [*range(1, flows), *range(flows, 0, -1)]))
    side_by_side = ", ".join(map(str, fairness.buffers(data.pairs)))
    return (
        ("Congestion controls", "Agile-SD, CUBIC, C-TCP", ", ".join(BY_NAME[name].title for name in runs.arms)),
        ("Link capacity", "1 Gb/s for all", "the same"),
        ("Link delay", "1 ms node to router, 4 ms router to router", "the same: round trips of 12 ms"),
        ("BDP", "750 kB (one way)", "1.5 MB there and back: 1500 packets, the paper's own maximum of cwnd"),
        ("PER", "three values, lost", f"{pers}, of data packets on the shared link"),
        ("Buffer size", "from 5 to 500 packets", f"{buffers}, on all links"),
        ("Packet size", "1000 bytes", "1000 bytes on the wire: segments of 960"),
        ("Queueing", "drop-tail", "the same"),
        ("Traffic", "FTP", "flows that always have data"),
        ("SACK, FACK", "disabled", f"NewReno's recovery without SACK{_with_sack(data)}"),
        ("Simulation time", "100 s", "the same"),
        ("Flows of scenarios 2 and 3", "lost", str(flows)),
        (
            "Times of scenario 2",
            "lost",
            f"{2 * flows - 1} equal steps with {sending} flows; first come, first gone",
        ),
        ("Inter-fairness", "which flows, which buffer: lost", f"one flow of each of two; buffers: {side_by_side}"),
        (
            "RTT-fairness",
            "which round-trip times: lost",
            "left out" if data.round_trips is None else "12, 24, 36 and 48 ms, at the same buffers",
        ),
    )


def _with_sack(data: Data) -> str:
    beside = "" if data.sack is None else "; beside it all again with SACK"
    return beside + ("; BBR v3 always has SACK" if "bbr3" in data.printed.arms else "")


def title(flows: int) -> str:
    """Title of the drawing of the second and third scenario.

    Examples
    --------
    >>> title(4)
    'Agile-SD: 4 pairs of hosts'
    """
    return f"Agile-SD: {flows} pairs of hosts"


def seconds(value: float, digits: int = 0) -> str:
    """Format the time of an event; NaN means that it did not happen within the run.

    Examples
    --------
    >>> seconds(18.06), seconds(18.06, 1), seconds(float("nan"))
    ('18 s', '18.1 s', 'more than 100 s')
    """
    return f"more than {DURATION_S:.0f} s" if math.isnan(value) else f"{value:.{digits}f} s"


def command(data: Data) -> str:
    """Return the command that makes these runs."""
    seeds = data.printed.seeds
    asked = None if seeds == (1 if data.quick else SEEDS) else seeds
    told = request.command("agile-sd", quick=data.quick, runs=asked)
    return told if data.flows == FLOWS else f"{told} --flows {data.flows}"


def headline(data: Data, found: Found, linux: str = "") -> str:
    """Summarise in one paragraph what agrees and what does not; `linux` is the time that Linux's CUBIC takes."""
    runs = data.printed

    def used(arm: str, buffer: int) -> str:
        return f"{runs.mean('utilisation', ONE, buffer, arm):.0f} %"

    reached = runs.estimate("reached_s", ONE, SMALLEST, "agile_sd").mean
    cubic = runs.estimate("reached_s", ONE, SMALLEST, "cubic").mean
    peak = runs.mean("peak_packets", ONE, SMALLEST, "compound")
    told = published()
    beside = f" (ns-2's; Linux's takes {linux})" if linux else ""
    said = (
        f"With buffers of {SMALLEST} packets one flow of Agile-SD fills the path after {seconds(reached)} and uses "
        f"{used('agile_sd', SMALLEST)} of it over {DURATION_S:.0f} s; CUBIC takes {seconds(cubic)}{beside} and uses "
        f"{used('cubic', SMALLEST)}; Compound stays at {peak:.0f} packets and {used('compound', SMALLEST)}. Published "
        f"are {told.the('reached', 'agile_sd'):.0f} s, {told.the('reached', 'cubic'):.0f} s and "
        f"{told.the('peak', 'compound'):.0f} packets."
    )
    largest = runs.buffers[-1]
    said += (
        f" With {largest} packets the three use {used('agile_sd', largest)}, {used('cubic', largest)} and "
        f"{used('compound', largest)}."
    )
    said += f" Claims that hold with the parameters as printed: {tally(found.all)}"
    if found.sack:
        said += f"; with SACK, where that was run: {tally(found.sack)}"
    failed = len(data.failures)
    if failed == 1:
        return f"{said}. One run failed; it is missing from these results."
    return said + "." + (f" {failed} runs failed; they are missing from these results." if failed else "")


def left_out(data: Data) -> str:
    """Describe what a quick experiment leaves out; empty for the full one."""
    runs = data.printed
    lacking = []
    if len(runs.pers) < len(PERS):
        lacking.append("packet errors (" + ", ".join(per_in_words(per) for per in PERS if per not in runs.pers) + ")")
    if len(runs.buffers) < len(BUFFERS):
        lacking.append("buffers of " + ", ".join(str(one) for one in BUFFERS if one not in runs.buffers) + " packets")
    names = [BY_NAME[arm.name].title for arm in ARMS if arm.name not in runs.arms]
    if names:
        lacking.append(" and ".join(names))
    if runs.seeds < 2:
        lacking.append("seeds beyond the first, and with them all intervals")
    if data.round_trips is None:
        lacking.append("RTT-fairness")
    if data.sack is None:
        lacking.append("the runs with SACK")
    return ", ".join(lacking)


def calibration(scenario: Scenario) -> dict[str, str]:
    """Settings that the paper leaves open, with the scenario's values: links, TCP, jitter."""
    resolved = scenario.resolved
    grouped: dict[str, list[str]] = {}
    for link in resolved.links:
        grouped.setdefault(link_in_words(link), []).append(f"{link.a} – {link.b}")
    found = {f"Link{'s' if len(names) > 1 else ''} {', '.join(names)}": text for text, names in grouped.items()}
    found |= tcp_in_words(resolved.first_tcp, leave_out=("assist", "cc", "cc_params", "stack"))
    found["Start jitter"] = jitter_in_words(resolved)
    return found
