"""What the paper prints of its Linux runs, from `published.csv`: values, statements in words, lost figures."""

from __future__ import annotations

import csv
from dataclasses import dataclass

from narrows.papers.ngwa.live.plan import files

KINDS = ("number", "words", "lost")
"""How a line is given."""


@dataclass(frozen=True)
class Line:
    """One thing that the paper gives.

    Attributes
    ----------
    key : str
        Which.
    given_as : str
        One of `KINDS`.
    value : float or None
        Of a number, in `unit`.
    unit : str
        Its unit, empty for a plain number.
    words : str
        What it is, or what is said, in our words.
    """

    key: str
    given_as: str
    value: float | None
    unit: str
    words: str


def read() -> tuple[Line, ...]:
    """All lines, in the file's order; lines that begin with `#` are comments."""
    with (files() / "published.csv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return tuple(
            Line(
                key=row["key"],
                given_as=row["given_as"],
                value=float(row["value"]) if row["value"] else None,
                unit=row["unit"],
                words=row["words"],
            )
            for row in rows
        )
