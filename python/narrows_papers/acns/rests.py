"""The verdict: the paragraph that ends the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import tally
from narrows_papers.acns.text import CLAIMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.studies.reproduction.result import Claim
    from narrows_papers.acns.evidence import Variation


def fair(claims: Sequence[Claim], variations: Sequence[Variation]) -> str:
    """Return the verdict of one paragraph."""
    readings = [one for one in variations if one.reading]
    settings = [one for one in variations[1:] if not one.reading]
    whole = [sum(one.claims == CLAIMS for one in some) for some in (readings, settings)]
    fewer = [sum(one.lost[0] < 0 for one in some) for some in (readings, settings)]
    return (
        f"ACNS can do what its papers report: in one network, with one reading of the papers, {tally(claims)} claims "
        "hold, over all seeds. Losses fall, round trips become shorter, and the young flows with high priority get "
        "the larger part. How far this is a property of the scheme we cannot say as firmly. The papers omit the rates, "
        "delays and queues, and how long a command rules; we chose both with the claims in view, so that they hold "
        f"here is no independent evidence. Of {len(readings)} other readings {whole[0]} keep all {CLAIMS} claims of "
        f"the evaluation, of {len(settings)} other settings {whole[1]}; losses fall in {fewer[0]} and {fewer[1]} of "
        "them, which is the most robust of the results. The gain in data is the least: it needs a bound on the window "
        "and recovery without SACK. The authors' scenario files would decide more than any further run of ours."
    )
