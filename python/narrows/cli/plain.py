"""What the tables of all commands share: their style, and the reasons not to trust results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

NAME_WIDTH = 12
"""Width for names on a narrow terminal, in characters; longer ones are wrapped."""


def new_table() -> Table:
    """Create an empty table in the style of all commands.

    Returns
    -------
    rich.table.Table
    """
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 1, 0, 0))


def print_doubts(out: Console, doubts: Sequence[str]) -> None:
    """Print the reasons not to trust the results; nothing if they are trusted.

    Parameters
    ----------
    out : rich.console.Console
    doubts : sequence of str
        One sentence each.
    """
    if doubts:
        out.print(Text("NOT TO BE TRUSTED", style="bold red"))
        for doubt in doubts:
            out.print(Text(f"  {doubt}", style="red"))
