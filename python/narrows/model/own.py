"""Congestion controls of the user's own, written in Python: registered by name, then used like built-in ones.

They are for prototyping. Each ACK is a call into Python, so a run is slower by a factor of tens; its results are as
exact and reproducible as any. A prototype that works is worth an hour of porting to Rust: one file and one row.
"""

from __future__ import annotations

import inspect
import re
import runpy
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from narrows.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

from narrows._core import Ack, Congestion, Path, Window

__all__ = [
    "Ack",
    "Congestion",
    "CongestionControl",
    "Path",
    "Window",
    "congestion_control",
    "controls",
    "load",
    "register",
    "unregister",
]

C = TypeVar("C", bound=type)

TIME_LIMIT_S = 1.0
"""Default time limit for one call of a method, s."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")


@runtime_checkable
class CongestionControl(Protocol):
    """Methods that a congestion control must have.

    It may also have ``on_start(path, window)`` (the connection is established), ``on_recovered(path, window)`` (loss
    recovery has ended) and ``on_undo(path, window)`` (the last reduction was spurious; the window is already restored).

    Windows and thresholds are in bytes, times in seconds, rates in bit/s.
    """

    def on_ack(self, ack: Ack, path: Path, window: Window) -> None:
        """Grow the window on an ACK that delivered data, in the phases open, disorder and loss.

        Parameters
        ----------
        ack : Ack
            What it acknowledged, with samples of round-trip time and delivery rate.
        path : Path
            What the connection knows of its path; read only.
        window : Window
            Set ``cwnd``, ``ssthresh`` or ``pacing_rate``.
        """

    def on_congestion(self, event: Congestion, path: Path, window: Window) -> None:
        """Reduce the window; called once per window of data.

        Parameters
        ----------
        event : Congestion
            ``kind`` is ``"loss"``, ``"ecn"`` or ``"timeout"``.
        path : Path
            What the connection knows; ``flightsize`` is the value when the loss was found.
        window : Window
            Set ``ssthresh``, and ``cwnd`` to its value when recovery ends (after a timeout: immediately).
        """


@dataclass(frozen=True, slots=True)
class _Own:
    factory: Callable[..., object]
    title: str
    time_limit_s: float
    parameters: tuple[tuple[str, str, bool | float], ...]


_registry: dict[str, _Own] = {}
_files: dict[str, str] = {}


def register(name: str, factory: Callable[..., object], *, time_limit_s: float = TIME_LIMIT_S) -> None:
    """Make a class usable as ``cc = "name"`` in scenarios that are read from now on.

    Parameters
    ----------
    name : str
        Lower-case letters, digits and ``_``; not a name of the engine's. An own name may be registered again.
    factory : callable
        Called without positional arguments for each end of each flow; returns an object with ``on_ack`` and
        ``on_congestion``. Keyword parameters with numbers or switches as defaults become ``cc_params``. The first line
        of its docstring is the title.
    time_limit_s : float
        Time limit for one call of a method, in wall-clock time, s; ``math.inf`` for no limit. The run fails if a call
        takes longer.

    Raises
    ------
    InputError
        If the name, the limit or a parameter cannot be used, or a method is missing.

    Examples
    --------
    >>> class Fixed:
    ...     "A window that never changes."
    ...     def on_ack(self, ack, path, window):
    ...         window.cwnd = 10 * path.smss
    ...     def on_congestion(self, event, path, window):
    ...         window.ssthresh = window.cwnd
    >>> register("fixed", Fixed)
    >>> "fixed" in controls()
    True
    >>> unregister("fixed")
    """
    from narrows.model.catalogue import engine_catalogue

    if not _is_text(name) or not _NAME.fullmatch(name):
        message = (
            f"congestion control {name!r}: the name cannot be used; "
            "allowed: lower-case letters, digits and _, such as my_aimd"
        )
        raise InputError(message)
    if name in {str(row["name"]) for row in engine_catalogue()["cc"]}:
        message = (
            f"congestion control {name!r}: the engine has one of this name; "
            "allowed: any name that `narrows list cc` lacks"
        )
        raise InputError(message)
    for method in ("on_ack", "on_congestion"):
        if isinstance(factory, type) and not callable(getattr(factory, method, None)):
            message = (
                f"congestion control {name!r}: {factory.__name__} has no method {method}; "
                "allowed: a class with on_ack(ack, path, window) and on_congestion(event, path, window)"
            )
            raise InputError(message)
    if not time_limit_s > 0:
        message = f"congestion control {name!r}: time_limit_s is {time_limit_s}; allowed: more than 0 s"
        raise InputError(message)
    doc = inspect.getdoc(factory) or ""
    title = doc.partition("\n")[0].rstrip(".") or f"{getattr(factory, '__name__', name)} (Python)"
    _registry[name] = _Own(factory, title, float(time_limit_s), _parameters(name, factory))


def congestion_control(name: str, *, time_limit_s: float = TIME_LIMIT_S) -> Callable[[C], C]:
    """Register a class, as a decorator; see `register`.

    Parameters
    ----------
    name : str
    time_limit_s : float
        As for `register`.

    Returns
    -------
    callable
        The decorator; it returns the class as it was.

    Raises
    ------
    InputError
        If the name is missing: a bare ``@congestion_control`` would register nothing.
    """
    if not _is_text(name):
        message = (
            f"the decorator congestion_control has no name; allowed: @narrows.congestion_control({_suggestion(name)!r})"
        )
        raise InputError(message)

    def registered(factory: C) -> C:
        register(name, factory, time_limit_s=time_limit_s)
        return factory

    return registered


def _is_text(given: object) -> bool:
    return isinstance(given, str)


def _suggestion(given: object) -> str:
    name = re.sub(r"[^a-z0-9_]", "", str(getattr(given, "__name__", "")).lower())
    return name if _NAME.fullmatch(name) else "my_aimd"


def load(path: str | PathLike[str]) -> None:
    """Run a Python file that registers congestion controls.

    Parameters
    ----------
    path : path
        The file. Its ``__name__`` is not ``"__main__"``.

    Raises
    ------
    InputError
        If it cannot be read, raises, or registers nothing.
    """
    before = dict(_registry)
    try:
        runpy.run_path(str(path), run_name="narrows_own")
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror or error}; allowed: a Python file"
        raise InputError(message) from None
    except InputError as error:
        message = f"{path}: {error}"
        raise InputError(message) from None
    except Exception as error:
        line = _line_in(str(path), error)
        message = f"{path}{line}: {type(error).__name__}: {error}"
        raise InputError(message) from error
    if _registry == before:
        message = f"{path}: registers no congestion control; allowed: @narrows.congestion_control(NAME) on a class"
        raise InputError(message)
    _files.update((name, str(path)) for name, own in _registry.items() if before.get(name) != own)


def file_of(name: str) -> str | None:
    """Return the file that registered a congestion control, as `load` was given it.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    str or None
        ``None`` if no file was loaded for it.
    """
    return _files.get(name) if name in _registry else None


def _line_in(path: str, error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    line = error.lineno if isinstance(error, SyntaxError) else frames[-1].lineno if frames else None
    return "" if line is None else f":{line}"


def unregister(name: str) -> None:
    """Remove an own congestion control; does nothing if there is none of this name.

    Parameters
    ----------
    name : str
        Its name.
    """
    _registry.pop(name, None)


def controls() -> dict[str, Callable[..., object]]:
    """Return own congestion controls by name.

    Returns
    -------
    dict
        In the order of registration.
    """
    return {name: own.factory for name, own in _registry.items()}


def timed() -> dict[str, tuple[Callable[..., object], float]]:
    """Return own congestion controls by name, each with its time limit per call, in the form that the engine expects.

    Returns
    -------
    dict
        Factory and seconds, in the order of registration.
    """
    return {name: (own.factory, own.time_limit_s) for name, own in _registry.items()}


def rows() -> list[tuple[str, str, list[tuple[str, str, bool | float]]]]:
    """Return own congestion controls in the form that the engine's catalogue expects.

    Returns
    -------
    list of tuple
        Name, title, and parameters as (name, meaning, default).
    """
    return [(name, own.title, list(own.parameters)) for name, own in _registry.items()]


def _parameters(name: str, factory: Callable[..., object]) -> tuple[tuple[str, str, bool | float], ...]:
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):  # a class written in C has no signature
        return ()
    found: list[tuple[str, str, bool | float]] = []
    for parameter in signature.parameters.values():
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            continue
        default = parameter.default
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY or not isinstance(default, bool | int | float):
            given = "no default" if default is inspect.Parameter.empty else f"the default {default!r}"
            message = (
                f"congestion control {name!r}: parameter {parameter.name!r} has {given};"
                " allowed: keyword parameters whose default is a number or a bool"
            )
            raise InputError(message)
        found.append((parameter.name, "", default if isinstance(default, bool) else float(default)))
    return tuple(found)
