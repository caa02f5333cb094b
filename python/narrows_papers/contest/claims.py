"""The paper's claims, evaluated on our runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim, on_runs
from narrows_papers.contest.measured import WORDS
from narrows_papers.contest.published import RANGES, band
from narrows_papers.contest.variants import NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows_papers.contest.measured import Meeting

    Meetings = Mapping[tuple[str, str], Meeting]

EQUAL = 2
"""Index of the range 0.301 to 0.400, which contains equal shares."""

FAST: tuple[str, ...] = ("Bic", "Compound", "Cubic", "Highspeed", "HTCP", "Illinois")
"""Variants for fast and long networks; the paper says that these and Hybla tend to dominate."""

SLOW: tuple[str, ...] = ("Fack", "LowPriority", "NewReno", "Reno", "Sack", "Veno", "Westwood")
"""The remaining variants, without Vegas and Hybla."""


def claims(limited: Meetings, unlimited: Meetings) -> list[Claim]:
    """Evaluate all claims whose pairs were run.

    Parameters
    ----------
    limited, unlimited : mapping
        The pairs of both sets, by first and second starter.
    """
    names = [name for name in NAMES if any(name in pair for pair in limited)]
    made = [
        _most_share(limited),
        _vegas_yields(limited),
        _vegas_alone(limited),
        *examples(limited),
        hybla_takes_more(limited),
        _slower(limited),
        _fast_dominate(limited, unlimited, names),
    ]
    return on_runs([one for one in made if one is not None], fewest(limited)) if limited else []


def fewest(meetings: Meetings) -> int:
    """Return the number of seeds of the pair that has fewest."""
    return min(one.seeds for one in meetings.values())


def examples(limited: Meetings) -> list[Claim]:
    """Evaluate the claims about the pairs in the paper's figures, if these pairs were run."""
    made = [
        _example(limited, "Illinois", "Vegas", "kept", "Illinois keeps the link when Vegas joins (figures 2 and 3)"),
        _example(limited, "Vegas", "Compound", "relegated", "Vegas gives the link up to Compound (figures 4 and 5)"),
        _example(limited, "Westwood", "Hybla", "relegated", "Hybla relegates Westwood (figures 6 and 7)"),
        _example(limited, "Reno", "Cubic", "shared", "Reno and CUBIC come to share (figures 8 and 9)"),
        _example(limited, "Compound", "Cubic", "shared", "Compound and CUBIC come to share (figures 10 and 11)"),
    ]
    return [one for one in made if one is not None]


def _most_share(meetings: Meetings) -> Claim | None:
    pairs = [one for pair, one in meetings.items() if not {"Vegas", "Hybla"} & set(pair)]
    if not pairs:
        return None
    means = [one.tpp(of).mean for one in pairs for of in ("first", "second")]
    equal = sum(band(mean) == EQUAL for mean in means)
    low, high = RANGES[EQUAL]
    return Claim(
        f"Without Vegas and Hybla there is no great difference: every TPP is between {low:.3f} and {high:.3f}",
        equal == len(means),
        f"{equal} of {len(means)}; {min(means):.3f} to {max(means):.3f}",
        rule="the mean of every flow in the range that the paper's colours call equal",
    )


def _vegas_yields(meetings: Meetings) -> Claim | None:
    rivals = [one for pair, one in meetings.items() if "Vegas" in pair and pair != ("Vegas", "Vegas")]
    if not rivals:
        return None
    yields = sum(one.behaviour == ("relegated" if one.first == "Vegas" else "kept") for one in rivals)
    own = [one.tpp("first" if one.first == "Vegas" else "second").mean for one in rivals]
    return Claim(
        "Vegas yields to every other variant, whether it starts first or second",
        yields == len(rivals),
        f"{yields} of {len(rivals)} pairs; Vegas has {min(own):.3f} to {max(own):.3f}",
        rule="its mean behaviour in every pair and order",
    )


def _vegas_alone(meetings: Meetings) -> Claim | None:
    found = meetings.get(("Vegas", "Vegas"))
    if found is None:
        return None
    return Claim(
        "Vegas shares with itself (0.310 and 0.311): both between 0.2 and 0.4",
        all(0.2 <= found.tpp(of).mean <= 0.4 for of in ("first", "second")),
        _tpp(found),
        rule="two-sided: both means in the range",
    )


def _example(meetings: Meetings, first: str, second: str, behaviour: str, text: str) -> Claim | None:
    found = meetings.get((first, second))
    if found is None:
        return None
    word = WORDS[found.behaviour] if found.behaviour else "nothing arrived"
    return Claim(
        text,
        found.behaviour == behaviour,
        f"{word}: {_tpp(found)}",
        rule="behaviour of the mean course, by the paper's three kinds",
    )


def hybla_takes_more(meetings: Meetings) -> Claim | None:
    """Evaluate the claim that Hybla has more than its rival in every pair, as its row and its column show."""
    rivals = [one for pair, one in meetings.items() if "Hybla" in pair and pair != ("Hybla", "Hybla")]
    if not rivals:
        return None
    first = [one for one in rivals if one.first == "Hybla"]
    second = [one for one in rivals if one.second == "Hybla"]
    ahead = [sum(one.tpp("first").mean > one.tpp("second").mean for one in first)]
    ahead.append(sum(one.tpp("second").mean > one.tpp("first").mean for one in second))
    return Claim(
        "Hybla has more than its rival in every pair, whether it starts first or second",
        sum(ahead) == len(rivals),
        f"first in {ahead[0]} of {len(first)} pairs, second in {ahead[1]} of {len(second)}",
        rule="mean TPP strictly above the rival's, every pair and order",
    )


def _slower(meetings: Meetings) -> Claim | None:
    reno, compound = meetings.get(("Reno", "Cubic")), meetings.get(("Compound", "Cubic"))
    if reno is None or compound is None:
        return None
    times = (reno.equilibrium_s, compound.equilibrium_s)
    told = ["never" if time is None else f"{time:.1f} s" for time in times]
    return Claim(
        "Reno against CUBIC takes longer to come to equilibrium than Compound against CUBIC (15.5 s and 1.5 s)",
        times[1] is not None and (times[0] is None or times[0] > times[1]),
        f"{told[0]} and {told[1]}",
        rule="time of the mean course, strictly later, by any amount",
    )


def _fast_dominate(limited: Meetings, unlimited: Meetings, names: list[str]) -> Claim | None:
    pairs = [
        pair
        for a in names
        for b in names
        for pair in ((a, b), (b, a))
        if a in FAST and b in SLOW and pair in limited and pair in unlimited
    ]
    if not pairs:
        return None
    found = [
        sum(meetings[pair].behaviour == ("kept" if pair[0] in FAST else "relegated") for pair in pairs)
        for meetings in (limited, unlimited)
    ]
    return Claim(
        "Illinois and the variants for fast networks tend to dominate the others: in more than half of the pairs",
        2 * found[0] > len(pairs),
        f"{found[0]} of {len(pairs)} pairs with the window limit (and none in the paper's own tables), "
        f"{found[1]} without it ({_seeds(fewest(unlimited))})",
        rule="behaviour of the mean course, in more than half of the pairs",
    )


def _seeds(number: int) -> str:
    return "one seed" if number == 1 else f"{number} seeds"


def _tpp(found: Meeting) -> str:
    return f"{found.tpp('first').mean:.3f} and {found.tpp('second').mean:.3f}"
