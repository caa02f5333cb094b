"""A comparison in the terminal: both arms and their differences, measure by measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from narrows.base.format import MISSING, number
from narrows.cli.plain import new_table, print_doubts
from narrows.outcome.conditions import table as conditions_table
from narrows.studies.comparison.texts import signed_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from narrows.studies.comparison import Comparison, Subject
    from narrows.studies.comparison.survey import Survey

FLOWS_SHOWN = 8
QUEUES_SHOWN = 4
TRANSFERS_SHOWN = 8

_NAME_WIDTH = 13
"""Width of names and measures, in characters; longer ones are wrapped."""


def print_comparison(made: Comparison, seconds: float, console: Console | None = None) -> None:
    """Print both arms side by side, their conditions, and the reasons not to trust them.

    Parameters
    ----------
    made : Comparison
    seconds : float
        Wall-clock time that it took, s.
    console : rich.console.Console, optional
        Standard output by default.
    """
    out = console or Console(highlight=False)
    counts = " and ".join(f"{len(arm.outcome.runs)} {arm.label}" for arm in made.arms)
    plural = "" if all(len(arm.outcome.runs) == 1 for arm in made.arms) else "s"
    out.print(Text.assemble((made.scenario.title, "bold"), f"  {made.scenario.duration_s:g} s, {counts} run{plural}"))
    print_doubts(out, made.doubts)
    out.print()
    table = _table(made)
    _add(table, "", made.flows[:FLOWS_SHOWN])
    if made.together is not None:
        _add(table, "", [made.together])
    _add(table, "transfers", made.transfers[:TRANSFERS_SHOWN])
    _add(table, "video", made.playbacks[:TRANSFERS_SHOWN])
    _add(table, "datagrams", made.datagrams[:TRANSFERS_SHOWN])
    queues = made.telling_queues
    _add(table, "queue", queues[:QUEUES_SHOWN])
    out.print(table)
    for hidden, what in (
        (len(made.flows) - FLOWS_SHOWN, "flows"),
        (len(made.transfers) - TRANSFERS_SHOWN, "classes of transfers"),
        (len(made.queues) - len(queues[:QUEUES_SHOWN]), "queues"),
    ):
        if hidden > 0:
            out.print(
                Text(
                    f"({hidden} {'quieter ' if what == 'queues' else ''}{what} not shown; --json has all)", style="dim"
                )
            )
    out.print()
    for arm in made.arms:
        rows = conditions_table(run.conditions for run in arm.outcome.runs)
        if rows:
            out.print(Text(f"conditions of {arm.label}", style="bold"))
            for name, value in rows:
                out.print(Text.assemble((f"  {name}: ", "dim"), value))
            out.print()
    width = "± is half of the 95 % interval" if made.has_intervals else "one run has no interval; --runs N makes more"
    out.print(Text(f"differences are {made.second.label} against {made.first.label}; {width}", style="dim"))
    out.print(Text(f"in {number(seconds)} s", style="dim"))
    out.file.flush()


def print_survey(made: Survey, console: Console | None = None) -> None:
    """Print how far the simulator is from the machine's own stack, one line per flow.

    Parameters
    ----------
    made : Survey
    console : rich.console.Console, optional
        Standard output by default.
    """
    out = console or Console(highlight=False)
    for one in made.gauges:
        told = Text.assemble((one.title, "bold"), f": {number(one.live.mean if one.live.n else None)} ")
        told.append("ms" if one.configured is None else "Mb/s")
        if one.configured is None:
            told.append(f", simulated {number(one.simulated)}", style="dim")
        if one.doubts or one.failure is not None or not one.within:
            word = "not to be trusted" if one.doubts else "off"
            told.append(f"  {word if one.failure is None else 'not held by this machine'}", style="red")
        out.print(told)
    table = new_table()
    table.add_column("network", overflow="fold")
    table.add_column("cc", no_wrap=True)
    for heading in ("throughput", "RTT"):
        table.add_column(f"{heading}\nlive, %", justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for cell in made.cells:
        mark = Text("not to be trusted" if cell.doubts else "", style="red")
        if cell.failure is not None:
            table.add_row(cell.network, cell.cc, MISSING, MISSING, Text("could not be run", style="red"))
        for flow in cell.flows:
            name = cell.cc if len(cell.flows) == 1 else f"{cell.cc}, {flow.name}"
            found = (flow.of(key) for key in ("throughput_mbps", "rtt_mean_ms"))
            shares = (MISSING if one is None else signed_text(one.difference.percent) for one in found)
            table.add_row(cell.network, name, *shares, mark)
    out.print(table)
    out.print(Text("differences are live against simulated", style="dim"))
    out.file.flush()


def _table(made: Comparison) -> Table:
    table = new_table()
    table.add_column("", overflow="fold", min_width=_NAME_WIDTH)
    for heading in (made.first.label, made.second.label, "difference", "in %"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("unit", style="dim", no_wrap=True)
    return table


def _add(table: Table, kind: str, subjects: Sequence[Subject]) -> None:
    for subject in subjects:
        about = f"  {subject.cc}" if subject.cc else ""
        table.add_row(Text.assemble((f"{kind} ".lstrip(), "dim"), (subject.name, "bold"), (about, "dim")))
        for one in (one for one in subject.compared if not one.never):
            table.add_row(f"  {one.measure.title}", *one.texts, one.measure.unit)
