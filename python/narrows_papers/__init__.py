"""Papers that Narrows reproduces, a package for each: scenarios, and our figures next to the published ones.

`frame` has what all of them share. This module only names them: a paper is imported when one of its reports is made.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A paper, and the reports that it has: names of modules, each of which offers a `Report` as `REPORT`.

    Attributes
    ----------
    name : str
        Name of the paper on the command line.
    report : str
        Its experiments, repeated.
    beyond : str
        Questions that the paper leaves open.
    live : str or None
        Its experiments on this machine's own TCP stack.
    pair : str or None
        One of the pairs of variants that it compares.
    swept : bool
        Whether it consists of sweeps: it then accepts `flows` and `page_only`.
    live_jobs : bool
        Whether its live runs may be made side by side.
    """

    name: str
    report: str
    beyond: str
    live: str | None = None
    pair: str | None = None
    swept: bool = False
    live_jobs: bool = False


PAPERS: dict[str, Paper] = {
    paper.name: paper
    for paper in (
        Paper(
            "acns",
            "narrows_papers.acns.report",
            beyond="narrows_papers.acns.beyond.report",
            live="narrows_papers.acns.live.report",
        ),
        Paper(
            "agile-sd",
            "narrows_papers.agile_sd.report",
            beyond="narrows_papers.agile_sd.beyond.report",
            swept=True,
        ),
        Paper(
            "contest",
            "narrows_papers.contest.report",
            beyond="narrows_papers.contest.beyond.report",
            pair="narrows_papers.contest.pair_report",
        ),
        Paper(
            "ngwa",
            "narrows_papers.ngwa.report",
            beyond="narrows_papers.ngwa.beyond.report",
            live="narrows_papers.ngwa.live.report",
            live_jobs=True,
        ),
    )
}
"""All papers, by name on the command line."""
