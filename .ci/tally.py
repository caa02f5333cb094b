"""Count the tests of one step of `.ci/test`, and list those that were skipped on this machine.

Usage: tally.py LOG SKIPS. LOG is what `cargo test`, `cargo nextest`, `vitest` or `pytest` printed. SKIPS is the file
to which Rust tests that return early append a line each: test binary, test and reason, between tabs
(crates/live/tests/skips).
For the runner such a test has passed. The list goes to standard error, "PASSED FAILED SKIPPED" to standard output.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CARGO = re.compile(r"^test result: ")
NEXTEST = re.compile(r"^\s*Summary \[.*\] .* tests? run: ")
PYTEST = re.compile(r"\b(?:passed|failed|errors?|skipped|deselected|no tests ran)\b.* in [0-9.]+s\b")
VITEST = re.compile(r"^\s*Tests\s+.*\([0-9]+\)\s*$")
NUMBER = re.compile(r"([0-9]+) (passed|failed|skipped|errors?|timed out|exec failed)\b")
FAILURES = frozenset({"failed", "error", "errors", "timed out", "exec failed"})


class Tally(NamedTuple):
    """How many tests passed, failed and were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0


class Skip(NamedTuple):
    """A test that returned early."""

    binary: str
    test: str
    reason: str


def count(log: Iterable[str]) -> Tally:
    """Return what the summaries in a log of cargo, nextest, vitest or pytest add up to.

    Tests that cargo and nextest ignore are not counted: another step runs them, or nothing does on purpose.
    """
    passed = failed = skipped = 0
    for coloured in log:
        line = COLOUR.sub("", coloured)
        rust = CARGO.match(line) or NEXTEST.match(line)
        if not (rust or VITEST.match(line) or PYTEST.search(line)):
            continue
        for number, what in NUMBER.findall(line):
            if what == "passed":
                passed += int(number)
            elif what in FAILURES:
                failed += int(number)
            elif not rust:
                skipped += int(number)
    return Tally(passed, failed, skipped)


def skips(lines: Iterable[str]) -> list[Skip]:
    """Return the tests that noted a skip, each once with its first reason, in the order of their notes."""
    found: dict[tuple[str, str], Skip] = {}
    for number, line in enumerate(lines):
        binary, test, reason = [*line.rstrip("\n").split("\t", 2), "?", "?"][:3]
        # A test without a name is one of its own.
        key = test if test != "?" else f"?{number}"
        found.setdefault((binary, key), Skip(binary, test, reason))
    return list(found.values())


def listing(left_out: Iterable[Skip]) -> str:
    """Return the skipped tests by reason, the most frequent one first."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for skip in left_out:
        by_reason[skip.reason].append(f"{skip.binary}: {skip.test}")
    text = ""
    for reason, tests in sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0])):
        text += f"   skipped, {reason}: {len(tests)}\n"
        text += "".join(f"      {test}\n" for test in sorted(tests))
    return text


def tally(log: Iterable[str], notes: Iterable[str]) -> tuple[Tally, list[Skip]]:
    """Return the numbers of a step, with tests that returned early as skipped, and these tests."""
    counted, left_out = count(log), skips(notes)
    early = min(len(left_out), counted.passed)
    return Tally(counted.passed - early, counted.failed, counted.skipped + early), left_out


def main(log: str, notes: str) -> None:
    """Print the numbers of a step and list its skipped tests."""

    def lines(name: str) -> list[str]:
        path = Path(name)
        return path.read_text("utf-8", "replace").splitlines() if path.exists() else []

    numbers, left_out = tally(lines(log), lines(notes))
    sys.stderr.write(listing(left_out))
    sys.stdout.write(" ".join(map(str, numbers)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
