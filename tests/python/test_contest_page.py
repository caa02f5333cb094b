"""Contests: the command, the page, and the data next to it."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console
from typer.testing import CliRunner

from narrows import contest
from narrows.cli import app
from narrows.cli.contest_tables import print_contest
from narrows.model.scenario import Scenario
from narrows.studies.contest import page, rows
from narrows.studies.contest.measures import MEASURES
from narrows.studies.contest.series import HEIGHT, drawing

if TYPE_CHECKING:
    from typer.testing import Result

    from narrows.contest import Contest

DOCS = Path(__file__).resolve().parents[2] / "docs"
SHORT = ["--set", "duration=16 s", "--no-progress"]


def narrows(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def made() -> Contest:
    return contest.run(["reno", "vegas"], "dumbbell-cubic", runs=2, overrides={"duration": "16 s"})


@pytest.fixture(scope="module")
def folder(made: Contest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("contest") / "new"
    assert made.report(directory) == directory / "report.html"
    return directory


class Page(HTMLParser):
    """Collects a page's references, identifiers, and heat map cells by figure."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.references: list[str] = []
        self.identifiers: list[str] = []
        self.cells: dict[str, list[str]] = {}
        self._figure = ""
        self._in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.references += [value for key in ("href", "src") if (value := given.get(key))]
        if identifier := given.get("id"):
            self.identifiers.append(identifier)
            if identifier.startswith("map-"):
                self._figure = identifier
        self._in_cell = tag == "td" and "title" in given and bool(self._figure)

    def handle_endtag(self, tag: str) -> None:
        if tag == "figure":
            self._figure = ""

    def handle_data(self, data: str) -> None:
        if self._in_cell and self._figure:
            self.cells.setdefault(self._figure, []).append(data)
            self._in_cell = False


def test_page_needs_nothing_from_elsewhere_and_its_links_lead_somewhere(folder: Path) -> None:
    text = (folder / "report.html").read_text()
    read = Page(text)
    outside = [one for one in read.references if not one.startswith(("#", "data:"))]
    # The command stores the runs; the report does not.
    assert sorted(set(outside)) == ["cells.csv", "contest.json", "runs.jsonl", "scenario.toml"]
    assert all((folder / one).exists() for one in outside if one != "runs.jsonl")
    anchors = {one[1:] for one in read.references if one.startswith("#")}
    assert anchors <= set(read.identifiers)
    assert len(read.identifiers) == len(set(read.identifiers))
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert len(text) < 300_000


def test_matrices_show_what_was_measured(folder: Path, made: Contest) -> None:
    cells = Page((folder / "report.html").read_text()).cells
    shares = [f"{100 * made.estimate('share', a, b).mean:.0f}" for a in ("reno", "vegas") for b in ("reno", "vegas")]
    assert cells["map-share-first"] == shares
    assert cells["map-harm-first"][0] == cells["map-harm-first"][3] == "0"
    assert {"map-jain", "map-tpp-mbps-first", "map-rtt-inflation-second", "map-loss-ratio-first"} <= set(cells)
    assert all(len(row) == 4 for row in cells.values())


def test_figures_lie_beside_the_page(folder: Path) -> None:
    names = {file.name for file in (folder / "figures").iterdir()}
    assert {"share-first.png", "share-first.svg", "harm-second.png", "jain.svg"} <= names
    assert "reno" in (folder / "figures" / "share-first.svg").read_text()


def test_cells_are_tidy_and_agree_with_the_object(folder: Path, made: Contest) -> None:
    rows = list(csv.DictReader((folder / "cells.csv").read_text().splitlines()))
    keys = [(row["first"], row["second"], row["order"], row["slot"], row["measure"]) for row in rows]
    assert len(keys) == len(set(keys))
    told = json.loads((folder / "contest.json").read_text())
    assert told == made.to_json()
    pairs = {(pair["first"], pair["second"]): pair["measures"] for pair in told["pairs"]}
    for row in rows:
        measure = pairs[row["first"], row["second"]][row["measure"]]
        value = measure if row["slot"] == "both" else measure[row["slot"]]
        assert (value["mean"] is None) == (row["mean"] == "")
        if row["mean"]:
            assert float(row["mean"]) == pytest.approx(value["mean"], rel=1e-5, abs=1e-9)
        assert int(row["n"]) == value["n"]


