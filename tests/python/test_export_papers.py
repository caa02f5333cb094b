"""Exports for papers: LaTeX and TikZ that compile, fonts that are embedded, text that stays text, and widths."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

import narrows as nw
from narrows.export import latex, pgfplots, tikz
from narrows.export.drawings import of_figures, save
from narrows.export.grey import distinct
from narrows.export.tex import escape
from narrows.export.values import Printed
from narrows.report import sequence, sequence_marks
from narrows.report.values import Band, Figure, Line, Panel

if TYPE_CHECKING:
    from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"
NASTY = r"50% of {a_b} & $c ~ ^d #1 \e <r1→r2> “α²” ± −1 µs Š"
PAPER = r"\usepackage[textwidth=7.16in,columnsep=0.16in,textheight=9in]{geometry}"
"""The columns of a paper of IEEE's."""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export") / "out"
    run = nw.run("dumbbell-cubic", seed=1, runs=2, overrides={"duration": "12 s"})
    nw.export.write(run, out, "latex,pdf,svg,png,pgf", figures="throughput,queue,topology,delay-throughput", dpi=100)
    return out


def everything() -> Figure:
    """Return a figure with every kind of panel, and values that are missing."""
    x = np.linspace(0.0, 10.0, 50)
    y = np.where((x > 3) & (x < 4), np.nan, np.sin(x))
    lines = (
        Line(NASTY, x, y, "#0072B2", low=y - 0.2, high=y + 0.1),
        Line("step", x, np.cos(x), "#D55E00", step=True, low=np.cos(x) - 0.1, high=np.cos(x) + 0.1, dash=1),
    )
    points = (Line("points", x[:5], y[:5], "#009E73", markers=True, low=y[:5] - 1, high=y[:5] + 1),)
    areas = tuple(Line(name, x, np.abs(y), "#E69F00", step=name == "one") for name in ("one", "two"))
    panels = (
        Panel(NASTY, lines, title=NASTY, rule=0.5, rule_text=NASTY, bands=(Band("slow start", 1, 2, "#CC79A7"),)),
        Panel("points", points, y_from_zero=False),
        Panel("areas", areas, stacked=True),
        Panel("nothing", ()),
    )
    return Figure("all", NASTY, NASTY, "Time (s)", panels, marks=((5.0, "change"),), x_range=(0.0, 10.0))


