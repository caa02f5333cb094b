"""The page of the reproduction of NGWA, from a complete quick run."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from narrows.base.errors import InputError
from narrows.studies.reproduction import reproduce as by_name
from narrows_papers.ngwa import arms, evidence, linux, page, rests, rounds, window
from narrows_papers.ngwa.published import published

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.studies.reproduction.result import Reproduction

Made = tuple["Path", "Reproduction"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("ngwa") / "out"
    told: list[float] = []
    result = by_name("ngwa", folder, quick=True, progress=told.append)
    assert told[-1] == 1.0
    return folder, result


def test_it_writes_what_it_says(made: Made) -> None:
    folder, result = made
    assert all(path.is_file() for path in result.paths)
    assert result.paths[0] == folder / "report.html"
    names = {path.name for path in result.figures}
    stems = ("window", "rates", "rates-divided", "counts", "linux-one", "linux-two", "linux-two-96kB", "topology")
    for stem in stems:
        assert {f"{stem}.png", f"{stem}.svg"} <= names


def test_its_summary_is_the_contract(made: Made) -> None:
    folder, result = made
    summary = json.loads((folder / "summary.json").read_text())
    contract = result.to_json()
    assert {key: summary[key] for key in contract} == contract
    assert (summary["paper"], summary["rounds"]) == ("ngwa", rounds.QUICK_ROUNDS)
    assert len(summary["batch_means"]) == len(arms.ARMS) * 5
    assert len(summary["digests"]["linux"]) == len(linux.keys())


def test_there_is_a_cell_for_every_published_figure(made: Made) -> None:
    _, result = made
    printed = {cell.name: cell.published for cell in result.cells if cell.published is not None}
    wanted = {
        f"{quantity.removesuffix('_two')}/{arm}{'/two' if quantity == 'window_two' else ''}": value
        for (quantity, arm), value in published().values.items()
    }
    assert printed == wanted
    assert [cell.name for cell in result.shown] == list(printed)
    assert len({cell.name for cell in result.cells}) == len(result.cells)
    for cell in result.cells:
        if cell.low is not None and cell.high is not None:
            assert cell.low <= cell.measured <= cell.high


def test_its_table_of_cells_has_them_all(made: Made) -> None:
    folder, result = made
    rows = list(csv.DictReader((folder / "cells.csv").read_text().splitlines()))
    assert [row["name"] for row in rows] == [cell.name for cell in result.cells]


def test_the_figures_to_reach_are_reached(made: Made) -> None:
    _, result = made
    for arm in arms.DIVIDED:
        assert result.cell(f"lost/{arm}").measured == 0
        assert result.cell(f"triples/{arm}").measured == 0
        assert result.cell(f"jain/{arm}").measured >= 0.99
        assert result.cell(f"window/{arm}/two-again").measured == pytest.approx(window.formula(2), rel=0.05)
    lost = [result.cell(f"lost/{arm}").measured for arm in ("rfc793", "mode3", "newreno", "mode1")]
    assert lost == sorted(lost, reverse=True)


class Links(HTMLParser):
    """Collects the resources that a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        wanted = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}.get(tag)
        self.loaded += [value for name, value in attrs if name == wanted and value]


def test_its_page_loads_nothing_from_elsewhere_and_shows_every_claim(made: Made) -> None:
    folder, result = made
    text = (folder / "report.html").read_text()
    links = Links()
    links.feed(text)
    assert links.loaded
    assert all(link.startswith("data:") for link in links.loaded)
    for claim in result.claims:
        assert claim.text.replace("'", "&#39;") in text
    verdicts = [claim.verdict for claim in result.claims]
    assert "undecided" in verdicts, "a quick experiment has too few runs"
    for verdict, mark in (("holds", "verdict holds"), ("undecided", "verdict undecided")):
        assert text.count(mark) == verdicts.count(verdict)
    assert all(claim.rule for claim in result.claims)


def test_its_text_has_no_number_that_the_runs_do_not_give(made: Made) -> None:
    _, result = made
    known = {round(cell.measured, digits) for cell in result.cells for digits in (0, 1, 2, 3, 4)}
    known |= {float(f"{cell.measured:.3g}") for cell in result.cells}
    known |= {float(round(point.lost["rfc793"])) for point in evidence.search().points if point.name in rests.PHASES}
    claims = {float(len(result.claims))} | {float(n) for n in range(60)}
    fixed = {window.formula(2), 50_000.0, 793.0, 64.0, 96.0}
    own = re.sub("“.*?”", "", result.text)  # without quoted claims and their thresholds
    numbers = [float(word.replace(",", "")) for word in re.findall(r"\d[\d,]*(?:\.\d+)?", own)]
    assert numbers
    assert [n for n in numbers if n not in known | claims | fixed] == []


def test_a_directory_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError):
        by_name("ngwa", tmp_path, runs=1)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("value", "unit", "words"), [(0.04, " %", "0 %"), (-3.26, "", "−3.3"), (None, "", "–"), (1234.5, "", "+1,234.5")]
)
def test_differences_are_written_with_their_sign(value: float | None, unit: str, words: str) -> None:
    assert page.signed(value, unit) == words
