"""A contest in the terminal: the matrix of shares, and the standings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from narrows.cli.tables import NAME_WIDTH
from narrows.format import MISSING, number

if TYPE_CHECKING:
    from narrows.contest import Contest
    from narrows.stats import Estimate

_NUMBERED = 6
"""Above this many contestants columns are headed by numbers, as where their names would not fit."""


def print_contest(made: Contest, seconds: float, console: Console | None = None) -> None:
    """Print who got how much against whom, and how each did over all.

    Parameters
    ----------
    made : Contest
    seconds : float
        How long it took, on the clock.
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


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 1, 0, 0))


def _shares(made: Contest, width: int) -> Table:
    labels = made.plan.labels
    table = _table()
    corner = "first \\ second"
    table.add_column(corner, overflow="fold", min_width=len(corner))
    named = max(map(len, (corner, *labels))) + sum(len(label) + 2 for label in labels)
    numbered = len(labels) > _NUMBERED or named > width
    for i, label in enumerate(labels):
        table.add_column(str(i + 1) if numbered else label, justify="right", no_wrap=True)
    margin = made.plan.criteria.margin
    for i, row in enumerate(labels):
        name = f"{i + 1:>2} {row}" if numbered else row
        table.add_row(Text(name), *(_share(made.estimate("share", row, column).mean, margin) for column in labels))
    return table


def _share(value: float, margin: float) -> Text:
    if math.isnan(value):
        return Text(MISSING)
    style = "blue" if value > 0.5 + margin else "red" if value < 0.5 - margin else "bold"
    return Text(f"{100 * value:.0f}", style=style)


def _standings(made: Contest) -> Table:
    table = _table()
    # On a narrow terminal long names are folded, so that no figure is cut.
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
