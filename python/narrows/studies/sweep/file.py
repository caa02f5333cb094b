"""Parsing of sweep files: TOML to a `Sweep`, or all problems at once."""

from __future__ import annotations

import difflib
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from narrows.base import bundled, inputs
from narrows.base.errors import InputError, Problem, SweepError
from narrows.studies.sweep import columns, lines
from narrows.studies.sweep.axes import read_axes
from narrows.studies.sweep.base import Base
from narrows.studies.sweep.directory import kept_name
from narrows.studies.sweep.plan import Sweep

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from narrows.model.scenario import Override
    from narrows.studies.sweep.axis import Axis

FORMAT: Final = 1
"""Version of sweep files; the default for a file without ``format``."""

_KEYS: Final = ("format", "name", "title", "scenario", "seeds", "keep", "set", "axes")
_SEEDS: Final = "seeds = .. at the top: how many, or a list"
_MAX_SEED: Final = 2**63 - 1


class Reader:
    """A file that is being read, and the problems found in it.

    Parameters
    ----------
    text, path : str
    """

    def __init__(self, text: str, path: str) -> None:
        self.path = path
        self.problems: list[Problem] = []
        self._places = lines.index(text)

    def line(self, *place: str | int) -> int | None:
        """Return the line of a place, or of the nearest enclosing one."""
        return lines.find(self._places, place)

    def refuse(self, place: lines.Place, value: Any, allowed: str, *, why: str | None = None) -> None:
        """Record a problem: field, value, what is allowed."""
        named = _field(place)
        told = f"{named}: {why}" if why else f"{named} is {_described(value)}"
        self.problems.append(
            Problem(
                self.path,
                self.line(*place),
                named,
                None if value is None else _described(value),
                allowed,
                f"{told}; allowed: {allowed}",
            )
        )

    def unknown(self, place: lines.Place, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
        """Record unknown keys as problems."""
        for key in table:
            if key not in known:
                close = difflib.get_close_matches(key, known, n=1)
                meant = f" (did you mean {close[0]}?)" if close else ""
                self.refuse((*place, key), None, ", ".join(known), why=f"there is no such key{meant}")


def read(path: str | PathLike[str], overrides: Mapping[str, Override] | None = None) -> Sweep:
    """Read a sweep file; see `Sweep.from_file`.

    Parameters
    ----------
    path : path
    overrides : mapping, optional

    Returns
    -------
    Sweep

    Raises
    ------
    InputError
        If the file cannot be read.
    SweepError
        With all problems.
    """
    text = inputs.text(path, "a sweep file (TOML)")
    return parse(text, str(path), overrides)


def parse(text: str, path: str = "<text>", overrides: Mapping[str, Override] | None = None) -> Sweep:
    """Parse the text of a sweep file; see `Sweep.parse`.

    Parameters
    ----------
    text, path : str
    overrides : mapping, optional

    Returns
    -------
    Sweep

    Raises
    ------
    SweepError
        With all problems.
    """
    reader = Reader(text, path)
    try:
        # Decimals keep numbers as written: steps of 0.1 reach 0.3 exactly, and 1e-6 is passed to the scenario
        # unchanged.
        table = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        line = _line_of(error)
        raise SweepError([Problem(path, line, "", None, "TOML", f"is not TOML: {error}")]) from None
    reader.unknown((), table, _KEYS)
    if table.get("format", FORMAT) != FORMAT:
        reader.refuse(("format",), table["format"], str(FORMAT))
    name = _text(reader, table, "name") or ("sweep" if path in {"<text>", inputs.STANDARD_INPUT} else Path(path).stem)
    if name.startswith(".") or "/" in name or "\0" in name:
        reader.refuse(("name",), name, "a name for a directory too: no / in it, no dot at its start")
    scenario = _text(reader, table, "scenario")
    seeds = _seeds(reader, table.get("seeds", 1))
    keep = _keep(reader, table.get("keep"))
    settings = _settings(reader, table.get("set", {}))
    axes = read_axes(reader, table.get("axes", []))
    _check_together(reader, scenario, axes, settings, overrides or {})
    bases = _bases(reader, Path(path).parent, scenario, axes)
    if reader.problems:
        raise SweepError(sorted(reader.problems, key=lambda problem: problem.line or 0))
    places = {dotted: reader.line("set", *dotted.split(".")) for dotted in settings}
    return Sweep(
        name=name,
        path=path,
        text=text,
        axes=axes,
        seeds=seeds,
        settings={**settings, **(overrides or {})},
        keep=keep,
        bases=bases,
        scenario=scenario,
        lines={dotted: line for dotted, line in places.items() if line is not None},
    )


def _line_of(error: tomllib.TOMLDecodeError) -> int | None:
    before, found, rest = str(error).partition("at line ")
    number = rest.partition(",")[0]
    return int(number) if before and found and number.isdigit() else None


def _field(place: lines.Place) -> str:
    dotted = ""
    for part in place:
        dotted += f"[{part}]" if isinstance(part, int) else f".{part}" if dotted else part
    return dotted


def _text(reader: Reader, table: Mapping[str, Any], key: str) -> str | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        reader.refuse((key,), value, "text")
        return None
    return value


def _seeds(reader: Reader, value: Any) -> tuple[int, ...]:
    allowed = "how many (from 1 to 1,000,000), or a list of different seeds from 0 to 2^63-1"
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1_000_000:
        return tuple(range(1, value + 1))
    if (
        isinstance(value, list)
        and value
        and all(isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed <= _MAX_SEED for seed in value)
        and len(set(value)) == len(value)
    ):
        return tuple(value)
    reader.refuse(("seeds",), value, allowed)
    return (1,)


def _keep(reader: Reader, value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not value or not all(isinstance(metric, str) for metric in value):
        reader.refuse(("keep",), value, "a list of metrics, such as ['throughput_mbps', 'loss_ratio']")
        return None
    known = columns.all_metrics()
    for metric in value:
        if metric not in known:
            close = difflib.get_close_matches(metric, known, n=3)
            reader.refuse(("keep",), metric, ", ".join(close) if close else "a metric of docs/metrics.md")
    return tuple(value)


def _settings(reader: Reader, value: Any) -> dict[str, Override]:
    from narrows.studies.sweep.axis import override_of

    if not isinstance(value, dict):
        reader.refuse(("set",), value, "a table of values by path of the scenario")
        return {}
    flat: dict[str, Override] = {}

    def flatten(table: Mapping[str, Any], above: str) -> None:
        for key, inner in table.items():
            path = f"{above}.{key}" if above else key
            if isinstance(inner, dict):
                flatten(inner, path)
            else:
                flat[path] = override_of(inner)

    flatten(value, "")
    return flat


def _check_together(
    reader: Reader,
    scenario: str | None,
    axes: tuple[Axis, ...],
    settings: Mapping[str, Override],
    overrides: Mapping[str, Override],
) -> None:
    """Check the whole file: columns and paths that two axes set, and that every point has a scenario."""
    over_files = [axis for axis in axes if any(value.scenario for value in axis.values)]
    if scenario is None and not over_files:
        wanted = "a scenario file beside this one, or a name from `narrows list scenarios`"
        reader.refuse(("scenario",), None, wanted, why="is missing")
    if scenario is not None and over_files:
        reader.refuse(("scenario",), scenario, "one of both", why="there is an axis over scenarios too")
    if "seed" in settings:
        reader.refuse(("set", "seed"), settings["seed"], _SEEDS)
    if "seed" in overrides:
        message = f"--set seed={overrides['seed']}: a sweep has seeds of its own; allowed: {_SEEDS}"
        raise InputError(message)
    _check_columns(reader, axes)
    _check_paths(reader, axes, settings, overrides)


def _check_columns(reader: Reader, axes: tuple[Axis, ...]) -> None:
    taken: set[str] = set()
    forbidden = columns.reserved()
    for number, axis in enumerate(axes):
        for column in axis.columns:
            if column in forbidden and axis.paths != ("seed",):
                reader.refuse(("axes", number, "name"), column, "a name that is not a column of the results")
            elif column in taken:
                reader.refuse(("axes", number, "name"), column, "a name that no other axis has")
            taken.add(column)


def _check_paths(
    reader: Reader, axes: tuple[Axis, ...], settings: Mapping[str, Override], overrides: Mapping[str, Override]
) -> None:
    paths = [path for axis in axes for path in axis.paths]
    for number, axis in enumerate(axes):
        for path in axis.paths:
            if path == "seed":
                reader.refuse(("axes", number, "path"), path, _SEEDS)
            if path in settings:
                reader.refuse(("set", path), None, "one of both", why="an axis sets this too")
            if path in overrides:
                message = f"--set {path}: an axis of {reader.path} sets this; allowed: paths that no axis sets"
                raise InputError(message)
        if any(paths.count(path) > 1 for path in axis.paths):
            reader.refuse(("axes", number), None, "a path that no other axis sets", why=f"{axis.name} is set twice")


def _bases(reader: Reader, beside: Path, scenario: str | None, axes: tuple[Axis, ...]) -> dict[str, Base]:
    wanted: dict[str, lines.Place] = {}
    if scenario is not None:
        wanted[scenario] = ("scenario",)
    for number, axis in enumerate(axes):
        for value in axis.values:
            if value.scenario is not None:
                wanted.setdefault(value.scenario, ("axes", number, "values"))
    bases: dict[str, Base] = {}
    kept: dict[str, str] = {}
    for name, place in wanted.items():
        found = _find(beside, name)
        same = kept.setdefault(kept_name(name), name)
        if same != name:
            why = f"{name} and {same} would be kept in one file"
            reader.refuse(place, name, "names that differ in more than / for - and .toml at the end", why=why)
        if found is None:
            close = difflib.get_close_matches(name, bundled.scenarios(), n=3)
            also = f" (such as {', '.join(close)})" if close else ""
            reader.refuse(place, name, f"a file beside the sweep, or a name from `narrows list scenarios`{also}")
            continue
        try:
            shown = name if found in bundled.scenarios().values() else str(found)
            bases[name] = Base(name, shown, inputs.text(found, "a scenario in TOML"))
        except InputError as error:
            reader.refuse(place, name, "a scenario in TOML that can be read", why=str(error))
    return bases


def _find(beside: Path, name: str) -> Path | None:
    # Also look where a sweep's directory keeps its scenarios, so that its sweep.toml can be run unchanged.
    for path in (beside / name, beside / kept_name(name)):
        if path.is_file():
            return path
    return bundled.scenarios().get(name.removesuffix(".toml"))


def _described(value: Any) -> str:
    """Format a value of the file for a message."""
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
