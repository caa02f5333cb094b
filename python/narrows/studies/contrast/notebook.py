"""A contrast as a notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows.studies.comparison.texts import interval_text, signed_text
from narrows.studies.contrast import shown, words

if TYPE_CHECKING:
    from narrows.studies.contrast.contrast import Contrast, Row

_MOST: Final = 8
_CHANGES: Final = 8


def contrast(value: Contrast) -> str:
    """Represent results beside a baseline: the verdict, what differs, and the chief metrics.

    Parameters
    ----------
    value : Contrast

    Returns
    -------
    str
        HTML.
    """
    from narrows.report import render

    rows, _ = shown.rows(value, every=False, most=_MOST)
    labels = [arm.label for arm in value.arms]
    groups: dict[tuple[str, str], list[tuple[str, list[str], str]]] = {}
    for row in rows:
        groups.setdefault((row.name, shown.about(value, row)), []).append(
            (row.measure.title, _cells(row), row.measure.unit)
        )
    return render.part(
        "notebook-contrast.html.j2",
        verdicts=[words.verdict(value, index) for index in range(len(value.against))],
        doubts=value.doubts,
        changes=[
            (label, [str(one) for one in how.changes if not one.follows][:_CHANGES])
            for label, how in zip(labels[1:], value.against, strict=True)
        ],
        heads=["", labels[0], *(part for label in labels[1:] for part in (label, "difference", "in %")), "unit"],
        groups=list(groups.items()),
        multiple=words.multiple(value),
    )


def _cells(row: Row) -> list[str]:
    scale = row.measure.scale
    cells = [interval_text(row.estimates[0], scale)]
    for estimate, one in zip(row.estimates[1:], row.differences, strict=True):
        share = words.percent(one) + (" *" if one.survives else "")
        cells += [interval_text(estimate, scale), signed_text(one.difference, scale), share]
    return cells
