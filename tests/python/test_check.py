"""``narrows check``: verdicts, cells, controls, files of results, and bad input, all by the engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

import narrows as nw
from narrows import _core
from narrows.base import bundled
from narrows.base.errors import InputError, ScenarioError
from narrows.cli import app, completion
from narrows.model import own
from narrows.studies.check import files, plan
from narrows.studies.check.execute import CaseRun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer.testing import Result

ROOT = Path(__file__).resolve().parents[2]

NETWORK = """
duration = "20 s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mb/s", delay = "20 ms", queue = { limit = "1000 packets" } }
access = { rate = "100 Mb/s", delay = "1 ms", queue = { limit = "1000 packets" } }
[[flows]]
from = "s1"
to = "d1"
cc = "cubic"
"""
DROP = """
[[steps]]
name = "drop"
when = "flow.cwnd > 40 packets"
within = "20 rounds"
link = "bottleneck"
drop = { packets = 1 }
"""
RECOVERY = """
[[steps]]
name = "recovery"
after = "drop"
when = "flow.phase == 'Recovery'"
within = "5 rounds"
"""
MET = (
    NETWORK
    + DROP
    + RECOVERY
    + """
[[expect]]
name = "the window is reduced once"
after = "recovery"
for = "1 s"
always = "flow.losses == 1"
"""
)
NOT_MET = (
    NETWORK
    + DROP
    + RECOVERY
    + """
[[expect]]
name = "the round-trip time stays below 50 ms"
always = "flow.srtt < 50 ms"
"""
)
NEVER_TRUE = (
    NETWORK
    + """
[[steps]]
name = "huge"
when = "flow.cwnd > 1 TB"
within = "2 s"
[[expect]]
after = "huge"
always = "flow.losses == 0"
"""
)
GRID = (
    MET
    + """
[case]
source = "RFC 9438, section 4.6"
grid = { rate = ["1 Mb/s", "10 Mb/s", "10 Gb/s"], rtt = ["10 ms", "100 ms"] }
"""
)
CUBICS_OWN = (
    NETWORK
    + """