def compiled(folder: Path, body: str, needed: str = "") -> str:
    """Return LaTeX's log; skip without LaTeX, and fail where it reports an error."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    for package in ("booktabs", "pgfplots"):
        if subprocess.run(["kpsewhich", f"{package}.sty"], capture_output=True, check=False).returncode:
            pytest.skip(f"LaTeX has no {package}")
    text = rf"\documentclass[10pt,twocolumn]{{article}}{needed}\begin{{document}}{body}\end{{document}}"
    (folder / "main.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=False)
    log = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, log[-2000:]
    return log


def needed(*lines: str) -> str:
    return "".join(lines)


def test_tables_compile_and_fit_their_columns(exported: Path) -> None:
    names = sorted(path.name for path in exported.glob("*.tex") if path.name != "main.tex")
    assert {"flows.tex", "flows-delay.tex", "queues.tex"} <= set(names)
    log = compiled(exported, "".join(rf"\input{{{name}}}" for name in names) + "text", latex.NEEDED + PAPER)
    assert "Overfull" not in log


def test_a_table_wider_than_a_page_has_parts(tmp_path: Path) -> None:
    """All of its columns are there once, and the first in each part."""
    heads = (("Name", ""), *((f"measure number {n}", "Mb/s") for n in range(30)))
    rows = tuple((f"row {n}", *(f"{n},{k:03} ± 12.5" for k in range(30))) for n in range(20))
    text = latex.table(Printed(heads, rows), "Wide", "tab:wide", 88.9)
    assert text.count("Name &") == text.count(r"\toprule") > 1
    assert all(text.count(f"measure number {n} ") == 1 for n in range(30))
    (tmp_path / "t.tex").write_text(text, encoding="utf-8")
    assert "Overfull" not in compiled(tmp_path, r"\input{t.tex}", latex.NEEDED + PAPER)


def test_any_text_compiles(tmp_path: Path) -> None:
    printed = Printed(((NASTY, NASTY), ("n", "")), ((NASTY, "1,234.5 ± 0.1"), ("heading",), ("b", "−3 %")), NASTY)
    (tmp_path / "t.tex").write_text(latex.table(printed, NASTY + "日", "tab:t", 88.9), encoding="utf-8")
    compiled(tmp_path, r"\input{t.tex}", latex.NEEDED)


def test_figures_compile_at_their_width(exported: Path, tmp_path: Path) -> None:
    """Every kind of panel, the figures of a run, and a logarithmic and a category axis."""
    x = np.array([1.0, 10.0, 100.0])
    made = {
        "all": everything(),
        "log": Figure("log", "", "", "Size (kB)", (Panel("y", (Line("a", x, x, "#0072B2"),)),), x_log=True),
        "ticks": Figure(
            "ticks",
            "",
            "",
            "Arm",
            (Panel("y", (Line("a", np.arange(3.0), x, "#0072B2", markers=True),)),),
            ticks=("one & two", "c_d", NASTY),
        ),
    }
    for name, figure in made.items():
        (tmp_path / f"{name}.tikz").write_text(pgfplots.picture(distinct(figure), 3.5), encoding="utf-8")
    for path in exported.glob("*.tikz"):
        shutil.copy(path, tmp_path)
    names = sorted(path.name for path in tmp_path.glob("*.tikz"))
    assert {"all.tikz", "throughput.tikz", "queue.tikz", "topology.tikz"} <= set(names)
    body = "".join(rf"\setbox0\hbox{{\input{{{name}}}}}\typeout{{Wide {name} \the\wd0}}\box0\par" for name in names)
    log = compiled(tmp_path, body, needed(*tikz.NEEDED))
    widths = dict(re.findall(r"Wide (\S+) ([\d.]+)pt", log))
    for name in ("throughput.tikz", "queue.tikz", "log.tikz"):
        assert 235 < float(widths[name]) < 254, (name, widths[name])


def test_pgfplots_holds_the_numbers() -> None:
    """A file has the values of the figure, to six digits, and its gaps."""
    figure = everything()
    text = pgfplots.picture(figure, 3.5)
    line = figure.panels[0].lines[0]
    table = next(part for part in re.findall(r"table \{\n(.*?)\n\};", text, re.DOTALL) if "nan" in part)
    found = np.array([[float(value) for value in row.split()] for row in table.splitlines()])
    np.testing.assert_allclose(found[:, 0], line.x, rtol=1e-5)
    np.testing.assert_allclose(found[:, 1], line.y, rtol=1e-5)


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> nw.Run:
    """A run with losses and captured packets."""
    folder = tmp_path_factory.mktemp("captured")
    return nw.run("dumbbell-cubic", seed=1, overrides={"duration": "12 s"}, pcap=folder)


def test_a_time_sequence_graph_compiles_and_fits_its_column(captured: nw.Run, tmp_path: Path) -> None:
    nw.export.write(captured, tmp_path / "out", "pgf", figures="time-sequence-first")
    body = r"\setbox0\hbox{\input{time-sequence-first.tikz}}\typeout{Wide \the\wd0}\box0"
    log = compiled(tmp_path / "out", body, needed(*tikz.NEEDED))
    (width,) = re.findall(r"Wide ([\d.]+)pt", log)
    assert 235 < float(width) < 254


def test_a_time_sequence_graph_for_latex_has_every_retransmission(captured: nw.Run) -> None:
    """Bars join segments; what is lost and sent again stays, unless another mark hides it."""
    figure = sequence.figure(captured, "first", (0.0, 3.0))
    text = pgfplots.picture(figure, 3.5)
    flow = figure.panels[0].flows[0]
    inside = flow.segments.time_ns <= 3e9
    again = inside & flow.segments.retransmitted
    tables = dict(re.findall(r"addplot\[(.*?), forget plot\] table \{\n(.*?)\n\};", text, re.DOTALL))
    (bars,) = (
        rows for options, rows in tables.items() if options.startswith(tikz.named(sequence.KINDS["retransmission"]))
    )
    found = np.array([[float(value) for value in row.split()] for row in bars.splitlines()]).reshape(-1, 3, 2)
    assert np.isnan(found[:, 2, 1]).all(), "bars are apart"
    # Each retransmission has a bar in its own cell of the drawing: 3 s and the shown numbers, by 400.
    near_s, near = 3.0 / 400, flow.segments.seq[inside].max() * 1.7 / 400
    for time, low in zip(flow.segments.time_ns[again] / 1e9, flow.segments.seq[again], strict=True):
        apart = np.abs(found[:, 0] - (time, low))
        assert ((apart[:, 0] <= near_s) & (apart[:, 1] <= near)).any()
    assert 0 < len(found) <= again.sum()
    (crosses,) = (rows for options, rows in tables.items() if "mark=x" in options)
    lost = (inside & flow.segments.lost).sum()
    assert 0 < len(crosses.splitlines()) <= lost
    assert "a bar joins segments within" in text


def test_marks_that_hide_each_other_are_drawn_once() -> None:
    """A cell of the drawing has one point, whatever number of packets was marked in it."""
    time = np.repeat(np.linspace(0.0, 1.0, 20), 500)
    y = np.repeat(np.arange(20) * 1000, 500)
    points = sequence_marks.Points("ECN mark or echo", time, y, "diamond")
    steps = sequence_marks.Steps("ACK", time, y)
    made = sequence_marks.sparse(sequence_marks.Marks("flow", (steps, points), (0.0, 20_000.0), ""), 400)
    assert made.layers[0] is steps
    left = made.layers[1]
    assert isinstance(left, sequence_marks.Points)
    assert (left.time.tolist(), left.y.tolist()) == (np.unique(time).tolist(), np.unique(y).tolist())


def test_fonts_of_pdf_are_embedded_as_truetype(exported: Path) -> None:
    """Publishers refuse Type 3: fonts are TrueType (Type 42) with their outlines, as wide as a column."""
    data = (exported / "throughput.pdf").read_bytes()
    assert b"/FontFile2" in data
    assert b"/Type3" not in data
    assert re.search(rb"/MediaBox \[ 0 0 252 ", data)


def test_svg_is_well_formed_and_its_text_is_text(exported: Path) -> None:
    for name in ("throughput", "queue", "topology"):
        root = ET.parse(exported / f"{name}.svg").getroot()  # noqa: S314 - our own file
        assert root.tag == f"{SVG}svg"
        words = {"".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")}
        assert words & {"Time (s)", "r1"}, words


def test_png_has_the_resolution_and_the_width_asked_for(exported: Path) -> None:
    with Image.open(exported / "throughput.png") as picture:
        assert picture.size[0] == 350


def test_figures_have_no_dates_and_repeat_to_the_byte(tmp_path: Path) -> None:
    (drawing,) = of_figures([everything()])
    for kind in ("pdf", "svg", "png", "pgf"):
        for name in ("one", "two"):
            save(drawing, tmp_path / name, kind, 3.5, 100)
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes(), kind
        assert b"CreationDate" not in (tmp_path / "one").read_bytes()


def test_lines_differ_without_their_colours() -> None:
    lines = distinct(everything()).panels[0].lines
    assert len({line.mark for line in lines}) == len(lines)
    one = Figure("one", "", "", "x", (Panel("y", lines[:1]),))
    assert distinct(one) is one


def test_letters_without_a_command_become_code_points() -> None:
    assert escape("日\u200b\n") == r"U+65E5 "
    assert escape("Ω Α é") == r"\ensuremath{\Omega} \ensuremath{\mathrm{A}} é"
