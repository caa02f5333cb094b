"""What the result rests on, and the verdict: two paragraphs that end the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.report import style
from narrows.studies.reproduction.result import tally
from narrows_papers.ngwa import evidence
from narrows_papers.ngwa.arms import BY_NAME, DIVIDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.studies.reproduction.result import Claim

SPREAD = ("rfc793", "newreno", "mode3", "mode4")
"""Arms whose losses hang on the network, for the paragraph."""


def rests_on() -> str:
    """Describe which of the losses depend on the values that are ours, from `search.csv`."""
    points = evidence.search().points
    none = sum(not any(point.lost[arm] for arm in DIVIDED) for point in points)
    ranges = []
    for arm in SPREAD:
        values = [point.lost[arm] for point in points]
        title = BY_NAME[arm].title.replace("NGWA ", "")
        ranges.append(f"{title} {style.count(round(min(values)))} to {style.count(round(max(values)))}")
    return (
        f"Modes 5 to 8 lose nothing under {none} of {len(points)} choices of network and TCP below, so that claim does "
        f"not rest on ours. The other losses do: {', '.join(ranges)} packets. The queue and the links make the phases "
        "in which a flow's bursts arrive; links faster by 1 bit/s are another result for standard TCP. Which segments "
        "carry a value, when it is written, and whether the right edge may move left are readings of the paper, and "
        "are among the choices."
    )


def fair(simulated: Sequence[Claim], of_linux: Sequence[Claim]) -> str:
    """Return the verdict of one paragraph."""
    return (
        "The paper's central result is confirmed: routers that divide the window among the flows (modes 5 to 8) keep "
        "it where the formula has it, share evenly and lose nothing, and do so whatever we choose for what the paper "
        f"leaves open. Of its simulations {tally(simulated)} claims hold. Those that do not are about standard TCP, "
        "NewReno and the modes without division; they hang on link rates and delays that stood in a figure now lost, "
        f"and we cannot say that the paper has them wrong. Of its Linux section {tally(of_linux)} claims hold in "
        "simulation: two windows of 64 KB fit into either queue, every arm carries what the link can, and the option "
        "costs 8 bytes of each segment, so NGWA has nothing to gain there. What gave the published gains we do not "
        "know; the paper does not describe its testbed far enough to tell."
    )
