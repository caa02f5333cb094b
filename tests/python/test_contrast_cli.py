"""`narrows compare`: what it prints, writes and refuses, and its page in a browser."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import jsonschema
import pytest
from tests.python import browser
from typer.testing import CliRunner

import narrows as nw
from narrows.cli import app
from narrows.comparison import Arm, Comparison, write
from narrows.studies.contrast import table

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

    from narrows.outcome import Batch, Run

SETTINGS = {"duration": "12 s"}


def narrows(*arguments: str | Path, width: int = 80) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": str(width)})


def made(control: str, runs: int = 4) -> Run | Batch:
    return nw.run("dumbbell-cubic", seed=1, runs=runs, overrides={**SETTINGS, "tcp.cc": control})


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("results")
    for control in ("cubic", "bbr", "reno"):
        made(control).save(root / control)
    made("cubic", 1).save(root / "one")
    return root


@pytest.fixture(scope="module")
def page(results: Path) -> Path:
    shown = narrows("compare", results / "cubic", results / "bbr", "-o", results / "page")
    assert shown.exit_code == 0, shown.stderr
    return results / "page" / "report.html"


def test_the_verdict_comes_first_then_settings_then_the_table(results: Path) -> None:
    shown = narrows("compare", results / "cubic", results / "bbr")
    assert shown.exit_code == 0, shown.stderr
    parts = [
        "bbr against cubic: ",
        "differ by more than chance",
        "flows.*.cc: cubic → bbr",
        "\n  Throughput ",
        "Benjamini",
    ]
    places = [shown.stdout.index(part) for part in parts]
    assert places == sorted(places)
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert " *" in shown.stdout


def test_three_results_fit_a_terminal(results: Path) -> None:
    shown = narrows("compare", *(results / name for name in ("cubic", "bbr", "reno")))
    assert shown.exit_code == 0, shown.stderr
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "…" not in shown.stdout
    for part in ("bbr against cubic", "reno against cubic", "cubic, bbr, reno"):
        assert part in shown.stdout


def test_one_run_says_that_there_is_no_interval(results: Path) -> None:
    shown = narrows("compare", results / "cubic", results / "one")
    assert "No intervals: one has one run" in shown.stdout
    assert " *" not in shown.stdout


def test_metrics_and_names_are_those_that_were_asked_for(results: Path) -> None:
    some = narrows(
        "compare", results / "cubic", results / "bbr", "--metrics", "rtt_p99_ms, jain", "--names", "CUBIC,BBR"
    )
    assert "BBR against CUBIC" in some.stdout
    assert "RTT, 99 %" in some.stdout
    assert "Throughput" not in some.stdout
    every = narrows("compare", results / "cubic", results / "bbr", "--metrics", "all")
    assert "RTT samples" in every.stdout


NUMBER = {"type": ["number", "null"]}
ESTIMATE = {
    "type": "object",
    "properties": {**dict.fromkeys(["mean", "low", "high"], NUMBER), "n": {"type": "integer"}},
    "required": ["mean", "low", "high", "n"],
    "additionalProperties": False,
}
TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
YES = {"type": "boolean"}


def record(**properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def many(items: object, **more: object) -> dict[str, object]:
    return {"type": "array", "items": items, **more}


SHAPE = record(
    format={"const": 1},
    kind={"const": "contrast"},
    version=TEXT,
    confidence={"const": 0.95},
    correction={"const": "benjamini-hochberg"},
    tests=WHOLE,
    marked=WHOLE,
    results=many(
        record(
            label=TEXT,
            scenario=TEXT,
            duration_s={"type": "number"},
            world={"enum": ["simulated", "live"]},
            kernel={"type": ["string", "null"]},
            version=TEXT,
            seed=WHOLE,
            runs=WHOLE,
            digest={"type": "string", "pattern": "^[0-9a-f]{64}$"},
            trusted=YES,
        ),
        minItems=3,
    ),
    trusted=YES,
    doubts=many(TEXT),
    against=many(
        record(
            result=TEXT,
            method={"enum": ["paired", "welch", "none", "same"]},
            reason=TEXT,
            verdict=many(TEXT, minItems=1),
            changes=many(record(path=TEXT, before=TEXT, after=TEXT)),
            unmatched=many(record(only_in=TEXT, kind=TEXT, name=TEXT)),
        ),
        minItems=2,
        maxItems=2,
    ),
    zero=many(record(kind=TEXT, metric=TEXT, names=many(TEXT, minItems=1)), minItems=1),
    metrics=many(
        record(
            kind=TEXT,
            name=TEXT,
            metric=TEXT,
            values=many(ESTIMATE, minItems=3, maxItems=3),
            differences=many(
                record(difference=ESTIMATE, percent=ESTIMATE, p_value=NUMBER, p_adjusted=NUMBER, survives=YES),
                minItems=2,
                maxItems=2,
            ),
        ),
        minItems=50,
    ),
)


def test_json_has_the_promised_shape(results: Path) -> None:
    shown = narrows("compare", *(results / name for name in ("cubic", "bbr", "one")), "--json")
    jsonschema.validate(json.loads(shown.stdout), SHAPE)


def test_json_has_every_row_once_and_a_line_for_each_metric(results: Path) -> None:
    """Counts that are zero everywhere are names alone, and no value of another row is lost."""
    contrast = nw.compare(results / "cubic", results / "bbr")
    text = table.dumps(contrast)
    told = json.loads(text)
    zero = [(one["kind"], name, one["metric"]) for one in told["zero"] for name in one["names"]]
    valued = [(one["kind"], one["name"], one["metric"]) for one in told["metrics"]]
    assert sorted(zero + valued) == sorted((row.kind, row.name, row.measure.key) for row in contrast.rows)
    for kind, name, metric in zero:
        assert [one.mean for one in contrast.row(kind, name, metric).estimates] == [0, 0]
    assert sum('"values": [' in line for line in text.splitlines()) == len(valued)


def test_the_directory_holds_page_figures_json_and_csv(page: Path, results: Path) -> None:
    folder = page.parent
    names = {"cwnd", "throughput", "rtt", "queue", "rtt-distribution", "queue-distribution"}
    assert {path.stem for path in (folder / "figures").glob("*.png")} == names
    assert json.loads((folder / "compare.json").read_text()) == nw.compare(results / "cubic", results / "bbr").to_json()
    with (folder / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(nw.compare(results / "cubic", results / "bbr").rows)
    with (folder / "settings.csv").open() as file:
        assert next(csv.DictReader(file))["path"] == "flows.*.cc"
    assert "bbr against cubic" in page.read_text(encoding="utf-8")


def test_a_result_that_is_compared_is_never_replaced(results: Path) -> None:
    before = sorted(path.name for path in (results / "cubic").iterdir())
    shown = narrows("compare", results / "cubic", results / "bbr", "-o", results / "cubic")
    assert shown.exit_code == 2
    assert "an input of this command that would be replaced" in shown.stderr
    assert sorted(path.name for path in (results / "cubic").iterdir()) == before


def test_a_directory_of_both_worlds_is_two_results(results: Path, tmp_path: Path) -> None:
    write(Comparison(Arm("simulated", made("cubic", 2)), Arm("live", made("reno", 2))), tmp_path / "both")
    shown = narrows("compare", tmp_path / "both")
    assert shown.exit_code == 0, shown.stderr
    assert "live against simulated" in shown.stdout
    more = narrows("compare", results / "reno", tmp_path / "both")
    assert more.exit_code == 0, more.stderr
    assert "both live against reno" in more.stdout
    assert max(map(len, more.stdout.splitlines())) <= 80


def test_what_is_no_result_is_refused_with_what_is_allowed(results: Path, page: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "sweep.json").write_text("{}")
    (tmp_path / "file.txt").write_text("x")
    good = results / "cubic"
    for arguments, message in (
        ([good], "needs two results or more, and got 1"),
        ([good, tmp_path / "nowhere"], "nowhere: does not exist; allowed: a directory that"),
        ([good, tmp_path / "empty"], "is not a result directory: it has no summary.json"),
        ([good, tmp_path / "sweep"], "holds a sweep, whose page compares its points: narrows report"),
        ([good, tmp_path / "file.txt"], "file.txt: is a file; allowed: a directory"),
        ([good, page.parent], "holds a comparison of results, whose page is"),
        ([good, results / "bbr", "--names", "a"], "names are a; allowed: 2"),
        ([good, results / "bbr", "--metrics", "speed"], "metric is 'speed'; allowed: throughput_mbps"),
        ([good, results / "bbr", "--force"], "--force needs the directory of -o"),
    ):
        shown = narrows("compare", *arguments)
        assert (shown.exit_code, shown.stdout) == (2, ""), arguments
        assert message in shown.stderr
    assert "other" not in narrows("compare", good).stderr


def test_report_names_the_page_of_a_comparison(page: Path) -> None:
    shown = narrows("report", page.parent)
    assert shown.exit_code == 2
    assert f"holds a comparison of results, whose page is {page}" in shown.stderr


def test_both_results_are_lines_of_every_chart_and_axes_are_linked(page: Path) -> None:
    browser.needed()
    seen = browser.evaluated(
        page,
        """
        const lines = (id) => JSON.parse(document.getElementById(id + '-data').textContent)
          .panels.map((panel) => panel.lines.map((line) => line.name));
        const plots = [...document.querySelectorAll('.plot')].map((plot) => plot.id);
        const drawn = () => [...document.querySelectorAll('.plot canvas')].map((canvas) => canvas.toDataURL().length);
        const before = drawn();
        const [from, to] = document.querySelectorAll('.range input');
        from.value = 3; to.value = 6;
        to.dispatchEvent(new Event('change'));
        await new Promise((done) => setTimeout(done, 200));
        const after = drawn();
        return { names: plots.map(lines), changed: before.filter((size, at) => size !== after[at]).length };
        """,
    )
    assert all(names == ["cubic", "bbr"] for figure in seen["names"] for names in figure)
    assert seen["changed"] >= 4


@pytest.mark.parametrize("width", [1280, 360])
def test_the_page_does_not_scroll_sideways(page: Path, width: int) -> None:
    frame = page.with_name("frame.html")
    inner = f'<iframe src="{page.name}" style="width:{width}px;height:700px"></iframe>'
    frame.write_text(f"<html><head></head><body>{inner}</body></html>")
    wide, room = browser.evaluated(
        frame,
        "const inner = document.querySelector('iframe').contentWindow;"
        "return [inner.document.documentElement.scrollWidth, inner.innerWidth];",
    )
    frame.unlink()
    assert wide <= room


def test_axe_finds_nothing_serious_on_the_page(page: Path) -> None:
    assert browser.serious(page) == []


def test_a_table_with_many_objects_shows_whole_objects_at_a_time(tmp_path: Path) -> None:
    browser.needed()
    flows = "".join(f'[[flows]]\nname = "f{i:02d}"\nfrom = "s{i + 1}"\nto = "d{i + 1}"\n' for i in range(20))
    text = (
        'duration = "2 s"\nstart_jitter = "50 ms"\n[topology]\nkind = "dumbbell"\npairs = 20\n'
        'bottleneck = { rate = "20 Mb/s", delay = "5 ms" }\naccess = { rate = "1 Gb/s", delay = "1 ms" }\n'
    )
    scenario = nw.Scenario.from_text(text + flows)
    results = [nw.run(scenario, runs=2, overrides={"tcp.cc": control}) for control in ("cubic", "bbr")]
    page = nw.compare(*results).report(tmp_path / "page")
    shown, total, found = browser.evaluated(
        page,
        """
        const pager = document.querySelector('#differences .pager');
        const table = pager.nextElementSibling.querySelector('table');
        const seen = () => [...table.tBodies].filter((body) => !body.rows[0].classList.contains('paged'));
        const whole = (body) => [...body.rows].every((row) => !row.classList.contains('paged'));
        const first = seen();
        const find = pager.querySelector('input');
        find.value = 'f17';
        find.dispatchEvent(new Event('input'));
        return [first.length, table.tBodies.length, seen().map((body) => [body.rows[0].textContent, whole(body)])];
        """,
    )
    assert (shown, total) == (6, 22)
    assert len(found) == 1
    assert found[0][0].startswith("f17")
    assert found[0][1]
