"""The table of verbs agrees with their functions, and a verb is loaded only when it is called."""

from __future__ import annotations

import inspect
import resource
import subprocess
import sys

import pytest

from narrows.cli import app
from narrows.cli.verbs import VERBS

NARROWS = [sys.executable, "-c", "import sys; sys.argv[0] = 'narrows'; from narrows.cli import main; main()"]

LOADED = """
import contextlib, io, sys
sys.argv = ["narrows", *{arguments!r}]
from narrows.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
print(*sorted(sys.modules))
"""

FASTEST_S = 0.2
"""Longest processor time of `narrows --help`, of the fastest of some tries, s."""


def loaded(*arguments: str) -> set[str]:
    """Return the modules that are loaded at the end of a command."""
    program = LOADED.format(arguments=list(arguments))
    return set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )


def narrows(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*NARROWS, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_a_summary_is_the_first_paragraph_of_the_help(verb: object) -> None:
    (command,) = [one for one in app.registered_commands if one.name == getattr(verb, "name", None)]
    assert command.callback is not None
    first = (inspect.getdoc(command.callback) or "").partition("\n\n")[0]
    assert getattr(verb, "summary", None) == " ".join(first.split())


def test_the_help_lists_every_verb_and_loads_none() -> None:
    shown = narrows("--help")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    for verb in VERBS:
        assert any(line.startswith(f"  {verb.name} ") for line in lines), verb.name
    assert "Start with: narrows run dumbbell-cubic" in shown.stdout
    modules = loaded("--help")
    assert {name for name in modules if name.startswith("narrows.")} == {"narrows.cli", "narrows.cli.verbs"}
    assert not {"rich", "numpy", "pandas", "pyarrow"} & {name.partition(".")[0] for name in modules}


def test_a_run_that_prints_its_numbers_loads_no_tables() -> None:
    modules = loaded("run", "dumbbell-cubic", "--set", "duration=12 s")
    assert "narrows.outcome.samples" in modules
    assert not {"numpy", "pandas", "pyarrow", "scipy"} & {name.partition(".")[0] for name in modules}


def test_a_verb_loads_no_other_one() -> None:
    verbs = {f"narrows.cli.{verb.module or verb.name}" for verb in VERBS}
    assert loaded("schema", "--help") & verbs == {"narrows.cli.schema"}


def test_a_misspelled_verb_gets_a_suggestion() -> None:
    shown = narrows("swep", "x")
    assert shown.returncode == 2
    assert "No such command 'swep'. Did you mean 'sweep'" in shown.stderr


def test_usage_of_a_verb_has_the_programs_name() -> None:
    shown = narrows("show", "-h")
    assert shown.returncode == 0, shown.stderr
    assert "Usage: narrows show [OPTIONS]" in shown.stdout
    assert "--install-completion" not in shown.stdout


def test_the_help_takes_less_than_a_fifth_of_a_second() -> None:
    spent = []
    for _ in range(10):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert narrows("--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if spent[-1] < FASTEST_S:
            break
    assert min(spent) < FASTEST_S
