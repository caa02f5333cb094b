"""What the result rests on: the choices that decide a claim, and the two paragraphs that end the page."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from narrows.report import style
from narrows.studies.reproduction.result import tally
from narrows_papers.ngwa import evidence
from narrows_papers.ngwa.arms import BY_NAME, DIVIDED
from narrows_papers.ngwa.claims import SAME_ORDER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from narrows.studies.reproduction.result import Claim
    from narrows_papers.frame.tables import Published
    from narrows_papers.ngwa.evidence import Search

ORDER = ("rfc793", "mode3", "mode4", "newreno", "mode1")
"""Arms from most losses to least, by the paper."""

PHASES = ("middle link 1 b/s faster", "access links 1 b/s faster")
"""Points of `search.csv` that change RFC 793's losses by phases alone."""

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


def phases(search: Search) -> str:
    """Return RFC 793's losses on links that are faster by 1 b/s, in words; empty without such points."""
    found = {point.name: point.lost["rfc793"] for point in search.points}
    told = [f"{style.count(round(found[name]))} with the {name}" for name in PHASES if name in found]
    return f"a phase effect: {', '.join(told)}; {search.runs} rounds" if told else ""


def choices(claims: Sequence[Claim], search: Search, published: Published) -> dict[str, str]:
    """Return by text, for claims about losses that hold, how many of our choices of network and TCP keep them."""
    tests: dict[str, Callable[[Mapping[str, float]], bool]] = {
        "Losses, from most to least": _falling,
        "Modes 5 to 8 lose nothing": lambda lost: not any(lost[arm] for arm in DIVIDED),
        "Mode 2 loses nothing": lambda lost: round(lost["mode2"]) == 0,
        "Losses have the published order of magnitude": lambda lost: _as_published(lost, published),
    }
    found = {}
    for claim in claims:
        test = next((test for begin, test in tests.items() if claim.text.startswith(begin)), None)
        kept = 0 if test is None else sum(test(point.lost) for point in search.points)
        if test is not None and claim.holds and kept < len(search.points):
            found[claim.text] = f"our network and TCP (so under {kept} of {len(search.points)} choices)"
    return found


def _falling(lost: Mapping[str, float]) -> bool:
    return all(lost[more] > lost[less] for more, less in itertools.pairwise(ORDER))


def _as_published(lost: Mapping[str, float], published: Published) -> bool:
    told = {arm: published.of("lost", arm) for arm in lost}
    return all(
        lost[arm] > 0 and abs(math.log10(lost[arm] / value)) <= SAME_ORDER for arm, value in told.items() if value
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