[[expect]]
eventually = "flow.cc.w_max > 0 B"
"""
)


def narrows(*words: str | Path) -> Result:
    arguments = ["check", *map(str, words), "--no-progress"]
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "200", "NO_COLOR": "1"})


def wrote(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text)
    return folder


@pytest.fixture
def controls() -> Iterator[None]:
    """Forget the controls that a test registers."""
    before = set(own.controls())
    yield
    for name in set(own.controls()) - before:
        own.unregister(name)


def test_cases_that_are_met_end_with_0(tmp_path: Path) -> None:
    made = narrows(wrote(tmp_path, met=MET) / "met.toml", "-v")
    assert made.exit_code == 0, made.output
    assert "1 passed" in made.output
    assert "step drop" in made.output
    assert "the window is reduced once" in made.output


def test_a_failure_shows_value_time_and_what_was_expected(tmp_path: Path) -> None:
    made = narrows(wrote(tmp_path, a=MET, b=NOT_MET))
    assert made.exit_code == 1
    assert "1 passed, 1 failed" in made.output
    assert "the round-trip time stays below 50 ms" in made.output
    assert "flow.srtt < 50 ms" in made.output
    case = json.loads(narrows(tmp_path / "b.toml", "--json").stdout)["cases"][0]
    (failed,) = case["outcome"]["expectations"]
    assert failed["verdict"] == "not met"
    assert 0 < failed["decided_s"] < 20
    (value,) = [one for one in failed["values"] if one["text"] == "flow.srtt"]
    assert 0.05 <= value["value"] < 0.06
    assert value["unit"] == "s"


def test_a_step_that_never_came_true_is_a_failure_and_told_as_such(tmp_path: Path) -> None:
    made = narrows(wrote(tmp_path, never=NEVER_TRUE) / "never.toml")
    assert made.exit_code == 1
    assert "never came true" in made.output
    assert "not judged" in made.output
    assert "0 passed, 1 failed" in made.output


def test_an_expectation_over_nothing_sampled_is_a_failure(tmp_path: Path) -> None:
    text = NETWORK.replace('cc = "cubic"', 'cc = "cubic"\nstart = "30 s"').replace('"20 s"', '"40 s"')
    text += (
        '[[steps]]\nname = "early"\nat = "1 s"\n[[expect]]\nafter = "early"\nfor = "1 s"\nalways = "flow.srtt < 1 s"\n'
    )
    made = narrows(wrote(tmp_path, early=text) / "early.toml")
    assert made.exit_code == 1
    assert "nothing sampled" in made.output


def test_cells_run_by_default_if_they_are_cheap_and_the_others_are_counted(tmp_path: Path) -> None:
    wrote(tmp_path, grid=GRID)
    made = nw.check(tmp_path)
    assert [one.cell for one in made.cases] == [
        "base",
        "1 Mb/s x 10 ms",
        "1 Mb/s x 100 ms",
        "10 Mb/s x 10 ms",
        "10 Mb/s x 100 ms",
    ]
    assert {one.cell.label for one in made.plan.not_run} == {"10 Gb/s x 10 ms", "10 Gb/s x 100 ms"}
    assert all(one.packets > 500_000 for one in made.plan.not_run)
    assert "2 cells of the grids not run" in made.summary
    base = nw.check(tmp_path, grid="base")
    assert [one.cell for one in base.cases] == ["base"]
    assert "6 cells of the grids not run" in base.summary
    asked = nw.check(tmp_path, grid="5 Mb/s x 20 ms,1 Mb/s x 10 ms")
    assert [one.cell for one in asked.cases] == ["5 Mb/s x 20 ms", "1 Mb/s x 10 ms"]


def test_a_run_is_selected_by_parts_of_its_name(tmp_path: Path) -> None:
    wrote(tmp_path, grid=GRID, other=MET)
    made = nw.check(tmp_path, select="grid and 100")
    assert [one.cell for one in made.cases] == ["1 Mb/s x 100 ms", "10 Mb/s x 100 ms"]
    with pytest.raises(InputError, match="selects none of the"):
        nw.check(tmp_path, select="nothing")
    listed = narrows(tmp_path, "--list", "-k", "grid")
    assert listed.exit_code == 0
    assert "10 Gb/s x 100 ms" in listed.output
    assert "5 runs; 2 cells not run" in listed.output


def test_many_runs_have_a_row_per_case(tmp_path: Path) -> None:
    many = NOT_MET + "[case]\ngrid = { rate = ["
    many += ", ".join(f'"{rate} Mb/s"' for rate in range(1, 61)) + "] }\n"
    made = narrows(wrote(tmp_path, many=many) / "many.toml")
    assert made.exit_code == 1
    assert "of 60" in made.output
    assert made.output.count("step drop") == 1
    assert "failed in" in made.output
    assert "other cells too" in made.output


def test_verdicts_do_not_depend_on_the_number_of_jobs(tmp_path: Path) -> None:
    wrote(tmp_path, grid=GRID, b=NOT_MET)
    assert nw.check(tmp_path, jobs=1).to_json() == nw.check(tmp_path, jobs=4).to_json()


def test_another_control_takes_the_place_of_the_file_s_own(tmp_path: Path) -> None:
    made = nw.check(wrote(tmp_path, met=MET), cc=["reno", "cubic:cc_params.beta=0.5"])
    assert made.passed
    assert [one.item.scenario.resolved.flows[0].tcp.cc for one in made.cases] == ["reno", "cubic"]  # type: ignore[union-attr]
    assert [one.item.id.rpartition("[")[2] for one in made.cases] == ["reno]", "cubic:cc_params.beta=0.5]"]


def test_a_case_about_variables_that_a_control_lacks_does_not_apply(tmp_path: Path) -> None:
    wrote(tmp_path, general=MET, own=CUBICS_OWN)
    made = narrows(tmp_path, "--cc", "reno")
    assert made.exit_code == 0, made.output
    assert "1 passed, 1 not applicable" in made.output
    assert "w_max" in made.output
    alone = narrows(tmp_path / "own.toml", "--cc", "reno")
    assert alone.exit_code == 2
    assert "no case applies to reno, so nothing was checked" in alone.output


def test_an_expectation_that_does_not_apply_is_no_pass(tmp_path: Path) -> None:
    text = NETWORK + '[[expect]]\nalways = "flow.cwnd > 0 B"\nunless = "path.rate > 1 Mb/s"\n'
    made = narrows(wrote(tmp_path, a=text) / "a.toml")
    assert made.exit_code == 2
    assert "nothing was checked: no expectation applies" in made.output


CONTROL = """
import time
import narrows

@narrows.congestion_control("{name}", time_limit_s=0.5)
class Own:
    "A control of a test."
    def __init__(self):
        self.acks = 0
    def on_ack(self, ack, path, window):
        self.acks += 1
        if self.acks == 50:
            {fault}
        window.cwnd = 20 * path.smss
    def on_congestion(self, event, path, window):
        window.ssthresh = window.cwnd
