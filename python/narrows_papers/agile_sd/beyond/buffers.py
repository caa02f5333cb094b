"""One flow on a short path against buffers, with the TCP of today."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.agile_sd.beyond.compare import AGILE, ARMS, BBR3, CUBIC, TODAY, each, ran
from narrows_papers.frame.beyond.compare import Case, Compared

if TYPE_CHECKING:
    from narrows_papers.frame.beyond.question import Results

LIMIT = "topology.bottleneck.queue.limit"

CASES: dict[str, Case] = {
    "2": Case("2 packets", {LIMIT: "2 packets"}),
    "8": Case("8 (5 % of the BDP)", {LIMIT: "8 packets"}),
    "17": Case("17 (10 %)"),
    "83": Case("83 (half)", {LIMIT: "83 packets"}),
    "167": Case("167 (one BDP)", {LIMIT: "167 packets"}),
}
"""Buffers of the bottleneck."""

SMALL = ("2", "8", "17")


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate whether the paper's advantage is there with SACK, timestamps and HyStart++."""
    keys = ran(results, CASES)
    return (
        Claim(
            "With buffers of a tenth of the BDP or less it carries more than CUBIC",
            all(
                results.mean((key, AGILE), "goodput") > results.mean((key, CUBIC), "goodput")
                for key in keys
                if key in SMALL
            ),
            each(results, CASES, "goodput", (AGILE, CUBIC)) + " Mb/s",
            rule="mean goodput strictly larger, in every case",
        ),
        Claim(
            "It carries at least as much as BBRv3 (98 %), whatever the buffer",
            all(results.mean((key, AGILE), "goodput") >= 0.98 * results.mean((key, BBR3), "goodput") for key in keys),
            each(results, CASES, "goodput", (AGILE, BBR3)) + " Mb/s",
            rule="mean goodput, in every case",
        ),
        Claim(
            "It loses at most twice what CUBIC loses",
            all(results.mean((key, AGILE), "lost") <= 2 * results.mean((key, CUBIC), "lost") for key in keys),
            each(results, CASES, "lost", (AGILE, CUBIC)) + " packets",
            rule="mean losses, in every case",
        ),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    gains = {key: results.change((key, CUBIC), (key, AGILE), "goodput") for key in ran(results, CASES)}
    told = "; ".join(
        f"{CASES[key].title} {one.mean:+.1f} [{one.low:+.1f}, {one.high:+.1f}]" for key, one in gains.items()
    )
    return (f"Goodput of Agile-SD minus that of CUBIC, Mb/s with 95 % interval: {told}.",)


QUESTION = Compared(
    arms=ARMS,
    key="buffers",
    title="Small buffers, with the TCP of today",
    asks="one flow on 1 Gb/s with buffers from 5 to 500 packets, no SACK, no timestamps, no HyStart.",
    setting="One flow, 200 Mb/s, 10 ms, SACK and timestamps; CUBIC with HyStart++. 5 to 20 s.",
    cases=CASES,
    quick=("17",),
    begin_s=5,
    end_s=20,
    claims=claims,
    conclusion=conclusion,
    axis="Buffer",
    columns=TODAY,
).question()
"""The question."""
