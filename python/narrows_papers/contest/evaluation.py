"""Comparison of published and measured cells: how close they are, and why some are not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import Cell
from narrows_papers.contest import published
from narrows_papers.contest.measured import Meeting, value
from narrows_papers.contest.variants import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from narrows_papers.contest.published import Printed

UNIT = "Mibit/s"
"""Unit of TPP, 2^20 bit/s; the paper calls it Mb/s."""

NEAR_PERCENT = 6.0
"""Largest difference from the published value at which a cell agrees, per cent."""

VEGAS_PERCENT = 30.0
"""The same for cells with Vegas, per cent."""

GROUPS: dict[str, str] = {
    "others": "Neither Vegas nor Hybla",
    "hybla": "Hybla's rows and columns",
    "vegas": "Vegas's rows and columns",
}
"""Groups of cells by variant; a cell with Vegas and Hybla belongs to Vegas."""


@dataclass(frozen=True)
class Compared:
    """A published cell of the matrices with our value.

    Attributes
    ----------
    printed : Printed
        The cell in the paper.
    cell : Cell
        Published and measured value.
    """

    printed: Printed
    cell: Cell

    @property
    def group(self) -> str:
        """Key of `GROUPS`."""
        who = (self.printed.row, self.printed.column)
        return "vegas" if "Vegas" in who else "hybla" if "Hybla" in who else "others"

    @property
    def percent(self) -> float:
        """Difference of measured from published, %."""
        return self.cell.percent or 0.0

    def within(self, percent: float) -> bool:
        """Whether the difference from the published value is at most `percent`."""
        return abs(self.percent) <= percent


@dataclass(frozen=True)
class Share:
    """Number of close cells among some cells."""

    near: int
    total: int

    @property
    def of_1(self) -> float:
        """The share in [0, 1]; NaN without cells."""
        return self.near / self.total if self.total else float("nan")

    def __str__(self) -> str:
        """Format the share with its counts.

        >>> str(Share(9, 12))
        '9 of 12 (75 %)'
        """
        return f"{self.near} of {self.total} ({100 * self.of_1:.0f} %)" if self.total else "none"


def compare(meetings: Mapping[tuple[str, str], Meeting], printed: Sequence[Printed] | None = None) -> list[Compared]:
    """Pair every published cell with our value, if its run was made; slips are read as marked."""
    made = []
    for one in published.read() if printed is None else printed:
        found = value(meetings, one.first, one.second, one.of)
        if found is not None:
            made.append(Compared(one, Cell.of(one.name, one.tpp, found, UNIT)))
    return made


@dataclass(frozen=True)
class Readings:
    """The cells of both tables with our values, by three readings.

    Attributes
    ----------
    read : sequence of Compared
        As we read them: table 3 by row where its caption cannot hold.
    captioned : sequence of Compared
        By the captions, without the cells that no run can have.
    by_row : sequence of Compared
        The same with all of table 3 by row.
    """

    read: Sequence[Compared]
    captioned: Sequence[Compared]
    by_row: Sequence[Compared]


def assigned(printed: Iterable[Printed], *, by_row: bool) -> list[Printed]:
    """Return the cells by one rule for each table, without those that no run can have.

    By the captions the row starts first and the column second, table 2 has the TPP of the row and table 3 that of the
    column. With `by_row` the row of table 3 starts second. Hybla's row of table 2 repeats its column of table 3. Both
    cannot hold, and the row is left out.
    """

    def of(one: Printed) -> Printed:
        if one.table == 2:
            return replace(one, first=one.row, second=one.column, of="first")
        first, second = (one.column, one.row) if by_row else (one.row, one.column)
        return replace(one, first=first, second=second, of="second")

    return [of(one) for one in printed if not (one.slip == "repeated" and one.table == 2)]


def readings(meetings: Mapping[tuple[str, str], Meeting], printed: Sequence[Printed]) -> Readings:
    """Compare by all three readings."""
    rules = [assigned(printed, by_row=by_row) for by_row in (False, True)]
    return Readings(*(compare(meetings, cells) for cells in (printed, *rules)))


def alone(meetings: Mapping[tuple[str, str], Meeting], variants: Iterable[str] = NAMES) -> list[Cell]:
    """Return the cells of the set without a window limit, which the paper does not have."""
    names = list(variants)
    made = []
    for table in published.TABLES:
        for row in names:
            for column in names:
                found = value(meetings, row, column, "first" if table == 2 else "second")
                if found is not None:
                    made.append(Cell.of(f"unlimited/table{table}/{row}/{column}", None, found, UNIT))
    return made


def share(cells: Iterable[Compared], percent: float = NEAR_PERCENT) -> Share:
    """Count the cells within `percent` of the published value."""
    listed = list(cells)
    return Share(sum(one.within(percent) for one in listed), len(listed))


def shares(cells: Sequence[Compared]) -> dict[str, Share]:
    """Count the cells within 6 %: of all, by table, and by group."""
    made = {"all": share(cells)}
    for table in published.TABLES:
        made[f"table{table}"] = share([one for one in cells if one.printed.table == table])
    for group in GROUPS:
        made[group] = share([one for one in cells if one.group == group])
    return made


def beyond(cells: Sequence[Compared]) -> list[Compared]:
    """Return the cells that do not agree, sorted by difference, largest first."""
    return sorted((one for one in cells if not one.within(NEAR_PERCENT)), key=lambda one: -abs(one.percent))
