"""The prose of the page: the headline from the results, slips of the paper, our decisions, the calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.report import style
from narrows.studies.reproduction.result import tally
from narrows_papers.frame.calibration import jitter_in_words, link_in_words, tcp_in_words, value
from narrows_papers.ngwa import linux
from narrows_papers.ngwa.arms import BY_NAME, DIVIDED
from narrows_papers.ngwa.window import formula
from narrows_papers.ngwa.window_claims import NEAR_PERCENT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.model.scenario import Scenario
    from narrows.studies.reproduction.result import Claim
    from narrows_papers.frame.tables import Published
    from narrows_papers.ngwa.linux import Transfers
    from narrows_papers.ngwa.rounds import Rounds
    from narrows_papers.ngwa.window import Window

SOURCES: tuple[str, ...] = (
    "M. Talau, E. C. G. Wille: Available Network Bandwidth Schema to Improve Performance in TCP Protocols. "
    "International Journal of Computer Networks & Communications 5(5), 2013.",
    "C. Chien: Batch size selection for the batch means method. WSC 1994 (the paper's source for its intervals).",
)

#: Slips of the paper, and how we handle each.
SLIPS: tuple[tuple[str, str], ...] = (
    (
        "Section 2 prints the update of the value the other way round: “if W(node) < W(packet) then W(node) = "
        "W(packet)”.",
        "Routers write the smaller of the two into the packet, as section 4.1 has it.",
    ),
    ("W_max is printed as 64 kbps.", "Read as 64 kB: a window is no rate."),
    (
        "Section 3.1 has four connections until 120 s and two from 121 s on.",
        "Two flows end at 120 s, with FIN segments that take them off the routers' count.",
    ),
    (
        "Section 3.3 says that mode 3 is the worst with 5279 triple duplicate ACKs, and that standard TCP and NewReno "
        "are highest, without numbers for these.",
        "Both are compared: the numbers with ours, the order as a claim.",
    ),
)


def slips(published: Published) -> list[tuple[str, str]]:
    """Slips of the paper, and how we handle each; the last one concerns the paper's own numbers."""
    each = {name: _per_loss(published, name) for name in ("mode3", "mode4", "mode1")}
    said = ", ".join(f"{value:.1f} in {BY_NAME[name].title.removeprefix('NGWA ')}" for name, value in each.items())
    return [
        *SLIPS,
        (
            f"Triple duplicate ACKs per lost packet, by the paper's own numbers: {said}.",
            "A lost packet seldom brings more than one series of three duplicate ACKs, so the paper must have counted "
            "each duplicate ACK from the third on. Its figures stand beside ours counted so; the number of series is "
            "shown, too.",
        ),
    ]


def _per_loss(published: Published, arm: str) -> float:
    triples, lost = published.of("triples", arm), published.of("lost", arm)
    return triples / lost if triples is not None and lost else 0.0


#: Details that the paper leaves open, and our decisions.
DECISIONS: tuple[tuple[str, str], ...] = (
    (
        "Transmission window",
        "min(cwnd, rwnd) as the sender has them, every 100 ms, of the flow that stays throughout",
    ),
    (
        "Transmission rate",
        "simulations: IP bytes that arrived at the receiver; Linux: payload delivered, which is what iperf reports",
    ),
    (
        "Triple duplicate ACKs",
        "duplicate ACKs that senders received, each from the third in a row on, in every arm, whether or not its TCP "
        "answers to them; a series counts once in the column of series",
    ),
    ("Lost packets", "packets with payload that a queue dropped; no link loses any"),
    (
        "Marked segments",
        "every TCP segment, a SYN too (section 4.1: “If the packet isn't TCP, nothing will be done”); with marks = "
        "“data” routers write into segments with payload alone",
    ),
    ("Small windows", "below one segment a window of 0 is advertised, and the sender probes"),
    ("Standard TCP", "RFC 793: no congestion window, losses repaired by the timer alone"),
    (
        "Batch means",
        "first round, bins of one second; the warm-up goes by MSER-5; the rest is cut into 30 batches, whose "
        "independence is tested by von Neumann's ratio",
    ),
)

