"""Reading directories of results: the JSON that describes one, and what a user is told of a damaged one."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from narrows.base.errors import InputError, NarrowsError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike
    from pathlib import Path

DAMAGE: Final = (
    OSError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    NotImplementedError,
    RecursionError,
)
"""Exceptions of code that reads files whose content is not as it was written."""


@contextmanager
def refusing_damage(directory: str | PathLike[str]) -> Iterator[None]:
    """Say that a directory is damaged if the block cannot read it.

    Parameters
    ----------
    directory : path

    Yields
    ------
    None

    Raises
    ------
    InputError
        In place of the exceptions that damaged files cause. Errors of Narrows pass.
    """
    try:
        yield
    except NarrowsError:
        raise
    except DAMAGE as error:
        message = f"{directory}: is damaged: {error!r}"
        raise InputError(message) from None


def described(path: Path, **wanted: object) -> dict[str, Any]:
    """Read the JSON object that describes a directory.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    **wanted
        Values by key that the object must have, such as ``format=1``.

    Returns
    -------
    dict

    Raises
    ------
    InputError
        If it has another value.
    OSError, ValueError, RecursionError
        If it cannot be read, or is no JSON.
    """
    content = json.loads(path.read_text(encoding="utf-8"))
    for key, value in wanted.items():
        found = content.get(key) if isinstance(content, dict) else None
        if found != value:
            message = f"{path}: {key} is {found!r}; allowed: {value!r}"
            raise InputError(message)
    return dict(content)


def has(path: Path, key: str, *values: object) -> bool:
    """Return whether a file holds a JSON object with a key.

    Parameters
    ----------
    path : pathlib.Path
    key : str
    *values
        Allowed values; any by default.

    Returns
    -------
    bool
        False also if the file cannot be read.
    """
    try:
        content = described(path)
    except (OSError, TypeError, ValueError, RecursionError):
        return False
    return key in content and (not values or content[key] in values)