def test_the_object_is_as_documented(made: Contest) -> None:
    told = made.to_json()
    text = (DOCS / "json.md").read_text().partition("## `narrows contest")[2].partition("\n## ")[0]
    documented = set(re.findall(r"`([a-z_0-9]+)`", text))
    assert set(told) <= documented
    assert set(told["pairs"][0]) | set(told["standings"][0]) | set(told["contestants"][0]) <= documented
    assert set(told["pairs"][0]["measures"]) == set(MEASURES) <= documented
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    for standing in told["standings"]:
        assert 0 <= standing["share"]["low"] <= standing["share"]["mean"] <= standing["share"]["high"] <= 1


def test_the_command_on_the_page_gives_the_same_contest(made: Contest, tmp_path: Path) -> None:
    written = page.command(made.plan)
    assert written is not None
    words = shlex.split(written)
    again = narrows(*words[1:], "--json", "--no-progress", "-o", tmp_path / "c")
    assert again.exit_code == 0, again.stderr
    assert json.loads(again.stdout) == made.to_json()
    pair = shlex.split(page.pair_command(made.plan).partition(" && ")[0])
    assert {"flows[0].cc=reno", "flows[1].cc=vegas", "duration=16 s"} <= set(pair)


def test_what_only_python_can_say_has_no_command() -> None:
    chosen = [contest.Contestant("Reno", {"cc": "reno"}), contest.Contestant("Vegas", {"cc": "vegas"})]
    assert page.command(contest.make("dumbbell-cubic", chosen)) is None
    assert page.command(contest.make("dumbbell-cubic", ["reno"], orders=("as_is", "swapped"))) is None


def test_both_orders_stand_on_one_page() -> None:
    plan = contest.make(
        "dumbbell-cubic", ["reno"], runs=1, overrides={"duration": "13 s"}, orders=("as_is", "swapped"), solo=False
    )
    text = page.page(contest.Contest(plan, contest.execute(plan, jobs=1).records))
    assert text.count("The starting order of the scenario") == 3
    assert text.count("The starting order swapped") == 3
    assert "One run of each match" in text


def test_contests_of_what_draws_nothing_say_so(tmp_path: Path) -> None:
    still = tmp_path / "still.toml"
    text = Scenario.from_file("dumbbell-cubic", {"start_jitter": "0 s", "duration": "13 s"}).to_toml()
    still.write_text(text)
    shown = narrows("contest", "--cc", "reno", "--on", still, "--runs", "2", "--no-solo", "--no-progress")
    assert shown.exit_code == 0
    assert "all runs of a pair are the same" in shown.stderr


def test_drawings_fill_their_height_and_no_more() -> None:
    made = drawing([2.0, 1.0, 0.0], [0.0, 1.0, 5.0], 2.0)
    heights = [float(value) for value in re.findall(r"V([-\d.]+)", made)]
    assert min(heights) == 0.0
    assert max(heights) == HEIGHT
    assert "NaN" not in drawing([], [], 0.0)


def test_the_command_prints_matrix_and_standings() -> None:
    shown = narrows("contest", "--cc", "reno,vegas", "--on", "dumbbell-cubic", "--runs", "2", *SHORT)
    assert shown.exit_code == 0, shown.stderr
    assert re.search(r"^reno +\d+ +\d+$", shown.stdout, re.MULTILINE)
    assert "harm done" in shown.stdout
    assert "16 runs in" in shown.stdout


