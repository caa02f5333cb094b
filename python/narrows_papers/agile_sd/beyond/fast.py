"""10 Gb/s, and packet errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.agile_sd.beyond.compare import AGILE, ARMS, BBR3, CUBIC, TODAY, each, ran
from narrows_papers.frame.beyond.compare import Case, Compared

if TYPE_CHECKING:
    from narrows_papers.frame.beyond.question import Results

PER = "topology.bottleneck.forward.per"

CASES: dict[str, Case] = {
    "0": Case("no errors"),
    "1e-5": Case("1e-5", {PER: 1e-5}),
    "1e-4": Case("1e-4", {PER: 1e-4}),
    "1e-3": Case("1e-3", {PER: 1e-3}),
}
"""Packet error rates."""


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate whether agility pays on a faster path than the paper's."""
    keys = ran(results, CASES)
    return (
        Claim(
            "At every packet error rate it carries more than CUBIC",
            all(
                results.mean((key, AGILE), "goodput") > results.mean((key, CUBIC), "goodput")
                for key in keys
                if key != "0"
            ),
            each(results, CASES, "goodput", (AGILE, CUBIC)) + " Mb/s",
            rule="mean goodput strictly larger, in every case with errors",
        ),
        Claim(
            "At every packet error rate it carries at least as much as BBRv3 (98 %)",
            all(results.mean((key, AGILE), "goodput") >= 0.98 * results.mean((key, BBR3), "goodput") for key in keys),
            each(results, CASES, "goodput", (AGILE, BBR3)) + " Mb/s",
            rule="mean goodput, in every case",
        ),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    return (
        "A loss that is no congestion costs Agile-SD 5 % of its window, CUBIC 30 %, and BBRv3 nothing as long as it is "
        "rare. Goodput: " + each(results, CASES, "goodput") + " Mb/s.",
    )


QUESTION = Compared(
    arms=ARMS,
    key="fast",
    title="10 Gb/s, and losses that are no congestion",
    asks="1 Gb/s, and packet errors up to 1e-4.",
    setting="One flow, 10 Gb/s, 10 ms, segments of 8960 bytes, a buffer of 500 packets (0.36 BDP). 2 to 6 s.",
    cases=CASES,
    quick=("1e-4",),
    begin_s=2,
    end_s=6,
    claims=claims,
    conclusion=conclusion,
    axis="Packet error rate",
    columns=TODAY,
).question()
"""The question."""
