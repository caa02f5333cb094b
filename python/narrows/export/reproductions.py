"""Tables and figures of reproductions: published beside measured values, claims, and the report's figures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from narrows.export import drawings, tables
from narrows.export.values import Contents, Drawing, Printed, Rows, Table
from narrows.report import stored
from narrows.store.saved import described, refusing_damage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SUMMARY: Final = "summary.json"

CELLS: Final = {
    "name": "Path of the figure in the paper.",
    "published": "Value as printed; empty if the paper prints none.",
    "measured": "Mean over the runs.",
    "low": "Lower end of the 95 % confidence interval of the mean; empty with a single run.",
    "high": "Upper end of the 95 % confidence interval of the mean; empty with a single run.",
    "unit": "Unit of the values.",
}
"""Meaning of the columns of cells."""

CLAIMS: Final = {
    "text": "The claim, in words.",
    "verdict": "holds, differs, or undecided with too few runs.",
    "measured": "The figures that the verdict is based on.",
    "rule": "How the verdict follows from the figures.",
    "runs": "Fewest runs behind the figures; empty if none is drawn at random.",
    "rests_on": "The choice of ours that decides the claim; empty if none was found to.",
}
"""Meaning of the columns of claims."""

_WORDS: Final = 60
"""Letters of a claim that a printed table shows on a line."""


def contents(directory: Path) -> Contents:
    """Return what a reproduction has to export.

    Parameters
    ----------
    directory : pathlib.Path

    Returns
    -------
    Contents

    Raises
    ------
    InputError
        If the directory is damaged.
    """
    from narrows import ownership

    ownership.found(directory)
    with refusing_damage(directory):
        content = described(directory / SUMMARY)
        cells, claims = list(content["cells"]), list(content["claims"])
        drawn = stored.read(directory)
    listed = []
    if cells:
        listed.append(
            Table("cells", "Published and measured values", partial(_rows, cells, CELLS), partial(_cells, cells))
        )
    if claims:
        listed.append(Table("claims", "Claims of the paper", partial(_rows, claims, CLAIMS), partial(_claims, claims)))
    figures = drawings.of_figures(drawn)
    return Contents(
        "reproduction",
        str(content["paper"]),
        tuple(listed),
        (*figures, *_pictures(directory / "figures", {one.name for one in figures})),
    )


def _rows(listed: list[dict[str, Any]], docs: Mapping[str, str]) -> Rows:
    import pyarrow as pa

    numbers = {"published", "measured", "low", "high"} if "published" in docs else set()
    types = [
        (name, pa.float64() if name in numbers else pa.int64() if name == "runs" else pa.string()) for name in docs
    ]
    rows = [{name: one.get(name) for name in docs} for one in listed]
    return tables.of_arrow(pa.Table.from_pylist(rows, schema=pa.schema(types)), docs)


def _cells(listed: list[dict[str, Any]]) -> Printed:
    from narrows.report.style import number
    from narrows.report.tables import with_spread

    rows = []
    # The paper's own figures are what a reader compares; the file of all cells has the others too.
    for one in [cell for cell in listed if cell["published"] is not None] or listed:
        low, high, measured = one["low"], one["high"], one["measured"]
        if low is not None and high is not None and high > low:
            told = " ± ".join(with_spread(measured, (high - low) / 2))
        else:
            told = number(measured)
        published = one["published"]
        percent = 100 * (measured - published) / abs(published) if published and measured is not None else None
        rows.append((one["name"], number(published), told, number(percent), one["unit"]))
    heads = (("Figure", ""), ("Published", ""), ("Measured", ""), ("Difference", "%"), ("Unit", ""))
    return Printed(heads, tuple(rows), "Half of the 95 % confidence interval follows ±")


def _claims(listed: list[dict[str, Any]]) -> Printed:
    rows = tuple((one["text"], one["verdict"]) for one in listed)
    return Printed((("Claim", ""), ("Verdict", "")), rows)


def _pictures(folder: Path, values: set[str]) -> tuple[Drawing, ...]:
    """Return the figures that are in the directory as pictures alone."""
    names = sorted({path.stem for path in folder.glob("*.svg")} - values) if folder.is_dir() else []
    return tuple(
        drawings.of_files(
            name, {kind: path for kind in ("svg", "png") if (path := folder / f"{name}.{kind}").is_file()}
        )
        for name in names
    )
