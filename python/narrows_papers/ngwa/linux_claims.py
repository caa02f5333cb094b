"""The paper's claims about its Linux runs (section 4.3), evaluated on ours, for each window."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.ngwa.linux import METHODS, NGWA, ONE, OTHERS, TWO, WINDOW_TITLES, of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from narrows_papers.ngwa.linux import Setting, Transfer, Transfers

TITLES = {method.name: method.title.removeprefix("NGWA ") for method in METHODS}

NOTABLE_PERCENT = 1.0
"""Rates that differ by less than this count as equal, per cent: the option alone costs 0.55 % of payload."""

FAIR = 0.99
"""Jain's index of two flows from which they count as fair; the minimum is 0.5."""

NOTABLE_JAIN = 0.001
"""Jain's indices that differ by less than this count as equal."""

SMALL, LARGE = TWO


def claims(transfers: Transfers, window: str) -> list[Claim]:
    """Evaluate all claims about the section with one window (a key of `WINDOWS`)."""
    small, large = of(transfers, window, SMALL), of(transfers, window, LARGE)
    made = [
        _above(transfers, window),
        _grows(transfers, window),
        _stable(transfers, window),
        _smoothing(transfers, window),
        _divided(small),
        _less_fair(small, large),
        _fairer(large),
        _faster(small, large),
        _not_both(small, large),
    ]
    title = WINDOW_TITLES[window]
    return [replace(one, text=f"{one.text} (window of {title})") for one in made]


def _percent(part: float, whole: float) -> float:
    return 100 * (part / whole - 1)


def _above(transfers: Transfers, window: str) -> Claim:
    gains = {}
    for setting in ONE:
        made = of(transfers, window, setting)
        gains[setting] = _percent(min(made[n].total for n in NGWA), max(made[n].total for n in OTHERS))
    return Claim(
        f"One flow: in all four settings NGWA carries more than NewReno and RED (by {NOTABLE_PERCENT:g} % or more)",
        all(gain >= NOTABLE_PERCENT for gain in gains.values()),
        "slowest mode against the faster of the two: " + _by_setting(gains, lambda gain: f"{gain:+.2f} %"),
        rule="slowest mode against the faster of the two, in every setting",
    )


def _grows(transfers: Transfers, window: str) -> Claim:
    gains = {
        f"{TITLES[name]}, {rate} Mb/s": _larger(transfers, window, rate, name) for name in OTHERS for rate in (10, 100)
    }
    return Claim(
        f"One flow: NewReno and RED gain from the larger queue ({NOTABLE_PERCENT:g} % or more)",
        all(gain >= NOTABLE_PERCENT for gain in gains.values()),
        "; ".join(f"{what}: {gain:+.2f} %" for what, gain in gains.items()),
        rule="both methods at both rates",
    )


def _larger(transfers: Transfers, window: str, rate: int, name: str) -> float:
    """Change of the rate due to the larger queue, %."""
    small, large = (setting for setting in ONE if setting.rate_mbps == rate)
    return _percent(of(transfers, window, large)[name].total, of(transfers, window, small)[name].total)


def _stable(transfers: Transfers, window: str) -> Claim:
    worst = max((_larger(transfers, window, rate, name) for name in NGWA for rate in (10, 100)), key=abs)
    return Claim(
        f"One flow: the size of the queue does not matter to NGWA (less than {NOTABLE_PERCENT:g} %)",
        abs(worst) < NOTABLE_PERCENT,
        f"at most {worst:+.2f} %",
        rule="two-sided: every mode at both rates",
    )


def _smoothing(transfers: Transfers, window: str) -> Claim:
    gains = {}
    for setting in ONE:
        made = of(transfers, window, setting)
        gains[setting] = _percent(made["mode2"].total, made["mode1"].total)
    return Claim(
        f"One flow: NGWA with smoothing (mode 2) carries more than without (mode 1) (by {NOTABLE_PERCENT:g} % or more)",
        all(gain >= NOTABLE_PERCENT for gain in gains.values()),
        _by_setting(gains, lambda gain: f"{gain:+.2f} %"),
        rule="every setting",
    )


def _by_setting(values: Mapping[Setting, float], write: Callable[[float], str]) -> str:
    return "; ".join(f"{setting.title}: {write(value)}" for setting, value in values.items())


def _indices(made: Mapping[str, Transfer]) -> str:
    return ", ".join(f"{TITLES[name]} {one.jain:.4f}" for name, one in made.items())


def _divided(small: Mapping[str, Transfer]) -> Claim:
    return Claim(
        f"Two flows, 100 packets: division among flows is fair (Jain's index {FAIR:g} or more in modes 5 and 6)",
        all(small[name].jain >= FAIR for name in ("mode5", "mode6")),
        _indices(small),
        rule="both modes at or above the bound",
    )


def _less_fair(small: Mapping[str, Transfer], large: Mapping[str, Transfer]) -> Claim:
    before, after = (sum(made[name].jain for name in NGWA) / len(NGWA) for made in (small, large))
    return Claim(
        "Two flows: with 1000 packets NGWA is less fair than with 100",
        after <= before - NOTABLE_JAIN,
        f"Jain's index, mean over the four modes: {before:.4f} with 100 packets, {after:.4f} with 1000",
        rule=f"mean index lower by {NOTABLE_JAIN:g} or more",
    )


def _fairer(large: Mapping[str, Transfer]) -> Claim:
    return Claim(
        "Two flows, 1000 packets: every mode of NGWA is fairer than NewReno and RED",
        min(large[name].jain for name in NGWA) >= max(large[name].jain for name in OTHERS) + NOTABLE_JAIN,
        _indices(large),
        rule=f"lowest index of the modes above the highest of both by {NOTABLE_JAIN:g} or more",
    )


def _faster(small: Mapping[str, Transfer], large: Mapping[str, Transfer]) -> Claim:
    gains = [_percent(made[n].total, made[o].total) for made in (small, large) for n in NGWA for o in OTHERS]
    more = sum(gain >= NOTABLE_PERCENT for gain in gains)
    return Claim(
        "Two flows: NGWA in general carries more than NewReno and RED "
        f"(by {NOTABLE_PERCENT:g} % or more in most comparisons)",
        more > len(gains) / 2,
        f"in {more} of {len(gains)} comparisons of a mode with either; {min(gains):+.2f} to {max(gains):+.2f} %",
        rule="more than half of the 16 comparisons",
    )


def _not_both(small: Mapping[str, Transfer], large: Mapping[str, Transfer]) -> Claim:
    """A rate is good within 1 % of the best in its setting; fairness is reasonable from the index used for NGWA."""
    both = []
    for title, made in (("100 packets", small), ("1000 packets", large)):
        best = max(one.total for one in made.values())
        both += [
            f"{TITLES[name]} with {title}"
            for name in OTHERS
            if made[name].total >= (1 - NOTABLE_PERCENT / 100) * best and made[name].jain >= FAIR
        ]
    return Claim(
        "Two flows: NewReno and RED have a good rate or reasonable fairness, but not both",
        not both,
        f"both have: {', '.join(both)}" if both else "none has both",
        rule=f"good: within {NOTABLE_PERCENT:g} % of the best rate; fair: index {FAIR:g} or more; no method has both",
    )
