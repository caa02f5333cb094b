"""Parsing of the ``[[axes]]`` tables of a sweep file."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from narrows.studies.sweep.axis import (
    MAX_VALUES,
    SCENARIO,
    Axis,
    Label,
    Value,
    count_of,
    label_of,
    linear,
    logarithmic,
    override_of,
)
from narrows.studies.sweep.quantity import typed

if TYPE_CHECKING:
    from narrows.studies.sweep.file import Reader
    from narrows.studies.sweep.lines import Place

_SOURCES: Final = ("values", "range", "log_range")
_KEYS: Final = ("name", "path", *_SOURCES, "unit", "labels")
_ZIP_KEYS: Final = ("name", "zip", "labels")
_SCALARS: Final = (str, int, Decimal, bool, dict, list)


def read_axes(reader: Reader, given: Any) -> tuple[Axis, ...]:
    """Read all axes.

    Parameters
    ----------
    reader : Reader
        Collects problems.
    given : any
        The value of the key ``axes``.

    Returns
    -------
    tuple of Axis
        The axes without problems.
    """
    if not isinstance(given, list) or not all(isinstance(table, dict) for table in given):
        reader.refuse(("axes",), given, "tables, each under [[axes]]")
        return ()
    made = (_axis(reader, ("axes", number), table) for number, table in enumerate(given))
    return tuple(axis for axis in made if axis is not None)


def _axis(reader: Reader, place: Place, table: dict[str, Any]) -> Axis | None:
    before = len(reader.problems)
    name = table.get("name")
    if name is not None and (not isinstance(name, str) or not name.strip()):
        reader.refuse((*place, "name"), name, "text")
    axis = _zipped(reader, place, table) if "zip" in table else _single(reader, place, table)
    return axis if len(reader.problems) == before else None


def _single(reader: Reader, place: Place, table: dict[str, Any]) -> Axis | None:
    reader.unknown(place, table, (*_KEYS, "zip"))
    path = table.get("path")
    if not isinstance(path, str) or not path.strip():
        why = "is missing" if path is None else None
        reader.refuse((*place, "path"), path, "a path of the scenario, such as tcp.cc, or scenario (files)", why=why)
        return None
    values = _values(reader, place, table)
    if values is None:
        return None
    unit = _unit(reader, place, table, values)
    given = _labels(reader, place, table, len(values))
    labels, shown_unit = _typed(given or [label_of(value) for value in values], unit if given is None else None)
    name = str(table.get("name") or path)
    if path == SCENARIO:
        if not all(isinstance(value, str) for value in values):
            reader.refuse((*place, "values"), values, "names of scenario files")
            return None
        steps = [Value({name: label}, {}, value) for label, value in zip(labels, values, strict=True)]
    else:
        overrides = [override_of(value, unit) for value in values]
        steps = [Value({name: label}, {path: override}) for label, override in zip(labels, overrides, strict=True)]
    if len({str(label) for label in labels}) < len(labels):
        reader.refuse((*place, "values"), None, "each value once", why="a value occurs twice")
    units = {} if shown_unit is None else {name: shown_unit}
    log = (name,) if "log_range" in table and given is None else ()
    return Axis(name, (name,), (path,), tuple(steps), reader.line(*place), units, log)


def _zipped(reader: Reader, place: Place, table: dict[str, Any]) -> Axis | None:
    reader.unknown(place, table, _ZIP_KEYS)
    given = table["zip"]
    if not isinstance(given, dict) or not given:
        reader.refuse((*place, "zip"), given, "a table of lists by path, all equally long")
        return None
    columns: dict[str, list[Any]] = {}
    units: dict[str, str | None] = {}
    for path, source in given.items():
        inner = {"values": source} if isinstance(source, list) else source
        if not isinstance(inner, dict):
            reader.refuse((*place, "zip", path), source, "a list, or a table with values, range or log_range")
            continue
        reader.unknown((*place, "zip", path), inner, (*_SOURCES, "unit"))
        values = _values(reader, (*place, "zip", path), inner)
        if values is not None:
            columns[path] = values
            units[path] = _unit(reader, (*place, "zip", path), inner, values)
            if path == SCENARIO and not all(isinstance(value, str) for value in values):
                reader.refuse((*place, "zip", path), values, "names of scenario files")
    if len(columns) < len(given):
        return None
    lengths = {path: len(values) for path, values in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{path} has {length}" for path, length in lengths.items())
        reader.refuse((*place, "zip"), None, "lists of the same length", why=told)
        return None
    length = next(iter(lengths.values()))
    labels = _labels(reader, place, table, length)
    name = str(table.get("name") or ", ".join(columns))
    if labels is None:
        shown = {path: _typed([label_of(value) for value in values], units[path]) for path, values in columns.items()}
    else:
        shown = {name: _typed(labels, None)}
    steps = []
    for step in range(length):
        row = {path: values[step] for path, values in columns.items()}
        overrides = {path: override_of(value, units[path]) for path, value in row.items() if path != SCENARIO}
        steps.append(Value({column: texts[step] for column, (texts, _) in shown.items()}, overrides, row.get(SCENARIO)))
    known = {column: unit for column, (_, unit) in shown.items() if unit is not None}
    log = tuple(
        path for path, source in given.items() if labels is None and isinstance(source, dict) and "log_range" in source
    )
    return Axis(name, tuple(shown), tuple(columns), tuple(steps), reader.line(*place), known, log)


def _typed(labels: list[Label], unit: str | None) -> tuple[list[Label], str | None]:
    """Return the labels of a column and its unit: texts that are quantities become numbers."""
    found = typed(list(dict.fromkeys(labels))) if unit is None else None
    if found is None:
        return labels, None if unit is None else unit.strip()
    number = dict(zip(dict.fromkeys(labels), found.values, strict=True))
    return [number[label] for label in labels], found.unit


def _values(reader: Reader, place: Place, table: dict[str, Any]) -> list[Any] | None:
    sources = [key for key in _SOURCES if key in table]
    if len(sources) != 1:
        why = f"has {' and '.join(sources)}" if sources else "has no values"
        reader.refuse(place, None, "one of values, range and log_range", why=why)
        return None
    key = sources[0]
    if key == "range":
        return _range(reader, (*place, key), table[key])
    if key == "log_range":
        return _log_range(reader, (*place, key), table[key])
    values = table[key]
    if not isinstance(values, list) or not values or not all(isinstance(value, _SCALARS) for value in values):
        reader.refuse((*place, key), values, "a list of text, numbers, booleans or tables; at least one")
        return None
    return values


def _numbers(reader: Reader, place: Place, table: Any, keys: tuple[str, ...]) -> list[Decimal] | None:
    if not isinstance(table, dict):
        reader.refuse(place, table, f"a table: {{ {', '.join(f'{key} = ..' for key in keys)} }}")
        return None
    before = len(reader.problems)
    reader.unknown(place, table, keys)
    found: list[Decimal] = []
    for key in keys:
        value = table.get(key)
        number = isinstance(value, int | Decimal) and not isinstance(value, bool)
        if not number or not Decimal(str(value)).is_finite():
            reader.refuse(
                (*place, key), value, "a number; units go into unit", why="is missing" if value is None else None
            )
        else:
            found.append(Decimal(str(value)))
    return found if len(reader.problems) == before else None


def _range(reader: Reader, place: Place, table: Any) -> list[Any] | None:
    numbers = _numbers(reader, place, table, ("from", "to", "step"))
    if numbers is None:
        return None
    first, last, step = numbers
    if step == 0 or (last - first) / step < 0:
        reader.refuse((*place, "step"), step, f"a step that leads from {first} to {last}")
        return None
    count = (last - first) / step
    if count >= MAX_VALUES:
        reader.refuse(place, None, f"at most {MAX_VALUES:,} values", why=f"has {int(count) + 1:,} values")
        return None
    return linear(first, last, step) if count_of(first, last, step) else None


def _log_range(reader: Reader, place: Place, table: Any) -> list[Any] | None:
    numbers = _numbers(reader, place, table, ("from", "to", "count"))
    if numbers is None:
        return None
    first, last, count = numbers
    if first <= 0 or last <= 0 or first == last:
        reader.refuse(place, None, "two different ends above 0", why=f"goes from {first} to {last}")
        return None
    if count != count.to_integral_value() or not 2 <= count <= MAX_VALUES:
        reader.refuse((*place, "count"), count, f"a whole number from 2 to {MAX_VALUES:,}")
        return None
    return logarithmic(first, last, int(count))


def _unit(reader: Reader, place: Place, table: dict[str, Any], values: list[Any]) -> str | None:
    unit = table.get("unit")
    if unit is None:
        return None
    if not isinstance(unit, str) or not unit.strip():
        reader.refuse((*place, "unit"), unit, "a unit as in scenario files, such as packets, ms or Mb/s")
        return None
    if not all(isinstance(value, int | Decimal) and not isinstance(value, bool) for value in values):
        reader.refuse((*place, "unit"), unit, "a unit beside plain numbers")
        return None
    return unit


def _labels(reader: Reader, place: Place, table: dict[str, Any], length: int) -> list[Label] | None:
    labels = table.get("labels")
    if labels is None:
        return None
    plain = isinstance(labels, list) and all(isinstance(label, str | int | Decimal | bool) for label in labels)
    if not plain or len(labels) != length or len({str(label) for label in labels}) != length:
        reader.refuse((*place, "labels"), labels, f"a list of {length} different texts or numbers, one per value")
        return None
    return [label_of(label) for label in labels]
