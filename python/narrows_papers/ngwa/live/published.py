"""The paper's statements about its Linux runs, from `published.csv`: values, statements in words, lost figures."""

from __future__ import annotations

from dataclasses import dataclass

from narrows_papers.frame import tables
from narrows_papers.ngwa.live.plan import files

KINDS = ("number", "words", "lost")
"""Forms in which the paper gives a line."""


@dataclass(frozen=True)
class Line:
    """One statement of the paper.

    Attributes
    ----------
    key : str
        Key of the statement.
    given_as : str
        One of `KINDS`.
    value : float or None
        Value of a number, in `unit`.
    unit : str
        Unit of the value, empty for a plain number.
    words : str
        Description or statement, in our words.
    """

    key: str
    given_as: str
    value: float | None
    unit: str
    words: str


def read() -> tuple[Line, ...]:
    """Read all lines, in the file's order; lines that begin with `#` are comments."""
    return tuple(
        Line(
            key=row["key"],
            given_as=row["given_as"],
            value=float(row["value"]) if row["value"] else None,
            unit=row["unit"],
            words=row["words"],
        )
        for row in tables.rows(files() / "published.csv")
    )
