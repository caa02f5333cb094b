"""The page: for each question a section with the paper's statement, the experiment, and the results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from narrows_papers.ngwa.beyond.question import MODES, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows_papers.ngwa.beyond.report import Answer

LIMITS: tuple[str, ...] = (
    "We wrote the expectations down before the full runs, but after looking at single runs: they follow from the "
    "mechanism and are not independent predictions.",
    "Networks are small and were chosen so that the question shows. Reno here is RFC 5681 with SACK, what NewReno has "
    "become; the paper's NewReno has none.",
    "Routers count flows and write values as the paper's module for Linux does: per output queue, when a packet "
    "leaves it.",
    "Seeds move the starts of flows by up to 0.2 or 2 s and nothing else; intervals are Student's t over the seeds, "
    "at 95 %. Where all runs give the same to the digits shown, no interval is printed.",
)
"""Limits of the report."""

SOURCES: tuple[str, ...] = (
    "M. Talau, E. C. G. Wille: “Available Network Bandwidth Schema to Improve Performance in TCP Protocols” (NGWA), "
    "section 5.",
    "RFC 5681, 6298, 6675, 6928, 9438, 9293.",
)
"""Sources."""


def context(answers: Sequence[Answer]) -> dict[str, Any]:
    """Return what the page shows besides what all pages do."""
    return {
        "sections": [_section(one) for one in answers],
        "modes": [text.split(": ", 1) for text in MODES.values()],
        "limits": LIMITS,
        "sources": SOURCES,
    }


def _section(answer: Answer) -> dict[str, Any]:
    question, results, section = answer.question, answer.results, answer.section
    return {
        "key": question.key,
        "title": question.title,
        "asks": question.asks,
        "setting": question.setting,
        "conclusion": section.conclusion,
        "claims": section.claims,
        "tables": section.tables,
        "charts": [figure.name for figure in section.figures],
        "file": question.file.name,
        "seeds": results.seeds,
        "runs": len(results.digests),
        "commands": [
            f"narrows run experiments/ngwa/beyond/{question.file.name} {written(arm.overrides)}".rstrip()
            for arm in question.arms(False)
            if arm.key in results.arms
        ],
    }
