"""The report on Agile-SD's open questions: the page's own words, over the questions."""

from __future__ import annotations

from typing import Final

from narrows_papers.agile_sd.beyond import buffers, fast, harm, many, queues
from narrows_papers.agile_sd.beyond.compare import PAPER
from narrows_papers.frame.beyond.report import About, Beyond

QUESTIONS = (buffers.QUESTION, queues.QUESTION, harm.QUESTION, fast.QUESTION, many.QUESTION)
"""All questions, in the order in which they are run and shown."""

WORK: dict[str, float] = {"buffers": 15, "queues": 25, "harm": 25, "fast": 25, "many": 15}
"""Approximate relative duration of each question, for the progress bar."""

ABOUT = About(
    paper=PAPER,
    scheme="Agile-SD",
    subtitle="Agile-SD gives up 5 % of its window at a loss and grows back fast. Here is what the paper leaves "
    "unasked: the TCP and the queues of today, harm to other flows, 10 Gb/s, many flows.",
    note="Each case is run with Agile-SD and with congestion controls of today in its place. All have SACK, timestamps "
    "and the Linux stack's defaults; CUBIC is RFC 9438's with HyStart++, BBRv3 the draft's.",
    expected="that follow from what the paper promises",
    limits=(
        "We wrote the expectations down after looking at single runs: they follow from what the paper promises, and "
        "are not independent predictions.",
        "Networks are small and were chosen so that the question shows; rates are a fifth of the paper's where the "
        "ratio of buffer and BDP decides.",
        "Seeds move the starts of flows by up to 0.2 s, draw packet errors and random drops, and nothing else; "
        "intervals are Student's t over the seeds, at 95 %.",
    ),
    sources=(
        "M. A. Alrshah, M. Othman, B. Ali, Z. M. Hanapi: Agile-SD: A Linux-based TCP congestion control algorithm for "
        "supporting high-speed and short-distance networks. JNCA 55, 2015.",
        "R. Ware, M. K. Mukerjee, S. Seshan, J. Sherry: Beyond Jain's Fairness Index: Setting the Bar For The "
        "Deployment of Congestion Control Algorithms. HotNets 2019.",
        "RFC 8033, 8257, 8289, 8290, 9406, 9438; draft-ietf-ccwg-bbr.",
    ),
)

REPORT: Final = Beyond(ABOUT, QUESTIONS, WORK)
