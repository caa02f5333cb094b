"""How a verb ends: what was expected to go wrong becomes one message on stderr and an exit code."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, ParamSpec

import typer

from narrows.errors import Interrupted, NarrowsError, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")

INTERRUPTED = 130
"""Exit code on Ctrl-C: 128 and the number of the signal, as shells do."""


def guarded(verb: Callable[P, None]) -> Callable[P, None]:
    """Wrap a verb so that no user ever sees a traceback for what he did.

    Parameters
    ----------
    verb : callable
        The function of a command.

    Returns
    -------
    callable
        With the same signature; it exits with 2 on bad input, 1 on a failed run, 130 on Ctrl-C.
    """

    @functools.wraps(verb)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            verb(*args, **kwargs)
        except NarrowsError as error:
            tell(error)
            raise typer.Exit(error.exit_code) from None
        except Interrupted as interruption:
            note(str(interruption))
            raise typer.Exit(INTERRUPTED) from None
        except KeyboardInterrupt:
            note("interrupted")
            raise typer.Exit(INTERRUPTED) from None

    return wrapper


def tell(error: NarrowsError) -> None:
    """Print an error on stderr: one line, or one per problem of a scenario.

    Parameters
    ----------
    error : NarrowsError
    """
    if isinstance(error, ScenarioError):
        count = len(error.problems)
        note(f"the scenario is refused: {count} problem{'' if count == 1 else 's'}")
        for problem in error.problems:
            typer.echo(f"  {typer.style(problem.place, bold=True)}: {problem.message}", err=True)
    else:
        note(str(error))


def note(message: str) -> None:
    """Print ``error: message`` on stderr.

    Parameters
    ----------
    message : str
    """
    typer.echo(f"{typer.style('error:', fg='red', bold=True)} {message}", err=True)


def hint(message: str) -> None:
    """Print a remark on stderr.

    Parameters
    ----------
    message : str
    """
    typer.echo(typer.style(message, dim=True) if sys.stderr.isatty() else message, err=True)
