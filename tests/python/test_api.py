"""The package's public interface: every promised name exists, and heavy modules are imported only when needed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.python.plainly import as_json

import narrows as nw
from narrows.base.errors import Problem

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.outcome import Run

HEAVY = "{'numpy', 'pandas', 'pyarrow', 'matplotlib', 'scipy', 'jinja2', 'rich', 'typer', 'narrows._core'}"


@pytest.mark.parametrize("name", nw.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(nw, name).__doc__
    assert name in dir(nw)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        nw.nonsense  # noqa: B018


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, narrows; print(sorted({HEAVY} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout == "[]\n"


def test_functions_are_not_shadowed_by_modules_of_their_name() -> None:
    import narrows.model.scenario
    import narrows.runs.simulated

    assert callable(nw.run)
    assert narrows.runs.simulated.run is nw.run


def test_exit_codes_tell_input_from_runs() -> None:
    assert (nw.InputError.exit_code, nw.ScenarioError.exit_code, nw.RunError.exit_code) == (2, 2, 1)
    assert issubclass(nw.ScenarioError, nw.NarrowsError)
    assert issubclass(nw.RunError, nw.NarrowsError)


def test_a_problem_without_a_line_names_its_file_only() -> None:
    problem = Problem.from_core({"path": "--set", "line": None, "field": "x", "value": "", "message": "x: is no field"})
    assert str(problem) == "--set: x: is no field"
    assert problem.value is None


def test_catalogue_lists_parameters_with_defaults() -> None:
    rows = {entry["name"]: entry for entry in nw.list_algorithms()}
    assert {"none", "reno", "cubic"} <= set(rows)
    assert all(entry["title"] for entry in rows.values())
    assert all("default" in parameter for entry in rows.values() for parameter in entry["parameters"])


def test_the_catalogue_tells_how_congestion_controls_take_part() -> None:
    rows = {entry["name"]: entry for entry in nw.list_algorithms()}
    cubic, reno = rows["cubic"], rows["reno"]
    assert (cubic["ns2"], reno["ns2"], rows["none"]["ns2"]) == ("tcp_linux", "own", None)
    assert cubic["profiles"]["linux"] == "linux"
    assert cubic["recovery"] is None
    assert cubic["needs_ecn"] is False
    assert cubic["page"].startswith("CUBIC")
    assert (cubic["variables"][0]["name"], cubic["variables"][0]["unit"]) == ("w_max", "bytes")
    assert rows["none"]["variables"] == []


def test_a_stack_sets_what_the_file_leaves_open() -> None:
    scenario = nw.Scenario.from_file("dumbbell-cubic", {"tcp.stack": "linux", "tcp.pacing": "{}", "tcp.undo": "false"})
    tcp = as_json(scenario)["flows"][0]["tcp"]
    assert (tcp["stack"], tcp["reduction"], tcp["idle_restart"]) == ("linux", "prr_linux", "linux")
    assert tcp["cc_params"]["profile"] == "linux"
    assert tcp["pacing"] == {"slow_start_percent": 200, "avoidance_percent": 120}
    assert tcp["undo"] is False
    assert as_json(nw.Scenario.from_text(scenario.to_toml()))["flows"] == as_json(scenario)["flows"]


def test_a_run_reports_and_loads(one: Run, tmp_path: Path) -> None:
    page = one.report(tmp_path / "out")
    assert page == tmp_path / "out" / "report.html"
    assert page.exists()
    assert nw.load(tmp_path / "out").digest == one.digest
