"""``narrows report``: make a page of results."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import Annotated

import typer

from narrows.cli.guard import guarded
from narrows.errors import InputError, RunError

EXAMPLE = "Example: narrows report results/cubic"


@guarded
def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A directory that `narrows run -o` wrote.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="HTML", help="The page; by default DIR/report.html.")
    ] = None,
) -> None:
    """Make one page of results that works offline, and its figures as PNG and SVG beside it."""
    from narrows.results import REPORT, load

    result = load(directory)
    from narrows.report import write_report

    page = directory / REPORT if output is None else output
    if output is not None and not output.absolute().parent.is_dir():
        message = f"{output}: cannot be written: its directory does not exist"
        raise InputError(message)
    try:
        write_report(result, page)
    except OSError as error:
        message = f"{page}: cannot be written: {error.strerror or error}"
        raise RunError(message) from error
    typer.echo(page)
