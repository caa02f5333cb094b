"""The paper's claims about rates, fairness and losses (sections 3.2 and 3.3), evaluated on our rounds."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from narrows.report import style
from narrows.studies.reproduction.result import Claim
from narrows_papers.ngwa.arms import BY_NAME, DIVIDED, FLOWS, MODES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from narrows_papers.frame.tables import Published
    from narrows_papers.ngwa.rounds import Rounds

    Arms = Mapping[str, Rounds]

FAIR = 0.99
"""Jain's index from which the modes with flow division count as fair."""

QUITE_FAIR = 0.95
"""Jain's index from which flows share "with a good justice", as the paper says of NewReno."""

NEARLY_ALL = 0.9
"""Share of two flows that counts as nearly all."""

SAME_ORDER = 0.5
"""Largest absolute log10 of measured over published at which the order of magnitude is the same."""


def claims(arms: Arms, published: Published) -> list[Claim]:
    """Evaluate all claims about rates, fairness, triple duplicate ACKs and losses."""
    return [
        _most_unfair(arms),
        _two_take_all(arms),
        _newreno_fair(arms),
        _unfair(arms),
        _less_unfair(arms),
        _divided_fair(arms),
        _divided_fast(arms),
        _most_triples(arms),
        _order(arms, "triples", ("mode3", "mode4", "mode1"), "Among the modes mode 3 has most, then 4, then 1"),
        _none(arms, "triples", "Modes 5 to 8 get no triple duplicate ACK (in any round)"),
        _none_in_most(arms, "Mode 2 gets no triple duplicate ACK (in most rounds; the paper ran it once)"),
        _smoothing_spares(arms),
        _order(
            arms,
            "lost",
            ("rfc793", "mode3", "mode4", "newreno", "mode1"),
            "Losses, from most to least: standard TCP, mode 3, mode 4, NewReno, mode 1",
        ),
        _none(arms, "lost", "Modes 5 to 8 lose nothing (in any round)"),
        _none_on_average(arms, "Mode 2 loses nothing (mean of the rounds, to the whole packet as in table 2)"),
        _magnitude(arms, published),
    ]


def _jain(arms: Arms, names: Iterable[str]) -> dict[str, float]:
    return {name: arms[name].estimate("jain").mean for name in names}


def _said(values: Mapping[str, float], digits: int = 3) -> str:
    return ", ".join(f"{_short(name)} {value:.{digits}f}" for name, value in values.items())


def _short(name: str) -> str:
    return BY_NAME[name].title.removeprefix("NGWA ")


def _counts(arms: Arms, quantity: str, names: Iterable[str]) -> str:
    return ", ".join(f"{_short(name)} {style.count(round(arms[name].estimate(quantity).mean, 1))}" for name in names)


def _most_unfair(arms: Arms) -> Claim:
    indices = _jain(arms, arms)
    worst = min(indices, key=lambda name: indices[name])
    return Claim(
        "Standard TCP is the most unfair of all",
        worst == "rfc793",
        f"Jain's index, mean over the rounds: {_said(indices)}; the lowest is {_short(worst)}'s",
        rule="lowest mean index of all arms, by any amount",
    )


def _two_take_all(arms: Arms) -> Claim:
    made = arms["rfc793"]
    flows = sorted(FLOWS, key=lambda flow: -made.share((flow,)))
    best = made.share(flows[:2])
    number = len(made.rounds)
    held = sum(made.share(("2", "4"), index) >= NEARLY_ALL for index in range(number))
    return Claim(
        f"With standard TCP flows 2 and 4 take nearly all ({100 * NEARLY_ALL:.0f} % or more)",
        2 * held > number,
        f"{100 * made.share(('2', '4')):.0f} % in the first round; the two largest, {' and '.join(sorted(flows[:2]))}, "
        f"take {100 * best:.0f} %; so in {held} of {number} rounds",
        rule="share in more than half of the rounds; the paper draws one",
    )


def _newreno_fair(arms: Arms) -> Claim:
    index = arms["newreno"].estimate("jain").mean
    return Claim(
        f"NewReno shares fairly (Jain's index {QUITE_FAIR:g} or more)",
        index >= QUITE_FAIR,
        f"{index:.3f}",
        rule="mean index at or above the bound",
    )


def _unfair(arms: Arms) -> Claim:
    indices = _jain(arms, ("mode1", "mode3"))
    limit = min(QUITE_FAIR, arms["newreno"].estimate("jain").mean)
    return Claim(
        f"Modes 1 and 3 are unfair (Jain's index below {QUITE_FAIR:g}, and below NewReno's)",
        all(index < limit for index in indices.values()),
        _said(indices) + f"; NewReno {arms['newreno'].estimate('jain').mean:.3f}",
        rule="mean indices strictly below the bound and NewReno's",
    )


def _less_unfair(arms: Arms) -> Claim:
    indices = _jain(arms, ("mode1", "mode2", "mode3", "mode4"))
    return Claim(
        "Smoothing makes mode 2 less unfair than mode 1, and mode 4 than mode 3",
        indices["mode2"] > indices["mode1"] and indices["mode4"] > indices["mode3"],
        f"Jain's index: {_said(indices)}",
        rule="mean index strictly larger in both pairs",
    )


