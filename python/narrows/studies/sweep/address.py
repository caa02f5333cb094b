"""Content addresses: a hash of everything that determines a run.

A run is determined by its resolved scenario, its seed, the engine (version and build), and the Python code that takes
part: the user's own congestion controls, and a measure.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import marshal
from pathlib import Path
from types import CellType, CodeType
from typing import TYPE_CHECKING, Any, Final

from narrows.base.engine import Engine, engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from narrows.model.scenario import Scenario

__all__ = ["FORMAT", "Engine", "content", "engine", "fingerprint", "of", "of_runs", "own_controls"]

FORMAT: Final = 1
"""Version of addresses and of what is kept of a run; a new version changes every address."""


def content(text: str, parts: Iterable[str] = ()) -> str:
    """SHA-256 of what is run, without the seed and the engine.

    Parameters
    ----------
    text : str
        The resolved scenario (`Scenario.to_nameless_toml`).
    parts : iterable of str
        Fingerprints of the Python code that takes part.

    Returns
    -------
    str
        Hexadecimal.
    """
    return hashlib.sha256("\n".join((*parts, "", text)).encode()).hexdigest()


def of(what: str, seed: int) -> str:
    """Content address of a run.

    Parameters
    ----------
    what : str
        Hash returned by `content`.
    seed : int
        Seed of the run.

    Returns
    -------
    str
        SHA-256, hexadecimal.
    """
    made = engine()
    whole = "\n".join(("narrows sweep", str(FORMAT), made.release, made.build, str(seed), what))
    return hashlib.sha256(whole.encode()).hexdigest()


def of_runs(scenario: Scenario, seed: int, parts: Iterable[str] = ()) -> Callable[[int], str]:
    """Return what gives the content address of a run of a scenario by its index.

    Parameters
    ----------
    scenario : Scenario
    seed : int
    parts : iterable of str
        What else the runs depend on, such as a kernel.

    Returns
    -------
    callable
    """
    text = scenario.to_nameless_toml()
    codes = [*parts, *(fingerprint(factory) for factory in own_controls(scenario).values())]
    return lambda index: of(content(text, [*codes, f"run {index}"]), seed)


def own_controls(scenario: Scenario) -> dict[str, Callable[..., object]]:
    """Congestion controls written in Python that a scenario's flows use.

    Parameters
    ----------
    scenario : Scenario

    Returns
    -------
    dict
        Factories by name.
    """
    return scenario.own_controls()


def fingerprint(function: Callable[..., object]) -> str:
    """SHA-256 of the code of a class or function: of its source file if there is one, else of its compiled code.

    Parameters
    ----------
    function : callable

    Returns
    -------
    str
        Hexadecimal.
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
    """Return the values that a function carries beside its code: defaults, and captured variables."""
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
    # A captured function's identity differs from process to process, so use its code.
    return [code.co_code for code in _codes(content)] if callable(content) else content


def _codes(function: Any) -> list[CodeType]:
    inner = inspect.unwrap(function)
    if isinstance(inner, functools.partial):
        inner = inner.func
    holders = vars(inner).values() if isinstance(inner, type) else [inner, type(inner).__dict__.get("__call__")]
    found = [getattr(inspect.unwrap(holder), "__code__", None) for holder in holders if callable(holder)]
    codes = [code for code in found if isinstance(code, CodeType)]
    # Read each file once, however many methods it has.
    return list({(code.co_filename if Path(code.co_filename).is_file() else id(code)): code for code in codes}.values())
