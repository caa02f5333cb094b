"""The prose of the page: the headline, what the paper leaves open, its slips, and why cells differ."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from narrows.contest import Criteria
from narrows.report import style
from narrows.studies.reproduction.result import tally
from narrows_papers.contest import evaluation, evidence
from narrows_papers.contest.evaluation import NEAR_PERCENT, VEGAS_PERCENT
from narrows_papers.contest.measured import WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.model.scenario import Scenario
    from narrows.studies.reproduction.result import Claim
    from narrows_papers.contest.evaluation import Compared, Readings
    from narrows_papers.contest.pair import Duel

RENOS = ("NewReno", "Reno", "Sack")


def headline(readings: Readings, claims: Sequence[Claim], runs: int, choices: str = "") -> str:
    """Summarise in one paragraph what agrees and what does not.

    Parameters
    ----------
    readings : Readings
        The cells as read and by their captions.
    claims : sequence of Claim
    runs : int
        Seeds of each pair.
    choices : str
        Scores under other choices of ours, for beside the score.
    """
    cells = readings.read
    shares = evaluation.shares(cells)
    vegas = evaluation.share([one for one in cells if one.group == "vegas"], VEGAS_PERCENT)
    seeds = f"{runs} seeds" if runs > 1 else "one seed"
    every, others = shares["all"], shares["others"]
    without = evaluation.share([one for one in cells if one.group != "vegas"])
    other = evidence.ns2()
    printed = [one.printed for one in cells]
    theirs = evaluation.Share(*evidence.near(other, printed, NEAR_PERCENT))
    captions = f"by the captions as printed {evaluation.share(readings.captioned)}"
    said = (
        f"Of the {every.total} published cells {every.near} ({100 * every.of_1:.0f} %) are within {NEAR_PERCENT:g} % "
        f"of the printed value, over {seeds}; {choices or captions}. "
        f"Without Vegas they are {without}, and without Hybla too {others}. Of the cells with Vegas {vegas} are "
        f"within {VEGAS_PERCENT:g} %. ns-2.35 itself, the paper's simulator, has {theirs} within {NEAR_PERCENT:g} %. "
    )
    failing = [one.text for one in claims if one.verdict == "differs"]
    said += f"Claims that hold: {tally(claims)}"
    return (
        f"{said}."
        if not failing
        else said + "; these do not: " + "; ".join(f"“{one.split(' (')[0]}”" for one in failing) + "."
    )


def explained(readings: Readings) -> str:
    """Explain the readings of the tables in three sentences, with the score of each."""
    cells, captioned = readings.read, readings.captioned
    moved = sum(one.printed.slip == "by_row" for one in cells)
    left = len(cells) - len(captioned)
    return (
        "By the captions the row starts first, the column second, and tables 2 and 3 have the TPP of the first and of "
        f"the second flow: {evaluation.share(captioned)} of the cells are then within {NEAR_PERCENT:g} %, without the "
        f"{left} of Hybla's row in table 2, which repeats its column in table 3. As we read them, {moved} cells of "
        "table 3 (Vegas's row and column, and Hybla's row) have the row's variant start second, because only then do "
        f"both flows of a run carry together what the channel can: {evaluation.share(cells)}; with all of table 3 so, "
        f"{evaluation.share(readings.by_row)}. Without Vegas and Hybla the readings are one and the same: "
        f"{evaluation.shares(cells)['others']}."
    )


def pair_headline(duels: Sequence[Duel]) -> str:
    """Describe the results of one pair, in both sets."""
    first, second = duels[0].names
    parts = []
    for duel in duels:
        meeting = duel.meeting
        word = WORDS[meeting.behaviour] if meeting.behaviour else "nothing arrived"
        time = meeting.equilibrium_s
        balance = "" if time is None else f", in balance {time:.1f} s after the second's start"
        where = "with the window limit" if duel.of == "limited" else "without it"
        tpp = f"{meeting.tpp('first').mean:.3f} and {meeting.tpp('second').mean:.3f}"
        parts.append(f"{where} {word} (TPP {tpp}{balance})")
    return f"{first} starts first, {second} ten seconds later: {'; '.join(parts)}."


def reason(one: Compared) -> str | None:
    """Return why a cell is beyond 6 %; `None` if it is within."""
    if one.within(NEAR_PERCENT):
        return None
    who = {one.printed.first, one.printed.second}
    if "Vegas" in who:
        if one.printed.second != "Vegas":
            return reasons()["vegas_first"]
        if who & set(RENOS) and one.printed.of == "first":
            return reasons()["vegas_after_reno"]
        return reasons()["vegas_second"]
    if "Hybla" in who:
        return reasons()["repeated" if one.printed.slip == "repeated" and one.printed.table == 2 else "hybla"]
    return reasons()["others"]


@cache
def reasons() -> dict[str, str]:
    """Reasons why cells are beyond 6 %, with ns-2's results over many seeds."""
    seeds = evidence.ns2("seeds")
    second, first = seeds["Cubic", "Vegas", "second"], seeds["Vegas", "Cubic", "first"]
    newreno = seeds["NewReno", "Vegas", "first"]
    return {
        "vegas_second": "Where Vegas starts second it takes the round-trip time over the other's standing queue for "
        "that of the empty path. Whether it then settles at 3 or at 8 segments depends on its first few samples: over "
        f"{second.seeds} seeds of ns-2 it has {second.low:.3f} to {second.high:.3f} against CUBIC, {second.median:.3f} "
        "in the median. The paper's figures, equal for all rivals, are one such draw, and a low one: while nothing is "
        "lost all rivals are one and the same, and so is their run.",
        "vegas_first": "Where Vegas starts first it stays at three segments, and its share is as large as its "
        f"round-trip time is shorter than its rival's. Over {first.seeds} seeds of ns-2 it has {first.low:.3f} to "
        f"{first.high:.3f} against CUBIC, {first.median:.3f} in the median.",
        "vegas_after_reno": "The two flows of the published run do not fill the channel (0.576 of 0.65). No run of "
        f"ns-2 did that: over {newreno.seeds} seeds NewReno has {newreno.low:.3f} to {newreno.high:.3f}, and Vegas "
        "the rest.",
        "hybla": "Hybla alone is not bound by the window limit and fills the queue until both lose: a sawtooth with "
        "some eight losses in the minute that is measured, which sometimes strike its rival, too. The paper has one "
        "run; ours is a mean.",
        "repeated": "Printed in both tables: the figure belongs to the run in which Hybla starts second (see the "
        "inconsistencies).",
        "others": "All of these pairs are equal here and in ns-2 over seeds, and no setting was found in which they "
        "are not.",
    }


