"""``narrows report``: make a page of results."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.base.errors import InputError, NarrowsError
from narrows.cli.guard import guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXAMPLE = (
    "Results to show: narrows run dumbbell-cubic --runs 3 -o results/cubic\n\nExample: narrows report results/cubic"
)

_DAMAGES = (ArithmeticError, AttributeError, LookupError, NotImplementedError, RecursionError, TypeError, ValueError)
"""Errors that damaged results can cause."""


@guarded
def report(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="A directory that `narrows run`, `live`, `contest` or `sweep` wrote with -o."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="HTML", help="The page; by default DIR/report.html.")
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option("--measure", metavar="A,B", help="Of a sweep: measures (columns of its data set) to show first."),
    ] = None,
    x: Annotated[str | None, typer.Option("--x", metavar="AXIS", help="Of a sweep: the axis along the charts.")] = None,
    series: Annotated[
        str | None,
        typer.Option("--series", metavar="AXIS", help="Of a sweep: the axis with a line per value, or none."),
    ] = None,
    facet: Annotated[
        str | None,
        typer.Option("--facet", metavar="AXIS", help="Of a sweep: the axis with a chart per value, or none."),
    ] = None,
) -> None:
    """Write one page of results that works offline, with its figures as PNG and SVG beside it."""
    from narrows import ownership
    from narrows.store.results import REPORT

    page = directory / REPORT if output is None else output
    if output is not None and not output.absolute().parent.is_dir():
        message = f"{output}: cannot be written: its directory does not exist"
        raise InputError(message)
    if page.suffix != ".html" or page.is_dir():
        message = f"{output}: is not the name of a page; allowed: a file ending in .html"
        raise InputError(message)
    asked = {"--measure": measure, "--x": x, "--series": series, "--facet": facet}
    with told_as_damage(directory):
        write = _writer(directory, {option: value for option, value in asked.items() if value is not None})
    ownership.page(page)
    with told_as_damage(directory), ownership.adding(page.parent, f"report {page.name}") as folder:
        write(folder / page.name)
    typer.echo(page)


def _writer(directory: Path, asked: dict[str, str]) -> Callable[[Path], object]:
    """Read a directory, and return a function that writes its page; only pages of sweeps can be asked for something."""
    from narrows.store import results
    from narrows.studies.kinds import kind_of

    found = kind_of(directory)
    if asked and found != "sweep":
        message = f"{directory}: holds no sweep; {', '.join(asked)}: allowed for the directory of a sweep"
        raise InputError(message)
    if found == "comparison":
        from narrows.studies.comparison import directory as comparisons
        from narrows.studies.comparison import report as comparison

        compared = comparisons.load(directory)
        return lambda page: comparison.write(compared, page)
    if found == "sweep":
        from narrows.studies.sweep import page as sweep_page
        from narrows.studies.sweep.view import Wanted

        names = [name.strip() for name in asked.get("--measure", "").split(",")]
        wanted = Wanted(
            tuple(dict.fromkeys(filter(None, names))), asked.get("--x"), asked.get("--series"), asked.get("--facet")
        )
        return lambda page: sweep_page.write(directory, page, wanted)
    if found == "contest":
        from narrows.studies.contest import page as contest_page
        from narrows.studies.contest import saved

        contest = saved.load(directory)
        return lambda page: contest_page.write_page(contest, page)
    if found == "contrast":
        message = (
            f"{directory}: holds a comparison of results, whose page is {directory / results.REPORT}; allowed: the "
            "`narrows compare` command that made it, which writes the page again"
        )
        raise InputError(message)
    if found == "aqm":
        message = (
            f"{directory}: holds a comparison of queue disciplines, which `narrows report` does not read; "
            "allowed: the `narrows aqm` command that made it, which reuses its runs and writes the page again"
        )
        raise InputError(message)
    if found == "evaluation":
        message = (
            f"{directory}: holds an evaluation, whose page is {directory / results.REPORT}; allowed: the "
            "`narrows evaluate` command that made it, which reuses its runs and writes the page again"
        )
        raise InputError(message)
    from narrows.report import write_report

    result = results.load(directory)
    return lambda page: write_report(result, page)


@contextmanager
def told_as_damage(directory: Path) -> Iterator[None]:
    """Report results as damaged if they cannot be shown and were changed since they were written."""
    from narrows import ownership

    try:
        yield
    except NarrowsError:
        raise
    except _DAMAGES as error:
        changed = ownership.changed(directory)
        if not changed:
            raise
        message = f"{directory}: is damaged: {', '.join(changed)} changed since Narrows wrote it ({error!r})"
        raise InputError(message) from None
