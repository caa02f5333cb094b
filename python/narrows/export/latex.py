r"""Tables for LaTeX: with booktabs, a caption and a label, ready for ``\input``.

A table that is too wide for its width is turned, with a row for each column; one that is too wide then too spans both
columns of the paper (``table*``), in parts below each other where these do not suffice.
One that is too long for a page has several floats.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from narrows.export.options import WIDTHS_MM
from narrows.export.tex import comment, escape
from narrows.export.values import Printed

if TYPE_CHECKING:
    from collections.abc import Sequence

NEEDED: Final = r"\usepackage{booktabs}"
"""Line that a document needs before it begins."""

_LETTER_MM: Final = 1.4
"""Width of a letter at 8 pt, about, mm."""
_LONGEST: Final = 54
"""Rows of a float; a longer table has several, for a float cannot be longer than a page."""
_WRAPPED: Final = 50
"""Letters of a text in one line, at most."""
_GAP_MM: Final = 2.8
"""Space between columns, mm: twice 4 pt."""
_NUMBER: Final = re.compile(r"[+−-]?[\d.,\s]*\d[\d.,]*( ?%)?( ± [\d.,]+)?|[–—∞]|−∞|")


def table(printed: Printed, title: str, label: str, width_mm: float) -> str:
    r"""Return a table as a float.

    Parameters
    ----------
    printed : Printed
    title : str
        Caption.
    label : str
        Label, for ``\ref``.
    width_mm : float
        Width that it should not exceed.

    Returns
    -------
    str
    """
    chosen = printed
    if _wide(printed) > width_mm and not any(len(row) == 1 for row in printed.rows):
        turned = _turned(printed)
        if _wide(turned) <= width_mm or _wide(turned) <= WIDTHS_MM["page"] < _wide(printed):
            chosen = turned
    floats = [chosen.rows[start : start + _LONGEST] for start in range(0, len(chosen.rows), _LONGEST)] or [()]
    made = [comment(f"Written by Narrows. The document's preamble needs: {NEEDED}")]
    for number, rows in enumerate(floats, 1):
        whole = len(floats) == 1
        caption = title if whole else f"{title} (part {number} of {len(floats)})"
        named = label if number == 1 else f"{label}-{number}"
        made += _float(Printed(chosen.heads, rows, chosen.note), caption, named)
    return "\n".join([*made, ""])


def _float(printed: Printed, title: str, label: str) -> list[str]:
    star = "*" if _wide(printed) > WIDTHS_MM["column"] else ""
    caption = ". ".join(escape(part.rstrip(".")) for part in (title, printed.note) if part)
    return [
        rf"\begin{{table{star}}}",
        r"  \centering",
        r"  \footnotesize",
        r"  \setlength{\tabcolsep}{4pt}",
        rf"  \caption{{{caption}.}}",
        rf"  \label{{{label}}}",
        "\n  \\par\\medskip\n".join(_tabular(part) for part in _parts(printed)),
        rf"\end{{table{star}}}",
    ]


def _parts(printed: Printed) -> list[Printed]:
    """Return a table in parts that are no wider than a page, each with the first column."""
    parts: list[list[int]] = [[0]]
    for index in range(1, len(printed.heads)):
        if len(parts[-1]) > 1 and _wide(_columns(printed, [*parts[-1], index])) > WIDTHS_MM["page"]:
            parts.append([0])
        parts[-1].append(index)
    return [_columns(printed, part) for part in parts]


def _columns(printed: Printed, wanted: Sequence[int]) -> Printed:
    rows = tuple(row if len(row) == 1 else tuple(row[index] for index in wanted) for row in printed.rows)
    return Printed(tuple(printed.heads[index] for index in wanted), rows)


def _tabular(printed: Printed) -> str:
    count = len(printed.heads)
    return "\n".join(
        [
            rf"  \begin{{tabular}}{{@{{}}{''.join(_alignment(printed))}@{{}}}}",
            r"    \toprule",
            *_heads(printed),
            r"    \midrule",
            *(f"    {line}" for row in printed.rows for line in _row(row, count, first=row is printed.rows[0])),
            r"    \bottomrule",
            r"  \end{tabular}",
        ]
    )


def _heads(printed: Printed) -> list[str]:
    """Return the lines of the heading: titles, and units below them if there are any."""
    lines = [[escape(title) for title, _ in printed.heads]]
    if any(unit for _, unit in printed.heads):
        lines.append([escape(f"({unit})") if unit else "" for _, unit in printed.heads])
    return [rf"    {' & '.join(line)} \\" for line in lines]


def _row(row: Sequence[str], columns: int, *, first: bool) -> list[str]:
    if len(row) == 1:
        heading = rf"\multicolumn{{{columns}}}{{@{{}}l@{{}}}}{{\itshape {escape(row[0])}}} \\"
        return [heading] if first else [r"\addlinespace", heading]
    return [" & ".join(_cell(cell) for cell in row) + r" \\"]


def _cell(text: str) -> str:
    """Return a cell; numbers in mathematics, so that signs and intervals have their spaces."""
    if not text or not _NUMBER.fullmatch(text) or text in "–—":
        return escape(text)
    signs = (("−", "-"), ("±", r"\pm"), ("∞", r"\infty"), (",", "{,}"), ("%", r"\%"))
    for sign, command in signs:
        text = text.replace(sign, command)
    return f"${text}$"


def _alignment(printed: Printed) -> list[str]:
    """Return each column's alignment: words to the left, numbers to the right, and long texts in lines."""
    whole = [row for row in printed.rows if len(row) > 1]
    sides = ["r" if all(_NUMBER.fullmatch(row[index]) for row in whole) else "l" for index in range(len(printed.heads))]
    longest = [max((len(row[index]) for row in whole), default=0) for index in range(len(printed.heads))]
    sides = ["l", *sides[1:]]
    return [
        f"p{{{_WRAPPED * _LETTER_MM:.0f}mm}}" if side == "l" and long > _WRAPPED else side
        for side, long in zip(sides, longest, strict=True)
    ]


def _wide(printed: Printed) -> float:
    """Return the width of a table at 8 pt, about, mm."""
    columns: list[int] = []
    for index, (title, unit) in enumerate(printed.heads):
        cells = (min(len(row[index]), _WRAPPED) for row in printed.rows if len(row) > 1)
        columns.append(max(len(title), len(unit) + 2 if unit else 0, *cells, 0))
    return sum(columns) * _LETTER_MM + (len(columns) - 1) * _GAP_MM


def _turned(printed: Printed) -> Printed:
    """Return the table with a row for each of its columns."""
    heads = ((printed.heads[0][0], ""), *((row[0], "") for row in printed.rows))
    names = [f"{title} ({unit})" if unit else title for title, unit in printed.heads[1:]]
    rows = tuple((name, *(row[index] for row in printed.rows)) for index, name in enumerate(names, 1))
    return Printed(heads, rows, printed.note)