def test_a_second_time_everything_is_there_already(tmp_path: Path) -> None:
    verb: list[str | Path] = [
        "contest",
        "--cc",
        "reno,vegas",
        "--on",
        "dumbbell-cubic",
        "-n",
        "1",
        "--no-solo",
        *SHORT,
        "-o",
        tmp_path,
    ]
    first, second = narrows(*verb), narrows(*verb)
    assert first.exit_code == second.exit_code == 0, first.stderr
    assert "4 of 4 runs were there already" in second.stderr
    assert str(tmp_path / "report.html") in second.stderr.replace("\n", "")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--cc", "cubik"], ["cc 'cubik'", "did you mean cubic"]),
        (["--cc", ","], ["no contestants"]),
        (["--cc", "reno", "--on", "nowhere"], ["nowhere: no such file"]),
        (["--cc", "reno", "--on", "linux-vs-rfc", "--slots", "x,y"], ["slot 'x'", "has no TCP flow of this name"]),
        (["--cc", "reno", "--on", "lossy-link"], ["lossy-link: has", "needed: two slots"]),
        (["--cc", "reno", "--window", "50:70"], ["window is 50:70", "within the run, 0:60"]),
        (["--cc", "reno", "--window", "soon"], ["window is 'soon'", "START:END"]),
        (["--cc", "reno", "--runs", "0"], ["runs is 0; allowed: 1 or more"]),
        (["--cc", "reno", "--jobs", "0"], ["jobs is 0; allowed: 1 to 4096"]),
        (["--cc", "reno", "-o", "/dev/null/x"], ["/dev/null/x", "cannot be written"]),
        (["--cc", "reno", "-o", "/dev/null"], ["/dev/null"]),
        (["--cc", "reno", "--set", "duration"], ["is not an assignment"]),
        (["--cc", "dctcp"], ["the scenario is refused", "dctcp against dctcp"]),
    ],
)
def test_bad_input_is_named(arguments: list[str], parts: list[str]) -> None:
    shown = narrows("contest", *arguments)
    assert shown.exit_code == 2
    assert shown.stdout == ""
    assert shown.stderr.startswith("error: ")
    for part in parts:
        assert part in shown.stderr


def test_a_notebook_shows_the_matrix(made: Contest) -> None:
    shown = made._repr_html_()
    assert shown.count("<td ") == 4
    assert f"{100 * made.estimate('share', 'reno', 'vegas').mean:.0f}" in shown


def test_numbers_of_a_column_have_the_same_digits(made: Contest) -> None:
    for key, measure in MEASURES.items():
        told = rows.shown(made.estimate(key, "reno", "vegas"), key)
        assert told.value == "–" or len(told.value.partition(".")[2]) == measure.digits
        assert math.isinf(told.sort) == (told.value == "–")


def test_a_narrow_terminal_folds_names_and_cuts_no_figure() -> None:
    long = "cubic:cc_params.beta=0.85"
    made = contest.run(["cubic", long], "dumbbell-cubic", runs=2, solo=False, overrides={"duration": "16 s"})
    out = io.StringIO()
    print_contest(made, 1.0, Console(file=out, width=80))
    shown = out.getvalue()
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert made.standings()[0].label in re.sub(r"\s", "", shown)
    for one in made.standings():
        assert f"±{100 * one.harm_done.half_width:.1f}" in shown


def test_matrices_name_contestants_by_what_tells_them_apart() -> None:
    given = [f"{cc}:recovery=newreno:{field}" for cc in ("cubic", "reno") for field in ("ecn=false", "ecn=true")]
    made = contest.run(given, "dumbbell-cubic", runs=1, solo=False, overrides={"duration": "16 s"})
    out = io.StringIO()
    print_contest(made, 1.0, Console(file=out, width=60))
    lines = [text.split() for text in out.getvalue().splitlines()]
    corner = next(i for i, words in enumerate(lines) if words[:1] == ["first"])
    head, fields, line, *rows = lines[corner - 1 : corner + 6]
    assert head == ["cubic", "cubic", "reno", "reno"]
    assert fields == ["first", "\\", "second", "ecn=false", "ecn=true", "ecn=false", "ecn=true"]
    assert "".join(line).strip("─") == "", line
    short = ["cubic:ecn=false", "cubic:ecn=true", "reno:ecn=false", "reno:ecn=true"]
    assert [row[0] for row in rows] == short
    html = made._repr_html_()
    assert all(f"<th>{heading}</th>" in html for heading in short)


def test_contestants_of_one_algorithm_are_named_by_their_fields() -> None:
    from narrows.studies.contest.contestant import Contestant, headings

    def of(*labels: str) -> tuple[str, ...]:
        return headings(tuple(map(Contestant.parse, labels)))

    assert of("cubic") == ("cubic",)
    assert of("cubic:ecn=true") == ("cubic:ecn=true",)
    assert of("cubic:ecn=true", "cubic:ecn=false") == ("ecn=true", "ecn=false")
    assert of("cubic:cc_params.beta=0.8", "cubic:beta=1") == ("cc_params.beta=0.8", "beta=1")
    own = Contestant("ecn=true", {"cc": "cubic"})
    assert headings((own, Contestant.parse("cubic:ecn=true"), Contestant.parse("cubic"))) == (
        "ecn=true",
        "cubic:ecn=true",
        "cubic",
    )
