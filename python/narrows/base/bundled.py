"""Files bundled with Narrows: scenarios, the papers' experiments, and the networks validated against ns-2.

They are in the package's ``data``, which in a source checkout links to the top of the repository.
"""

from __future__ import annotations

from pathlib import Path

from narrows.base.errors import InputError

_DATA = Path(__file__).resolve().parents[1] / "data"


def directory(name: str) -> Path:
    """Find a directory of bundled files.

    Parameters
    ----------
    name : str
        ``scenarios``, ``experiments/<paper>`` or ``validation``.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    InputError
        If this installation lacks it.

    Examples
    --------
    >>> directory("scenarios").name
    'scenarios'
    """
    found = _DATA / name
    if not found.is_dir():
        message = f"{name}: is not part of this installation of Narrows ({_DATA})"
        raise InputError(message)
    return found


def scenarios() -> dict[str, Path]:
    """Bundled scenarios by name, sorted.

    Returns
    -------
    dict
        Empty if this installation has none.
    """
    try:
        root = directory("scenarios")
    except InputError:
        return {}
    return {path.stem: path for path in sorted(root.glob("*.toml"))}


def cases() -> Path | None:
    """Return the directory of the bundled test cases, which has a folder per set.

    Returns
    -------
    pathlib.Path or None
        ``None`` if this installation has none.
    """
    found = _DATA / "scenarios" / "cases"
    return found if found.is_dir() else None
