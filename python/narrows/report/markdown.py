"""Markdown of pages that commands write: tables, lists, and the place of a generated part in a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from narrows.base.errors import InputError
from narrows.report.render import write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a table. A cell of several lines becomes one line, as a table takes no others.

    Parameters
    ----------
    heads : sequence of str
    rows : iterable of sequence of str

    Returns
    -------
    str

    Examples
    --------
    >>> print(table(["a", "b"], [["1", "2 | 3"], ["4\n  5", ""]]))
    | a | b |
    | --- | --- |
    | 1 | 2 \| 3 |
    | 4 5 |  |
    """
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(line.strip() for line in str(text).split("\n")).replace("|", "\\|")


def bullets(sentences: Iterable[str]) -> str:
    """Return a list.

    Examples
    --------
    >>> print(bullets(["one", "two"]))
    - one
    - two
    """
    return "\n".join(f"- {sentence}" for sentence in sentences)


def rows(text: str, heads: Sequence[str]) -> list[list[str]]:
    r"""Read the rows of all tables with given heads.

    Parameters
    ----------
    text : str
        Markdown, as `table` writes it.
    heads : sequence of str

    Returns
    -------
    list of list of str

    Examples
    --------
    >>> rows(table(["a", "b"], [["1", "2"]]) + "\n\n" + table(["c"], [["3"]]), ["a", "b"])
    [['1', '2']]
    """
    found: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")] if line.startswith("|") else []
        if not cells:
            inside = False
        elif cells == list(heads):
            inside = True
        elif inside and cells != ["---"] * len(heads):
            found.append(cells)
    return found


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a generated part in a page that people write.

    Attributes
    ----------
    begin, end : str
        Lines around it.
    title : str
        Heading of a new page.
    """

    begin: str
    end: str
    title: str

    def around(self, page: Path) -> tuple[str, str]:
        """Return the text before and after the generated part.

        Parameters
        ----------
        page : pathlib.Path
            Need not exist.

        Returns
        -------
        tuple of str

        Raises
        ------
        InputError
            If the page has no such place, or cannot be read.
        """
        if not page.exists():
            return f"# {self.title}\n\n", "\n"
        try:
            old = page.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            message = f"{page}: cannot be read: {error}"
            raise InputError(message) from None
        before, begin, rest = old.partition(self.begin)
        _, end, after = rest.partition(self.end)
        if not begin or not end:
            message = (
                f"{page}: has no place for the table; allowed: a new page, or one with the lines {self.begin} and"
                f" {self.end}"
            )
            raise InputError(message)
        return before, after

    def write(self, page: str | PathLike[str], content: str) -> Path:
        """Replace the generated part of a page; create the page if it does not exist.

        Parameters
        ----------
        page : path
        content : str
            Markdown that ends with a line end.

        Returns
        -------
        pathlib.Path
            The page.

        Raises
        ------
        InputError
            As `around`.
        OSError
            If the page cannot be written.
        """
        target = Path(page)
        before, after = self.around(target)
        return write_text(target, f"{before}{self.begin}\n\n{content}\n{self.end}{after}")
