"""What the result rests on, and the verdict: two paragraphs that end the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import tally
from narrows_papers.contest import evaluation, evidence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.studies.reproduction.result import Claim
    from narrows_papers.contest.evaluation import Readings


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
