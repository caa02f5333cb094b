"""``narrows report``: make a page of results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.cli.guard import guarded
from narrows.errors import InputError, RunError

if TYPE_CHECKING:
    from narrows.comparison import Comparison
    from narrows.outcome import Batch, Run

EXAMPLE = "Example: narrows report results/cubic"


@guarded
def report(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A directory that `narrows run -o` wrote, with --both or without.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="HTML", help="The page; by default DIR/report.html.")
    ] = None,
) -> None:
    """Make one page of results that works offline, and its figures as PNG and SVG beside it."""
    from narrows.comparison import directory as comparisons
    from narrows.results import REPORT, load

    result = comparisons.load(directory) if comparisons.holds_one(directory) else load(directory)
    page = directory / REPORT if output is None else output
    if output is not None and not output.absolute().parent.is_dir():
        message = f"{output}: cannot be written: its directory does not exist"
        raise InputError(message)
    if page.suffix != ".html" or page.is_dir():
        message = f"{output}: is no name of a page; allowed: a file ending in .html"
        raise InputError(message)
    try:
        _write(result, page)
    except OSError as error:
        message = f"{page}: cannot be written: {error.strerror or error}"
        raise RunError(message) from error
    typer.echo(page)


def _write(result: Run | Batch | Comparison, page: Path) -> None:
    """Write the page and its figures under a temporary name first: a page of before stays if this one fails."""
    import shutil
    import tempfile

    from narrows.comparison import Comparison
    from narrows.report import comparison, write_report

    staging = Path(tempfile.mkdtemp(prefix=f".{page.stem}.", suffix=".partial", dir=page.absolute().parent))
    try:
        if isinstance(result, Comparison):
            comparison.write(result, staging / page.name)
        else:
            write_report(result, staging / page.name)
        for made in sorted(path for path in staging.rglob("*") if path.is_file()):
            wanted = page.parent / made.relative_to(staging)
            wanted.parent.mkdir(exist_ok=True)
            made.replace(wanted)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
