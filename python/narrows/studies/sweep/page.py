"""The page of a sweep: which axis matters, measures over chosen axes, a heat map, failed runs, and how to continue."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from narrows.report import charts, render, style
from narrows.report.ramps import BLUE, PAPER, Ramp, css, ink
from narrows.report.verdict import Card, Verdict
from narrows.studies.sweep import shown
from narrows.studies.sweep.directory import SWEEP, marker
from narrows.studies.sweep.effects import effects
from narrows.studies.sweep.measured import measured
from narrows.studies.sweep.result import load
from narrows.studies.sweep.view import Wanted, choose, first_measures

if TYPE_CHECKING:
    from os import PathLike

    from narrows.studies.sweep.effects import Effect, Effects
    from narrows.studies.sweep.measured import Measured
    from narrows.studies.sweep.result import SweepResult
    from narrows.studies.sweep.view import View

_LISTED: Final = 50
_FIGURE_BYTES: Final = 300_000
"""Bytes of the page that drawings for paper may take; further ones are files beside it alone."""

_SHARES: Final = Ramp(0.0, 1.0, None, PAPER, BLUE)
"""Colours of shares of variance."""


def write(
    directory: str | PathLike[str], page: Path, wanted: Wanted | None = None, made: SweepResult | None = None
) -> Path:
    """Write the page of a sweep, with its figures as PNG and SVG in a folder beside it.

    Parameters
    ----------
    directory : path
        Directory of the sweep.
    page : pathlib.Path
        File that is written.
    wanted : Wanted, optional
        What the page shows first.
    made : SweepResult, optional
        The runs, if they have been read already.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    InputError
        If the directory is not that of a sweep, cannot be read, or has not what is asked for.
    """
    about = marker(directory)
    result = load(directory) if made is None else made
    data, shares, view = viewed(result, wanted)
    drawn = drawn_figures(data, view)
    figures = _within(charts.draw(drawn, page.parent / "figures")) if drawn else []
    name = str(about.get("name"))
    text = render.page(
        "sweep.html.j2",
        title=f"{name}: a sweep – Narrows",
        version=str(about.get("version")),
        name=name,
        verdict=verdict(data, [shares[one] for one in view.measures]),
        measures=[data.measures[one] for one in view.measures],
        seeds=len(data.seeds),
        effects=[_table(data, shares[one]) for one in view.measures],
        matrix=_matrix(data, shares),
        data=shown.data(data, view),
        most_runs=shown.MOST_RUNS,
        heat=shown.heat(data, view),
        axes=[shown.table(data, column, view.measures) for column in data.columns],
        whole=shown.whole(data, view.measures),
        figures=figures,
        failures=[str(one) for one in result.failures[:_LISTED]],
        more_failures=max(0, len(result.failures) - _LISTED),
        identity=_identity(about, result),
        command=f"narrows sweep {SWEEP} -o .",
        sweep_toml=(Path(directory) / SWEEP).read_text(encoding="utf-8"),
        sweep_css=_own("sweep.css"),
        sweep_js=_own("sweep-heat.js") + _own("sweep.js"),
    )
    return render.write_text(page, text)


def viewed(result: SweepResult, wanted: Wanted | None = None) -> tuple[Measured, dict[str, Effects], View]:
    """Return the measures of a sweep, the effects on those that vary or are asked for, and what is shown first.

    Parameters
    ----------
    result : SweepResult
    wanted : Wanted, optional
        What is asked for.

    Returns
    -------
    tuple

    Raises
    ------
    InputError
        If the sweep has not what is asked for.
    """
    data = measured(result)
    shares = {name: effects(data, name) for name in dict.fromkeys([*data.varying, *first_measures(data)])}
    asked = wanted or Wanted()
    shares |= {name: effects(data, name) for name in asked.measures if name in data.measures and name not in shares}
    return data, shares, choose(data, shares, asked)


def drawn_figures(data: Measured, view: View) -> list[charts.Figure]:
    """Return the figures of a page: the shown measures over each axis that has several values.

    Parameters
    ----------
    data : Measured
    view : View

    Returns
    -------
    list of narrows.report.charts.Figure
    """
    if not view.measures:
        return []
    return [shown.figure(data, column, view) for column in data.columns if len(column.levels) > 1]


def _own(name: str) -> Markup:
    return Markup(render.text(name))  # noqa: S704 - our own files


def _within(drawn: list[charts.Drawn]) -> list[charts.Drawn]:
    """Return the drawings that the page has room for, and the others without their picture."""
    room, kept = _FIGURE_BYTES, []
    for one in drawn:
        room -= len(one.svg_data_uri)
        kept.append(one if room >= 0 else charts.Drawn(one.figure, one.description, "", one.files))
    return kept


def verdict(made: Measured, found: list[Effects]) -> Verdict:
    """Say how much was run, and on which axis each measure depends most.

    Parameters
    ----------
    made : Measured
    found : list of Effects
        Of the measures that are shown.

    Returns
    -------
    narrows.report.verdict.Verdict
    """
    seeds, points, failed = len(made.seeds), made.asked_points, made.failed
    words = (
        f"{made.total:,} run{_s(made.total)}: {points:,} point{_s(points)} under {seeds:,} seed{_s(seeds)}; "
        + (f"{failed:,} failed and {_are(failed)} missing from these results" if failed else "none failed")
        + "."
    )
    sentences = [words, *(_sentence(made, one) for one in found if one.largest is not None)]
    cards = [
        Card("Runs", f"{made.total:,}", f"{points:,} point{_s(points)}, {seeds:,} seed{_s(seeds)}; {failed:,} failed")
    ]
    cards += [_card(made, one) for one in found if one.largest is not None]
    return Verdict(tuple(sentences), tuple(cards))


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _sentence(made: Measured, one: Effects) -> str:
    """Name the axis with the largest effect, how much it explains, and from where to where."""
    effect = one.largest
    if effect is None or effect.share == 0:
        return f"{one.measure}: {_unmoved(made, one)}."
    if effect.difference.n > 1 and not effect.sure:
        return f"{one.measure}: no axis differs by more than its seeds explain."
    unit = made.measures[one.measure].unit
    low, high = _apart(effect.low_mean, effect.high_mean)
    ends = f"from {f'{low} {unit}'.strip()} at {effect.low} to {f'{high} {unit}'.strip()} at {effect.high}"
    more = f"; {_percent(one.interactions)} are interactions of axes" if one.interactions > effect.share else ""
    return f"{one.measure} depends most on {effect.name}: {_percent(effect.share)} of its variance, {ends}{more}."


def _card(made: Measured, one: Effects) -> Card:
    effect = one.largest
    if effect is None or effect.share == 0:
        return Card(f"{one.measure} depends on", "no axis", _unmoved(made, one))
    note = f"{_percent(effect.share)} of its variance; +{_difference(effect, made.measures[one.measure].unit)}"
    return Card(f"{one.measure} depends most on", effect.name, note)


def _unmoved(made: Measured, one: Effects) -> str:
    """Say why no axis has an effect."""
    if one.measure not in made.varying:
        return "the same in all runs"
    if all(effect.alone for effect in one.axes):
        return "no axis has two values with results"
    return "no axis changes its mean"


def _apart(low: float, high: float) -> tuple[str, str]:
    """Write two means with as many digits as it takes to tell them apart, three at least.

    >>> _apart(12.11, 12.14), _apart(1.0, 2.0)
    (('12.11', '12.14'), ('1.00', '2.00'))
    """
    texts = ((style.number(low, digits), style.number(high, digits)) for digits in range(3, 8))
    return next((pair for pair in texts if pair[0] != pair[1]), (style.number(low), style.number(high)))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else "<1 %"


def _difference(effect: Effect, unit: str) -> str:
    half = effect.difference.half_width
    spread = f" ± {style.number(half)}" if effect.difference.n > 1 and half > 0 else ""
    return f"{style.number(effect.difference.mean)}{spread} {unit}".strip()


@dataclass(frozen=True, slots=True)
class Ranked:
    """The effects on a measure as a table: rows of axes, largest first, and what they leave.

    Attributes
    ----------
    title : str
        The measure with its unit.
    rows : list of tuple
        Axis, share in percent, smallest mean and where, largest mean and where, difference, and whether its interval
        leaves zero out.
    interactions, seeds : str
        Shares in percent.
    complete : bool
    """

    title: str
    rows: list[tuple[str, str, str, str, str, bool]]
    interactions: str
    seeds: str
    complete: bool


def _table(made: Measured, one: Effects) -> Ranked:
    measure = made.measures[one.measure]
    rows = []
    for effect in one.axes:
        low, high = _apart(effect.low_mean, effect.high_mean)
        ends = (f"{low} at {effect.low}", f"{high} at {effect.high}", _difference(effect, ""))
        if effect.alone:
            ends = (f"{low} at {effect.low}", "the only value with results", "–")
        rows.append((effect.name, _percent(effect.share), *ends, effect.sure))
    return Ranked(measure.title, rows, _percent(one.interactions), _percent(one.seeds), one.complete)


def _matrix(made: Measured, found: dict[str, Effects]) -> tuple[list[str], list[tuple[str, list[tuple[str, str]]]]]:
    """Return axes, and for each measure the share of each as text and colours, with interactions and seeds last."""
    names = list(dict.fromkeys(effect.name for one in found.values() for effect in one.axes))
    rows = []
    for name, one in found.items():
        if name not in made.varying:
            continue
        share = {effect.name: effect.share for effect in one.axes}
        shares = [*(share.get(axis, 0.0) for axis in names), one.interactions, one.seeds]
        cells = []
        for value in shares:
            colour = _SHARES.colour(value)
            cells.append((_percent(value), f"background:{css(colour)};color:{css(ink(colour))}"))
        rows.append((made.measures[name].title, cells))
    return names, rows


def _identity(about: dict[str, Any], made: SweepResult) -> list[tuple[str, str]]:
    units = made.units
    return [
        ("Sweep", str(about.get("name"))),
        ("Axes", ", ".join(f"{axis} ({units[axis]})" if axis in units else axis for axis in made.axes) or "none"),
        ("Runs", f"{len(made.runs):,}, {len(made.failures):,} failed"),
        ("Seeds", str(made.runs["seed"].nunique())),
        ("Version", str(about.get("version"))),
        ("Build", str(about.get("build"))),
        ("Digest", made.digest),
    ]
