"""The catalogue in the terminal: congestion controls, queues, schemes, PHYs and the bundled scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from narrows.cli.plain import new_table
from narrows.model.phys import settings

if TYPE_CHECKING:
    from collections.abc import Sequence


def print_controls(entries: Sequence[dict[str, Any]]) -> None:
    """Print congestion controls, one row each.

    Parameters
    ----------
    entries : sequence of dict
        As `narrows.model.catalogue.list_algorithms` returns them.
    """
    out = Console(highlight=False)
    table = new_table()
    table.add_column("cc", no_wrap=True)
    table.add_column("title")
    table.add_column("profiles, the default first")
    for entry in entries:
        profile = next((p for p in entry["parameters"] if p["name"] == "profile"), None)
        default = profile["default"] if profile else None
        words = sorted(profile["allowed"] if profile else [], key=lambda word: str(word) != default)
        table.add_row(Text(entry["name"], style="bold"), Text(entry["title"]), Text(", ".join(words), style="cyan"))
    out.print(table)
    out.print(Text("narrows explain NAME: idea, sources, parameters, differences, limits", style="dim"))


def print_catalogue(entries: Sequence[dict[str, Any]]) -> None:
    """Print entries of the catalogue, each with its parameters and sources.

    Parameters
    ----------
    entries : sequence of dict
        As `narrows.model.catalogue.list_algorithms` returns them.
    """
    out = Console(highlight=False)
    for entry in entries:
        out.print(f"[bold]{escape(entry['name'])}[/]  {escape(entry['title'])}")
        if entry.get("sources"):
            out.print(Padding(Text("; ".join(entry["sources"]), style="dim"), (0, 0, 0, 2), expand=False))
        for parameter in entry.get("parameters") or ():
            name = Text.assemble((parameter["name"], "bold"), "  ", (_values(parameter), "cyan"))
            out.print(Padding(name, (0, 0, 0, 2), expand=False))
            out.print(Padding(Text(parameter["doc"]), (0, 0, 0, 6), expand=False))
        out.print()


def _values(parameter: dict[str, Any]) -> str:
    """Describe a parameter's default and allowed values."""
    default, unit = parameter.get("default"), str(parameter.get("unit") or "")
    match parameter["kind"]:
        case "number":
            if "min" not in parameter:  # of a congestion control registered from Python, which has no bounds
                return f"{_plain(default)}; allowed: a number"
            low, high = _plain(parameter["min"]), _plain(parameter["max"])
            return f"{_plain(default)}; allowed: {low} to {high} {unit}".rstrip()
        case "choice":
            return f"{default}; allowed: {', '.join(parameter['allowed'])}"
        case "switch":
            return f"{'true' if default else 'false'}; allowed: true, false"
    return f"in {unit}"


def _plain(value: Any) -> str:
    return f"{value:,.10g}"


def print_phys(entries: Sequence[dict[str, Any]]) -> None:
    """Print the PHYs of 802.11 channels: the settings that each allows, and the standard's constants.

    Parameters
    ----------
    entries : sequence of dict
        As `narrows.model.catalogue.list_algorithms` returns them.
    """
    out = Console(highlight=False)
    for entry in entries:
        out.print(f"[bold]{escape(entry['name'])}[/]  {escape(entry['title'])}")
        out.print(Padding(Text("; ".join(entry["sources"]), style="dim"), (0, 0, 0, 2), expand=False))
        for key, default, allowed in settings(entry):
            values = f"{default}; allowed: {allowed}" if allowed else default
            out.print(Padding(Text.assemble((key, "bold"), "  ", (values, "cyan")), (0, 0, 0, 2), expand=False))
        out.print()


def print_scenarios(entries: Sequence[dict[str, Any]]) -> None:
    """Print the bundled scenarios.

    Parameters
    ----------
    entries : sequence of dict
        As `narrows.model.catalogue.list_scenarios` returns them.
    """
    table = new_table()
    table.add_column("scenario", no_wrap=True)
    for heading in ("nodes", "flows", "time"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("what it shows", ratio=1)
    for entry in entries:
        duration = f"{entry['duration_s']:g} s"
        table.add_row(entry["name"], str(entry["nodes"]), str(entry["flows"]), duration, Text(entry["title"]))
    Console(highlight=False).print(table)
