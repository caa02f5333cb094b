"""The command line: one thin file per verb, loaded when it is called; heavy imports only when a verb needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from narrows.cli.verbs import VERBS, Verbs

if TYPE_CHECKING:
    app: typer.Typer
    """The command line with all verbs loaded, for tests and for what describes it."""

_SETTINGS: Final[dict[str, Any]] = {
    "name": "narrows",
    "help": "Narrows, a congestion-control laboratory. Write one scenario; run it in simulation or on real Linux TCP.",
    "epilog": "Start with: narrows run dumbbell-cubic, or write your own: narrows init",
    "no_args_is_help": True,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


def _version(wanted: bool) -> None:
    if wanted:
        from narrows import _core
        from narrows.base import engine

        typer.echo(f"narrows {engine.told(_core.version())}")
        raise typer.Exit


def _top(
    version: Annotated[
        bool,
        typer.Option("--version", metavar="", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    pass


def __getattr__(name: str) -> Any:
    if name != "app":
        message = f"module 'narrows.cli' has no attribute {name!r}"
        raise AttributeError(message)
    whole = typer.Typer(**_SETTINGS)
    whole.callback()(_top)
    for verb in VERBS:
        verb.register(whole)
    globals()["app"] = whole
    return whole


def main() -> None:
    """Run the command line; entry point of the console script ``narrows``."""
    entry = typer.Typer(cls=Verbs, **_SETTINGS)
    entry.callback()(_top)
    entry()
