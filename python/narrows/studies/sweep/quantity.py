"""Numbers with a unit in the columns of axes: ``"20 packets"`` is 20, in packets.

The units are those of scenario files (``crates/scenario/src/quantity.rs``), percent, and ``bdp`` (bandwidth-delay
products) for labels. Values are converted exactly, in fractions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_DIMENSIONS: Final[tuple[tuple[tuple[tuple[str, ...], int], ...], ...]] = (
    (
        (("ns",), 1),
        (("us", "µs", "μs"), 10**3),
        (("ms",), 10**6),
        (("s",), 10**9),
        (("min",), 60 * 10**9),
        (("h",), 3600 * 10**9),
    ),
    (
        (("b/s", "bit/s", "bps"), 1),
        (("kb/s", "kbit/s", "kbps"), 10**3),
        (("Mb/s", "Mbit/s", "Mbps"), 10**6),
        (("Gb/s", "Gbit/s", "Gbps"), 10**9),
        (("Tb/s", "Tbit/s", "Tbps"), 10**12),
    ),
    (
        (("B", "byte", "bytes"), 1),
        (("kB",), 10**3),
        (("MB",), 10**6),
        (("GB",), 10**9),
        (("TB",), 10**12),
        (("KiB",), 2**10),
        (("MiB",), 2**20),
        (("GiB",), 2**30),
    ),
    ((("packets", "packet"), 1),),
    ((("%",), 1),),
    ((("BDP", "bdp"), 1),),
)
"""Units by dimension: their spellings, of which the first is shown, and their size."""

_UNITS: Final = {
    name: (dimension, names[0], size)
    for dimension, units in enumerate(_DIMENSIONS)
    for names, size in units
    for name in names
}
_QUANTITY: Final = re.compile(r"\s*([+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?)\s*(\S+)\s*")


@dataclass(frozen=True, slots=True)
class Typed:
    """A column of quantities.

    Attributes
    ----------
    values : tuple of int or float
        In `unit`; integers if all are whole.
    unit : str
        The unit of the first value.
    """

    values: tuple[int | float, ...]
    unit: str


def typed(labels: Sequence[object]) -> Typed | None:
    """Read labels as numbers with a unit.

    Parameters
    ----------
    labels : sequence
        Labels of an axis, each once.

    Returns
    -------
    Typed or None
        ``None`` unless every label is a text of a number and a unit, all of one dimension, and no two are equal.

    Examples
    --------
    >>> typed(["20 packets", "5 packets"])
    Typed(values=(20, 5), unit='packets')
    >>> typed(["500 kb/s", "2 Mb/s"]), typed(["2 Mb/s", "500 kb/s"])
    (Typed(values=(500, 2000), unit='kb/s'), Typed(values=(2.0, 0.5), unit='Mb/s'))
    >>> typed(["20 packets", "30 kB"]), typed(["20", "30"]), typed(["reno"])
    (None, None, None)
    """
    found = [_read(label) for label in labels]
    if not found or any(one is None for one in found):
        return None
    known = [one for one in found if one is not None]
    _, (first, unit, size) = known[0]
    if any(dimension != first for _, (dimension, _, _) in known):
        return None
    values = [number * one / size for number, (_, _, one) in known]
    if len(set(values)) < len(values):
        return None
    whole = all(value.denominator == 1 for value in values)
    return Typed(tuple(int(value) if whole else float(value) for value in values), unit)


def _read(label: object) -> tuple[Fraction, tuple[int, str, int]] | None:
    match = _QUANTITY.fullmatch(label) if isinstance(label, str) else None
    if match is None or match[2] not in _UNITS:
        return None
    return Fraction(match[1]), _UNITS[match[2]]


def shown(label: object, unit: str | None = None) -> str:
    """Write a label of an axis for people, with its unit if there is one.

    Parameters
    ----------
    label : str, int, float or bool
    unit : str, optional

    Returns
    -------
    str

    Examples
    --------
    >>> shown(20, "packets"), shown(0.5), shown(True), shown("reno"), shown(10.0)
    ('20 packets', '0.5', 'true', 'reno', '10')
    """
    if isinstance(label, bool):
        text = "true" if label else "false"
    else:
        text = f"{label:.12g}" if isinstance(label, float) else str(label)
    return f"{text} {unit}" if unit else text


def headed(column: str, unit: str | None) -> str:
    """Write the heading of a column: its name, and its unit in parentheses.

    Parameters
    ----------
    column : str
    unit : str or None

    Returns
    -------
    str

    Examples
    --------
    >>> headed("buffer", "packets"), headed("cc", None)
    ('buffer (packets)', 'cc')
    """
    return f"{column} ({unit})" if unit else column


def in_order(levels: Iterable[object]) -> list[object]:
    """Return the different values of a column: numbers ascending, others in the order given.

    Parameters
    ----------
    levels : iterable

    Returns
    -------
    list

    Examples
    --------
    >>> in_order([20, 5, 100, 5]), in_order(["reno", "bbr", "reno"])
    ([5, 20, 100], ['reno', 'bbr'])
    """
    different = list(dict.fromkeys(levels))
    return sorted(different) if different and all(is_number(one) for one in different) else different  # type: ignore[type-var]


def is_number(label: object) -> bool:
    """Whether a label is a number; booleans are not.

    Parameters
    ----------
    label : object

    Returns
    -------
    bool

    Examples
    --------
    >>> is_number(5), is_number(0.5), is_number(True), is_number("5")
    (True, True, False, False)
    """
    return isinstance(label, int | float) and not isinstance(label, bool)
