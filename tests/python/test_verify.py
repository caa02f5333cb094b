"""`narrows verify`: bundled scenarios beside the digests that are listed for a version."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from tests.python import held
from typer.testing import CliRunner

import narrows
from narrows import _core
from narrows.base import bundled
from narrows.base.engine import engine
from narrows.base.errors import InputError
from narrows.cli import app
from narrows.runs import verify
from narrows.runs.simulated import Task, make

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
QUICK = "dctcp-marking"

DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
SCENARIO: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "status": {"enum": ["same", "different", "failed"]},
        "expected": DIGEST,
        "found": {"anyOf": [DIGEST, {"type": "null"}]},
        "error": {"type": ["string", "null"]},
        "seconds": {"type": "number", "minimum": 0},
    },
    "required": ["name", "status", "expected", "found", "error", "seconds"],
    "additionalProperties": False,
}
PLATFORM = ("system", "release", "machine", "libc", "python")
SHAPE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "format": {"const": 1},
        "same": {"type": "boolean"},
        "against": {"type": "string"},
        "version": {"type": "string"},
        "build": {"type": "string"},
        "platform": {
            "type": "object",
            "properties": {key: {"type": "string"} for key in PLATFORM},
            "required": list(PLATFORM),
            "additionalProperties": False,
        },
        "scenarios": {"type": "array", "minItems": 1, "items": SCENARIO},
    },
    "required": ["format", "same", "against", "version", "build", "platform", "scenarios"],
    "additionalProperties": False,
}


@pytest.fixture
def altered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Return a function that replaces a scenario's digest in a copy of the lists, and has that copy used."""
    copy = tmp_path / "scenarios"
    shutil.copytree(bundled.directory("scenarios"), copy)
    monkeypatch.setattr(bundled, "_DATA", tmp_path)

    def alter(name: str, digest: str) -> None:
        path = copy / "digests" / f"{_core.release()}.txt"
        text, count = re.subn(rf"(?m)^{name} .*$", f"{name} {digest}", path.read_text("utf-8"))
        assert count == 1
        path.write_text(text, "utf-8")

    return alter


def test_the_list_of_this_version_has_every_bundled_scenario() -> None:
    assert list(verify.digests(_core.release())) == list(bundled.scenarios())


def test_both_lists_of_the_repository_agree_where_a_run_is_not_cut_off() -> None:
    lines = (ROOT / "crates" / "sim" / "tests" / "digests.txt").read_text("utf-8").splitlines()
    cut_off_at_s = 35
    compared = 0
    listed = verify.digests(_core.release())
    for path, digest, _ in (line.split() for line in lines):
        name = Path(path).stem
        if path == f"scenarios/{name}.toml" and narrows.Scenario.from_file(ROOT / path).duration_s <= cut_off_at_s:
            assert listed[name] == digest, name
            compared += 1
    assert compared >= 8


