"""Whether a signal asked this process to end. Loops that wait check this, in case Python lost the exception.

A signal handler raises KeyboardInterrupt. If that happens in a destructor or in the callback of a weak reference,
Python only prints the exception and continues; the note made by the handler remains.
"""

from __future__ import annotations


class _State:
    """Whether a signal came to this process."""

    noted = False


def note() -> None:
    """Note that a signal came; called by its handler."""
    _State.noted = True


def forget() -> None:
    """Forget earlier signals, at the start of a command."""
    _State.noted = False


def check() -> None:
    """Raise KeyboardInterrupt if a signal came since `forget`.

    Raises
    ------
    KeyboardInterrupt
    """
    if _State.noted:
        raise KeyboardInterrupt
