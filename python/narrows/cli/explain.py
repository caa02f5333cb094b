"""``narrows explain``: the page of a congestion control or queue, in the terminal or as files."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import Annotated

import typer

from narrows.base.errors import InputError
from narrows.cli import completion
from narrows.cli.guard import guarded, hint

EXAMPLE = "Example: narrows explain cubic"


@guarded
def explain(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Congestion control, queue, scheme or 802.11 PHY: see `narrows list`.",
            autocompletion=completion.algorithms,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Write the page and plot of NAME, or of all congestion controls, here.",
        ),
    ] = None,
) -> None:
    """Explain an algorithm: idea, sources, state, parameters, how RFC, Linux, ns-2 and ns-3 differ, limits."""
    from narrows.report import pages

    if output is not None:
        names = None if name is None else [pages.entry_of(name)["name"]]
        written = pages.write_all(output, names)
        if not written:
            pages_of = "only the engine's congestion controls and queues have pages as files"
            message = f"{name}: {pages_of}; see `narrows list cc` and `narrows list queues`"
            raise InputError(message)
        hint(f"{len(written)} {'page' if len(written) == 1 else 'pages'} in {output}")
        return
    if name is None:
        message = "NAME: is missing; allowed: a name from `narrows list cc`, `queues`, `schemes` or `phys`; or -o DIR"
        raise InputError(message)
    text = pages.page(pages.entry_of(name))
    shown = "\n\n".join(part for part in text.rstrip().split("\n\n") if not part.startswith("!["))
    if sys.stdout.isatty():
        from narrows.cli.markdown import show

        show(shown)
    else:
        typer.echo(shown)
