"""What a result has to export: tables and figures, as values that no format has been chosen for yet."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from narrows.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from narrows.outcome import Batch, Run

TABLES: Final = {"csv": ".csv", "latex": ".tex"}
"""Formats of tables, with the ending of their files."""

FIGURES: Final = {"pdf": ".pdf", "svg": ".svg", "png": ".png", "pgf": ".tikz"}
"""Formats of figures, with the ending of their files."""

PACKETS: Final = {"xplot": ".xpl", "ns2": ".tr", "qlog": ".sqlog"}
"""Formats of the packets of runs with captures, with the ending of their files."""

FORMATS: Final = (*TABLES, *FIGURES, *PACKETS)
"""All formats, in the order of the documentation."""


@dataclass(frozen=True)
class Rows:
    """Rows for CSV.

    Attributes
    ----------
    schema : pyarrow.Schema
        The columns; ``unit`` and ``doc`` in a field's metadata are its unit and meaning.
    parts : callable
        Returns the rows as tables, part by part.
    """

    schema: pa.Schema
    parts: Callable[[], Iterable[pa.Table]]


@dataclass(frozen=True)
class Printed:
    """A table for a paper: text, already rounded.

    Attributes
    ----------
    heads : tuple of (str, str)
        Title and unit of each column; the first column names the rows.
    rows : tuple of tuple of str
        Cells. A row of one cell is a heading of the rows below it.
    note : str
        A sentence for the caption, after the title.
    """

    heads: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table of a result.

    Attributes
    ----------
    name : str
        Name of its files, without ending; ``/`` separates folders.
    title : str
    rows : callable, optional
        Returns the rows for CSV; ``None`` if the table is only printed.
    printed : callable, optional
        Returns the table for a paper; ``None`` if it is too long for one.
    """

    name: str
    title: str
    rows: Callable[[], Rows] | None = None
    printed: Callable[[], Printed] | None = None

    @property
    def formats(self) -> tuple[str, ...]:
        """Formats that it can be written in."""
        return tuple(name for name, made in (("csv", self.rows), ("latex", self.printed)) if made is not None)


@dataclass(frozen=True)
class Drawing:
    """A figure of a result.

    Attributes
    ----------
    name, title, caption : str
        The name is that of its files, as for tables.
    draw : callable
        Returns matplotlib's figure of a width in inches; called within `narrows.report.style.paper_style`.
    tikz : callable, optional
        Returns the figure of a width in inches as a ``tikzpicture``; ``None`` for a figure that is not for LaTeX.
    svg : callable, optional
        Returns the figure as an SVG document, where that is not matplotlib's.
    files : mapping
        Files by format, for a figure that is there as pictures alone: it cannot be drawn in other formats.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[float], Any]
    tikz: Callable[[float], str] | None
    svg: Callable[[], str] | None = None
    files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def formats(self) -> tuple[str, ...]:
        """Formats that it can be written in."""
        if self.files:
            return tuple(kind for kind in FIGURES if kind in self.files)
        return tuple(kind for kind in FIGURES if kind != "pgf" or self.tikz is not None)


@dataclass(frozen=True)
class Contents:
    """All that a result has to export.

    Attributes
    ----------
    kind : str
        ``run``, ``comparison``, ``contrast``, ``contest``, ``sweep``, ``aqm`` or ``reproduction``.
    name : str
        Name of the result, for captions and labels.
    tables : tuple of Table
    figures : tuple of Drawing
    source : str
        Name of the directory that it was read from; empty for a value.
    outcome : Run or Batch, optional
        The runs whose packets can be exported.
    """

    kind: str
    name: str
    tables: tuple[Table, ...]
    figures: tuple[Drawing, ...]
    source: str = ""
    outcome: Run | Batch | None = None

    def chosen_tables(self, names: Sequence[str] = ()) -> tuple[Table, ...]:
        """Return the tables of some names or patterns, by default all.

        Parameters
        ----------
        names : sequence of str
            ``*`` stands for any letters.

        Returns
        -------
        tuple of Table

        Raises
        ------
        InputError
            If a name is of no table.
        """
        return _chosen(self.tables, names, "table")

    def chosen_figures(self, names: Sequence[str] = ()) -> tuple[Drawing, ...]:
        """Return the figures of some names or patterns; as for `chosen_tables`."""
        return _chosen(self.figures, names, "figure")


_Item = TypeVar("_Item", Table, Drawing)


def _chosen(there: Sequence[_Item], names: Sequence[str], what: str) -> tuple[_Item, ...]:
    for wanted in names:
        if not any(fnmatch.fnmatchcase(one.name, wanted) for one in there):
            allowed = ", ".join(one.name for one in there) or f"none: this result has no {what}s"
            message = f"{what} is {wanted!r}; allowed: {allowed}"
            raise InputError(message)
    return tuple(one for one in there if not names or any(fnmatch.fnmatchcase(one.name, name) for name in names))
