"""The report on NGWA's open questions: the page's own words, over the questions."""

from __future__ import annotations

from typing import Final

from narrows_papers.frame.beyond.report import About, Beyond
from narrows_papers.ngwa.beyond.modes import MODES, PAPER
from narrows_papers.ngwa.beyond.questions import QUESTIONS, WORK

LIMITS = (
    "We wrote the expectations down before the full runs, but after looking at single runs: they follow from the "
    "mechanism and are not independent predictions.",
    "Networks are small and were chosen so that the question shows. Reno here is RFC 5681 with SACK, what NewReno has "
    "become; the paper's NewReno has none.",
    "Routers count flows and write values as the paper's module for Linux does: per output queue, when a packet "
    "leaves it.",
    "Seeds move the starts of flows by up to 0.2 or 2 s and nothing else; intervals are Student's t over the seeds, "
    "at 95 %. Where all runs give the same to the digits shown, no interval is printed.",
)
SOURCES = (
    "M. Talau, E. C. G. Wille: “Available Network Bandwidth Schema to Improve Performance in TCP Protocols” (NGWA), "
    "section 5.",
    "RFC 5681, 6298, 6675, 6928, 9438, 9293.",
)

NOTE = (
    "Modes: "
    + "; ".join(text.removeprefix("mode ").replace(": ", ", ", 1) for text in MODES.values())
    + ". Modes 3 and 4 lose much even in the paper's own network and are left out. “Reno” is without NGWA."
)

ABOUT = About(
    paper=PAPER,
    scheme="NGWA",
    subtitle="Routers tell senders how many bytes their queues take. Talau and Wille end with a list of what "
    "“deserves further investigation”: how flows are counted, other traffic, other paths, 1 Gb/s. Here it is run.",
    note=NOTE,
    expected="that follow from the mechanism",
    limits=LIMITS,
    sources=SOURCES,
)

REPORT: Final = Beyond(ABOUT, QUESTIONS, WORK)
