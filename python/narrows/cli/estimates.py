"""Option ``--estimate``: how long a command's runs would take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from narrows.cli.guard import hint

if TYPE_CHECKING:
    from collections.abc import Callable

    from narrows.execution.forecast import Estimate


def show(name: str, estimate: Callable[[], Estimate], *, json: bool) -> None:
    """Make an estimate, and print it.

    Parameters
    ----------
    name : str
        What is estimated.
    estimate : callable
        Makes the estimate, for a minute at most.
    json : bool
        Whether to print JSON.
    """
    hint("trying some runs, for a minute at most ..")
    made = estimate()
    if json:
        import json as codec
        from dataclasses import asdict

        typer.echo(codec.dumps({"format": 1, "name": name, **asdict(made)}, indent=2))
    else:
        from narrows.cli.runs_progress import told

        typer.echo(f"{name}: {made.runs:,} runs, {told(made)}")