LINUX_CHOICES: tuple[tuple[str, str], ...] = (
    (
        "Queue in bytes",
        "the paper counts 1700 bytes for a packet when it sets RED's limits; NGWA's routers count the same for each "
        "place of their queues: 170 kB for 100 packets, 1700 kB for 1000. All queues but RED's are limited in packets.",
    ),
    (
        "RED",
        "as published; the weight, which is not, is what tc derives from its recommended burst of (2 min + max) / (3 "
        "packets): 1/32, and 1/256 for 1000 packets. Not gentle; drops, no marks.",
    ),
    (
        "Hosts",
        "Narrows's model of Linux's TCP (6.1) with NewReno's window; what 2.6.34 had otherwise: an initial window of 3 "
        "segments (RFC 3390) and no proportional rate reduction. SACK and timestamps are on, as they were by default.",
    ),
    (
        "Window",
        "64 KB taken literally, and 96 KB as a variation: asked for 64 KB, Linux allocates twice that for the socket "
        "and advertises three quarters of it.",
    ),
    ("Cables", "50 µs each, which stands for cable, adapter and interrupts; the paper gives none"),
    (
        "Two minutes in steady state",
        "130 s, of which the first 10 s are left out; in the further seeds, which claims are decided by, 70 s",
    ),
)

LIMITS: tuple[str, ...] = (
    "The calibration was chosen with the paper's figures in view; that these come out is then no independent test.",
    "The paper's rates are in figures that are lost: only claims in words can be compared.",
    "In simulation PCs have no adapters' rings, no interrupts and no scheduler, which real ones have; where a "
    "published difference rests on these it cannot appear here.",
    "Which flows win in an unfair arm depends on small differences of their starts; the first round is one draw.",
    "RFC 793's losses are a phase effect: three packets of the middle link take as long as twenty of the access links, "
    "so that nanoseconds decide whose packet a full queue takes. How a simulator orders events of one instant moves "
    "them, and so does a link that is 1 b/s faster (see the calibration).",
)


NAMED = 5
"""Largest number of failing claims that the headline names; if there are more, only the table has them."""


def headline(
    windows: Mapping[str, Window],
    arms: Mapping[str, Rounds],
    claims: Sequence[Claim],
    variation: Sequence[Claim],
    published: Published,
    choices: str = "",
) -> str:
    """Summarise in one paragraph what agrees and what does not.

    Parameters
    ----------
    windows, arms, claims, variation, published
        Results and published figures.
    choices : str
        What other choices of ours do to RFC 793's losses, for beside that figure.
    """
    simulated = [claim for claim in claims if "(window of" not in claim.text]
    of_linux = [claim for claim in claims if "(window of" in claim.text]
    rounds = len(arms["newreno"].rounds)
    parts = [
        f"Claims of the paper's simulations that hold here: {tally(simulated)}; of its Linux section, in simulation: "
        f"{tally(of_linux)}; with a window of {linux.WINDOW_TITLES['96kB']}: {tally(variation)}.",
        _level_text(windows, published),
        _loss_text(arms, rounds, choices),
        _fair_text(arms),
    ]
    failing = [claim.text for claim in simulated if claim.verdict == "differs"]
    if 0 < len(failing) <= NAMED:
        parts.append("Of the simulations these do not hold: " + "; ".join(f"“{text}”" for text in failing) + ".")
    elif failing:
        parts.append(
            f"The table names the {len(failing)} claims of the simulations that do not hold, with what is measured."
        )
    return " ".join(parts)


def _level_text(windows: Mapping[str, Window], published: Published) -> str:
    stages = ("two", "two-again")
    wanted = formula(2)
    off = NEAR_PERCENT / 100 * wanted
    near = [arm for arm in DIVIDED if any(abs(windows[arm].level(stage) - wanted) <= off for stage in stages)]
    printed = sorted({value for arm in DIVIDED if (value := published.of("window_two", arm)) is not None})
    told = " and ".join(style.count(value) for value in printed)
    levels = sorted({round(windows[arm].level("two-again")) for arm in DIVIDED})
    said = style.count(levels[0]) if len(levels) == 1 else f"{style.count(levels[0])} to {style.count(levels[-1])}"
    how_many = "all" if len(near) == len(DIVIDED) else f"{len(near)} of the"
    return (
        f"With two flows {how_many} four dividing modes come to within {NEAR_PERCENT:g} % of the "
        f"{style.count(wanted)} bytes of the formula (published: about {told}); at the end they are at {said}."
    )


def _loss_text(arms: Mapping[str, Rounds], rounds: int, choices: str) -> str:
    lost = {name: made.estimate("lost").mean for name, made in arms.items()}
    none = all(lost[name] == 0 for name in DIVIDED)
    named = [name for name in lost if not (none and name in DIVIDED)]
    beside = {"rfc793": f" ({choices})" if choices else ""}
    listed = "; ".join(
        f"{BY_NAME[name].title.removeprefix('NGWA ')}: {style.number(lost[name])}{beside.get(name, '')}"
        for name in named
    )
    listed += "; none in modes 5 to 8" if none else ""
    return f"Lost packets in ten minutes, mean of {rounds} round{'s' if rounds > 1 else ''}: {listed}."


