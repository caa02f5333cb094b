"""The directory of results of scripts: ``summary.json``, the page, and captures on request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from narrows import _core, ownership
from narrows.studies.packetdrill import page

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.ownership import Claim
    from narrows.studies.packetdrill.outcome import Report


def write(report: Report, claim: Claim, command: str, *, pcap: bool) -> None:
    """Write the results into a directory, all or nothing.

    Parameters
    ----------
    report : Report
    claim : narrows.ownership.Claim
        The directory.
    command : str
        As for `narrows.studies.packetdrill.page`.
    pcap : bool
        Whether to keep the packets of each run: ``pcap/SCRIPT-WORLD-VERSION.pcapng``.

    Raises
    ------
    OSError, RunError
        If a file cannot be written; the directory is as it was then.
    """
    with ownership.staged(claim) as staging:
        summary = json.dumps(report.to_json(), indent=2, ensure_ascii=False, allow_nan=False)
        (staging / "summary.json").write_text(summary + "\n", encoding="utf-8")
        (staging / "report.md").write_text(page.text(report, command), encoding="utf-8")
        if pcap:
            _captures(report, staging / "pcap")


def _captures(report: Report, folder: Path) -> None:
    several = len(report.suites) > 1
    for suite, outcomes in report.suites:
        for one in outcomes:
            name = one.script.name.removesuffix(".pkt")
            for result in one.results:
                target = folder / (suite.name if several else "") / f"{name}-{result.world}-{result.version}.pcapng"
                target.parent.mkdir(parents=True, exist_ok=True)
                _core.packetdrill_capture(target, result.packets)
