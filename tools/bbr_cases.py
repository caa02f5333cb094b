"""The tables of docs/bbr.md: runs the draft's test cases, and writes their verdicts between marks of the page.

python tools/bbr_cases.py            # runs each case as it is, and exits with 1 if the page says something else
python tools/bbr_cases.py --write    # runs the cells of the grids too, and writes both tables again
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import narrows as nw

if TYPE_CHECKING:
    from collections.abc import Iterable

    from narrows.studies.check.result import CaseResult, Check

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "bbr.md"

PROFILES: Final = ("draft-06", "linux")
"""Profiles of ``bbr3``, a column each."""

SETS: Final = ("bbr", "bbr-variants")
"""Bundled sets, a table each."""

WORDS: Final = {"passed": "met", "failed": "**not met**", "error": "error", "not applicable": "n/a"}
"""Verdicts as the tables write them."""

LONGEST_NS: Final = 100_000_000
"""Longest round-trip time of the middle cells, in nanoseconds: five seconds between PROBE_RTTs are 50 of them."""

LEAST_PACKETS: Final = 10
"""Least bandwidth-delay product of the middle cells, in packets."""

PACKET: Final = 1500
"""Bytes of a packet."""

_ROW: Final = re.compile(r"^\| \[`(?P<name>[\w-]+)`\]\((?P<link>[^)]*)\) \|(?P<cells>.*)\|$", re.MULTILINE)


def mark(name: str, end: str = "") -> str:
    """Return the line before the table of a set, or with ``end="/"`` the one after it."""
    return f"<!-- {end}verdicts of {name}: python tools/bbr_cases.py --write -->"


def run(name: str, profile: str, grid: str | None, jobs: int | None = None) -> Check:
    """Run a bundled set with one profile."""
    return nw.check(ROOT / "scenarios" / "cases" / name, f"bbr3:cc_params.profile={profile}", grid=grid, jobs=jobs)


def base(name: str, jobs: int | None = None) -> dict[str, list[str]]:
    """Run each case of a set as its file is; returns the verdicts by case, one for each profile."""
    found: dict[str, list[str]] = {}
    for profile in PROFILES:
        for one in run(name, profile, "base", jobs).cases:
            found.setdefault(case(one), []).append(WORDS[one.verdict])
    return found


def case(one: CaseResult) -> str:
    """Return the short name of a case."""
    return Path(one.name).stem


def failing(one: CaseResult) -> str:
    """Return the names of the points that failed, and the first step that did not happen."""
    if one.outcome is None:
        return one.reason or ""
    missed = [f"step `{step.name}` did not happen" for step in one.outcome.steps if step.happened_s is None][:1]
    points = [point.name or "" for point in one.outcome.expectations if point.verdict == "not met"]
    return "; ".join([*points, *missed])


def middle(one: CaseResult) -> bool:
    """Return whether a cell has a bandwidth-delay product of ten packets at least, and 100 ms at most."""
    rate, rtt = one.item.cell.rate_bps or 0, one.item.cell.rtt_ns or 0
    return rtt <= LONGEST_NS and rate * rtt / 8e9 >= LEAST_PACKETS * PACKET


def cells(runs: Iterable[CaseResult]) -> tuple[str, str, list[CaseResult]]:
    """Return how many middle and outer cells of a case passed, and the failures of the former."""
    made = [one for one in runs if one.cell != "base" and one.verdict != "not applicable"]
    inner = [one for one in made if middle(one)]
    outer = [one for one in made if not middle(one)]
    return passed(inner), passed(outer), [one for one in inner if one.failed]


def passed(runs: list[CaseResult]) -> str:
    """Return how many of some runs passed."""
    return f"{sum(not one.failed for one in runs)} of {len(runs)}" if runs else "-"


def table(name: str) -> str:
    """Run a set over its default cells, and return its table and the list of failures."""
    runs = {profile: run(name, profile, None).cases for profile in PROFILES}
    rows: dict[str, list[str]] = {}
    failures: list[str] = []
    for profile, results in runs.items():
        for short in dict.fromkeys(case(one) for one in results):
            own = [one for one in results if case(one) == short]
            first = next(one for one in own if one.cell == "base")
            inner, outer, failed = cells(own)
            rows.setdefault(short, []).extend([WORDS[first.verdict], inner, outer])
            if first.failed:
                failures.append(f"- `{short}`, `{profile}`: {failing(first)}.")
            elif failed:
                told = "; ".join(f"{one.cell}: {failing(one)}" for one in failed)
                failures.append(f"- `{short}`, `{profile}`, cells: {told}.")
    head = " | ".join(f"`{profile}` | middle cells | outer cells" for profile in PROFILES)
    lines = [f"| case | {head} |", "|---|" + "---|" * (3 * len(PROFILES))]
    address = "../scenarios/cases"
    lines += [f"| [`{short}`]({address}/{name}/{short}.toml) | {' | '.join(row)} |" for short, row in rows.items()]
    return "\n".join([*lines, "", "Points that are not met:", "", *failures, ""])


def told(name: str, text: str) -> dict[str, list[str]]:
    """Return the verdicts of the files as they are that the page tells, by case, one for each profile."""
    part = text.partition(mark(name))[2].partition(mark(name, "/"))[0]
    rows = {row["name"]: [cell.strip() for cell in row["cells"].split("|")] for row in _ROW.finditer(part)}
    return {short: row[::3] for short, row in rows.items()}


def main() -> int:
    """Check or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the tables again")
    text = PAGE.read_text(encoding="utf-8")
    if not parser.parse_args().write:
        wrong = [
            f"{name}/{short}: the page says {told(name, text).get(short)}, the engine {verdicts}"
            for name in SETS
            for short, verdicts in base(name).items()
            if told(name, text).get(short) != verdicts
        ]
        sys.stdout.write("\n".join([*wrong, ""]) if wrong else "docs/bbr.md says what the engine gives\n")
        return int(bool(wrong))
    for name in SETS:
        before, _, rest = text.partition(mark(name))
        after = rest.partition(mark(name, "/"))[2]
        text = f"{before}{mark(name)}\n\n{table(name)}\n{mark(name, '/')}{after}"
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
