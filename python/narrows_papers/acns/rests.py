"""What the result rests on: the choices that decide a claim, and the verdict, the paragraph that ends the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from narrows.studies.reproduction.result import tally
from narrows_papers.acns.text import CLAIMS, GAIN_PERCENT, LOSS_PERCENT, without_sack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.studies.reproduction.result import Claim
    from narrows_papers.acns.evidence import Variation


@dataclass(frozen=True)
class Choice:
    """A choice of ours that decides claims.

    Attributes
    ----------
    name : str
        The variation in `search-variations.csv` that has the other choice.
    ours, other : str
        Both in words.
    """

    name: str
    ours: str
    other: str


CHOICES: Final = (
    Choice("SACK recovery (RFC 6675)", "recovery without SACK", "with SACK"),
    Choice("no bound on cwnd", "a bound on cwnd", "without one"),
    Choice('each ACK\'s command is obeyed (command_scope = "ack")', "commands that rule until the next", "each ACK's"),
)
"""The choices that claims are said to rest on, if the claim does not hold with the other one."""


def choices(claims: Sequence[Claim], variations: Sequence[Variation]) -> dict[str, str]:
    """Return what each claim of the evaluation rests on, by its text: our choices, with the figure under the other."""
    by_name = {one.name: one for one in variations}
    found: dict[str, list[str]] = {}
    for choice in CHOICES:
        one = by_name.get(choice.name)
        if one is None:
            continue
        for claim, (holds, figure) in zip(claims, _decided(one), strict=False):
            if not holds:
                found.setdefault(claim.text, []).append(f"{choice.ours} ({choice.other}: {figure})")
    return {text: ", ".join(parts) for text, parts in found.items()}


def _decided(one: Variation) -> list[tuple[bool, str]]:
    """Whether each of the evaluation's claims holds under a variation, in their order, and its figure."""
    data, rtt, lost = (f"{part[0]:+.1f} %".replace("-", "−") for part in (one.data, one.rtt, one.lost))
    return [
        (one.order_without, "another order"),
        (one.order_acns, "another order"),
        (one.data[0] >= GAIN_PERCENT, data),
        (one.rtt[0] < 0, rtt),
        (one.lost[0] <= -LOSS_PERCENT, lost),
    ]


def with_sack(variations: Sequence[Variation]) -> str:
    """Return the gain in data with SACK in both arms, in words; empty if it is no smaller."""
    one = without_sack(variations)
    if one is None:
        return ""
    return f"with SACK in both arms {one.data[0]:+.1f} %".replace("-", "−")


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
