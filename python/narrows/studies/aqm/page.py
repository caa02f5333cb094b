"""The page of a comparison of queue disciplines: the ellipses, a table for each scenario, and how to repeat it."""

from __future__ import annotations

import base64
import math
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from narrows import _core, ownership
from narrows.base import indented
from narrows.report import render
from narrows.studies.aqm import figures
from narrows.studies.aqm.result import COLUMNS

if TYPE_CHECKING:
    from narrows.ownership import Target
    from narrows.stats import Estimate
    from narrows.studies.aqm.result import Aqm

PAGE: Final = "report.html"
SUMMARY: Final = "aqm.json"
CELLS: Final = "cells.csv"

FORMAT: Final = 1
"""Version of the format of `to_json`."""

HEADINGS: Final = {
    "goodput_mbps": ("goodput", "Mb/s", 1.0, 2),
    "utilisation": ("utilisation", "%", 100.0, 1),
    "delay_mean_ms": ("delay, mean", "ms", 1.0, 2),
    "delay_p50_ms": ("50 %", "ms", 1.0, 2),
    "delay_p95_ms": ("95 %", "ms", 1.0, 2),
    "delay_p99_ms": ("99 %", "ms", 1.0, 2),
    "delay_max_ms": ("largest", "ms", 1.0, 1),
    "drop_ratio": ("dropped", "%", 100.0, 2),
    "mark_ratio": ("marked", "%", 100.0, 2),
    "jain": ("Jain", "", 1.0, 3),
}
"""Heading, unit, factor and decimals of each measure."""


def write(made: Aqm, directory: Target) -> Path:
    """Write page, figure and numbers atomically; they replace existing ones.

    Parameters
    ----------
    made : Aqm
    directory : path or Claim
        Created if missing.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    InputError
        If the directory cannot be made, or holds something else.
    RunError
        If writing failed.
    """
    held = ownership.claim(directory, kind=ownership.AQM)
    with ownership.staged(held, part="page", alone=False) as folder:
        files = figures.write(made, folder / "figures")
        table = made.table()
        render.write_text(folder / CELLS, table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
        render.write_text(folder / SUMMARY, dumps(made))
        render.write_text(folder / PAGE, page(made, files[1].read_bytes()))
    return Path(held.named) / PAGE


def page(made: Aqm, svg: bytes | None = None) -> str:
    """Render the page.

    Parameters
    ----------
    made : Aqm
    svg : bytes, optional
        The figure; drawn if missing.

    Returns
    -------
    str
        HTML without external files.
    """
    if svg is None:
        with tempfile.TemporaryDirectory() as folder:
            svg = figures.write(made, Path(folder))[1].read_bytes()
    plan = made.plan
    return render.page(
        "aqm.html.j2",
        title="Queue disciplines compared – Narrows",
        version=_core.version(),
        lead=lead(made),
        figure=base64.b64encode(svg).decode(),
        headings=[HEADINGS[name][:2] for name in COLUMNS],
        parts=[_part(made, scenario) for scenario in plan.scenarios],
        queues=plan.queues,
        command=command(made),
        identity=[
            ("Runs", f"{plan.runs} of each of {len(plan.cells)} cells: {plan.total}"),
            ("Seed", f"{plan.seed}; run i of every cell draws from the streams of ({plan.seed}, i)"),
            ("Version", _core.version()),
        ],
    )


def lead(made: Aqm) -> list[str]:
    """Summarise the results: the smallest and the largest mean delay of each scenario.

    Parameters
    ----------
    made : Aqm

    Returns
    -------
    list of str
    """
    said = []
    for scenario in made.plan.scenarios:
        delays = {queue: made.delay_ms(queue, scenario).mean for queue in made.plan.queues}
        delays = {queue: delay for queue, delay in delays.items() if not math.isnan(delay)}
        if len(delays) < 2:
            continue
        least, most = min(delays, key=lambda q: delays[q]), max(delays, key=lambda q: delays[q])
        goodput = [made.estimate("goodput_mbps", queue, scenario).mean for queue in (least, most)]
        said.append(
            f"{scenario}: from {delays[least]:.1f} ms at {goodput[0]:.2f} Mb/s ({least}) "
            f"to {delays[most]:.0f} ms at {goodput[1]:.2f} Mb/s ({most})."
        )
    return said


def command(made: Aqm) -> str:
    """Return the command that repeats the comparison.

    Parameters
    ----------
    made : Aqm

    Returns
    -------
    str
    """
    plan = made.plan
    files = dict.fromkeys(cell.scenario.path for cell in plan.cells)
    parts = ["narrows", "aqm", "--queues", ",".join(plan.queues), "--on", ",".join(files)]
    return shlex.join([*parts, "--runs", str(plan.runs), "--seed", str(plan.seed)])


def to_json(made: Aqm) -> dict[str, Any]:
    """Return the object that ``narrows aqm --json`` prints: no NaN, no infinity.

    Parameters
    ----------
    made : Aqm

    Returns
    -------
    dict
    """
    plan = made.plan
    return {
        "format": FORMAT,
        "seed": plan.seed,
        "runs": plan.runs,
        "version": _core.version(),
        "cells": [
            {
                "scenario": cell.scenario_label,
                "title": cell.scenario.title,
                "queue": cell.queue,
                "observed": cell.observed,
                "measures": {name: _plain(made.estimate(name, cell.queue, cell.scenario_label)) for name in COLUMNS},
            }
            for cell in plan.cells
        ],
    }


def dumps(made: Aqm) -> str:
    """Serialise the object as text.

    Parameters
    ----------
    made : Aqm

    Returns
    -------
    str
        Ends with a newline.
    """
    return indented.dumps(to_json(made)) + "\n"


def shown(estimate: Estimate, name: str) -> tuple[str, str]:
    """Format a measure: its mean, and half of its interval.

    Parameters
    ----------
    estimate : Estimate
    name : str
        A measure of `COLUMNS`.

    Returns
    -------
    tuple of str
        The second is empty if there is no interval.
    """
    _, _, factor, digits = HEADINGS[name]
    if estimate.n == 0:
        return "–", ""
    half = f"{estimate.half_width * factor:.{digits}f}" if estimate.n > 1 else ""
    return f"{estimate.mean * factor:.{digits}f}", half


def _part(made: Aqm, scenario: str) -> dict[str, Any]:
    cell = next(one for one in made.plan.cells if one.scenario_label == scenario)
    return {
        "name": scenario,
        "title": cell.scenario.title,
        "observed": cell.observed,
        "toml": cell.scenario.text,
        "rows": [
            (queue, [shown(made.estimate(name, queue, scenario), name) for name in COLUMNS])
            for queue in made.plan.queues
        ],
    }


def _plain(estimate: Estimate) -> dict[str, float | int | None]:
    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {"mean": finite(estimate.mean), "low": finite(estimate.low), "high": finite(estimate.high), "n": estimate.n}