def calibration(scenario: Scenario) -> dict[str, str]:
    """Settings that the paper leaves open, with the values used here."""
    resolved = scenario.resolved
    made = {
        "Segments": "1000 bytes of payload, 1040 on the wire; of Vegas 1000 on the wire, since ns-2's agent counts "
        "no headers",
        "Window limit": "20 segments, also the first slow-start threshold; none in the second set",
        "Acknowledgments": "one for each segment; 60 bytes on the air, since ns-2's routing agent adds 20",
        "Timestamps": "off",
    }
    for channel in resolved.wifi:
        mode = channel.mode
        rate = style.rate(mode.rate_bps) if mode.kind == "rate" else f"MCS {mode.mcs}"
        made["802.11"] = (
            f"{channel.phy}, {rate}, control frames at {style.rate(channel.basic_rate_bps)}, slot "
            f"{channel.slot_ns / 1000:g} us, SIFS {channel.sifs_ns / 1000:g} us, contention window "
            f"{channel.cw_min} to {channel.cw_max}"
        )
        threshold = channel.rts_threshold_bytes
        made["RTS/CTS"] = "never" if threshold is None else f"data frames above {threshold} bytes, which are all"
        queue = channel.base.queue
        made["Base station's queue"] = f"{queue.limit}, {queue.kind}"
    return made


