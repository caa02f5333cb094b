"""`.ci/tally.py`: what the test command counts and lists."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

PROGRAM = Path(__file__).parents[2] / ".ci" / "tally.py"


@pytest.fixture(scope="module")
def tally() -> ModuleType:
    """The program as a module."""
    spec = importlib.util.spec_from_file_location("tally", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


CARGO = """
running 237 tests
.......
test result: ok. 237 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 19.42s

running 3 tests
test a ... FAILED
test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""

NEXTEST = """
    Starting 120 tests across 7 binaries (2 tests skipped)
        FAIL [   0.005s] narrows-tcp tests::ecn::a_loss
\x1b[1m     Summary\x1b[0m [   3.012s] 120 tests run: 116 passed (3 slow, 1 leaky), 3 failed, 1 timed out, 2 skipped
"""

PYTEST = """
tests/python/test_a.py ....F                                             [100%]
SKIPPED [2] tests/python/test_live.py:12: needs root
\x1b[31m=== \x1b[1m1 failed\x1b[0m, 4 passed, 2 skipped, 3 deselected, 1 error in 12.34s (0:00:12) ===\x1b[0m
"""

VITEST = """
 Test Files  1 failed | 3 passed (4)
\x1b[2m      Tests \x1b[22m \x1b[31m1 failed\x1b[39m | \x1b[32m25 passed\x1b[39m | 2 skipped (28)
   Duration  4.13s (transform 123ms, setup 0ms, tests 1.97s)
"""

SKIPS = """narrows_live\ttun::tests::a\tneeds root
narrows_live\ttun::tests::b\tneeds root
laws\tclimbs\tonly 2 climbs in the time
laws\tclimbs\tonly 1 climbs in the time
loader\t?\ttc is not installed
loader\t?\ttc is not installed
"""


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (CARGO, (239, 1, 0)),
        (NEXTEST, (116, 4, 0)),
        (PYTEST, (4, 2, 2)),
        (VITEST, (25, 1, 2)),
        (CARGO + NEXTEST + PYTEST, (359, 7, 2)),
        ("Success: no issues found in 301 source files\nAll checks passed!\n", (0, 0, 0)),
        ("================ no tests ran in 0.05s ================\n", (0, 0, 0)),
        ("     Summary [   0.001s] 1/3 tests run: 0 passed, 1 failed, 0 skipped\n", (0, 1, 0)),
        ("     Summary [   0.001s] 1 test run: 1 passed, 0 skipped\n", (1, 0, 0)),
    ],
    ids=["cargo", "nextest", "pytest", "vitest", "one after the other", "lints", "none", "stopped early", "one"],
)
def test_summaries_of_each_runner_are_added_up(tally: ModuleType, log: str, expected: tuple[int, int, int]) -> None:
    assert tally.count(log.splitlines()) == expected


def test_a_test_is_skipped_once_and_has_not_passed(tally: ModuleType) -> None:
    numbers, left_out = tally.tally(CARGO.splitlines(), SKIPS.splitlines())
    assert numbers == (234, 1, 5)
    assert [skip.test for skip in left_out] == ["tun::tests::a", "tun::tests::b", "climbs", "?", "?"]
    assert left_out[2].reason == "only 2 climbs in the time"


def test_skips_are_listed_by_reason(tally: ModuleType) -> None:
    assert tally.listing(tally.skips(SKIPS.splitlines())) == (
        "   skipped, needs root: 2\n"
        "      narrows_live: tun::tests::a\n"
        "      narrows_live: tun::tests::b\n"
        "   skipped, tc is not installed: 2\n"
        "      loader: ?\n"
        "      loader: ?\n"
        "   skipped, only 2 climbs in the time: 1\n"
        "      laws: climbs\n"
    )


def test_damaged_notes_and_missing_files_are_no_failure(tally: ModuleType, tmp_path: Path) -> None:
    numbers, left_out = tally.tally(["test result: ok. 1 passed; 0 failed"], ["half a line", "a\tb\tc\td", ""])
    assert numbers == (0, 0, 1)
    assert [tuple(skip) for skip in left_out] == [("half a line", "?", "?"), ("a", "b", "c\td"), ("", "?", "?")]
    (tmp_path / "log").write_text("test result: ok. 3 passed; 0 failed\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, PROGRAM, tmp_path / "log", tmp_path / "no such file"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("3 0 0\n", "")
