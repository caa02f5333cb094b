"""The paper's printed matrices, cell by cell, with the run that each cell belongs to and with slips marked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from narrows.base import bundled
from narrows_papers.frame import tables

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Starter = Literal["first", "second"]
Slip = Literal["", "by_row", "repeated"]

STARTERS: tuple[Starter, ...] = ("first", "second")
"""Both flows of a run."""

TABLES: tuple[int, ...] = (2, 3)
"""Numbers of the paper's matrices: TPP of the flow that starts first, and of the one that starts second."""

MEGABIT = 2**20
"""Bits of the "Mb" in the paper's "Mb/s"."""

RANGES: tuple[tuple[float, float], ...] = ((0.0, 0.1), (0.101, 0.3), (0.301, 0.4), (0.401, 1.0))
"""The four ranges by which the paper shades its tables, Mibit/s, including both ends."""


@dataclass(frozen=True, slots=True)
class Printed:
    """One cell of the paper's matrices.

    Attributes
    ----------
    table : int
        Number of the table: 2 or 3.
    row, column : str
        Position in the table.
    first, second : str
        The variants that start first and second in the run of this cell.
    of : {"first", "second"}
        The flow whose TPP it is.
    tpp : float
        As printed, Mibit/s.
    slip : {"", "by_row", "repeated"}
        Read against the caption (``by_row``), or printed in both tables (``repeated``).
    """

    table: int
    row: str
    column: str
    first: str
    second: str
    of: Starter
    tpp: float
    slip: Slip

    @property
    def name(self) -> str:
        """Name of the reproduction's cell: `table2/Cubic/Hybla`."""
        return f"table{self.table}/{self.row}/{self.column}"


def folder() -> Path:
    """Directory of the experiment's files."""
    return bundled.directory("experiments/contest")


def read(path: Path | None = None) -> tuple[Printed, ...]:
    """Read `published.csv` of the experiment; lines that begin with `#` are comments."""
    where = folder() / "published.csv" if path is None else path
    return tuple(
        Printed(
            int(row["table"]),
            row["row"],
            row["column"],
            row["first"],
            row["second"],
            cast("Starter", row["of"]),
            float(row["tpp"]),
            cast("Slip", row["slip"]),
        )
        for row in tables.rows(where)
    )


def matrix(cells: Sequence[Printed], table: int) -> dict[tuple[str, str], float]:
    """One table as printed, by row and column."""
    return {(one.row, one.column): one.tpp for one in cells if one.table == table}


def band(tpp: float) -> int:
    """Index of the paper's range that a value falls into, from 0; values between ranges are rounded as printed.

    >>> [band(x) for x in (0.046, 0.1004, 0.1006, 0.29, 0.322, 0.4004, 0.568)]
    [0, 0, 1, 1, 2, 2, 3]
    """
    rounded = round(tpp, 3)
    return sum(rounded > high for _, high in RANGES[:-1])
