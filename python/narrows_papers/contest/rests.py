"""What the result rests on: the choices that decide a claim, and the two paragraphs that end the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import tally
from narrows_papers.contest import evaluation, evidence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.studies.reproduction.result import Claim
    from narrows_papers.contest.evaluation import Readings


def choices(claims: Sequence[Claim], search: evidence.Search) -> dict[str, str]:
    """Return what each claim that holds rests on, by its text: the choices of `search.csv` under which it does not."""
    found = {}
    for claim in claims:
        failing = [row["name"] for row in search.rows if _named(claim) in row["failing"].split("; ")]
        if claim.holds and failing:
            found[claim.text] = f"ns-2's defaults (not so with: {'; '.join(failing)})"
    return found


def _named(claim: Claim) -> str:
    """Return a claim's text as `search.csv` has it: up to its figures."""
    return claim.text.split(":")[0].split(" (")[0]


def score(readings: Readings, search: evidence.Search) -> str:
    """Return what the score rests on, in words, for beside it: how the tables are read, and the choices below half."""
    chosen, *others = search.rows
    low = [row for row in others if 2 * int(row["near"]) < int(chosen["near"])]
    told = ", ".join(f"{row['near']} cells with {row['name']}" for row in low)
    captions = f"by the captions as printed {evaluation.share(readings.captioned)}"
    return f"{captions}; {told}" if told else captions


def rests_on() -> str:
    """Describe which choices the score depends on, from `search.csv`."""
    chosen, *others = evidence.search().rows
    base = int(chosen["near"])
    kept = [row["name"] for row in others if int(row["near"]) >= 0.95 * base]
    lowest = sorted((row for row in others if row["name"] not in kept), key=lambda row: int(row["near"]))
    listed = "; ".join(f"{row['name']} ({row['near']} cells, {row['claims']} claims)" for row in lowest)
    return (
        f"The values are ns-2.35's defaults; none was fitted to the tables. {len(kept)} of {len(others)} alternatives "
        f"keep the score within 5 % ({'; '.join(kept)}). The others do not: {listed}. The channel's overhead sets the "
        "level of every cell, and the queue decides whether anything is lost. Where an alternative matters, ns-2's "
        "default is nearer to the tables, which is evidence that the paper used it."
    )


def fair(claims: Sequence[Claim], readings: Readings) -> str:
    """Return the verdict of one paragraph."""
    others = evaluation.shares(readings.read)["others"]
    return (
        f"The tables are reproduced: {evaluation.share(readings.read)} cells within 6 %, {others} without Vegas and "
        f"Hybla, and {tally(claims)} claims hold. The cells that differ are draws of chance, which the paper shows as "
        "one run: ns-2.35 has the same spread over seeds. The two claims that do not hold are a time that no run of "
        "either simulator gives, and a statement that the paper's own tables do not show. The experiment answers a "
        "narrower question than the paper's title asks. Its window limit of 20 segments fits into the queue, so "
        "nothing is lost, and variants that differ only in what they do after a loss or above 20 segments cannot "
        "differ here. Its conclusions about Vegas, which yields, and Hybla, which the limit does not bind, stand; for "
        "the others the runs without the limit are the contest."
    )
