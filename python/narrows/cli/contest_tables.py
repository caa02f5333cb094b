"""A contest in the terminal: the matrix of shares, and the standings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from narrows.base.format import MISSING, number
from narrows.cli.plain import NAME_WIDTH, new_table

if TYPE_CHECKING:
    from rich.table import Table

    from narrows.stats import Estimate
    from narrows.studies.contest import Contest


def print_contest(made: Contest, seconds: float, console: Console | None = None) -> None:
    """Print each contestant's share against every other, and the overall standings.

    Parameters
    ----------
    made : Contest
    seconds : float
        Wall-clock time that it took, s.
    console : rich.console.Console, optional
        Standard output by default.
    """
    out = console or Console(highlight=False)
    plan = made.plan
    over = f"mean of {plan.runs} runs" if plan.runs > 1 else "1 run"
    what = f"  {plan.window.start_s:g} to {plan.window.end_s:g} s, seed {plan.seed}, {over}"
    out.print(Text.assemble((plan.scenario.title, "bold"), what))
    out.print()
    out.print(Text.assemble(("share of the first slot's flow (row) against the second's (column), per cent", "dim")))
    out.print(_shares(made, out.width))
    out.print()
    out.print(_standings(made))
    out.print()
    out.print(Text(f"{plan.total:,} run{'' if plan.total == 1 else 's'} in {number(seconds)} s", style="dim"))
    out.file.flush()


def _shares(made: Contest, width: int) -> Table:
    labels, rows = made.plan.labels, made.plan.headings
    table = new_table()
    corner = "first \\ second"
    table.add_column(corner, overflow="fold", min_width=len(corner))
    columns = _columns(rows, width - max(map(len, (corner, *rows))))
    if columns is None:
        columns = tuple(str(i + 1) for i in range(len(rows)))
        rows = tuple(f"{i + 1:>2} {row}" for i, row in enumerate(rows))
    for column in columns:
        table.add_column(Text(column), justify="right", no_wrap=True, vertical="bottom")
    margin = made.plan.criteria.margin
    for first, row in zip(labels, rows, strict=True):
        table.add_row(Text(row), *(_share(made.estimate("share", first, second).mean, margin) for second in labels))
    return table


def _columns(headings: tuple[str, ...], room: int) -> tuple[str, ...] | None:
    """Return headings unchanged, or with one field per line, if their columns fit in `room` characters; else None."""
    for made in (headings, tuple(heading.replace(":", "\n") for heading in headings)):
        if sum(2 + max(map(len, heading.split("\n"))) for heading in made) <= room:
            return made
    return None


def _share(value: float, margin: float) -> Text:
    if math.isnan(value):
        return Text(MISSING)
    style = "blue" if value > 0.5 + margin else "red" if value < 0.5 - margin else "bold"
    return Text(f"{100 * value:.0f}", style=style)


def _standings(made: Contest) -> Table:
    table = new_table()
    # On a narrow terminal long names are wrapped, so that no figure is cut.
    table.add_column("against\nthe others", overflow="fold", min_width=NAME_WIDTH)
    for heading in ("share\n%", "harm done\n%", "suffered\n%", "│ own kind:\nJain", "RTT\ninfl.", "loss\n%"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in made.standings():
        table.add_row(
            Text(one.label),
            _told(one.share, 1),
            _told(one.harm_done, 1),
            _told(one.harm_suffered, 1),
            _told(one.jain, 3, factor=1, spread=False),
            _told(one.rtt_inflation, 2, factor=1, spread=False),
            _told(one.loss_ratio, 2, spread=False),
        )
    return table


def _told(estimate: Estimate, digits: int, factor: float = 100, *, spread: bool = True) -> Text:
    if estimate.n == 0:
        return Text(MISSING)
    half = f" ±{estimate.half_width * factor:.{digits}f}" if spread and estimate.n > 1 else ""
    return Text.assemble(f"{estimate.mean * factor:.{digits}f}", (half, "dim"))
