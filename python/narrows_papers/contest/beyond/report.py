"""The report on what the contest's paper leaves open: the page's own words, over the question."""

from __future__ import annotations

from typing import Final

from narrows_papers.contest.beyond import today
from narrows_papers.frame.beyond.report import About, Beyond

QUESTIONS = (today.QUESTION,)
"""All questions, in the order in which they are run and shown."""

WORK: dict[str, float] = {"today": 60}
"""Approximate relative duration of each question, for the progress bar."""

ABOUT = About(
    paper=today.PAPER,
    scheme="The contest",
    subtitle="The paper lets fifteen variants compete on 802.11 at 1 Mb/s, with small windows. Here its conclusions "
    "are asked again of the TCP and the 802.11 of today.",
    note="CUBIC starts first in every pair; the other variant 10 s later.",
    expected="that the paper's conclusions, or fairness, suggest",
    limits=(
        "The expectations are the paper's conclusions as we read them, and for BBRv3 and Prague that they share.",
        "All stations have the same rate and hear each other; there are no frame errors, uploads or hidden stations.",
        "Prague has the Linux stack's defaults and meets FQ-CoDel, which marks it as it marks CUBIC with ECN; a "
        "dual queue is in docs/l4s.md.",
        "Seeds move the starts of flows by up to 0.2 s and draw backoffs; intervals are Student's t over the seeds, at "
        "95 %.",
    ),
    sources=(
        "D. R. Rodríguez Herlein and others: Un análisis de comportamiento entre distintos mecanismos de control de "
        "congestión ensayados sobre una topología mixta. UNPA-UARG and LINTI, UNLP.",
        "T. Høiland-Jørgensen, M. Kazior, D. Täht, P. Hurtig, A. Brunstrom: Ending the Anomaly: Achieving Low Latency "
        "and Airtime Fairness in WiFi. USENIX ATC 2017.",
        "RFC 8290, 9331, 9438; draft-ietf-ccwg-bbr; IEEE 802.11-2016.",
    ),
)

REPORT: Final = Beyond(ABOUT, QUESTIONS, WORK)
