"""Content addresses: what determines a run, as one hash.

A run is determined by its scenario as resolved, its seed, the engine (version and build), and the Python code that
takes part: congestion controls of one's own, and a measure.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import marshal
from pathlib import Path
from types import CellType, CodeType
from typing import TYPE_CHECKING, Any, Final

from narrows import own
from narrows.engine import Engine, engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from narrows.scenario import Scenario

__all__ = ["FORMAT", "Engine", "content", "engine", "fingerprint", "nameless", "of", "own_controls"]

FORMAT: Final = 1
"""Of addresses, and of what is kept of a run: another one is another address for everything."""


_NAMES: Final = ("name = ", "title = ", "description = ", "seed = ")


def content(text: str, parts: Iterable[str] = ()) -> str:
    """SHA-256 of what is run, whatever the seed and the engine.

    Parameters
    ----------
    text : str
        The scenario as resolved (`Scenario.to_toml`).
    parts : iterable of str
        Fingerprints of what else takes part.

    Returns
    -------
    str
        In hexadecimal.
    """
    return hashlib.sha256("\n".join((*parts, "", text)).encode()).hexdigest()


def nameless(resolved: str) -> str:
    r"""A scenario without what changes no run: its name, title and description, and the seed that a run replaces.

    Parameters
    ----------
    resolved : str
        As `Scenario.to_toml` writes it: a line for each of these, before the first table.

    Returns
    -------
    str

    Examples
    --------
    >>> nameless('name = "a"\nduration = "1 s"\n[tcp]\nname = "b"\n')
    'duration = "1 s"\n[tcp]\nname = "b"\n'
    """
    head, table, rest = resolved.partition("\n[")
    lines = [line for line in head.split("\n") if not line.startswith(_NAMES)]
    return "\n".join(lines) + table + rest


def of(what: str, seed: int) -> str:
    """Address of a run.

    Parameters
    ----------
    what : str
        As `content` gives it.
    seed : int
        Of the run.

    Returns
    -------
    str
        SHA-256, in hexadecimal.
    """
    made = engine()
    whole = "\n".join(("narrows sweep", str(FORMAT), made.release, made.build, str(seed), what))
    return hashlib.sha256(whole.encode()).hexdigest()


def own_controls(scenario: Scenario) -> dict[str, Callable[..., object]]:
    """Congestion controls written in Python that a scenario's flows use.

    Parameters
    ----------
    scenario : Scenario

    Returns
    -------
    dict
        By name.
    """
    known = own.controls()
    if not known:
        return {}
    named = set(scenario.congestion_controls().values())
    return {name: factory for name, factory in known.items() if name in named}


def fingerprint(function: Callable[..., object]) -> str:
    """SHA-256 of the code of a class or function: of its file where there is one, else of what it was compiled to.

    Parameters
    ----------
    function : callable

    Returns
    -------
    str
        In hexadecimal.
    """
    digest = hashlib.sha256(getattr(function, "__qualname__", type(function).__qualname__).encode())
    if isinstance(function, functools.partial):
        digest.update(repr((function.args, sorted(function.keywords.items()))).encode())
    bound = _bound(function)
    if bound:
        digest.update(repr(bound).encode())
    for code in _codes(function):
        source = Path(code.co_filename)
        if source.is_file():
            digest.update(source.read_bytes())
        else:
            digest.update(marshal.dumps(code))
    return digest.hexdigest()


def _bound(function: Any) -> list[object]:
    """Return what a function brings along beside its code: defaults, and values of the functions around it."""
    inner = inspect.unwrap(function)
    if isinstance(inner, functools.partial):
        inner = inner.func
    cells = getattr(inner, "__closure__", None) or ()
    held = [getattr(inner, "__defaults__", None), getattr(inner, "__kwdefaults__", None)]
    return [part for part in held if part] + [_content(cell) for cell in cells]


def _content(cell: CellType) -> object:
    try:
        content = cell.cell_contents
    except ValueError:  # not set yet
        return None
    # A function's own name for itself differs from process to process.
    return [code.co_code for code in _codes(content)] if callable(content) else content


def _codes(function: Any) -> list[CodeType]:
    inner = inspect.unwrap(function)
    if isinstance(inner, functools.partial):
        inner = inner.func
    holders = vars(inner).values() if isinstance(inner, type) else [inner, type(inner).__dict__.get("__call__")]
    found = [getattr(inspect.unwrap(holder), "__code__", None) for holder in holders if callable(holder)]
    codes = [code for code in found if isinstance(code, CodeType)]
    # One file is read once, whatever the number of methods in it.
    return list({(code.co_filename if Path(code.co_filename).is_file() else id(code)): code for code in codes}.values())
