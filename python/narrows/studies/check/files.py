"""Finding test cases: files, directories of them, and the bundled sets by name."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows.base import bundled, inputs
from narrows.base.errors import InputError, Problem, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterable

TABLES: Final = ("case", "steps", "expect")
"""Tables of which a scenario file has at least one if it is a test case."""

MOST_FILES: Final = 10_000
"""Most files of one command."""

_WHAT: Final = "a test case: a scenario file (TOML) with [[steps]] or [[expect]]"


@dataclass(frozen=True, slots=True)
class File:
    """A file that was named, or found in a directory.

    Attributes
    ----------
    name : str
        How results name it, without ``.toml``: its path as typed; in a directory, its path from the directory's name
        on; of a bundled case its path below the bundled sets.
    path : str
        Where it is.
    text : str
        Its content.
    """

    name: str
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """The test cases of a request.

    Attributes
    ----------
    files : tuple of File
        In the order of the request, those of a directory by name.
    skipped : tuple of str
        Scenario files in directories that are no test cases: they have neither steps nor expectations.
    """

    files: tuple[File, ...]
    skipped: tuple[str, ...]


def find(paths: Iterable[str | os.PathLike[str]]) -> Found:
    """Read the test cases that are named.

    Parameters
    ----------
    paths : iterable of path or str
        Files; directories, of which each ``.toml`` file with steps or expectations is taken, at any depth; names of
        bundled sets (``bbr``) or of one of their cases (``cubic/08-timeout``); ``-`` is standard input.

    Returns
    -------
    Found

    Raises
    ------
    InputError
        If a path does not exist or cannot be read, a named file is no test case, or a directory has none.
    ScenarioError
        With all files that are not TOML.
    """
    files: dict[str, File] = {}
    skipped: list[str] = []
    problems: list[Problem] = []
    named = False
    for given in paths:
        named = True
        standard = os.fspath(given) == inputs.STANDARD_INPUT
        path, root = (Path(inputs.STANDARD_INPUT), None) if standard else _resolve(os.fspath(given))
        if not standard and path.is_dir():
            found = _directory(path, given, root or path.resolve().parent, skipped, problems)
        else:
            name = _name(path, root)
            text = inputs.text(path, _WHAT)
            if not _is_case(text, str(path), problems) and not problems:
                message = f"{given}: has neither steps nor expectations; allowed: {_WHAT}"
                raise InputError(message)
            found = [File(name, str(path), text)]
        taken = {one.name for one in files.values()}
        found = [replace(one, name=one.path.removesuffix(".toml")) if one.name in taken else one for one in found]
        files |= {one.path: one for one in found if one.path not in files}
    if problems:
        raise ScenarioError(problems)
    if not named:
        message = f"no test case is named; allowed: files, directories, and bundled sets: {_sets()}"
        raise InputError(message)
    return Found(tuple(files.values()), tuple(skipped))


def _directory(
    path: Path, given: str | os.PathLike[str], root: Path, skipped: list[str], problems: list[Problem]
) -> list[File]:
    found, before = [], len(problems)
    for one in _below(path):
        name = _name(one.resolve(), root.resolve())
        text = inputs.text(one, _WHAT)
        if _is_case(text, str(one), problems):
            found.append(File(name, str(one), text))
        else:
            skipped.append(name)
    if not found and len(problems) == before:
        message = (
            f"{given}: has no test cases; allowed: a directory with files *.toml that have [[steps]] or [[expect]]"
        )
        raise InputError(message)
    return found


def _resolve(given: str) -> tuple[Path, Path | None]:
    """Return the path that is meant, and the folder of all bundled sets if it is one of them."""
    path = Path(given)
    if os.path.exists(given):  # noqa: PTH110 - Path.exists raises where a directory above cannot be entered
        return path, None
    root = bundled.cases()
    if root is not None and not path.is_absolute() and ".." not in path.parts:
        for one in (root / given, root / f"{given}.toml"):
            if one.exists():
                return one, root
    message = f"{given}: no such file or directory, and no bundled set of cases has that name; allowed: {_sets()}"
    raise InputError(message)


def _sets() -> str:
    root = bundled.cases()
    names = [] if root is None else sorted(one.name for one in root.iterdir() if one.is_dir())
    return ", ".join(names) or "none in this installation"


def _below(directory: Path) -> list[Path]:
    def unreadable(error: OSError) -> None:
        message = f"{error.filename}: cannot be read: {error.strerror or error}"
        raise InputError(message) from error

    paths = sorted(
        Path(folder, name)
        for folder, _, names in os.walk(directory, onerror=unreadable)
        for name in names
        if name.endswith(".toml")
    )
    if len(paths) > MOST_FILES:
        message = f"{directory}: has {len(paths):,} files; allowed: at most {MOST_FILES:,}"
        raise InputError(message)
    return [path for path in paths if path.is_file()]


def _name(path: Path, root: Path | None) -> str:
    inside = root is not None and path.is_relative_to(root)
    shown = path.relative_to(root) if root is not None and inside else path
    return shown.as_posix().removesuffix(".toml")


def _is_case(text: str, path: str, problems: list[Problem]) -> bool:
    try:
        return any(table in tomllib.loads(text) for table in TABLES)
    except tomllib.TOMLDecodeError as error:
        line = getattr(error, "lineno", None) or _line(str(error))
        problems.append(Problem(path, line, "", None, None, f"is not TOML: {error}"))
        return False


def _line(message: str) -> int | None:
    """Return the line that Python's message names: ``.. (at line 3, column 5)``."""
    _, found, rest = message.partition("(at line ")
    number = rest.partition(",")[0]
    return int(number) if found and number.isdigit() else None
