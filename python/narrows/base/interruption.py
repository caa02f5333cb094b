"""Whether a signal asked this process to end, and a signal again if Python lost the exception of the first.

A signal handler raises `Signalled`. Python loses it where it is raised in a destructor, in the callback of a weak
reference (the import system has many), or in code that catches everything. Loops that wait check the note that the
handler made. Other code has no such loops, so a lost exception reports itself: as soon as nothing refers to it any
more, and neither the command nor an `Interrupted` has taken it, the handler is called again.
"""

from __future__ import annotations

import _thread
import signal
import time
from contextlib import suppress
from typing import Final

_AGAIN_S: Final = 0.02
"""Time after which a lost signal comes again, s: enough to leave the destructor or callback that lost it."""


class _State:
    """Whether a signal came to this process, and where its exception is."""

    noted = False
    raises = False
    """Whether the handler raises: from `begin` to `end`."""
    waited = False
    """Whether the command still has to take the exception."""
    number = signal.SIGINT
    """The latest signal."""
    alive: Final[set[int]] = set()
    """Identities of the exceptions that something refers to."""


class Signalled(KeyboardInterrupt):
    """A signal asked this process to end."""

    def __init__(self) -> None:
        super().__init__()
        _State.alive.add(id(self))

    def __del__(self) -> None:
        """Have the signal come again if this was lost."""
        _State.alive.discard(id(self))
        if _is_lost():
            with suppress(RuntimeError):  # no thread can be started: loops that check still end
                _thread.start_new_thread(_again, ())


def _is_lost() -> bool:
    return _State.waited and not _State.alive


def _again() -> None:
    time.sleep(_AGAIN_S)
    if _is_lost():
        _thread.interrupt_main(_State.number)


def note(number: int) -> None:
    """Note that a signal came, and raise `Signalled` if a command is in progress; called by its handler.

    Parameters
    ----------
    number : int
        The signal.

    Raises
    ------
    Signalled
    """
    _State.noted, _State.number = True, signal.Signals(number)
    if _State.raises:
        raise Signalled


def forget() -> None:
    """Forget earlier signals, before the handlers of a command are set."""
    _State.noted = _State.raises = False
    _State.waited = True


def begin() -> None:
    """Let signals raise; one that came since `forget` raises now.

    Raises
    ------
    Signalled
    """
    _State.raises = True
    check()


def taken() -> None:
    """Note that the exception has reached code that ends the work, so that it may be dropped."""
    _State.waited = False


def end() -> None:
    """Let signals raise no more: the command has ended."""
    _State.raises = _State.waited = False


def check() -> None:
    """Raise if a signal came since `forget`.

    Raises
    ------
    Signalled
    """
    if _State.noted:
        raise Signalled
