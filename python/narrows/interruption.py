"""Whether a signal asked this process to end. Loops that wait ask it, in case Python lost the exception.

The handler of a signal raises KeyboardInterrupt. Where that happens in a destructor or in the callback of a weak
reference, Python prints the exception and goes on; the note that the handler made remains.
"""

from __future__ import annotations


class _State:
    """What was heard in this process."""

    noted = False


def note() -> None:
    """Note that a signal came; for its handler."""
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
