"""Shell completion, as bash, zsh and fish ask for it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from narrows.model.catalogue import catalogue, list_scenarios

if TYPE_CHECKING:
    from pathlib import Path

NARROWS = [sys.executable, "-c", "import sys; sys.argv[0] = 'narrows'; from narrows.cli import main; main()"]

LIMIT_S = 0.9
"""Most processor time of one completion on any machine, s; a quiet one takes a third."""


def asked(line: str, shell: str, cwd: Path | None = None) -> str:
    """Ask for the words that can end a line, as a shell does."""
    words = line.split(" ")
    variables = {"_NARROWS_COMPLETE": f"complete_{shell}"}
    if shell == "bash":
        variables |= {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    elif shell == "zsh":
        variables |= {"_TYPER_COMPLETE_ARGS": line}
    else:
        variables |= {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    shown = subprocess.run(
        NARROWS, env={**os.environ, **variables}, capture_output=True, text=True, timeout=60, cwd=cwd, check=False
    )
    assert shown.stderr == ""
    return shown.stdout


def bash(line: str, cwd: Path | None = None) -> list[str]:
    """Return the words that bash gets."""
    return asked(line, "bash", cwd).split()


def names(kind: str) -> set[str]:
    """Return the names of the catalogue."""
    return {entry["name"] for entry in catalogue()[kind]}


@pytest.mark.parametrize("verb", ["run", "live", "show", "shell", "contest --cc cubic --on"])
def test_scenarios_are_completed(verb: str, tmp_path: Path) -> None:
    """Every verb that takes a scenario knows the bundled ones."""
    assert set(bash(f"narrows {verb} ", tmp_path)) == {entry["name"] for entry in list_scenarios()}
    assert bash(f"narrows {verb} dumb", tmp_path) == ["dumbbell-cubic"]
    assert bash("narrows verify l4", tmp_path) == ["l4s-dctcp", "l4s"]


def test_files_of_ones_own_stand_beside_scenarios(tmp_path: Path) -> None:
    """Files and folders that begin in the same way are offered too; what no scenario begins with is left to bash."""
    for name in ("dumb.toml", "dumb.txt", ".dumb.toml"):
        (tmp_path / name).touch()
    (tmp_path / "dumbs").mkdir()
    assert bash("narrows run dumb", tmp_path) == ["dumbbell-cubic", "dumb.toml", "dumbs/"]
    assert bash("narrows run ./du", tmp_path) == []
    assert bash("narrows run zz", tmp_path) == []


def test_controls_and_queues_are_completed() -> None:
    """Also after a comma."""
    assert set(bash("narrows contest --cc ")) == names("cc")
    assert bash("narrows contest --cc cubic,bb") == ["cubic,bbr", "cubic,bbr3"]
    assert set(bash("narrows init --queue ")) == names("queues")
    assert bash("narrows aqm --queues droptail,fq_") == ["droptail,fq_codel", "droptail,fq_pie"]
    assert bash("narrows contest --queue cod") == ["codel"]
    assert set(bash("narrows explain ")) == names("cc") | names("queues") | names("schemes") | names("phys")
    assert bash("narrows attach agi") == ["agile_sd"]
    assert set(bash("narrows reproduce a")) == {"acns", "agile-sd"}
    assert bash("narrows export DIR --to csv,p") == ["csv,pdf", "csv,png", "csv,pgf"]


def test_kernels_at_hand_are_completed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By release and by name; without a cache there are none, and no message."""
    from narrows.kernels import at_hand

    known = at_hand()
    if known:
        found = bash("narrows live x --kernel ")
        assert {kernel.release for kernel in known} | {kernel.name for kernel in known} == set(found)
    monkeypatch.setenv("NARROWS_CACHE", str(tmp_path / "none"))
    assert bash("narrows live x --kernel ") == []


def test_other_shells_get_the_same_words() -> None:
    """Zsh and fish get meanings too."""
    assert '"dumbbell-cubic":"bundled scenario"' in asked("narrows run dumb", "zsh")
    assert asked("narrows run dumb", "fish").startswith("dumbbell-cubic\tbundled scenario")


def test_a_completion_is_fast() -> None:
    """The processor time of each is that of `narrows --help`, a third of a second at most on a quiet machine."""
    for line in ("narrows run d", "narrows contest --cc cubic,b"):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        bash(line)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < LIMIT_S


def test_results_are_completed_before_other_folders(tmp_path: Path) -> None:
    for name in ("alone", "made", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "made" / "summary.json").write_text("{}")
    assert bash("narrows compare ", tmp_path) == ["made", "alone/", "other/"]
    assert bash("narrows compare made m", tmp_path) == ["made"]
