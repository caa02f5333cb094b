"""The paper's conclusions, one change at a time: from its channel to a base station of today."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.report import style
from narrows.studies.reproduction.result import Claim
from narrows_papers.frame.beyond import draw
from narrows_papers.frame.beyond.compare import Arms, Case, Compared

if TYPE_CHECKING:
    from narrows.model.scenario import Override
    from narrows_papers.frame.beyond.draw import Look
    from narrows_papers.frame.beyond.question import Numbers, Results
    from narrows_papers.frame.beyond.window import Window

PAPER = "contest"
"""The paper whose questions these are."""

SECONDS: dict[str, str] = {
    "cubic": "CUBIC, then CUBIC",
    "reno": "CUBIC, then Reno",
    "vegas": "CUBIC, then Vegas",
    "hybla": "CUBIC, then Hybla",
    "bbr3": "CUBIC, then BBRv3",
    "prague": "CUBIC, then Prague",
}
"""Title of each arm by the variant that starts second; CUBIC starts first."""

CHANGES: dict[str, dict[str, Override]] = {name: {"flows.second.tcp": f'{{ cc = "{name}" }}'} for name in SECONDS}
"""The overrides of each arm."""

LOOKS: dict[str, Look] = {
    name: (style.colour(i), i % 2, ("circle", "square", "diamond")[i % 3]) for i, name in enumerate(SECONDS)
}
"""Colour, dash and symbol of each arm."""

STATIONS = 'stations = ["a1", "a2", "a3", "a4", "a5", "b1", "b2", "b3", "b4", "b5"]'


def _old(rts: str) -> dict[str, Override]:
    """The paper's channel and its one queue."""
    return {
        "wifi": f'{{ name = "wlan", base = "base", {STATIONS}, phy = "802.11", rate = "1 Mb/s", '
        f'basic_rate = "1 Mb/s", rts_threshold = "{rts}", queue = {{ limit = "50 packets" }} }}'
    }


def _stations(number: int) -> dict[str, Override]:
    return {"flows.first.copies": number // 2, "flows.second.copies": number // 2}


CASES: dict[str, Case] = {
    "paper": Case("the paper's channel", _old("0 B")),
    "no-rts": Case("RTS off", _old("never")),
    "ampdu": Case(
        "A-MPDU, drop-tail",
        {"wifi.queues": "per_station", "wifi.queue": '{ kind = "droptail", limit = "250 packets" }'},
    ),
    "fq_codel": Case("FQ-CoDel, 2 stations"),
    "6": Case("6 stations", _stations(6)),
    "10": Case("10 stations", _stations(10)),
}
"""Changes, from the paper's channel to one of today; each but the second has those before it."""

OLD, TODAY = ("paper", "no-rts"), ("fq_codel", "6", "10")

FAIR = (40.0, 60.0)
"""Share of the second starters, %, in which a pair counts as sharing; the paper's own bound is 0.1 either way."""


EXPECTED: dict[str, tuple[str, float, float]] = {
    "reno": ("Reno and CUBIC share", *FAIR),
    "vegas": ("Vegas yields to CUBIC", 0.0, FAIR[0]),
    "hybla": ("Hybla takes more than CUBIC", FAIR[1], 100.0),
    "bbr3": ("BBRv3 and CUBIC share", *FAIR),
    "prague": ("Prague and CUBIC share", *FAIR),
}
"""What is expected of a pair: in words, and the range of the second's share, %."""


def there(results: Results, second: str) -> list[str]:
    """Keys of the cases in which a pair was run."""
    return [key for key in CASES if results.has((key, second))]


def shares(results: Results, second: str, keys: list[str]) -> str:
    """Describe the share of the second starters in cases."""
    return "; ".join(f"{CASES[key].title} {draw.told(results.of((key, second), 'share'))}" for key in keys) + " %"


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate the paper's conclusions, on its channel without a window limit and on that of today."""
    made = []
    for where, cases in (("On the paper's channel", OLD), ("On a base station of today", TODAY)):
        for second, (text, low, high) in EXPECTED.items():
            keys = [key for key in there(results, second) if key in cases]
            if keys:
                made.append(
                    Claim(
                        f"{where}, {text}",
                        all(low <= results.mean((key, second), "share") <= high for key in keys),
                        "share of the second starters: " + shares(results, second, keys),
                        rule=f"two-sided: mean share of {low:g} to {high:g} % in every case",
                    )
                )
    return tuple(made)


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    parts = [f"{title}: {shares(results, second, there(results, second))}" for second, title in SECONDS.items()]
    return (
        "Share of what all flows carry that goes to those of the second variant, which start 10 s later. "
        + ". ".join(parts)
        + ".",
        "On the paper's channel both flows wait in one queue, and who keeps more packets there has more of the "
        "channel. A base station of today has a queue for each station and serves them in turn; FQ-CoDel does so for "
        "flows. A pair then meets in airtime alone. There " + _today(results),
    )


def _today(results: Results) -> str:
    """Name the pairs that share on a base station of today, and those that do not."""

    def share(second: str) -> bool:
        keys = [key for key in there(results, second) if key in TODAY]
        return all(FAIR[0] <= results.mean((key, second), "share") <= FAIR[1] for key in keys)

    apart = [SECONDS[second] for second in SECONDS if not share(second)]
    if not apart:
        return "all pairs share."
    return f"{len(SECONDS) - len(apart)} of {len(SECONDS)} pairs share; these do not: {'; '.join(apart)}."


def measure(at: Window) -> Numbers:
    """Measure goodput of a flow of either variant, and the second's share in per cent."""
    first, second = at.course.flows("first"), at.course.flows("second")
    rates = at.goodput(*first) / len(first), at.goodput(*second) / len(second)
    whole = sum(rates)
    return {"first": rates[0], "second": rates[1], "share": 100 * rates[1] / whole if whole else float("nan")}


QUESTION = Compared(
    arms=Arms(PAPER, SECONDS, CHANGES, LOOKS),
    key="today",
    title="The contest of today",
    asks="fifteen variants with windows of at most 20 segments over 802.11 at 1 Mb/s with RTS and one queue of 50 "
    "packets.",
    setting="Downloads over a base station, no window limit, the Linux stack's defaults. The paper's channel (802.11, "
    "1 Mb/s, 50 packets for all), then without RTS; then 802.11n (MCS 4, one stream, 20 MHz) with A-MPDU and 250 "
    "packets for each station; then FQ-CoDel; then 6 and 10 stations, half of them with each variant. 20 to 45 s.",
    cases=CASES,
    quick=("paper", "fq_codel"),
    begin_s=20,
    end_s=45,
    claims=claims,
    conclusion=conclusion,
    axis="Channel and queue",
    more={
        "share": ("%", "Second's share"),
        "first": ("Mb/s", "One CUBIC"),
        "second": ("Mb/s", "One second"),
    },
    measure_more=measure,
).question()
"""The question."""