SLIPS: tuple[tuple[str, str], ...] = (
    (
        "Table 3 is said to have the second starter's TPP by column. With Vegas that would give both flows of a run "
        "1.13 or 0.17 together, where the channel carries 0.65",
        "Those cells (Vegas's row and column, and Hybla's row, which has Hybla's share and not its rival's) are "
        "read by row: the row's variant starts second. Where all variants are alike it makes no difference",
    ),
    (
        "The row of Hybla in table 2 and the column of Hybla in table 3 have the same 13 figures",
        "Kept as printed. Added to the column of Hybla in table 2 they give 0.618 to 0.637 in all 13 runs, so they "
        "belong to the runs in which Hybla starts second, and table 3 has them rightly: the row in table 2 is the "
        "copy",
    ),
    (
        "Vegas against Compound (Vegas first) is given as an example of the first case, in which the first starter "
        "keeps the link",
        "By the paper's own words it is the second case: the second relegates the first. So it is counted here",
    ),
    (
        "Illinois and the variants for fast networks are said to dominate",
        "The tables do not show it: they have 0.322 like the others. The claim is tested on both sets",
    ),
    (
        "Mb/s stands above values that ns-2 gives in units of 2^20 bits per second",
        "TPP is in Mibit/s (2^20 bit/s) on this page, and throughput over time in Mb/s (10^6 bit/s)",
    ),
    ("Veno is called Venet in the text, and two figures are number 2", "It affects no result"),
)
"""Slips of the paper, and how they are handled."""

DECISIONS: tuple[tuple[str, str], ...] = (
    (
        "Mean throughput",
        "IP bytes of segments with payload that the sender put on the wire from 40 to 100 s, over 60 s, in units of "
        "2^20 bits",
    ),
    ("PDR", "segments that arrived over segments sent, in the same interval"),
    ("TPP", "their product (equation 1)"),
    (
        "Runs",
        "each pair in both starting orders and, for each, from either node: 450 runs for each seed and set. The two "
        "runs of a seed in which the same variant starts first count as one value",
    ),
    (
        "The three behaviours",
        "by the second starter's share s of the throughput from 40 to 100 s: the first keeps the link if s < "
        f"{0.5 - Criteria().margin:g}, the second relegates it if s > {0.5 + Criteria().margin:g}, else they share",
    ),
    (
        "Time to equilibrium",
        f"from the second's start to the first moment from which, for {Criteria().hold_s:g} s, the throughputs over "
        f"the last {Criteria().smooth_s:g} s differ by at most {100 * Criteria().band:g} % of their sum; the median "
        "over runs",
    ),
    (
        "Hybla",
        "not bound by the window limit, since its module in ns-2 raises the bound to 65535 segments; rho is 1, "
        "since that module looks at the round-trip time before there is one. With timestamps rho would be 10 and "
        "more and Hybla take 0.43 to 0.61, which is not what the paper has",
    ),
    ("Low Priority", "without timestamps, as in ns-2 by default, it has no delays to read and goes on as Reno does"),
    (
        "The second set",
        "the same variants and network without the window limit and with unbounded first slow-start thresholds; the "
        "paper has no figures for it",
    ),
)
"""Details that the paper leaves open, and our decisions."""

LIMITS: tuple[str, ...] = (
    "The paper has one run of each pair, with ns-2's default seed; ours are means over seeds. Where a run's outcome "
    "depends on chance (Vegas, Hybla) a single run may differ from the mean by more than 6 %, in ns-2 as here.",
    "802.11 is the standard's DCF, not ns-2's: ns-2 draws backoffs from one slot fewer, always backs off before it "
    "sends, and keeps the NAV of an exchange that failed.",
    "There is no ARP and no routing protocol; in ns-2 both are on the channel, some ten frames a minute.",
)
"""Limits of this comparison."""

SOURCES: tuple[str, ...] = (
    "D. R. Rodríguez Herlein, C. A. Talay, C. N. González, F. A. Trinidad, L. Almada, L. A. Marrone, “Un análisis "
    "de comportamiento entre distintos mecanismos de control de congestión ensayados sobre una topología mixta”, "
    "UNPA-UARG and LINTI, UNLP.",
    "IEEE 802.11-2016, clauses 10.3 (DCF) and 15 (DSSS PHY).",
    "ns-2.35, tcp/tcp-linux.cc, tcp/linux/tcp_hybla.c, tcp/tcp-vegas.cc and mac/mac-802_11.cc.",
)
"""Sources."""
