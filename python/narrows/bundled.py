"""Files that travel with Narrows: scenarios, and the papers' experiments.

They lie in the package when it is installed from a wheel, and at the top of the repository in a source checkout.
"""

from __future__ import annotations

from pathlib import Path

from narrows.errors import InputError

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent.parent


def directory(name: str) -> Path:
    """Find a directory of bundled files.

    Parameters
    ----------
    name : str
        ``scenarios``, or ``experiments/<paper>``.

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
    for root in (_PACKAGE, _CHECKOUT):
        if (root / name).is_dir():
            return root / name
    message = f"{name}: is not part of this installation of Narrows ({_PACKAGE})"
    raise InputError(message)


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
