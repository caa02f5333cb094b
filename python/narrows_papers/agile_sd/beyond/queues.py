"""Agile-SD over the queue disciplines of today: CoDel, FQ-CoDel, PIE, and marking as DCTCP wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Claim
from narrows_papers.agile_sd.beyond.compare import AGILE, ARMS, BBR3, CUBIC, DCTCP, each, ran
from narrows_papers.frame.beyond.compare import Case, Compared

if TYPE_CHECKING:
    from narrows.model.scenario import Override
    from narrows_papers.frame.beyond.question import Results

QUEUE = "topology.bottleneck.queue"
ECN: dict[str, Override] = {"tcp.ecn": True}
STEP = (
    '{ kind = "red", limit = "1000 packets", min_threshold = "29 packets", max_threshold = "30 packets", weight = 1, '
    'max_p = 1, gentle = true, wait = false, ecn = true, mean_packet = "1500 B" }'
)
"""Marks every packet that finds 30 or more, as RFC 8257 recommends for DCTCP."""

CASES: dict[str, Case] = {
    "droptail": Case("drop-tail", {QUEUE: '{ kind = "droptail", limit = "1000 packets" }'} | ECN),
    "codel": Case("CoDel", {QUEUE: '{ kind = "codel", limit = "1000 packets", ecn = false }'} | ECN),
    "codel-ecn": Case("CoDel that marks", {QUEUE: '{ kind = "codel", limit = "1000 packets", ecn = true }'} | ECN),
    "fq_codel": Case("FQ-CoDel", {QUEUE: '{ kind = "fq_codel", limit = "1000 packets" }'} | ECN),
    "pie": Case("PIE", {QUEUE: '{ kind = "pie", limit = "1000 packets" }'} | ECN),
    "step": Case("marking from 30 packets", {QUEUE: STEP} | ECN),
}
"""Queue disciplines of the bottleneck; all flows use ECN."""

AQMS = tuple(key for key in CASES if key != "droptail")
COLUMNS = (AGILE, CUBIC, BBR3, DCTCP)


def claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate what a reduction of 5 % means to an AQM."""
    keys = [key for key in ran(results, CASES) if key in AQMS]
    aqms = {key: CASES[key] for key in AQMS}
    return (
        Claim(
            "Under every AQM it carries at least as much as CUBIC (98 %)",
            all(results.mean((key, AGILE), "goodput") >= 0.98 * results.mean((key, CUBIC), "goodput") for key in keys),
            each(results, aqms, "goodput", (AGILE, CUBIC)) + " Mb/s",
            rule="mean goodput of all flows, in every case",
        ),
        Claim(
            "Under every AQM its round trips are at most 20 % longer than CUBIC's",
            all(results.mean((key, AGILE), "rtt") <= 1.2 * results.mean((key, CUBIC), "rtt") for key in keys),
            each(results, aqms, "rtt", (AGILE, CUBIC)) + " ms",
            rule="mean RTT, in every case",
        ),
        Claim(
            "With marking from 30 packets its round trips are at most 20 % longer than DCTCP's",
            all(
                results.mean((key, AGILE), "rtt") <= 1.2 * results.mean((key, DCTCP), "rtt")
                for key in keys
                if key == "step"
            ),
            each(results, {"step": CASES["step"]}, "rtt", (AGILE, DCTCP)) + " ms",
            rule="mean RTT",
        ),
    )


def conclusion(results: Results) -> tuple[str, ...]:
    """Describe the results."""
    return (
        "An AQM tells a sender of a standing queue by a drop or a mark, and counts on a reduction of 30 to 50 %. "
        "Agile-SD gives up 5 %, so an AQM has to tell it more often. RTT: "
        + each(results, CASES, "rtt", COLUMNS)
        + " ms.",
    )


QUESTION = Compared(
    arms=ARMS,
    key="queues",
    title="Queue disciplines of today",
    asks="drop-tail alone.",
    setting="Four flows of one congestion control, 200 Mb/s, 10 ms, ECN; queues of 1000 packets. 5 to 20 s.",
    cases=CASES,
    quick=("codel", "step"),
    begin_s=5,
    end_s=20,
    claims=claims,
    conclusion=conclusion,
    axis="Queue discipline",
    columns=COLUMNS,
).question()
"""The question."""
