"""``narrows ui``: the laboratory in a browser, with the native engine behind it."""

from __future__ import annotations

from typing import Annotated

import typer

from narrows.cli import completion
from narrows.cli.guard import guarded, hint
from narrows.cli.options import MaxMemory  # noqa: TC001 - Typer reads the annotations

EXAMPLE = "Example: narrows ui dumbbell-cubic --no-browser"


@guarded
def ui(
    opened: Annotated[
        str | None,
        typer.Argument(
            metavar="[SCENARIO|RESULT]",
            help="A scenario file, a name from `narrows list scenarios`, or a directory that `narrows run`, `sweep`, "
            "`contest` or another verb wrote with -o.",
            autocompletion=completion.scenarios_and_results,
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port on 127.0.0.1; by default a free one.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", metavar="", help="Print the address, and open no browser.")
    ] = False,
    max_memory: MaxMemory = None,
) -> None:
    """Serve the laboratory's page on this machine, with the native engine behind it, until Ctrl-C.

    The address has a random token, and only programs of this machine can connect. Nothing is written unless the
    page is asked to save a result.
    """
    from narrows.base import memory
    from narrows.ui import serve

    memory.allow(max_memory)
    serve.check()
    from narrows.ui import opened as found

    server = serve.start(found.find(opened), port)
    try:
        typer.echo(server.address)
        if not no_browser and not serve.show(server.address):
            hint("no browser was found; open the address in one. It works on this machine only.")
        hint("Ctrl-C ends the server.")
        server.wait()
    finally:
        server.stop()
