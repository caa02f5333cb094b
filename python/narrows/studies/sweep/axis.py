"""Axes of a sweep: the values that a path of the scenario takes, from lists, ranges and log ranges."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.model.scenario import Override

Label = str | int | float | bool
"""The label of a value in a column of the results."""

SCENARIO: Final = "scenario"
"""The path that denotes the scenario file itself."""

MAX_VALUES: Final = 1_000_000
"""Largest number of values in a range."""


@dataclass(frozen=True, slots=True)
class Value:
    """One step of an axis.

    Attributes
    ----------
    labels : dict
        Labels in the results, by column.
    overrides : dict
        Overrides that the step sets, by path of the scenario.
    scenario : str or None
        The scenario file, on an axis over files.
    """

    labels: Mapping[str, Label]
    overrides: Mapping[str, Override]
    scenario: str | None = None


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of the sweep: its columns, and its values in order.

    Attributes
    ----------
    name : str
        Name of the axis.
    columns : tuple of str
        Columns that it adds to the results.
    paths : tuple of str
        Paths of the scenario that it sets; ``scenario`` is the file.
    values : tuple of Value
        At least one.
    line : int or None
        Its line in the sweep file, from 1.
    units : dict
        Units of its columns that have one, by column.
    log : tuple of str
        Columns whose values come from a ``log_range``.
    """

    name: str
    columns: tuple[str, ...]
    paths: tuple[str, ...]
    values: tuple[Value, ...]
    line: int | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    log: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.values)


def label_of(value: Any) -> Label:
    """Return the label of a value from the sweep file.

    Parameters
    ----------
    value : any
        A parsed TOML value; decimals are exact in it and become floats in the label.

    Returns
    -------
    str, int, float or bool

    Examples
    --------
    >>> label_of("5 packets"), label_of(Decimal("0.25")), label_of({"kind": "red"})
    ('5 packets', 0.25, '{kind = red}')
    """
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {label_of(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(str(label_of(inner)) for inner in value) + "]"
    return str(value)


def override_of(value: Any, unit: str | None = None) -> Override:
    """Return the override that a value from the sweep file sets in the scenario.

    Parameters
    ----------
    value : any
        A parsed TOML value.
    unit : str, optional
        Unit that is added to a number.

    Returns
    -------
    str, int, float, bool or dict

    Examples
    --------
    >>> override_of(Decimal("0.10"), "Mb/s"), override_of(5), override_of(Decimal("1e-6"))
    ('0.10 Mb/s', 5, '0.000001')
    """
    if unit is not None:
        return f"{_plain(value)} {unit}"
    if isinstance(value, Decimal):
        return _plain(value)
    if isinstance(value, dict):
        return {key: float(inner) if isinstance(inner, Decimal) else inner for key, inner in value.items()}
    if isinstance(value, list):
        return "[" + ", ".join(_toml(inner) for inner in value) + "]"
    if isinstance(value, str | int | float | bool):
        return value
    return str(value)


def _toml(value: Any) -> str:
    if isinstance(value, str):
        import json

        return json.dumps(value, ensure_ascii=False)
    return str(override_of(value)).lower() if isinstance(value, bool) else str(override_of(value))


def _plain(value: Any) -> str:
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def count_of(first: Decimal, last: Decimal, step: Decimal) -> int:
    """Number of values in a range. The last end is included if a step hits it.

    Parameters
    ----------
    first, last, step : Decimal
        `step` is not zero, and points from `first` to `last`.

    Returns
    -------
    int

    Examples
    --------
    >>> count_of(Decimal(5), Decimal(500), Decimal(5)), count_of(Decimal(0), Decimal(1), Decimal("0.3"))
    (100, 4)
    """
    return int((last - first) / step) + 1


def linear(first: Decimal, last: Decimal, step: Decimal) -> list[Decimal | int]:
    """Values of a range, exact in decimals.

    Parameters
    ----------
    first, last, step : Decimal
        As for `count_of`.

    Returns
    -------
    list of Decimal or int
        Integers if both start and step are integers.

    Examples
    --------
    >>> linear(Decimal(5), Decimal(20), Decimal(5))
    [5, 10, 15, 20]
    >>> [str(value) for value in linear(Decimal("0.1"), Decimal("0.3"), Decimal("0.1"))]
    ['0.1', '0.2', '0.3']
    """
    return [_whole(first + step * i) for i in range(count_of(first, last, step))]


def logarithmic(first: Decimal, last: Decimal, count: int) -> list[Decimal | int]:
    """Values with a constant ratio, both ends included.

    Parameters
    ----------
    first, last : Decimal
        Above zero.
    count : int
        Number of values; at least 2.

    Returns
    -------
    list of Decimal or int
        If both ends are integers, rounded to integers without duplicates; else rounded to six significant digits.

    Examples
    --------
    >>> logarithmic(Decimal(5), Decimal(500), 5)
    [5, 16, 50, 158, 500]
    >>> [str(value) for value in logarithmic(Decimal("0.000001"), Decimal("0.0001"), 3)]
    ['0.000001', '0.00001', '0.0001']
    """
    integers = first == first.to_integral_value() and last == last.to_integral_value()
    ratio = math.log(last / first) / (count - 1)
    raw = [float(first) * math.exp(ratio * i) for i in range(count)]
    if integers:
        return list(dict.fromkeys([int(first), *(round(value) for value in raw[1:-1]), int(last)]))
    middle = [_whole(Decimal(f"{value:.6g}").normalize()) for value in raw[1:-1]]
    return list(dict.fromkeys([_whole(first), *middle, _whole(last)]))


def _whole(value: Decimal) -> Decimal | int:
    return int(value) if value == value.to_integral_value() and (value.as_tuple().exponent == 0) else value