def _divided_fair(arms: Arms) -> Claim:
    indices = _jain(arms, DIVIDED)
    worst = min(value for name in DIVIDED for value in arms[name].values("jain"))
    return Claim(
        f"Modes 5 to 8 are fair (Jain's index {FAIR:g} or more in every round)",
        worst >= FAIR,
        f"{_said(indices, 4)}; the lowest of all rounds {worst:.4f}",
        rule="every round at or above the bound",
    )


def _divided_fast(arms: Arms) -> Claim:
    base = arms["newreno"].estimate("arrived").mean
    rates = {name: arms[name].estimate("arrived").mean for name in DIVIDED}
    whole = arms["newreno"].estimate("delivered").mean
    payload = [100 * (arms[name].estimate("delivered").mean / whole - 1) for name in DIVIDED]
    return Claim(
        "Modes 5 to 8 carry at least as much as NewReno, all flows together",
        all(rate >= base for rate in rates.values()),
        f"bytes per second on the wire: NewReno {base:,.0f}, "
        + ", ".join(f"{_short(name)} {rate:,.0f}" for name, rate in rates.items())
        + f"; of payload, which the option's 8 bytes a packet lessen, {_range(payload)} %",
        rule="mean bytes on the wire at least NewReno's, in every mode",
    )


def _range(values: Sequence[float]) -> str:
    """Format the smallest and the largest value, or one of them if they read the same.

    >>> _range([-0.756, -0.752]), _range([-0.2, 0.31])
    ('-0.8', '-0.2 to +0.3')
    """
    low, high = f"{min(values):+.1f}", f"{max(values):+.1f}"
    return low if low == high else f"{low} to {high}"


def _most_triples(arms: Arms) -> Claim:
    counts = {name: made.estimate("triples").mean for name, made in arms.items()}
    return Claim(
        "Standard TCP and NewReno get the most triple duplicate ACKs",
        _two_highest(counts),
        _counts(arms, "triples", sorted(counts, key=lambda name: -counts[name]))
        + f"; the claim is true of {_rounds_in(arms, 'triples', _two_highest)}",
        rule="the two highest means, by any amount",
    )


def _order(arms: Arms, quantity: str, names: Sequence[str], text: str) -> Claim:
    def falling(counts: Mapping[str, float]) -> bool:
        return all(counts[more] > counts[less] for more, less in itertools.pairwise(names))

    holds = falling({name: arms[name].estimate(quantity).mean for name in names})
    said = f"{_counts(arms, quantity, names)}; the claim is true of {_rounds_in(arms, quantity, falling)}"
    return Claim(text, holds, said, rule="means strictly falling in this order")


def _two_highest(counts: Mapping[str, float]) -> bool:
    """Whether standard TCP and NewReno have the two highest counts."""
    return min(counts["rfc793"], counts["newreno"]) > max(
        count for name, count in counts.items() if name not in ("rfc793", "newreno")
    )


def _rounds_in(arms: Arms, quantity: str, what: Callable[[Mapping[str, float]], bool]) -> str:
    """Format the number of rounds in which a condition on the counts by arm holds."""
    values = {name: made.values(quantity) for name, made in arms.items()}
    number = len(next(iter(values.values())))
    held = sum(what({name: row[index] for name, row in values.items()}) for index in range(number))
    return f"{held} of {number} rounds"


def _none(arms: Arms, quantity: str, text: str) -> Claim:
    most = {name: max(arms[name].values(quantity)) for name in DIVIDED}
    return Claim(
        text,
        not any(most.values()),
        "most in a round: " + ", ".join(f"{_short(name)} {style.count(value)}" for name, value in most.items()),
        rule="zero in every round",
    )


def _none_in_most(arms: Arms, text: str) -> Claim:
    values = arms["mode2"].values("triples")
    some = sum(value > 0 for value in values)
    return Claim(text, 2 * some < len(values), _some(values), rule="zero in more than half of the rounds")


def _none_on_average(arms: Arms, text: str) -> Claim:
    values = arms["mode2"].values("lost")
    return Claim(
        text,
        round(arms["mode2"].estimate("lost").mean) == 0,
        _some(values),
        rule="mean rounded to whole packets is zero",
    )


def _some(values: Sequence[float]) -> str:
    """Format the mean, the maximum, and the number of rounds with any."""
    some = sum(value > 0 for value in values)
    mean = sum(values) / len(values)
    return f"mean {mean:.2f}, at most {style.count(max(values))}; any in {some} of {len(values)} rounds"


def _smoothing_spares(arms: Arms) -> Claim:
    counts = {mode.name: arms[mode.name].estimate("triples").mean for mode in MODES[:4]}
    return Claim(
        "Smoothing spares triple duplicate ACKs: fewer in mode 2 than in 1, and in 4 than in 3",
        counts["mode2"] < counts["mode1"] and counts["mode4"] < counts["mode3"],
        _counts(arms, "triples", counts),
        rule="mean strictly smaller in both pairs",
    )


def _magnitude(arms: Arms, published: Published) -> Claim:
    """Evaluate the claim about losses of the arms with published losses; zero has no order of magnitude."""
    ratios = {}
    for name in arms:
        printed = published.of("lost", name)
        if printed:
            ratios[name] = arms[name].estimate("lost").mean / printed
    return Claim(
        "Losses have the published order of magnitude, where there are any",
        all(ratio > 0 and abs(math.log10(ratio)) <= SAME_ORDER for ratio in ratios.values()),
        "measured over published: " + ", ".join(f"{_short(name)} {ratio:.2g}" for name, ratio in ratios.items()),
        rule="two-sided: mean within a factor of 3.2 of the published, every arm",
    )
