"""The table of ``docs/validation.md``: each variant beside ns-2, Linux in virtual time and live, from their pages."""

from __future__ import annotations

import re
from statistics import median
from typing import TYPE_CHECKING, Final

from narrows.report import markdown, style
from narrows.studies.comparison import page as live_page
from narrows.studies.linux import page as linux_page
from narrows.studies.linux.words import percent
from narrows.studies.validation import page as ns2_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

BEGIN: Final = "<!-- made by `narrows validate`: from here -->"
END: Final = "<!-- made by `narrows validate`: to here -->"
"""Marker lines around the table; the rest of the page is not changed."""

PLACE: Final = markdown.Place(BEGIN, END, "How near Narrows is to ns-2 and to Linux")

HEADS: Final = (
    "variant",
    "ns-2: throughput",
    "Linux {kernel} in virtual time: throughput",
    "RTT",
    "cwnd",
    "live: throughput",
    "RTT",
)


def write(target: Path, pages: Mapping[str, Path]) -> Path:
    """Write the table into its page.

    Parameters
    ----------
    target : pathlib.Path
    pages : mapping
        Pages of the validations by ``ns2``, ``linux`` and ``live``; those that are missing give empty columns.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    InputError
        If the page has no place for the table.
    OSError
        If a file cannot be read or written.
    """
    texts = {name: path.read_text(encoding="utf-8") if path.is_file() else "" for name, path in pages.items()}
    return PLACE.write(target, table(texts["ns2"], texts["linux"], texts["live"]) + "\n")


def table(ns2: str, linux: str, live: str) -> str:
    """Return the table.

    Parameters
    ----------
    ns2, linux, live : str
        Texts of the pages; empty if there is none.

    Returns
    -------
    str
        Markdown.
    """
    found = re.search(r"^### Linux (\S+)$", linux, re.MULTILINE)
    # The first kernel's table comes first, so its rows must not be replaced by those of later kernels.
    by_linux = {row[0]: row[2:5] for row in reversed(markdown.rows(linux, linux_page.HEADS))}
    by_ns2 = {row[0]: _number(row[2]) for row in markdown.rows(ns2, ns2_page.VERDICT_HEADS)}
    by_live = _live(markdown.rows(live, live_page.HEADS))
    none = style.number(None)
    names = dict.fromkeys([*reversed(by_linux), *by_ns2, *by_live])
    rows = [
        [
            name,
            f"{by_ns2[name]} %" if by_ns2.get(name) is not None else none,
            *by_linux.get(name, [none] * 3),
            *by_live.get(name, [none] * 2),
        ]
        for name in names
    ]
    kernel = found[1] if found else ""
    return markdown.table([head.format(kernel=kernel).replace("  ", " ") for head in HEADS], rows)


def _live(rows: Iterable[list[str]]) -> dict[str, list[str]]:
    """Return the medians of the absolute differences in throughput and RTT, by congestion control."""
    places = [place for place, head in enumerate(live_page.HEADS) if head == "difference"]
    found: dict[str, list[list[float]]] = {}
    for row in rows:
        name = row[0].partition(",")[0]
        for column, place in enumerate(places):
            value = _number(row[place])
            if value is not None:
                found.setdefault(name, [[], []])[column].append(abs(float(value)) / 100)
    return {
        name: [percent(median(values)) if values else style.number(None) for values in both]
        for name, both in found.items()
        if "+" not in name
    }


def _number(cell: str) -> str | None:
    """Return the number that a cell begins with.

    Examples
    --------
    >>> _number("−1.8 ± 1.3 %"), _number("12 % (isolated)"), _number("–")
    ('-1.8', '12', None)
    """
    found = re.match(r"[+-]?\d[\d,]*(\.\d+)?", cell.strip("*").replace("−", "-"))
    return found[0].replace(",", "") if found else None
