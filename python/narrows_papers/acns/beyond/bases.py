"""Today's congestion controls and loss recoveries below ACNS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.acns.beyond.compare import ACNS, ARMS, GUARD, OFF, arms_of, each, sends_as_much
from narrows_papers.frame.beyond.compare import Case, Compared

if TYPE_CHECKING:
    from narrows_papers.frame.beyond.question import Results


def _case(title: str, cc: str, recovery: str = "sack") -> Case:
    return Case(title, {"tcp.cc": cc, "tcp.recovery": recovery, "tcp.sack": recovery == "sack"})


CASES: dict[str, Case] = {
    "reno": _case("Reno", "reno"),
    "cubic": _case("CUBIC", "cubic"),
    "cubic-newreno": _case("CUBIC, no SACK", "cubic", "newreno"),
    "vegas": _case("Vegas", "vegas"),
    "agile-sd": _case("Agile-SD", "agile_sd"),
    "bbr": _case("BBR", "bbr"),
    "bbr3": _case("BBRv3", "bbr3"),
}
"""Base variants. DCTCP and Prague need ECN's header bits, which ACNS owns: Narrows refuses them below ACNS."""


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate what ACNS promises over any base variant."""
    keys = arms_of(results, CASES)
    return (
        Claim(
            "Over no base variant ACNS loses more",
            all(results.mean((key, ACNS), "lost") <= results.mean((key, OFF), "lost") for key in keys),
            each(results, CASES, "lost") + " packets",
        ),
        Claim(
            "Over no base variant ACNS with our rule loses more",
            all(results.mean((key, GUARD), "lost") <= results.mean((key, OFF), "lost") for key in keys),
            each(results, CASES, "lost") + " packets",
        ),
        sends_as_much(results, CASES, "the base variant"),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    worse = [
        CASES[key].title for key in arms_of(results, CASES) if results.change((key, OFF), (key, ACNS), "lost").low > 0
    ]
    told = f"With ACNS more is lost over {', '.join(worse)}" if worse else "ACNS loses no more over any base variant"
    return (
        f"{told} (the interval of the difference is above zero). DCTCP and Prague cannot be a base: they read the two "
        "ECN bits in which ACNS writes its commands.",
    )


QUESTION = Compared(
    arms=ARMS,
    key="bases",
    title="Today's congestion controls below it",
    asks="ACNS works on top of any TCP variant; CUBIC alone is shown, without SACK in the network that fits.",
    setting="Two flows of the variant, the second 15 s later, no bound on cwnd: 10 Mb/s, 40 ms, 100 packets. 15 to "
    "60 s.",
    cases=CASES,
    quick=("cubic", "bbr3"),
    begin_s=15,
    end_s=60,
    claims=claims,
    conclusion=conclusion,
    axis="Base variant",
).question()
"""The question."""
