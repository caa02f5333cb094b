"""What Agile-SD does to another flow, against what that flow's own kind does to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.stats import Estimate
from narrows.studies.reproduction.result import Claim
from narrows_papers.agile_sd.beyond.compare import AGILE, ARMS, BBR3, CUBIC, TITLES, TODAY, ran
from narrows_papers.frame.beyond.compare import Case, Compared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows_papers.frame.beyond.question import Numbers, Results
    from narrows_papers.frame.beyond.window import Window

LIMIT, RIVAL = "topology.bottleneck.queue.limit", "flows.rival.cc"
SMALL, LARGE = "17 packets", "167 packets"

RIVALS: dict[str, str] = {CUBIC: "CUBIC", "reno": "Reno", BBR3: "BBRv3"}

CASES: dict[str, Case] = {
    f"{name}-{size}": Case(f"{title}, {limit.split()[0]}", {RIVAL: name, LIMIT: limit})
    for name, title in RIVALS.items()
    for size, limit in (("small", SMALL), ("large", LARGE))
}
"""The flow that may be harmed, and the buffer in packets."""

TOLERATED = 0.2
"""Harm above which a flow counts as harmed."""


def alone(key: str) -> str:
    """The arm in which the rival meets its like: CUBIC for Reno, whose place it takes today."""
    name = key.split("-", maxsplit=1)[0]
    return name if name in TITLES else CUBIC


def harm(results: Results, key: str) -> Estimate:
    """Share of its goodput beside its own kind that a flow loses beside Agile-SD, with its 95 % interval."""
    base = results.mean((key, alone(key)), "rival")
    less = results.change((key, alone(key)), (key, AGILE), "rival")
    return Estimate(-less.mean / base, -less.high / base, -less.low / base, less.n, less.sd / base) if base else less


def told(results: Results, keys: Sequence[str]) -> str:
    """Describe the harm of cases."""
    made = {key: harm(results, key) for key in keys}
    return "; ".join(
        f"{CASES[key].title}: {one.mean:.2f}" + (f" [{one.low:.2f}, {one.high:.2f}]" if one.n > 1 else "")
        for key, one in made.items()
    )


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate whether Agile-SD can be deployed beside what there is."""
    rule = f"mean harm at most {TOLERATED:g}, in every case"
    met = {name: [key for key in ran(results, CASES) if key.startswith(f"{name}-")] for name in RIVALS}
    return tuple(
        Claim(
            f"It does not harm {RIVALS[name]}",
            all(harm(results, key).mean <= TOLERATED for key in keys),
            told(results, keys),
            rule=rule,
        )
        for name, keys in met.items()
        if keys
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    harmed = [CASES[key].title for key in ran(results, CASES) if harm(results, key).low > TOLERATED]
    return (
        "Harm is the share of the goodput that a flow has beside its own kind (Reno: beside CUBIC) and loses beside "
        f"Agile-SD (Ware et al., 2019): {told(results, ran(results, CASES))}. "
        + (
            f"Agile-SD harms {', '.join(harmed)} (the interval is above {TOLERATED:g})."
            if harmed
            else f"Nowhere is the interval above {TOLERATED:g}."
        ),
    )


def measure(at: Window) -> Numbers:
    """Measure the goodput of both flows."""
    return {"rival": at.goodput("rival"), "beside": at.goodput("beside")}


QUESTION = Compared(
    arms=ARMS,
    key="harm",
    title="Harm to other flows",
    asks="fairness to CUBIC, Compound and NewReno in one setting.",
    setting="A rival that may be harmed, and beside it Agile-SD or one of today: 100 Mb/s, 20 ms; buffers of 17 and "
    "167 packets (0.1 and 1 BDP). 10 to 40 s.",
    cases=CASES,
    quick=("cubic-large", "bbr3-large"),
    begin_s=10,
    end_s=40,
    claims=claims,
    conclusion=conclusion,
    axis="Rival, buffer",
    columns=TODAY,
    more={"rival": ("Mb/s", "Rival"), "beside": ("Mb/s", "Beside it")},
    measure_more=measure,
).question()
"""The question."""
