"""Markdown on a terminal, with tables that lose nothing on a narrow one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markdown import Markdown, TableElement
from rich.table import Table
from rich.theme import Theme

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderResult

__all__ = ["show"]


class _Folded(TableElement):
    """A table that wraps long words; Rich would cut a parameter's name."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                for column in part.columns:
                    column.overflow = "fold"
            yield part


class _Page(Markdown):
    elements = {**Markdown.elements, "table_open": _Folded}  # noqa: RUF012 - as Rich declares it


def show(text: str, console: Console | None = None) -> None:
    """Print Markdown on a terminal.

    Parameters
    ----------
    text : str
        The Markdown.
    console : Console, optional
        Output; standard output by default.
    """
    console = console or Console(highlight=False)
    # Without Rich's black background of code, which looks like blots on a light terminal.
    with console.use_theme(Theme({"markdown.code": "bold cyan"})):
        console.print(_Page(text))
