"""The command line: output, output streams and exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from narrows.cli import app

if TYPE_CHECKING:
    from typer.testing import Result

    from narrows.outcome import Batch

VERBS = [str(verb.name) for verb in app.registered_commands]
NARROWS = [sys.executable, "-c", "from narrows.cli import main; main()"]
QUICK = ["--set", "duration=12 s"]


def narrows(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def shell(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [*NARROWS, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd, check=False)


def refused(result: Result, *parts: str, code: int = 2) -> None:
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr
    for part in parts:
        assert part in result.stderr


def test_help_names_every_verb() -> None:
    shown = narrows("--help")
    assert shown.exit_code == 0
    assert all(verb in shown.stdout for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_an_example_in_its_help(verb: str) -> None:
    shown = narrows(verb, "--help")
    assert shown.exit_code == 0
    assert f"Example: narrows {verb}" in shown.stdout


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nsys.argv = ['narrows', '--help']\n"
        "from narrows.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'pandas', 'pyarrow', 'matplotlib', 'scipy', 'jinja2'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)))\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.endswith("HEAVY []\n")


def test_version_is_the_engines() -> None:
    from narrows import _core
    from narrows.base import engine

    assert narrows("--version").stdout == f"narrows {engine.told(_core.version())}\n"


def test_run_prints_flows_queues_and_digest() -> None:
    shown = shell("run", "dumbbell-cubic", *QUICK)
    assert shown.returncode == 0
    assert "Mb/s" in shown.stdout
    assert "cubic" in shown.stdout
    assert "digest " in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert shown.stderr == ""


def test_the_table_of_a_batch_shows_intervals_and_fits_eighty_columns() -> None:
    shown = shell("run", "dumbbell-cubic", *QUICK, "--runs", "3")
    assert "±" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_run_json_is_one_object_and_nothing_else() -> None:
    shown = shell("run", "dumbbell-cubic", *QUICK, "--json", "--seed", "3")
    made = json.loads(shown.stdout)
    assert (made["format"], made["seed"], made["runs"]) == (1, 3, 1)
    assert made["overrides"] == {"duration": "12 s"}
    assert shown.stderr == ""


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_json_of_a_batch_does_not_depend_on_jobs(jobs: str, three: Batch) -> None:
    shown = narrows("run", "dumbbell-cubic", *QUICK, "--json", "--seed", "3", "--runs", "3", "--jobs", jobs)
    assert json.loads(shown.stdout) == three.summary


def test_quiet_prints_nothing(tmp_path: Path) -> None:
    shown = narrows("run", "dumbbell-cubic", *QUICK, "--quiet", "-o", tmp_path / "r")
    assert (shown.exit_code, shown.stdout, shown.stderr) == (0, "", "")
    assert (tmp_path / "r" / "summary.json").exists()


def test_a_result_directory_holds_the_object_of_json(tmp_path: Path) -> None:
    shown = narrows("run", "dumbbell-cubic", *QUICK, "--json", "-o", tmp_path / "r")
    assert json.loads((tmp_path / "r" / "summary.json").read_text()) == json.loads(shown.stdout)


def test_packets_are_captured_into_the_result_directory(tmp_path: Path) -> None:
    assert narrows("run", "dumbbell-cubic", *QUICK, "--pcap", "-o", tmp_path / "r").exit_code == 0
    captured = list((tmp_path / "r" / "pcap").iterdir())
    assert captured
    assert all(path.read_bytes()[:4] == bytes.fromhex("0a0d0d0a") for path in captured)  # a pcapng section header


def test_a_directory_per_run_holds_the_packets_of_a_batch(tmp_path: Path) -> None:
    assert narrows("run", "dumbbell-cubic", *QUICK, "--pcap", "--runs", "2", "-o", tmp_path / "r").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "r" / "pcap").iterdir()) == ["run-0", "run-1"]


def test_a_report_is_written_beside_the_results(tmp_path: Path) -> None:
    narrows("run", "dumbbell-cubic", *QUICK, "-q", "-o", tmp_path / "r")
    shown = narrows("report", tmp_path / "r")
    assert shown.exit_code == 0
    assert Path(shown.stdout.strip()) == tmp_path / "r" / "report.html"
    assert "<html" in (tmp_path / "r" / "report.html").read_text(encoding="utf-8")[:2000]


def test_a_report_goes_where_it_is_told(tmp_path: Path) -> None:
    narrows("run", "dumbbell-cubic", *QUICK, "-q", "-o", tmp_path / "r")
    assert narrows("report", tmp_path / "r", "-o", tmp_path / "page.html").exit_code == 0
    assert (tmp_path / "page.html").exists()


def test_a_report_that_fails_leaves_the_page_of_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    narrows("run", "dumbbell-cubic", *QUICK, "-q", "-o", tmp_path / "r")
    narrows("report", tmp_path / "r")
    before = {path: path.read_bytes() for path in sorted((tmp_path / "r").rglob("*")) if path.is_file()}

    def full(*_: object, **__: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("narrows.report.render.write_text", full)
    refused(narrows("report", tmp_path / "r"), "report.html", "No space left on device", code=1)
    assert {path: path.read_bytes() for path in sorted((tmp_path / "r").rglob("*")) if path.is_file()} == before


@pytest.mark.parametrize("page", ["page.txt", "r"])
def test_a_report_is_an_html_file(page: str, tmp_path: Path) -> None:
    narrows("run", "dumbbell-cubic", *QUICK, "-q", "-o", tmp_path / "r")
    refused(narrows("report", tmp_path / "r", "-o", tmp_path / page), page, "ending in .html")
    assert not (tmp_path / "figures").exists()


def test_report_refuses_what_is_no_result(tmp_path: Path) -> None:
    refused(narrows("report", tmp_path), "is not a result directory")


@pytest.mark.parametrize("what", ["cc", "queues", "schemes", "phys", "scenarios"])
def test_lists_name_what_there_is(what: str) -> None:
    listed = json.loads(narrows("list", what, "--json").stdout)
    names = [entry["name"] for entry in listed[what]]
    assert names
    shown = shell("list", what)
    assert shown.returncode == 0
    assert all(name in shown.stdout for name in names)
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_phys_are_listed_with_the_keys_that_docs_json_names() -> None:
    contract = (Path(__file__).parents[2] / "docs" / "json.md").read_text().split("PHYs of 802.11 have")[1]
    for entry in json.loads(narrows("list", "phys", "--json").stdout)["phys"]:
        assert set(entry) <= set(re.findall(r"`(\w+)`", contract))


def test_switches_are_listed_as_a_scenario_writes_them() -> None:
    shown = narrows("list", "queues").stdout
    assert "ecn  false; allowed: true, false" in shown
    assert "allowed: on, off" not in shown


@pytest.mark.parametrize("name", ["dumbbell-cubic", "dumbbell-cubic.toml"])
def test_a_bundled_scenario_goes_by_its_name_or_its_files(name: str, tmp_path: Path) -> None:
    shown = shell("show", name, cwd=tmp_path)
    assert shown.returncode == 0
    assert 'name = "dumbbell-cubic"' in shown.stdout


def test_the_scenario_in_a_result_directory_repeats_the_run(tmp_path: Path) -> None:
    first = narrows("run", "dumbbell-cubic", *QUICK, "--seed", "7", "--json", "-o", tmp_path / "r")
    again = narrows("run", tmp_path / "r" / "scenario.toml", "--json")
    assert json.loads(again.stdout)["digest"] == json.loads(first.stdout)["digest"]


def test_show_prints_a_scenario_that_can_be_run(tmp_path: Path) -> None:
    shown = narrows("show", "dumbbell-cubic", *QUICK)
    (tmp_path / "again.toml").write_text(shown.stdout)
    first = narrows("run", "dumbbell-cubic", *QUICK, "--json")
    again = narrows("run", tmp_path / "again.toml", "--json")
    assert json.loads(again.stdout)["digest"] == json.loads(first.stdout)["digest"]


def test_schema_is_a_schema() -> None:
    import jsonschema

    schema = json.loads(narrows("schema").stdout)
    jsonschema.validators.validator_for(schema).check_schema(schema)
    assert schema["properties"]


def test_the_schema_has_the_names_that_a_scenario_may_use(tmp_path: Path) -> None:
    import jsonschema

    from narrows import _core
    from narrows.model.scenario import SCHEMA_ID

    schema = json.loads(narrows("schema").stdout)
    assert schema["$id"] == SCHEMA_ID
    tcp, queue = schema["$defs"]["tcp"]["properties"], schema["$defs"]["queue"]["properties"]
    names = {kind: {row["name"] for row in rows} for kind, rows in json.loads(_core.catalogue()).items()}
    assert set(tcp["cc"]["enum"]) == names["cc"]
    assert {word["const"] for word in queue["kind"]["oneOf"]} == names["queues"]
    assert set(tcp["assist"]["enum"]) == names["schemes"] | {"none"}
    assert set(schema["$defs"]["wifi"]["properties"]["phy"]["enum"]) == names["phys"]
    assert {word["const"] for word in tcp["stack"]["oneOf"]} == {"rfc", "linux", "ns2"}
    assert all(word["description"] for word in tcp["kernel"]["oneOf"]), "kernels by name"
    check = jsonschema.validators.validator_for(schema)(schema)
    assert check.is_valid({"tcp": {"cc": "cubic"}})
    assert not check.is_valid({"tcp": {"cc": "cubik"}})
    (tmp_path / "mine.py").write_text(
        "import narrows as nw\n\n\nclass Mine:\n    def on_ack(self, path, window, ack): pass\n"
        "    def on_congestion(self, path, window, event): pass\n\n\nnw.register('mine', Mine)\n"
    )
    mine = shell("schema", "--load", tmp_path / "mine.py")
    assert "mine" in json.loads(mine.stdout)["$defs"]["tcp"]["properties"]["cc"]["enum"]


def test_the_schema_of_the_documentation_is_the_engines() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "scenario.schema.json"
    assert page.read_text(encoding="utf-8") == narrows("schema").stdout, "narrows schema > docs/scenario.schema.json"


def test_files_that_narrows_writes_name_their_schema(tmp_path: Path) -> None:
    from narrows.model.scenario import SCHEMA_ID

    first = f"#:schema {SCHEMA_ID}\n"
    assert narrows("show", "dumbbell-cubic").stdout.startswith(first)
    narrows("run", "dumbbell-cubic", *QUICK, "-q", "-o", tmp_path / "r")
    written = (tmp_path / "r" / "scenario.toml").read_text(encoding="utf-8")
    assert written.startswith(first)
    assert narrows("run", tmp_path / "r" / "scenario.toml", "-q").exit_code == 0


def test_a_broken_scenario_is_refused_with_every_problem(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text('nonsense = 1\nduration = "3 kg"\n')
    shown = narrows("run", broken)
    refused(shown, f"{broken}:1", f"{broken}:2", "nonsense", "3 kg", "allowed")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["run", "no-such-scenario"], ["no-such-scenario", "no such file"]),
        (["run", "dumbbell-cubic", "--set", "nonsense"], ["--set nonsense", "path=value"]),
        (["run", "dumbbell-cubic", "--set", "nonsense=1"], ["--set", "nonsense"]),
        (["run", "dumbbell-cubic", "--seed", "-1"], ["seed is -1", "allowed: 0 to"]),
        (["run", "dumbbell-cubic", "--seed", str(2**63)], [f"seed is {2**63}", "allowed: 0 to"]),
        (["run", "dumbbell-cubic", "--runs", "0"], ["runs is 0", "allowed: 1 to"]),
        (["run", "dumbbell-cubic", "--jobs", "0"], ["jobs is 0", "allowed: 1 to"]),
        (["run", "dumbbell-cubic", "--pcap"], ["--pcap", "-o DIR"]),
        (["reproduce", "no-such-paper"], ["no-such-paper", "allowed: acns, agile-sd, contest, ngwa"]),
        (["reproduce", "contest", "--pair", "bbr", "cubic"], ["variant is 'bbr'", "allowed: bic, compound"]),
        (["reproduce", "acns", "--pair", "reno", "cubic"], ["'acns' has no pairs", "allowed with a pair: contest"]),
        (
            ["reproduce", "agile-sd", "--beyond", "--page"],
            ["beyond is given with flows or page", "allowed: flows and page with the sweeps"],
        ),
        (["reproduce", "ngwa", "--beyond", "--pair", "reno", "cubic"], ["pair and beyond are given"]),
        (["reproduce", "contest", "--live"], ["'contest' is not made live", "allowed with live: "]),
        (["reproduce", "ngwa", "--beyond", "--live"], ["beyond and live are given"]),
        (["reproduce", "acns", "--runs", "0"], ["runs is 0", "allowed"]),
        (["show", "no-such-scenario"], ["no such file"]),
        (["run", "."], ["is a directory"]),
    ],
)
def test_bad_input_is_refused_in_one_message(arguments: list[str], parts: list[str]) -> None:
    refused(narrows(*arguments), *parts)


@pytest.mark.parametrize("arguments", [["nonsense"], ["run"], ["list", "nonsense"], ["run", "x", "--runs", "many"]])
def test_wrong_usage_exits_with_two(arguments: list[str]) -> None:
    shown = shell(*arguments)
    assert shown.returncode == 2
    assert shown.stdout == ""
    assert "Traceback" not in shown.stderr


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe\x00")
    refused(narrows("run", tmp_path / "x.toml"), "UTF-8")


def test_an_occupied_directory_is_refused_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    monkeypatch.setattr("narrows.runs.simulated.run_all", lambda *_, **__: pytest.fail("it ran"))
    refused(narrows("run", "dumbbell-cubic", "-o", tmp_path), "left unchanged")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_directory_that_cannot_be_written_is_refused() -> None:
    refused(narrows("run", "dumbbell-cubic", "-o", "/proc/narrows"), "/proc/narrows", "cannot be written")


def test_a_full_disk_is_a_failed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("narrows.outcome.samples.Samples.to_parquet", full)
    refused(narrows("run", "dumbbell-cubic", *QUICK, "-o", tmp_path / "r"), "No space left on device", code=1)
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{' '.join(map(repr, NARROWS))} schema | head -c 10"
    shown = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in shown.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full to write to")
@pytest.mark.parametrize("arguments", [["schema"], ["list", "cc"], ["run", "dumbbell-cubic", *QUICK]])
def test_an_output_that_cannot_be_written_is_told_in_one_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        shown = subprocess.run(
            [*NARROWS, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert shown.returncode == 1
    assert shown.stderr == "error: standard output: cannot be written: No space left on device\n"


def test_no_color_is_heeded(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    from narrows.cli import guard

    monkeypatch.setattr("typer.echo", lambda text, **_: print(text))  # noqa: T201 - a terminal keeps the codes
    monkeypatch.delenv("NO_COLOR", raising=False)
    guard.note("x")
    monkeypatch.setenv("NO_COLOR", "1")
    guard.note("x")
    coloured, plain = capfd.readouterr().out.splitlines()
    assert "\x1b[31m" in coloured
    assert "\x1b[3" not in plain


def interrupted(
    arguments: list[str | Path],
    ready: Path | None,
    patience_s: float,
    number: signal.Signals = signal.SIGINT,
    after_s: float = 2,
) -> subprocess.CompletedProcess[str]:
    """Start a command, press Ctrl-C (or send another signal) once it is well under way, and return the result."""
    # The process that started the tests may ignore signals (nohup does), and children would inherit that.
    command = ["env", "--default-signal", *NARROWS, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + patience_s
            while ready is not None and not list(ready.glob(".r.*.partial")):
                assert time.monotonic() < deadline, "the batch never began"
                time.sleep(0.05)
            time.sleep(after_s)
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_batch_that_is_ended_keeps_the_finished_runs(number: signal.Signals, tmp_path: Path) -> None:
    many: list[str | Path] = ["run", "dumbbell-cubic", *QUICK, "--runs", "100000", "--jobs", "2", "-o", tmp_path / "r"]
    # On a crowded machine the first run may end late; without a finished run there is nothing to keep.
    for after_s in (2, 10, 40):
        ended = interrupted(many, tmp_path, 60, number, after_s)
        if (tmp_path / "r.runs").exists():
            break
    assert ended.returncode == 128 + number
    assert "Traceback" not in ended.stderr
    assert "of 100000 runs had finished; the same command continues from there" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["r.runs"], "results are left to the same command"
    assert 0 < len(list((tmp_path / "r.runs").glob("*.zip"))) < 100000


def test_ctrl_c_in_a_single_run_leaves_nothing(tmp_path: Path) -> None:
    ended = interrupted(["run", "dumbbell-cubic", "--set", "duration=100000 s", "-o", tmp_path / "r"], tmp_path, 60)
    assert ended.returncode == 130
    assert "interrupted" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert list(tmp_path.iterdir()) == []
