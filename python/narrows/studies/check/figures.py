"""The plot around a failure: the variables of the failed expectation, the steps, and the bounds that it names."""

from __future__ import annotations

import io
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from narrows.report import style
from narrows.studies.check.cells import rate_text, time_text

if TYPE_CHECKING:
    from narrows.studies.check.outcome import Expectation, Outcome
    from narrows.studies.check.series import Series, Variable

_LITERAL: Final = re.compile(r"(?<![\w.'])(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-z/µ%]+)")
_UNITS: Final = {
    **{f"{p}b/s": ("bit/s", 10.0**n) for p, n in (("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12))},
    **{unit: ("s", size) for unit, size in (("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0))},
    **{unit: ("bytes", size) for unit, size in (("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("KiB", 1024.0))},
}
"""Units of literals whose value can be drawn beside a variable: base unit and size."""

_STRINGS: Final = re.compile(r"'[^']*'")


@dataclass(frozen=True, slots=True)
class Around:
    """The time around a failure.

    Attributes
    ----------
    begin_s, end_s : float
        Shown part, s.
    at_s : float
        The failure.
    """

    begin_s: float
    end_s: float
    at_s: float

    @classmethod
    def of(cls, outcome: Outcome, failed: Expectation | None) -> Around:
        """Choose the part to show: from the step before the one that the expectation follows to after the failure.

        It is a tenth of the run at least.

        Parameters
        ----------
        outcome : Outcome
        failed : Expectation or None
            ``None``: a step never came true; the whole run is shown.

        Returns
        -------
        Around
        """
        if failed is None or failed.decided_s is None:
            return cls(0.0, outcome.ended_s, outcome.ended_s)
        start = failed.decided_s if failed.from_s is None else failed.from_s
        times = [one.happened_s for one in outcome.steps if one.happened_s is not None]
        begin = max((time for time in times if time < start), default=0.0)
        span = max(failed.decided_s - begin, 0.1 * outcome.ended_s)
        begin = min(begin, failed.decided_s - span)
        return cls(max(0.0, begin - span / 4), failed.decided_s + span / 4, failed.decided_s)


def svg(outcome: Outcome, failed: Expectation | None, series: Series) -> bytes:
    """Draw the variables of a failed expectation around its failure; all variables if a step never came true.

    Parameters
    ----------
    outcome : Outcome
    failed : Expectation or None
    series : Series
        The run's variables.

    Returns
    -------
    bytes
        SVG; equal numbers give equal bytes.
    """
    around = Around.of(outcome, failed)
    chosen = _chosen(series, failed)
    shown = chosen.window(around.begin_s, around.end_s)
    with style.paper_style():
        figure = _draw(outcome, failed, shown, around)
        written = io.BytesIO()
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": "Narrows"})
    return written.getvalue()


def _chosen(series: Series, failed: Expectation | None) -> Series:
    from narrows.studies.check.series import Series as Columns

    named = {failed.text, *(one.text for one in failed.values)} if failed is not None else set()
    found = tuple(one for one in series.variables if any(one.text in text for text in named))
    return Columns(series.times_s, found or series.variables)


def _draw(outcome: Outcome, failed: Expectation | None, series: Series, around: Around) -> Any:
    from matplotlib.figure import Figure

    panels = _panels(series)
    figure = Figure(figsize=(style.PAGE_IN, 0.5 + 1.5 * len(panels)), layout="constrained")
    axes = figure.subplots(len(panels), 1, squeeze=False, sharex=True).flatten()
    colour = 0
    for panel, (unit, variables) in zip(axes, panels, strict=True):
        scale, label = _scale(unit, variables)
        for one in variables:
            values = [math.nan if value is None else value * scale for value in one.values]
            panel.step(series.times_s, values, where="post", color=style.colour(colour), linewidth=0.9, label=one.text)
            colour += 1
        for bound, text in _bounds(failed, unit):
            panel.axhline(bound * scale, color="#8A8F98", linestyle="--", linewidth=0.8, label=text)
        if variables[0].words:
            panel.set_yticks(range(len(variables[0].words)), variables[0].words)
        panel.set_ylabel(label)
        _mark(panel, outcome, around, named=panel is axes[0])
        panel.legend(loc="upper left", fontsize=6)
    axes[-1].set_xlabel("time, s")
    axes[-1].set_xlim(around.begin_s, around.end_s)
    return figure


def _panels(series: Series) -> list[tuple[str, list[Variable]]]:
    """Group variables by unit; each state variable has a panel of its own."""
    panels: dict[str, list[Variable]] = {}
    for one in series.variables:
        panels.setdefault(f"{one.unit}|{one.text}" if one.words else one.unit, []).append(one)
    return [(key.partition("|")[0], variables) for key, variables in panels.items()]


def _scale(unit: str, variables: list[Variable]) -> tuple[float, str]:
    """Return the factor and the label of an axis."""
    largest = max((abs(v) for one in variables for v in one.values if v is not None), default=0.0)
    if unit == "bit/s":
        return _factor(largest, ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (0.0, "b/s")))
    if unit == "s":
        return _factor(largest, ((1.0, "s"), (1e-3, "ms"), (0.0, "us")))
    if unit == "bytes":
        return _factor(largest, ((1e6, "MB"), (1e3, "kB"), (0.0, "B")))
    return 1.0, unit


def _factor(largest: float, units: tuple[tuple[float, str], ...]) -> tuple[float, str]:
    size, name = next(one for one in units if largest >= one[0])
    return 1.0 / (size or {"us": 1e-6}.get(name, 1.0)), name


def _bounds(failed: Expectation | None, unit: str) -> list[tuple[float, str]]:
    """Return the literals of an expression that have the unit of a panel."""
    found: dict[str, float] = {}
    for number, name in _LITERAL.findall(_STRINGS.sub("''", failed.text if failed is not None else "")):
        base, size = _UNITS.get(name, ("", 0.0))
        if base and base == unit:
            value = float(number) * size
            found[
                rate_text(value) if unit == "bit/s" else time_text(value * 1e9) if unit == "s" else f"{number} {name}"
            ] = value
    return [(value, text) for text, value in found.items()]


def _mark(panel: Any, outcome: Outcome, around: Around, *, named: bool) -> None:
    """Mark the steps within the window, and the failure."""
    for step in outcome.steps:
        if step.happened_s is None or not around.begin_s <= step.happened_s <= around.end_s:
            continue
        panel.axvline(step.happened_s, color="#56606B", linewidth=0.7, linestyle=":")
        if named:
            panel.annotate(
                step.name,
                (step.happened_s, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(2, 2),
                textcoords="offset points",
                fontsize=6,
                rotation=20,
            )
    panel.axvline(around.at_s, color="#B3261E", linewidth=1.0)
