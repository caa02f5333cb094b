"""An evaluation in the terminal: verdicts by section, and what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.text import Text

from narrows.base.format import number
from narrows.cli.plain import NAME_WIDTH, new_table
from narrows.studies.evaluate.criteria import SECTIONS
from narrows.studies.evaluate.export import SIMULATED
from narrows.studies.evaluate.measures import MEASURES
from narrows.studies.evaluate.page import difference_of, lead, left_out, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.studies.evaluate import Catalogue
    from narrows.studies.evaluate.against import Against

_COLOURS: Final = {"met": "green", "not met": "red", "undecided": "yellow", "not applicable": "dim"}
_REASONS: Final = 4
"""Most reasons that are printed."""

_CHANGES: Final = {"better": "green", "worse": "red", "same": "dim", "unknown": "dim"}


def print_evaluation(content: Mapping[str, Any], seconds: float) -> None:
    """Print the rows that are not met or undecided, with their numbers, and the counts of all.

    Parameters
    ----------
    content : mapping
        As `narrows.studies.evaluate.export.to_json` returns it.
    seconds : float
        Wall-clock time that it took, s.
    """
    out = Console(highlight=False)
    kind = "quick evaluation" if content["quick"] else "evaluation"
    world = "" if content["world"] == SIMULATED else f", {content['world']}"
    told = f"  {kind} by RFC 9743, seeds from {content['seed']}{world}"
    out.print(Text.assemble((content["control"], "bold"), told))
    table = new_table()
    table.add_column("criterion", overflow="fold", min_width=NAME_WIDTH)
    table.add_column("verdict", no_wrap=True)
    for heading in ("mean", "threshold", "difference"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in content["rows"]:
        if row["verdict"] in ("met", "not applicable"):
            continue
        sign = "≤" if row["side"] == "at_most" else "≥"
        shown = value_of(row, "value"), f"{sign} {value_of(row, 'threshold')}", difference_of(row)
        cells = ("", "", "") if row["reason"] else shown
        verdict = Text(row["verdict"], style=_COLOURS[row["verdict"]])
        table.add_row(Text(row["row"]), verdict, *cells)
    if table.row_count:
        out.print(table)
    reasons = list(dict.fromkeys(row["reason"] for row in content["rows"] if row["reason"]))
    for reason in reasons[:_REASONS]:
        rows = [row["row"] for row in content["rows"] if row["reason"] == reason]
        out.print(Text(f"{_some(rows)}: {reason}", style="dim"))
    for row in content["rows"]:
        if (left := left_out(row)) and not row["reason"]:
            out.print(Text(f"{row['row']}: of {len(row['seeds'])} seeds {left}", style="dim"))
    if len(reasons) > _REASONS:
        out.print(Text(f"and {len(reasons) - _REASONS} more reasons, on the page and in --json", style="dim"))
    out.print()
    for sentence in lead(content):
        out.print(Text(sentence))
    if content["note"]:
        out.print(Text(f"Note: {content['note']}."))
    counts = ", ".join(f"{count} {verdict}" for verdict, count in content["verdicts"].items())
    out.print(
        Text(f"{counts}; {content['runs']:,} runs, {number(seconds)} s, digest {content['digest'][:16]}", style="dim")
    )
    out.file.flush()


def print_against(changed: Against) -> None:
    """Print the rows that got better or worse.

    Parameters
    ----------
    changed : Against
    """
    out = Console(highlight=False)
    out.print()
    out.print(Text.assemble((changed.new, "bold"), " against ", (changed.old, "bold")))
    table = new_table()
    table.add_column("criterion", overflow="fold", min_width=NAME_WIDTH)
    table.add_column("change", no_wrap=True)
    for heading in ("before", "after", "difference", "verdict"):
        table.add_column(heading, justify="right", overflow="fold")
    for one in changed.rows:
        if one.change not in ("better", "worse") and one.before == one.after:
            continue
        factor, unit = MEASURES[one.measure].factor, MEASURES[one.measure].unit
        ends = (one.difference.low * factor, one.difference.high * factor)
        table.add_row(
            Text(one.row),
            Text(one.change, style=_CHANGES[one.change]),
            _with_unit(one.old, factor, unit),
            _with_unit(one.new, factor, unit),
            "" if one.difference.n < 2 else f"{ends[0]:.3g} to {ends[1]:.3g}",
            one.after if one.before == one.after else f"{one.before} → {one.after}",
        )
    if table.row_count:
        out.print(table)
    counts = ", ".join(f"{count} {change}" for change, count in changed.counts.items() if count)
    out.print(Text(counts or "no common rows", style="dim"))
    out.file.flush()


def print_criteria(known: Catalogue) -> None:
    """Print the catalogue.

    Parameters
    ----------
    known : Catalogue
    """
    out = Console(highlight=False)
    section = ""
    for one in known.criteria:
        if one.section != section:
            section = one.section
            out.print(Text(f"{section} {SECTIONS[section]}", style="bold"))
        measure, threshold = MEASURES[one.measure], one.threshold
        side = "at most" if threshold.side == "at_most" else "at least"
        out.print(Text(f"  {one.name}: {one.asks}"))
        out.print(Text(f"    {measure.title}, {side} {_threshold(one.measure, threshold)}: {one.source}", style="dim"))
        out.print(Text(f"    in {', '.join(one.networks)}", style="dim"))
    out.print(Text("not evaluated", style="bold"))
    for missing in known.not_evaluated:
        out.print(Text(f"  {missing.section} {missing.what}: {missing.reason}"))
    out.file.flush()


def _threshold(name: str, threshold: Any) -> str:
    measure = MEASURES[name]
    if threshold.cubic is None:
        return f"{threshold.value * measure.factor:g} {measure.unit}".strip()
    plus = f" {'+' if threshold.plus > 0 else '-'} {abs(threshold.plus) * measure.factor:g} {measure.unit}".rstrip()
    return f"{threshold.cubic:g} x CUBIC{plus if threshold.plus else ''}"


def _with_unit(value: float | None, factor: float, unit: str) -> str:
    return f"{number(None if value is None else value * factor)} {unit}".strip()


def _some(rows: list[str]) -> str:
    return ", ".join(rows) if len(rows) < 4 else f"{', '.join(rows[:3])} and {len(rows) - 3} more"