"""


@pytest.mark.parametrize(
    ("name", "fault", "told"),
    [
        ("raises", "raise ValueError('no idea')", "no idea"),
        ("no_number", "window.pacing_rate = float('nan'); return", "pacing_rate"),
    ],
)
@pytest.mark.usefixtures("controls")
def test_a_control_that_raises_fails_its_case_and_the_others_go_on(
    tmp_path: Path, name: str, fault: str, told: str
) -> None:
    (tmp_path / "my.py").write_text(CONTROL.format(name=name, fault=fault))
    wrote(
        tmp_path,
        a=NETWORK + '[[expect]]\nalways = "flow.losses == 0"\n',
        b=NETWORK + '[[expect]]\neventually = "flow.cwnd > 0 B"\n',
    )
    made = narrows(tmp_path, "--load", tmp_path / "my.py", "--cc", f"cubic,{name}")
    assert made.exit_code == 1, made.output
    assert "error" in made.output
    assert told in made.output


def test_a_control_that_hangs_fails_its_case_and_the_command_ends(tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text(CONTROL.format(name="hangs", fault="time.sleep(3600)"))
    wrote(tmp_path, a=MET)
    begin = time.monotonic()
    program = "import sys; sys.argv[0] = 'narrows'; from narrows.cli import main; main()"
    words = ["check", str(tmp_path / "a.toml"), "--load", str(tmp_path / "my.py"), "--cc", "hangs,cubic"]
    made = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert made.returncode == 1, made.stderr
    assert "1 passed, 1 error" in made.stdout
    assert "hangs" in made.stdout
    assert time.monotonic() - begin < 30


@pytest.mark.usefixtures("controls")
def test_a_loaded_control_is_checked_by_default(tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text(CONTROL.format(name="steady", fault="pass"))
    wrote(tmp_path, a=NETWORK + '[[expect]]\nfor = "2 s"\nalways = "flow.losses == 0"\n')
    made = narrows(tmp_path / "a.toml", "--load", tmp_path / "my.py")
    assert made.exit_code == 0, made.output
    assert "steady" in made.output


def test_a_directory_of_results_has_page_junit_and_json(tmp_path: Path) -> None:
    cases, out = tmp_path / "cases", tmp_path / "out"
    cases.mkdir()
    wrote(cases, grid=GRID, failing=NOT_MET, never=NEVER_TRUE)
    made = narrows(cases, "-o", out)
    assert made.exit_code == 1, made.output
    assert {one.name for one in out.iterdir()} == {"report.html", "junit.xml", "check.json", ".narrows.json"}
    page = (out / "report.html").read_text()
    assert page.count("data:image/svg+xml;base64,") == 2
    assert "10 Gb/s x 100 ms" in page
    assert "narrows check" in page
    assert 'src="http' not in page
    told = json.loads((out / "check.json").read_text())
    assert told == json.loads(narrows(cases, "--json").stdout)
    assert told["counts"] == {"passed": 5, "failed": 2, "error": 0, "not applicable": 0}
    # The same command writes it again; a user's file in it is kept.
    (out / "notes.txt").write_text("mine")
    assert narrows(cases, "-o", out).exit_code == 2
    assert narrows(cases, "-o", out, "--force").exit_code == 1
    assert (out / "notes.txt").read_text() == "mine"


def test_junit_xml_has_the_structure_that_ci_services_read(tmp_path: Path) -> None:
    wrote(tmp_path, met=MET, own=CUBICS_OWN, failing=NOT_MET)
    target = tmp_path / "junit.xml"
    made = narrows(tmp_path, "--cc", "reno", "--junit", target)
    assert made.exit_code == 1, made.output
    root = ElementTree.parse(target).getroot()  # noqa: S314 - our own file
    assert root.tag == "testsuites"
    (suite,) = root
    assert set(suite.attrib) == {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"}
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["3", "1", "0", "1"]
    for case in suite:
        assert case.tag == "testcase"
        assert set(case.attrib) == {"classname", "name", "time"}
        assert float(case.attrib["time"]) >= 0
        assert {child.tag for child in case} <= {"properties", "failure", "skipped"}
    ends = {case.attrib["name"]: [child for child in case if child.tag != "properties"] for case in suite}
    assert ends["met[reno]"] == []
    assert ends["own[reno]"][0].attrib["message"]
    assert "flow.srtt" in (ends["failing[reno]"][0].text or "")
    # A file of somebody else is never replaced.
    target.write_text("<mine/>")
    refused = narrows(tmp_path, "--junit", target)
    assert refused.exit_code == 2
    assert target.read_text() == "<mine/>"


def test_the_result_is_a_table_for_notebooks(tmp_path: Path) -> None:
    made = nw.check(wrote(tmp_path, met=MET, failing=NOT_MET))
    table = made.to_pandas()
    assert list(table["what"].unique()) == ["step", "expectation"]
    assert set(table.query("what == 'expectation'")["outcome"]) == {"met", "not met"}
    assert "1 passed, 1 failed" in made._repr_html_()
    assert not made.passed
    again = nw.check(nw.Scenario.load(tmp_path / "met.toml"))
    assert again.passed


def test_a_case_travels_to_a_worker_of_a_cluster(tmp_path: Path) -> None:
    planned = plan.make(plan.load(files.find([wrote(tmp_path, met=MET)]).files))
    job = CaseRun(0, planned.items[0], None, 0, 0, (0.0, 1.0))
    parcel = job.parcel()
    far, near = parcel.function(*parcel.arguments, _core.Progress()), job.make(_core.Progress())
    assert far.outcome == near.outcome
    assert far.series == near.series
    assert near.series is not None
    assert {one.text for one in near.series.variables} >= {"flow.cwnd", "flow.phase", "flow.losses"}
    phase = next(one for one in near.series.variables if one.text == "flow.phase")
    assert phase.words[0] == "open"
    assert len(phase.values) == len(near.series.times_s) > 10


def test_the_case_of_the_documentation_is_met_by_cubic_and_not_by_reno(tmp_path: Path) -> None:
    doc = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
    wrote(tmp_path, reduction=doc.partition("```toml\n")[2].partition("```")[0])
    made = nw.check(tmp_path, cc=["cubic", "reno"])
    assert {(one.item.cc, one.verdict) for one in made.cases} == {("cubic", "passed"), ("reno", "failed")}
    assert {one.cell.label for one in made.plan.not_run} == {"1 Gb/s x 10 ms", "1 Gb/s x 100 ms"}


def test_a_case_from_standard_input() -> None:
    program = "import sys; sys.argv[0] = 'narrows'; from narrows.cli import main; main()"
    made = subprocess.run(
        [sys.executable, "-c", program, "check", "-"], input=MET, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    assert "1 passed" in made.stdout


def test_the_object_has_the_keys_that_the_page_on_json_lists(tmp_path: Path) -> None:
    doc = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    section = doc.partition("## `narrows check")[2].partition("\n## ")[0]
    told = nw.check(wrote(tmp_path, met=MET), grid="base").to_json()
    case = told["cases"][0]
    outcome = case["outcome"]
    for made in (told, case, case["cell"], outcome, outcome["steps"][0], outcome["expectations"][0]):
        assert [key for key in made if f"`{key}`" not in section] == []


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ('[[expect]]\nalways = "flow.cwmd > 0 B"\n', "cwmd"),
        ('[[expect]]\nalways = "flow.cwnd > 3 ms"\n', "flow.cwnd"),
        ('[[expect]]\nalways = "flow.cwnd >"\n', "always"),
        ('[[expect]]\nalways = "flow.cc.max_bw > 1 Mb/s"\n', "max_bw"),
        ('[[expect]]\nname = "nothing"\n', "always"),
        ('[[steps]]\nat = "1 s"\nlink = "nowhere"\ndrop = { packets = 1 }\n', "nowhere"),
    ],
)
def test_a_case_that_cannot_be_read_names_its_line(tmp_path: Path, more: str, told: str) -> None:
    made = narrows(wrote(tmp_path, bad=NETWORK + more) / "bad.toml")
    assert made.exit_code == 2, made.output
    assert told in made.output
    with pytest.raises(ScenarioError) as caught:
        nw.check(tmp_path)
    assert all((problem.line or 0) > NETWORK.count("\n") for problem in caught.value.problems)


def test_bad_arguments_are_refused(tmp_path: Path) -> None:
    wrote(tmp_path, a=MET)
    for words, told in (
        (["--cc", "cubik"], "did you mean cubic"),
        (["--grid", "fast"], "is not a cell"),
        (["-k", "("], "is not an expression"),
        (["--seed", "-1"], "seed is -1"),
        (["--jobs", "0"], "jobs is 0"),
        (["--junit", str(tmp_path / "no" / "junit.xml")], "--junit"),
        (["--force"], "--force needs the directory"),
    ):
        made = narrows(tmp_path / "a.toml", *words)
        assert made.exit_code == 2, (words, made.output)
        assert told in made.output
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "has no test cases" in narrows(empty).output


def test_shells_complete_bundled_sets_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrote(tmp_path, cubic_mine=MET)
    monkeypatch.chdir(tmp_path)
    assert completion.cases("cub") == [("cubic", "bundled test cases"), ("cubic_mine.toml", "file")]
    assert completion.cases("nothing") == []


def test_bundled_cases_can_be_read_and_are_no_bundled_scenarios() -> None:
    root = bundled.cases()
    assert root is not None
    for folder in sorted(one for one in root.iterdir() if one.is_dir()):
        found = files.find([folder.name])
        assert all(file.name.startswith(f"{folder.name}/") for file in found.files)
        assert plan.make(plan.load(found.files)).items
    assert not {path.stem for path in root.glob("*/*.toml")} & set(bundled.scenarios())