def _fair_text(arms: Mapping[str, Rounds]) -> str:
    index = {name: made.estimate("jain").mean for name, made in arms.items()}
    worst = min(index, key=lambda name: index[name])
    low = min(index[name] for name in DIVIDED)
    return (
        f"Jain's index of the four flows is at least {low:.3f} in modes 5 to 8, {index['newreno']:.3f} with NewReno, "
        f"and lowest, {index[worst]:.3f}, with {BY_NAME[worst].title.removeprefix('NGWA ')}."
    )


def linux_text(transfers: Transfers) -> str:
    """Describe what decides the Linux section: whether a queue can overflow, and what differs in that case."""
    parts = []
    for window, title in linux.WINDOW_TITLES.items():
        fifo = [transfers[window, setting.name, "newreno"] for setting in linux.SETTINGS]
        losing = [setting for setting, one in zip(linux.SETTINGS, fifo, strict=True) if one.lost]
        alone = [setting for setting in losing if setting.flows == 1]
        fullest = max(transfers[window, setting.name, "newreno"].filled for setting in linux.ONE)
        shared = max(transfers[window, setting.name, "newreno"].filled for setting in linux.TWO)
        if alone:
            settings = ", ".join(setting.title for setting in alone)
            parts.append(f"With a window of {title} one flow of NewReno over a FIFO loses packets at {settings}.")
        else:
            parts.append(
                f"With a window of {title} one flow of NewReno over a FIFO loses nothing in any setting: it fills at "
                f"most {fullest / 1000:,.0f} kB of a queue."
            )
        if any(setting.flows == 2 for setting in losing):
            parts.append(f"Two flows would fill {shared / 1000:,.0f} kB and overflow the queue of 100 packets.")
        else:
            parts.append(f"Two flows do not overflow a queue either ({shared / 1000:,.0f} kB waited at most).")
    spread = max(_spread(transfers, window, setting) for window in linux.WINDOWS for setting in linux.SETTINGS)
    used = min(transfers[key].used for key in transfers)
    tcp = linux.scenario().resolved.first_tcp.settings
    payload = tcp["mss_bytes"] - (TIMESTAMP_BYTES if tcp["timestamps"] else 0)
    parts.append(
        f"In each setting all methods, with all flows together, carry the same payload to within {spread:.2f} %; of "
        f"it NGWA's option costs {100 * OPTION_BYTES / payload:.2f} % ({OPTION_BYTES} bytes of {payload:,}). The link "
        f"is used to {100 * used:.1f} % at least, whether a queue overflows or not; a published advantage of NGWA in "
        "total rate must come from what the real machines have and this model has not."
        if spread < ADVANTAGE_PERCENT
        else f"Between methods the payload of all flows together differs by up to {spread:.1f} % in a setting."
    )
    return " ".join(parts)


OPTION_BYTES = 8
"""Size of NGWA's option with its padding; segments leave room for it."""

TIMESTAMP_BYTES = 12
"""Size of timestamps with their padding (RFC 7323, appendix A)."""

ADVANTAGE_PERCENT = 2.0
"""Spread of total rates among methods below which the page calls them equal, per cent."""


def _spread(transfers: Transfers, window: str, setting: linux.Setting) -> float:
    """Excess of the largest over the smallest total rate of a setting's methods, %."""
    totals = [one.total for one in linux.of(transfers, window, setting).values()]
    return 100 * (max(totals) / min(totals) - 1)


def calibration(scenario: Scenario) -> dict[str, str]:
    """Settings that the paper leaves open, with the scenario's values: links, TCP, jitter, sources."""
    resolved = scenario.resolved
    grouped: dict[str, list[str]] = {}
    for link in resolved.links:
        grouped.setdefault(link_in_words(link), []).append(f"{link.a} – {link.b}")
    found = {f"Link{'s' if len(names) > 1 else ''} {', '.join(names)}": text for text, names in grouped.items()}
    found |= tcp_in_words(resolved.first_tcp, leave_out=("assist", "cc", "cc_params", "stack"))
    found["Start jitter"] = jitter_in_words(resolved)
    written = resolved.flows[0].traffic.settings.get("write_bytes")
    if written:
        found["Source: written at a time"] = f"{written:,} bytes"
    return found | {f"NGWA: {name}": value(key, resolved.schemes["ngwa"][key]) for key, name in NGWA_KEYS.items()}


NGWA_KEYS: dict[str, str] = {
    "shrink": "the right edge of an advertised window may move left (equation 2 by the letter)",
    "stamp": "routers write at",
    "idle_timeout_ns": "idle flows leave a router's count after",
    "fast_retransmit": "fast retransmit without congestion window",
}
"""Keys of `[ngwa]` that the paper leaves open, with descriptions."""
