"""How a verb ends: expected errors become one message on stderr and an exit code."""

from __future__ import annotations

import errno
import functools
import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, ParamSpec

import typer

from narrows.base.errors import Interrupted, NarrowsError, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from narrows.model.scenario import Scenario

P = ParamSpec("P")

_SIGNALLED = 128
"""Added to a signal's number to give the exit code: 130 on Ctrl-C, as in shells."""

_GRACE_S = 1.0
"""Time within which a Python handler must have run after a signal, s; otherwise the process ends without it."""

_DEAF = "interrupted while something kept the Python interpreter busy; a later run with the same -o cleans up"

_ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a verb like Ctrl-C: sent at a batch system's time limit, or when a terminal closes."""


def guarded(verb: Callable[P, None]) -> Callable[P, None]:
    """Wrap a verb so that expected errors never show a traceback.

    Parameters
    ----------
    verb : callable
        The function of a command.

    Returns
    -------
    callable
        With the same signature. Its exit code is 2 for bad input, 1 for a failed run or output that cannot be written,
        3 if this machine cannot do it, and 128 plus the number of the signal for Ctrl-C, SIGTERM and SIGHUP. One signal
        is enough, whatever the process is doing.
    """

    @functools.wraps(verb)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> None:
        from narrows.base import interruption

        with _as_ctrl_c() as received:
            try:
                if received is not None:
                    interruption.begin()
                verb(*args, **kwargs)
                sys.stdout.flush()
            except NarrowsError as error:
                tell(error)
                raise ending(error.exit_code) from None
            except KeyboardInterrupt as caught:
                interruption.taken()
                note(str(caught) if isinstance(caught, Interrupted) else "interrupted")
                raise ending(_SIGNALLED + (received[-1] if received else signal.SIGINT)) from None
            except MemoryError:
                note("out of memory; allowed: fewer samples, flows, runs or --jobs at a time")
                raise ending(1) from None
            except OSError as error:
                if error.errno == errno.EPIPE:  # the reader closed the pipe, as `head` does: Typer ends quietly
                    raise
                with suppress(OSError):
                    sys.stdout.close()  # else the unwritten rest is tried again at exit, and fails loudly
                note(f"{error.filename or 'standard output'}: cannot be written: {error.strerror or error}")
                raise typer.Exit(1) from None

    return wrapper


def ending(code: int) -> typer.Exit:
    """Return the end of a verb, or end the process at once if a hook of a user's algorithm did not return.

    At shutdown, the interpreter would wait for such a thread's next step, or crash.

    Parameters
    ----------
    code : int
        Exit code.

    Returns
    -------
    typer.Exit
    """
    from narrows import _core

    if _core.own_threads():
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    return typer.Exit(code)


@contextmanager
def _as_ctrl_c() -> Iterator[list[int] | None]:
    """Treat other signals that end a process like Ctrl-C: keep finished work, leave nothing half-written.

    Yields
    ------
    list of int or None
        Numbers of the received signals, the latest last; the first entry is Ctrl-C's. ``None`` if no handler is set.
    """
    received = [int(signal.SIGINT)]
    if threading.current_thread() is not threading.main_thread():  # only the main thread can set handlers
        yield None
        return
    from narrows import _core
    from narrows.base import interruption

    def interrupt(number: int, _frame: FrameType | None) -> None:
        backstop.heard()
        received.append(number)
        interruption.note(number)

    # A signal that is ignored (nohup) or handled by the host program keeps its handler.
    usual = dict.fromkeys(_ENDING, signal.SIG_DFL) | {signal.SIGINT: signal.default_int_handler}
    ours = {number: handler for number, handler in usual.items() if signal.getsignal(number) is handler}
    backstop = _core.Backstop(_GRACE_S, _DEAF, [int(number) for number in ours])
    _core.end_on_failed_allocation()
    if ours:
        interruption.forget()
    for number in ours:
        signal.signal(number, interrupt)
    before = signal.set_wakeup_fd(backstop.fileno(), warn_on_full_buffer=False) if ours else None
    try:
        yield received if ours else None
    finally:
        if before is not None:
            interruption.end()
            signal.set_wakeup_fd(before)
        for number, handler in ours.items():
            signal.signal(number, handler)


def tell(error: NarrowsError) -> None:
    """Print an error on stderr: one line, or one per problem of a scenario.

    Parameters
    ----------
    error : NarrowsError
    """
    if isinstance(error, ScenarioError):
        count = len(error.problems)
        note(f"the {error.what} is refused: {count} problem{'' if count == 1 else 's'}")
        for problem in error.problems:
            typer.echo(f"  {typer.style(problem.place, bold=True)}: {problem.message}", err=True)
    else:
        note(str(error))


def warn(scenario: Scenario) -> None:
    """Print what is odd in a scenario on stderr, a line each.

    Parameters
    ----------
    scenario : Scenario
    """
    head = typer.style("warning:", fg=None if os.environ.get("NO_COLOR") else "yellow", bold=True)
    for warning in scenario.warnings:
        typer.echo(f"{head} {typer.style(warning.place, bold=True)}: {warning.message}", err=True)


def note(message: str) -> None:
    """Print ``error: message`` on stderr.

    Parameters
    ----------
    message : str
    """
    typer.echo(
        f"{typer.style('error:', fg=None if os.environ.get('NO_COLOR') else 'red', bold=True)} {message}", err=True
    )


def hint(message: str) -> None:
    """Print a remark on stderr.

    Parameters
    ----------
    message : str
    """
    typer.echo(typer.style(message, dim=True) if sys.stderr.isatty() else message, err=True)
