"""`.ci/test`: the order of its steps, what a failure prints and ends, and the numbers. Scripts replace the tools."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT: Final = Path(__file__).parents[2]
RUST_LIVE: Final = "cargo test --quiet --locked --package narrows-live"

TALLY: Final = {
    "pytest --live without": "== 7 passed, 1 skipped in 1.20s ==",
    "pytest --live only": "== 2 passed in 0.50s ==",
    "cargo test --quiet --locked --workspace": "test result: ok. 30 passed; 0 failed; 0 ignored",
    RUST_LIVE: "test result: ok. 3 passed; 0 failed; 0 ignored",
}
"""What the tools print, by the beginning of their command lines."""

SCRIPT: Final = """#!/usr/bin/env bash
line="$(basename "$0") $*"
echo "begins: $line" >> "$CALLS"
while IFS='|' read -r begin seconds code told; do
    if [[ "$line" == "$begin"* ]]; then
        case $seconds in
            after:*) until grep -q "^begins: ${seconds#after:}" "$CALLS"; do sleep 0.05; done ;;
            *) sleep "$seconds" ;;
        esac
        echo "$told"
        echo "ends: $line" >> "$CALLS"
        exit "$code"
    fi
done < "$TOLD"
[ "$line" != "cargo nextest --version" ] || exit 1
echo "ends: $line" >> "$CALLS"
"""

PYTHON: Final = f"""#!/usr/bin/env bash
[ "$1" != -m ] || exec "$(dirname "$0")/stubtest"
exec {sys.executable} "$@"
"""

Run = tuple[int, str, list[str]]


@pytest.fixture
def ci(tmp_path: Path) -> Callable[..., Run]:
    """Return a function that runs `.ci/test`: its exit code, its output, and which tools began and ended, in order."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("python", "cargo", "ruff", "mypy", "pytest", "stubtest"):
        (tools / name).write_text(PYTHON if name == "python" else SCRIPT)
        (tools / name).chmod(0o755)

    def run(
        what: str = "all",
        lasts: dict[str, str] | None = None,
        ends: dict[str, tuple[int, str]] | None = None,
        **more: str,
    ) -> Run:
        told = {begin: (0, line) for begin, line in TALLY.items()} | (ends or {})
        told |= {begin: (0, "") for begin in lasts or {} if begin not in told}
        lines = (f"{begin}|{(lasts or {}).get(begin, '0')}|{code}|{line}\n" for begin, (code, line) in told.items())
        (tmp_path / "told").write_text("".join(lines))
        (tmp_path / "calls").write_text("")
        environment = {key: value for key, value in os.environ.items() if key not in {"PYTEST_ARGS", "NEXTEST"}}
        environment |= {"PATH": f"{tools}:/usr/bin:/bin"}
        environment |= {"PAGE": "0", "CALLS": str(tmp_path / "calls"), "TOLD": str(tmp_path / "told")}
        ended = subprocess.run(
            [ROOT / ".ci" / "test", what], cwd=ROOT, env=environment | more, capture_output=True, text=True, check=False
        )
        return ended.returncode, ended.stdout + ended.stderr, (tmp_path / "calls").read_text().splitlines()

    return run


def place(calls: list[str], begin: str) -> int:
    """Return where the line is that begins so."""
    return next(number for number, line in enumerate(calls) if line.startswith(begin))


def test_live_tests_begin_when_all_else_has_ended(ci: Callable[..., Run]) -> None:
    code, shown, calls = ci(lasts={"pytest --live without": "2"})
    assert code == 0, shown
    live = place(calls, f"begins: {RUST_LIVE}")
    before = [line.partition(": ") for line in calls[:live]]
    ended = {line for what, _, line in before if what == "ends"}
    assert {line for what, _, line in before if what == "begins"} == ended | {"cargo nextest --version"}
    assert [line.partition(" --")[0] for line in calls[live:]] == [
        "begins: cargo test", "ends: cargo test", "begins: pytest", "ends: pytest",
    ]  # fmt: skip
    assert shown.rstrip().endswith("42 passed, 0 failed, 1 skipped")
    for name in ("Rust lint", "Rust tests", "Python types", "Python tests", "Live tests of Python"):
        assert f"== {name}\n   " in shown
    assert shown.count("   ok, ") == 12


def test_checks_of_python_run_beside_those_of_rust(ci: Callable[..., Run]) -> None:
    code, shown, calls = ci(lasts={"cargo clippy": "after:stubtest"})
    assert code == 0, shown
    assert place(calls, "begins: stubtest") < place(calls, "ends: cargo clippy")
    assert place(calls, "ends: cargo test") < place(calls, "begins: pytest --live without"), "tests come alone"
    assert shown.index("== House rules") < shown.index("== Python format"), "their outputs do not mix"


def test_lints_run_no_tests(ci: Callable[..., Run]) -> None:
    code, shown, calls = ci("lint")
    assert code == 0, shown
    assert shown.count("   ok, ") == 8
    assert not any(line.startswith(("begins: cargo test", "begins: pytest")) for line in calls)
    assert shown.rstrip().endswith("0 passed, 0 failed, 0 skipped")


@pytest.mark.parametrize(
    ("fails", "name"),
    [
        ("cargo clippy", "Rust lint"),
        ("cargo test --quiet --locked --workspace", "Rust tests"),
        (RUST_LIVE, "Live tests of Rust"),
        ("mypy", "Python types"),
        ("pytest --live without", "Python tests"),
        ("pytest --live only", "Live tests of Python"),
    ],
)
def test_a_failure_is_named_with_its_command_and_ends_the_whole(ci: Callable[..., Run], fails: str, name: str) -> None:
    code, shown, calls = ci(ends={fails: (1, "== 1 failed, 4 passed in 1.00s ==")})
    assert code == 1, shown
    assert re.search(rf"\n{name} FAILED after \d+ s; to repeat it: {fails}", shown)
    assert re.search(r"\n\d+ passed, 1 failed, [01] skipped$", shown.rstrip())
    assert shown.count(" passed, 1 failed") == 1
    assert any("--live only" in line for line in calls) == (fails == "pytest --live only")


def test_a_failure_without_tests_counts_as_one(ci: Callable[..., Run]) -> None:
    _, shown, _ = ci("lint", ends={"ruff check": (1, "Found 1 error.")})
    assert shown.rstrip().endswith("0 passed, 1 failed, 0 skipped")
    assert "Found 1 error." in shown


def test_a_failure_of_rust_ends_what_runs_beside_it(ci: Callable[..., Run]) -> None:
    code, shown, calls = ci(
        lasts={"mypy": "3", "cargo clippy": "after:mypy"}, ends={"cargo clippy": (1, "error: unused")}
    )
    assert (code, "Rust lint FAILED" in shown) == (1, True)
    # The script's output ends when all of its processes have.
    assert "begins: mypy " in calls
    assert "ends: mypy " not in calls


def test_pytest_gets_the_arguments_and_that_none_is_chosen_is_a_failure(ci: Callable[..., Run]) -> None:
    none = (5, "== 9 deselected in 0.10s ==")
    one = {"pytest --live without": none}
    code, shown, calls = ci(ends=one, PYTEST_ARGS="-k 'one two' -x")
    assert code == 0, shown
    assert calls[-1] == "ends: pytest --live only -k one two -x"
    code, shown, _ = ci(ends=one | {"pytest --live only": none}, PYTEST_ARGS="-k nothing")
    assert code == 1
    assert "no test is what PYTEST_ARGS asks for: -k nothing" in shown