def test_every_kept_list_can_be_read_and_no_released_one_is_missing() -> None:
    for version in verify.versions():
        assert verify.digests(version), version
    released = re.findall(r"(?m)^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert set(released) <= set(verify.versions())


def test_a_subset_is_the_same_here_and_its_json_keeps_to_the_page() -> None:
    shown = CliRunner().invoke(app, ["verify", QUICK, "speed-w1.toml", "--json"])
    assert shown.exit_code == 0, shown.output
    told = json.loads(shown.stdout)
    jsonschema.validate(told, SHAPE)
    assert told["same"] is True
    assert [one["name"] for one in told["scenarios"]] == [QUICK, "speed-w1"]
    page = (ROOT / "docs" / "json.md").read_text("utf-8").partition("## `narrows verify --json`")[2]
    for key in (*SHAPE["required"], *SCENARIO["required"], *PLATFORM):
        assert f"`{key}`" in page.partition("\n## ")[0], key


def test_the_digest_is_that_of_narrows_run() -> None:
    assert verify.digests(_core.release())[QUICK] == narrows.run(QUICK).digest


def test_a_file_of_a_scenarios_name_in_the_working_directory_is_not_what_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / QUICK).write_text("no scenario", "utf-8")
    (tmp_path / f"{QUICK}.toml").write_text("no scenario", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert verify.verify([QUICK]).passed


def test_a_difference_is_told_with_what_a_report_needs(altered: Callable[[str, str], None]) -> None:
    altered(QUICK, "0" * 64)
    shown = CliRunner().invoke(app, ["verify", QUICK, "speed-w1"])
    assert shown.exit_code == 1
    found = narrows.run(QUICK).digest
    for part in (
        f"{QUICK}:\n  listed  {'0' * 64}\n  here    {found}\n",
        f"1 of 2 digests are not those listed for Narrows {_core.release()}",
        _core.commit(),
        engine().build,
        verify.platform_of()["machine"],
    ):
        assert part in shown.stdout
    assert "speed-w1:" not in shown.stdout


def test_a_run_that_fails_is_no_success(altered: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    altered("speed-w1", "1" * 64)

    def fails(task: Task, gauge: _core.Progress) -> narrows.Run:
        if task.scenario.name == QUICK:
            message = f"{QUICK}: out of luck"
            raise narrows.RunError(message)
        return make(task, gauge)

    monkeypatch.setattr(verify, "make", fails)
    made = verify.verify([QUICK, "speed-w1"])
    assert [one.status for one in made.scenarios] == ["failed", "different"]
    assert (made.passed, made.scenarios[0].error, made.scenarios[0].found) == (False, f"{QUICK}: out of luck", None)
    jsonschema.validate(made.to_json(), SHAPE)
    shown = CliRunner().invoke(app, ["verify", QUICK])
    assert shown.exit_code == 1
    assert f"no digest: {QUICK}: out of luck" in shown.stdout


def test_the_number_of_jobs_changes_nothing() -> None:
    names = [QUICK, "lossy-link"]
    one, many = (verify.verify(names, jobs=jobs) for jobs in (1, 2))
    assert [(a.name, a.found) for a in one.scenarios] == [(b.name, b.found) for b in many.scenarios]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["dumbell-cubic"],
            "dumbell-cubic: is not a bundled scenario with a digest of .*; did you mean dumbbell",
        ),
        (["--against", "0.0.7"], "there is no list of digests of version 0.0.7; allowed: .*0.1.0"),
        ([QUICK, "--jobs", "0"], "jobs is 0; allowed: 1 to 4096"),
    ],
)
def test_bad_arguments_are_refused_before_anything_runs(arguments: list[str], message: str) -> None:
    shown = CliRunner().invoke(app, ["verify", *arguments])
    assert shown.exit_code == 2
    assert re.search(message, shown.stderr), shown.stderr


def test_a_damaged_list_is_named_with_its_line(altered: Callable[[str, str], None]) -> None:
    altered("acns", "no digest")
    with pytest.raises(InputError, match=r"0\.txt:2: 'acns no digest' is not a scenario's name and 64"):
        verify.verify([QUICK])


def test_progress_reaches_the_end() -> None:
    told: list[float] = []
    assert verify.verify([QUICK, "speed-w1"], jobs=1, progress=told.append).passed
    assert told[-1] == 1.0
    assert all(0 <= value <= 1 for value in told)


LONG = f"""
import sys, time
from narrows.cli import main
from narrows.runs import verify

real, result = verify.make, verify.Verified
made = []

def noted(*values):
    made.append(values)
    return result(*values)

def endless(task, gauge):
    if task.scenario.name == "{QUICK}":
        return real(task, gauge)
    while len(made) < 2:  # the thread that ran it makes one, and the one that collects results another
        time.sleep(0.01)
    time.sleep(0.1)
    print("begun", file=sys.stderr, flush=True)
    while True:
        gauge.check()
        time.sleep(0.01)

verify.make, verify.Verified = endless, noted
sys.argv = ["narrows", "verify", "{QUICK}", "speed-w1", "--jobs", "1"]
main()
"""
"""Verifies two scenarios; the run of the second does not end."""


def test_ctrl_c_ends_it_at_once_and_tells_what_had_finished() -> None:
    with held.started([sys.executable, "-c", LONG]) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == "begun\n"
        begin = time.monotonic()
        running.send_signal(signal.SIGINT)
        output, errors = running.communicate(timeout=60)
    assert time.monotonic() - begin < 10
    assert running.returncode == 130
    assert errors == "error: interrupted: 1 of 2 scenarios had finished, all of them the same\n"
    assert output == ""
