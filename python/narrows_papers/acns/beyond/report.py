"""The report on ACNS's open questions: the page's own words, over the questions."""

from __future__ import annotations

from typing import Final

from narrows_papers.acns.beyond.compare import PAPER
from narrows_papers.acns.beyond.questions import QUESTIONS, WORK
from narrows_papers.frame.beyond.report import About, Beyond

ABOUT = About(
    paper=PAPER,
    scheme="ACNS",
    subtitle="Routers tell senders to go on, to freeze or to fall back. Here is what the papers leave unasked: partial "
    "deployment, joining flows, other networks, today's controls.",
    note="Each case is run without ACNS, with ACNS as published, and with a rule of ours, which is off by default: "
    "until a command other than “normal” has arrived, the base variant answers losses (normal_only_losses = "
    "“base”).",
    expected="that follow from what the papers promise",
    limits=(
        "We wrote the expectations down after looking at single runs: they follow from what the papers promise, and "
        "are not independent predictions.",
        "Networks are small and were chosen so that the question shows. CUBIC is RFC 9438's, with SACK, timestamps "
        "and no bound on cwnd unless a bound is named; the papers' network has none of the first two, and a bound.",
        "Seeds move the starts of flows by up to 0.1, 0.2 or 2 s, draw losses and backoffs, and nothing else; "
        "intervals are Student's t over the seeds, at 95 %. Where all runs give the same to the digits shown, no "
        "interval is printed.",
    ),
    sources=(
        "M. Hruby, M. Olsovsky, M. Kotocova: A Novel Technique for TCP based Congestion Control. DCNET 2013.",
        "M. Olsovsky: Advanced notification system for TCP performance increase. Extended abstract, 2013.",
        "RFC 5681, 6582, 6675, 9438; IEEE 802.11n.",
    ),
)

REPORT: Final = Beyond(ABOUT, QUESTIONS, WORK)
