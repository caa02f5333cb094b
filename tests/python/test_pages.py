"""Pages of congestion controls and queues: consistent with the sources' headers, the registry and current runs."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import narrows as nw
from narrows.cli import app
from narrows.cli.markdown import show
from narrows.model.catalogue import engine_catalogue
from narrows.report import pages

ROOT = Path(__file__).resolve().parents[2] / "docs"
DOCS = ROOT / "algorithms"
ENTRIES = {entry["name"]: entry for entry in engine_catalogue()["cc"]}
QUEUES = {entry["name"]: entry for entry in engine_catalogue()["queues"]}
FOLDERS = dict.fromkeys(ENTRIES, DOCS) | dict.fromkeys(QUEUES, ROOT / "queues")
ANEW = "`narrows explain -o docs/algorithms`, or `narrows explain NAME -o docs/queues`, writes it again"


@pytest.mark.parametrize("name", FOLDERS)
def test_the_page_is_what_source_and_registry_say(name: str) -> None:
    page = (FOLDERS[name] / f"{name}.md").read_text(encoding="utf-8")
    assert page == pages.page((ENTRIES | QUEUES)[name]), ANEW


@pytest.mark.parametrize("name", FOLDERS)
def test_the_plot_shows_the_run_of_today(name: str) -> None:
    digest = re.search("digest ([0-9a-f]{64})", (FOLDERS[name] / f"{name}.svg").read_text(encoding="utf-8"))
    assert digest is not None
    assert digest[1] == pages.run_standard(name).digest, ANEW


def test_the_queue_of_the_plot_marks_and_does_not_drop() -> None:
    bottleneck = pages.run_standard("dctcp").queues[0]
    assert bottleneck.marked_packets > 1000
    assert bottleneck.dropped_packets == 0


@pytest.mark.parametrize("width", [40, 80])
def test_a_narrow_terminal_loses_no_letter_of_a_page(width: int) -> None:
    written = io.StringIO()
    page = "\n".join(line for line in pages.page(ENTRIES["bbr"]).splitlines() if not line.startswith("!["))
    show(page, Console(file=written, width=width, force_terminal=True, highlight=False))
    plain = re.sub("\x1b\\[[0-9;]*m", "", written.getvalue())
    assert "\u2026" not in plain
    assert max(map(len, plain.splitlines())) <= width
    assert "40m" not in written.getvalue(), "no black behind code"


def test_no_page_is_left_of_what_is_gone() -> None:
    assert {path.stem for path in DOCS.iterdir()} == set(ENTRIES)
    assert {path.stem for path in (ROOT / "queues").iterdir()} == set(QUEUES)


@pytest.mark.parametrize("name", ENTRIES)
def test_explain_tells_what_the_page_tells(name: str) -> None:
    shown = CliRunner().invoke(app, ["explain", name])
    assert shown.exit_code == 0
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert "\n\n\n" not in shown.stdout
    assert shown.stdout.splitlines() == re.sub(r"!\[[^\n]*\n\n", "", page).splitlines()


@pytest.mark.parametrize("kind", ["queues", "schemes", "phys"])
def test_queues_schemes_and_phys_are_explained_too(kind: Any) -> None:
    for entry in nw.list_algorithms(kind):
        shown = CliRunner().invoke(app, ["explain", entry["name"]])
        assert shown.exit_code == 0
        assert entry["title"] in shown.stdout
        assert "\n\n\n" not in shown.stdout


def test_the_page_of_a_scheme_says_how_to_have_it_and_its_bounds_as_they_are() -> None:
    shown = CliRunner().invoke(app, ["explain", "ngwa"]).stdout
    assert "`[ngwa]`" in shown
    assert 'assist = "none"' in shown
    (alpha,) = (line for line in shown.splitlines() if line.startswith("| `alpha` |"))
    assert "1e-09 to 0.999999999" in alpha


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["cubik"], "did you mean cubic"),
        (["NGWA"], "did you mean ngwa"),
        (["zzzz"], "see `narrows list cc`"),
        ([], "NAME: is missing"),
        (["ngwa", "-o", "pages"], "only the engine's congestion controls and queues have pages"),
    ],
)
def test_what_cannot_be_explained_is_said(arguments: list[str], reason: str, tmp_path: Path) -> None:
    given = [str(tmp_path / a) if a == "pages" else a for a in arguments]
    shown = CliRunner().invoke(app, ["explain", *given])
    assert shown.exit_code == 2
    assert reason in " ".join(shown.output.split())
