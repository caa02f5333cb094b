"""The files that scenarios on the page may name: those of the opened scenario, and those of the bundled ones."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

from narrows.base import bundled
from narrows.base.errors import InputError

_KEYS: Final = ("trace", "file")
"""Keys of scenario files whose values are names of files."""

_WRITTEN: Final = re.compile(
    rf"(?:{'|'.join(_KEYS)})[\"']?[ \t]*=[ \t]*(?:\"([^\"\n]*)\"|'([^'\n]*)')|(\"[^\"\n]*\\[^\"\n]*\")[ \t]*="
)
"""A key of `_KEYS` with its value, or a quoted key with an escape, which may be one of them."""


def named(text: str) -> list[str]:
    """List the files that a scenario names.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of str
        As written. Python reads TOML 1.0 and the engine 1.1: of a text that Python refuses, everything that may be the
        name of a file.

    Examples
    --------
    >>> named('links = [{ rate = { trace = "a.trace" } }]')
    ['a.trace']
    """
    try:
        return list(dict.fromkeys(_walked(tomllib.loads(text))))
    except (tomllib.TOMLDecodeError, RecursionError):
        return list(dict.fromkeys(next(filter(None, found), "") for found in _WRITTEN.findall(text)))


def _walked(value: Any) -> list[str]:
    if isinstance(value, list):
        return [name for item in value for name in _walked(item)]
    if not isinstance(value, dict):
        return []
    own = [] if "content" in value else [value[key] for key in _KEYS if isinstance(value.get(key), str)]
    return own + [name for item in value.values() for name in _walked(item)]


class Files:
    """Where the files of scenarios are.

    Parameters
    ----------
    text : str
        The opened scenario; empty if there is none.
    folder : pathlib.Path
        The folder that its names are relative to.
    """

    def __init__(self, text: str = "", folder: Path = Path()) -> None:
        self._folder = folder
        self.names = [name for name in named(text) if (folder / name).is_file()]

    def path(self, name: str) -> Path:
        """Return where a file of the opened scenario is.

        Parameters
        ----------
        name : str
            One of `names`.

        Returns
        -------
        pathlib.Path
        """
        return self._folder / name

    def directory(self, text: str) -> Path:
        """Return the folder that the names in a text are relative to.

        Parameters
        ----------
        text : str

        Returns
        -------
        pathlib.Path

        Raises
        ------
        InputError
            If the text names a file that the page was not given.
        """
        wanted = named(text)
        if all(name in self.names for name in wanted):
            return self._folder
        root = bundled.directory("scenarios")
        known = [path.relative_to(root).as_posix() for path in sorted((root / "traces").glob("*"))]
        strange = [name for name in wanted if name not in known]
        if strange:
            message = f"{strange[0]}: is no file of this page; allowed: {', '.join([*self.names, *known])}"
            raise InputError(message)
        return root
