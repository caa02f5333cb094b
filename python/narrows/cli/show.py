"""``narrows show``: a scenario with every default."""

from __future__ import annotations

import sys

import typer

from narrows.cli.guard import guarded, hint, warn
from narrows.cli.options import File, Set, overrides

EXAMPLE = "Example: narrows show dumbbell-cubic --set 'duration=90 s' > mine.toml"


@guarded
def show(file: File, set_: Set = None) -> None:
    """Print a scenario as TOML with every default shown: a scenario file that means the same."""
    from narrows.model.scenario import Scenario

    scenario = Scenario.from_file(file, overrides(set_))
    warn(scenario)
    text = scenario.to_file()
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.syntax import Syntax

        Console().print(Syntax(text, "toml", theme="ansi_dark", background_color="default", word_wrap=True))
    else:
        typer.echo(text, nl=not text.endswith("\n"))
    ngwa = scenario.resolved.schemes.get("ngwa")
    if ngwa:
        from narrows.model.schemes import NgwaMode

        hint(f"ngwa: {NgwaMode.of(ngwa['mode'])}")
    if scenario.channels:
        from narrows.metrics.stations import NOT_MODELLED

        hint(f"802.11: {NOT_MODELLED[0].lower()}{NOT_MODELLED[1:]}")
