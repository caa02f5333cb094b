"""What the result rests on: the choices that decide a claim, and the two paragraphs that end the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import few, tally
from narrows_papers.agile_sd import evidence

if TYPE_CHECKING:
    from narrows_papers.agile_sd.claimed import Found

MEASURES = (
    ("reached_s_agile_sd", "Agile-SD reaches the maximum after", "s"),
    ("reached_s_cubic", "CUBIC after", "s"),
    ("utilisation_agile_sd", "Agile-SD uses", "% of the link"),
    ("utilisation_cubic", "CUBIC", "%"),
)
"""Columns of `search.csv` for the paragraph, with words and units."""


def choices(found: Found) -> dict[str, str]:
    """Return what claims rest on, by their text: no SACK, where the runs with it decide otherwise; and ns-2's CUBIC."""
    with_sack = {claim.text: claim for claim in found.sack}
    told = {}
    for claim in found.printed:
        parts = []
        if claim.text.startswith("CUBIC reaches it") and (linux := linux_cubic()):
            parts.append(f"ns-2's CUBIC (Linux's: {linux})")
        other = with_sack.get(claim.text)
        if other is not None and other.holds != claim.holds:
            runs = "" if other.runs is None else few(other.runs)
            parts.append(
                f"recovery without SACK ({'holds' if other.holds else 'does not hold'} with it{runs and ', '}{runs})"
            )
        if parts:
            told[claim.text] = ", ".join(parts)
    return told


def linux_cubic() -> str:
    """Return the time after which Linux's CUBIC reaches the maximum, from `search.csv`; empty if it is not there."""
    row = next((row for row in evidence.search().rows if row["name"] == "cubic, profile linux"), None)
    return f"{row['reached_s_cubic']} s" if row else ""


def rests_on() -> str:
    """Describe the range of the main figures over the choices that are ours, from `search.csv`."""
    rows = evidence.search().rows
    told = []
    for column, words, unit in MEASURES:
        values = [float(row[column]) for row in rows if row[column]]
        told.append(f"{words} {min(values):.0f} to {max(values):.0f} {unit}")
    return (
        f"Over the {len(rows)} choices below, with buffers of 5 packets, {', '.join(told)}. Agile-SD's figures are its "
        "own; CUBIC's depend on what its stack is: with the window and recovery of RFC 9438 or of Linux it reaches "
        "the maximum in less than half of the time. The advantage over CUBIC is therefore partly one over an old "
        "CUBIC. The indices between congestion controls rest on the buffer, and on phases between flows of equal "
        "round-trip times."
    )


def fair(found: Found) -> str:
    """Return the verdict of one paragraph."""
    inter = tally(found.inter)
    return (
        "The algorithm does what the paper says it does: the agility factor follows the gap, epochs are as long as in "
        "its worked example, and with the smallest buffers one flow fills the path in the published time. "
        f"{tally(found.printed)} of the claims about windows, throughput, losses and intra-fairness hold with the "
        "parameters as printed"
        + (f", {tally(found.sack)} of those that were run with SACK" if found.sack else "")
        + f". Of the indices between congestion controls {inter} come out within 0.05; ns-2.35 does not give all "
        "of them either, in any condition that we tried. The gains are real for the rivals as printed and larger than "
        "published, because CUBIC and Compound without SACK recover from slow start's losses by timeouts. A reader "
        "should take from it that a reduction of 5 % and fast regrowth pay where buffers are far below the BDP, not "
        "that CUBIC of today uses as little of such a path."
    )
