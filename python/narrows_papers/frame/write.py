"""Writing a report: its page, `summary.json`, `cells.csv`, figures and further files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from narrows.base import indented
from narrows.report import charts, render, stored, topology

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.report.charts import Drawn
    from narrows.studies.reproduction.result import Reproduction
    from narrows_papers.frame.report import Contents

PAGE: Final = "report.html"
SUMMARY: Final = "summary.json"
CELLS: Final = "cells.csv"
FIGURES: Final = "figures"

TEMPLATES: Final = Path(__file__).resolve().parent.parent / "templates"
"""Directory of the templates of all pages."""


def write(folder: Path, contents: Contents) -> Reproduction:
    """Draw and write everything into an existing directory.

    Parameters
    ----------
    folder : Path
    contents : Contents

    Returns
    -------
    Reproduction
        With the paths of the files.
    """
    figures = folder / FIGURES
    images = () if contents.draw is None else contents.draw(figures)
    drawn = charts.draw(contents.figures, figures)
    plan = contents.topology
    drawings = () if plan is None else topology.write_figures(plan.network, figures, plan.title)
    result = replace(contents.result, figures=(*drawings, *images, *(path for one in drawn for path in one.files)))
    texts = {PAGE: _page(result, contents, drawn), SUMMARY: _summary(result, contents)}
    if contents.figures:
        texts[stored.FILE] = stored.dumps(contents.figures)
    if contents.csv is not None:
        texts[CELLS] = contents.csv(result.cells)
    written = [render.write_text(folder / name, text) for name, text in {**texts, **contents.files}.items()]
    more = () if contents.keep is None else contents.keep(folder)
    return replace(result, paths=(*written, *more, *result.figures))


def _page(result: Reproduction, contents: Contents, drawn: Sequence[Drawn]) -> str:
    page, plan = contents.page, contents.topology
    common: dict[str, Any] = {
        "title": page.title,
        "version": page.version,
        "headline": result.text,
        "claims": result.claims,
        "cells": result.cells,
        "calibration": result.calibration,
        "doubts": result.doubts,
        "charts": {one.figure.name: one for one in drawn},
        "command": contents.command,
    }
    if plan is not None:
        svg = topology.to_svg(plan.network, plan.page_title or plan.title)
        common["topology_svg"] = Markup(svg)  # noqa: S704 - escaped there
    return render.page(TEMPLATES / page.template, **{**common, **page.context})


def _summary(result: Reproduction, contents: Contents) -> str:
    """Return the contract's JSON object, with what identifies the runs."""
    content = {**result.to_json(), **contents.summary}
    return indented.dumps(content) + "\n"
