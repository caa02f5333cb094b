"""Results beside a reference in the terminal: a paper's cells and claims, and another simulator's results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from narrows.base.format import number
from narrows.cli.plain import new_table, print_doubts
from narrows.studies.reproduction.result import few

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.studies.reproduction.result import Reproduction
    from narrows.studies.validation import Validation

VERDICT_STYLES = {"holds": "green", "differs": "red", "undecided": "yellow"}
"""Colour of a claim's verdict."""


def print_reproduction(made: Reproduction) -> None:
    """Print published beside measured values, and which claims hold.

    Parameters
    ----------
    made : Reproduction
    """
    out = Console(highlight=False)
    content = made.to_json()
    print_doubts(out, made.doubts)
    if made.curves:
        from narrows.cli.curves import print_curve

        for curve in made.curves:
            print_curve(curve, out)
    if made.brief:
        out.print(Text(made.text), soft_wrap=False)
        out.print()
    names = {cell.name for cell in made.shown}
    cells = [cell for cell in content["cells"] if not made.brief or cell["name"] in names]
    if cells:
        _print_cells(cells, out)
    for claim in content["claims"]:
        mark = Text(f"{claim['verdict']:9}", style=VERDICT_STYLES[claim["verdict"]])
        measured = claim.get("measured")
        told = measured if isinstance(measured, str) else number(measured)
        runs, choice = claim.get("runs"), claim.get("rests_on")
        notes = [told, "" if runs is None else few(runs), f"rests on {choice}" if choice else ""]
        out.print(Text.assemble(mark, "  ", claim["text"], (f"  ({'; '.join(filter(None, notes))})", "dim")))


def _print_cells(cells: Sequence[dict[str, Any]], out: Console) -> None:
    table = new_table()
    table.add_column("cell", ratio=1)
    for heading in ("published", "measured", "95 % interval", "unit"):
        table.add_column(heading, justify="left" if heading == "unit" else "right", no_wrap=True)
    for cell in cells:
        low, high = cell.get("low"), cell.get("high")
        span = "" if low is None or high is None else f"{number(low)} to {number(high)}"
        shown = (number(cell.get("published")), number(cell.get("measured")), span, str(cell.get("unit") or ""))
        table.add_row(Text(cell["name"]), *shown)
    out.print(table)


def print_validation(made: Validation) -> None:
    """Print how close each variant is to the other simulator, and which differences are large.

    Parameters
    ----------
    made : Validation
    """
    out = Console(highlight=False)
    table = new_table()
    table.add_column("variant", no_wrap=True)
    for heading in ("flows", "median difference", "worst", "lost, median", "windows, median"):
        table.add_column(heading, justify="right")
    table.add_column("worst on", ratio=1)
    for one in made.verdicts:
        shares = (f"{share:.1%}" for share in (one.median, one.worst, one.losses))
        median, worst, losses = shares
        table.add_row(one.variant, str(one.compared), median, worst, losses, f"{one.distance:.3f}", one.where)
    out.print(table)
    for flow in made.comparisons:
        if not flow.beyond:
            continue
        if flow.unexplained:
            mark = Text("UNEXPLAINED", style="red")
        elif flow.explanation is None:
            mark = Text("held out", style="yellow")
        elif made.isolated(flow.explanation):
            mark = Text("isolated", style="green")
        else:
            mark = Text("cause not known", style="yellow")
        what = f"  {flow.variant} on {flow.network}, flow {flow.flow}: {flow.difference:+.1%}  "
        out.print(Text.assemble(mark, what, ("" if flow.explanation is None else flow.explanation.why, "dim")))
    for turned in made.experiments:
        was, now = (", ".join(f"{flow.difference:+.1%}" for flow in side) for side in (turned.before, turned.after))
        out.print(f"experiment {turned.experiment.name} on {turned.network}: {was}; with the switch turned {now}")
