"""``narrows doctor``: what this machine can do, and how to fix what it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from narrows.cli.guard import guarded
from narrows.cli.options import Json  # noqa: TC001 - Typer reads the annotations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.runs.doctor import Check

EXAMPLE = "Example: narrows doctor"

HEADINGS = {"backends": "Backends", "kernel": "This kernel", "programs": "Programs"}
STYLES = {"ok": "green", "partly": "yellow", "missing": "red", "unknown": "yellow"}


@guarded
def doctor(json: Json = False) -> None:
    """Show which live features this machine supports; for each unsupported one, the reason and the fix."""
    from narrows.runs.doctor import doctor as look

    checks = look()
    if json:
        import json as codec

        content = {"format": 1, "checks": [check.to_dict() for check in checks]}
        typer.echo(codec.dumps(content, indent=2, ensure_ascii=False))
        return
    print_checks(checks)


def print_checks(checks: Sequence[Check]) -> None:
    """Print checks as a table per group.

    Parameters
    ----------
    checks : sequence of Check
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    out = Console(highlight=False)
    for group, heading in HEADINGS.items():
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        table.add_column(heading, style="bold")
        table.add_column("")
        table.add_column("found; or the reason and the fix", ratio=3, overflow="fold")
        table.add_column("for", style="dim", ratio=2)
        for check in checks:
            if check.group != group:
                continue
            lines = [check.found, check.why, f"-> {check.remedy}" if check.remedy else ""]
            told = Text("\n".join(line for line in lines if line))
            table.add_row(check.name, Text(check.status, style=STYLES[check.status]), told, check.purpose)
        out.print(table)
        out.print()
