"""``narrows compare`` in the terminal: the verdict, what differs between the scenarios, and the differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from narrows.base.format import MISSING, number
from narrows.cli.plain import new_table, print_doubts
from narrows.studies.comparison.texts import interval_text, signed_text
from narrows.studies.comparison.values import ALL
from narrows.studies.contrast import shown, words
from narrows.studies.contrast.metrics import KINDS
from narrows.studies.contrast.table import kernel, world

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from narrows.stats import Estimate
    from narrows.studies.comparison.comparison import Arm
    from narrows.studies.contrast.contrast import Contrast, Row

CHANGES_SHOWN: Final = 12
NAMES_SHOWN: Final = 8
_NAME: Final = 16
"""Width for names and metrics, in characters; longer ones are wrapped."""
_NAMES_WIDTH: Final = 36
"""Width for names, the baseline and units, in characters."""
_RESULT_WIDTH: Final = 22
"""Width for a further result and its difference, in characters."""
_HEADING_WIDTH: Final = 13
"""Longest word of a heading, in characters."""
OBJECTS_SHOWN: Final = 8
"""Objects of each kind that the table shows."""


def print_contrast(made: Contrast, console: Console | None = None, *, every: bool = False) -> None:
    """Print results side by side.

    Parameters
    ----------
    made : Contrast
    console : rich.console.Console, optional
        Standard output by default.
    every : bool
        Whether to print every metric of every object instead of the chief ones.
    """
    out = console or Console(highlight=False)
    versions = len({arm.outcome.version for arm in made.arms}) > 1
    for place, arm in enumerate(made.arms):
        version = f", Narrows {arm.outcome.version}" if versions else ""
        about = f"  {described(arm)}{version}{', the baseline' if place == 0 else ''}"
        out.print(Text.assemble((arm.label, "bold"), (about, "dim")))
    print_doubts(out, made.doubts)
    out.print()
    for index in range(len(made.against)):
        first, *rest = words.verdict(made, index)
        out.print(Text(first, style="bold"))
        for sentence in rest:
            out.print(Text(sentence))
    out.print()
    for index in range(len(made.against)):
        _print_changes(out, made, index)
    rows, hidden = shown.rows(made, every=every, most=None if every else OBJECTS_SHOWN)
    for places in _groups(len(made.against), out.width):
        out.print(_table(made, rows, places))
        out.print()
    if hidden:
        out.print(Text(f"({hidden} more metrics: --metrics all; --json and -o have all)", style="dim"))
    told = words.multiple(made)
    if told:
        out.print(Text(told, style="dim"))
    out.file.flush()


def described(arm: Arm) -> str:
    """Describe a result in one line: scenario, runs, seed, and where it ran.

    Parameters
    ----------
    arm : Arm

    Returns
    -------
    str
    """
    outcome = arm.outcome
    count = len(outcome.runs)
    told = kernel(arm)
    where = world(arm) if told is None else f"{world(arm)} on Linux {told}"
    return (
        f"{outcome.scenario.name}, {outcome.scenario.duration_s:g} s, {count} run{'' if count == 1 else 's'}, "
        f"seed {outcome.seed}, {where}"
    )


def _print_changes(out: Console, made: Contrast, index: int) -> None:
    label, base = made.arms[index + 1].label, made.baseline.label
    changes = made.against[index].changes
    out.print(Text(f"what differs: {base} → {label}", style="bold"))
    for one in shown.facts(made, index):
        out.print(Text.assemble((f"  {one.path}: ", "dim"), f"{one.before} → {one.after}"))
    if not changes:
        out.print(Text("  nothing in the scenario"))
    else:
        chosen = [one for one in changes if not one.follows]
        for one in chosen[:CHANGES_SHOWN]:
            out.print(Text.assemble((f"  {one.path}: ", "dim"), f"{one.before} → {one.after}"))
        more = len(chosen) - CHANGES_SHOWN
        if more > 0:
            out.print(Text(f"  (and {more} more settings: --json and -o have all)", style="dim"))
        if len(changes) > len(chosen):
            count = len(changes) - len(chosen)
            out.print(Text(f"  (and {count} parameters that come with these choices)", style="dim"))
    for only, kind, names in shown.unmatched(made, index):
        listed = ", ".join(names[:NAMES_SHOWN]) + (" .." if len(names) > NAMES_SHOWN else "")
        out.print(Text(f"  only in {only}: {KINDS[kind]} {listed}", style="yellow"))
    out.print()


def _groups(further: int, width: int) -> list[list[int]]:
    """Split further results into tables that fit a width; their places, from 0."""
    each = max(1, (width - _NAMES_WIDTH) // _RESULT_WIDTH) if further > 1 else 1
    return [list(range(start, min(start + each, further))) for start in range(0, further, each)]


def _table(made: Contrast, rows: Sequence[Row], places: Sequence[int]) -> Table:
    two = len(made.arms) == 2
    table = new_table()
    table.add_column("", overflow="fold", min_width=_NAME)
    table.add_column(_heading(made.baseline), justify="right", no_wrap=True)
    for place in places:
        table.add_column(_heading(made.arms[place + 1]), justify="right", no_wrap=True)
        if two:
            table.add_column("difference", justify="right", no_wrap=True)
        table.add_column("in %", justify="right", no_wrap=True)
    table.add_column("unit", style="dim", no_wrap=True)
    last = None
    for row in rows:
        if (row.kind, row.name) != last:
            last = (row.kind, row.name)
            about = shown.about(made, row)
            kind = "" if row.name == ALL or row.kind == "flow" else f"{KINDS[row.kind]} "
            table.add_row(Text.assemble((kind, "dim"), (row.name, "bold"), (f"  {about}" if about else "", "dim")))
        table.add_row(
            f"  {row.measure.title}", *_cells(row, places, two=two), row.measure.unit.replace("packets", "pkts")
        )
    return table


def _heading(arm: Arm) -> str:
    """Return a label with its words below each other; the sentences above the table have long ones whole."""
    return "\n".join(
        word if len(word) <= _HEADING_WIDTH else f"{word[: _HEADING_WIDTH - 2]}.." for word in arm.label.split()
    )


def _cells(row: Row, places: Sequence[int], *, two: bool) -> list[Text]:
    scale = row.measure.scale

    def written(estimate: Estimate) -> Text:
        return Text(interval_text(estimate, scale) if two else number(estimate.mean * scale))

    cells = [written(row.estimates[0])]
    for place in places:
        one = row.differences[place]
        style = "bold" if one.survives else ""
        cells.append(written(row.estimates[place + 1]))
        if two:
            cells.append(Text(signed_text(one.difference, scale), style=style))
        cells.append(Text((words.percent(one) or MISSING) + (" *" if one.survives else "  "), style=style))
    return cells
