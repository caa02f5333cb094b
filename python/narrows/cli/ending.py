"""How ``run`` and ``live`` end: results are written and shown, or left to the same command after an interruption."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from narrows.base.errors import Interrupted
from narrows.cli import continuing
from narrows.cli.guard import hint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from narrows.outcome import Batch, Run
    from narrows.store.archive import Archive


def finished(
    make: Callable[[], Run | Batch], opened: Archive | None, directory: Path | None, fewer: str
) -> tuple[Run | Batch, Interrupted | None]:
    """Make runs and write their results.

    After an interruption, runs that are kept are left to the same command: writing their results takes time that grows
    with their number. Where runs are not kept, those that had finished are written.

    Parameters
    ----------
    make : callable
        Returns the runs.
    opened : Archive or None
        Where they are kept as they end.
    directory : pathlib.Path or None
        Directory for the results, as `narrows.ownership.staged` provides it.
    fewer : str
        As for `narrows.cli.continuing.told`.

    Returns
    -------
    result : Run or Batch
    interruption : Interrupted or None
        To be raised once the result is shown.

    Raises
    ------
    Interrupted
        If no run had finished, or the finished ones are kept.
    """
    from narrows.store import results

    result: Run | Batch
    interruption: Interrupted | None = None
    try:
        result = make()
    except Interrupted as caught:
        if opened is not None or not caught.finished.runs:
            raise continuing.told(caught, opened, fewer) from None
        interruption, result = caught, caught.finished
    if directory is not None:
        results.fill(result, directory)
    return result, interruption


def show(result: Run | Batch, seconds: float, output: Path | None, *, json: bool) -> None:
    """Print a result, and where it is.

    Parameters
    ----------
    result : Run or Batch
    seconds : float
        Wall-clock time that it took, s.
    output : pathlib.Path or None
        Directory of the results, as the user named it.
    json : bool
        Whether to print JSON instead of tables.
    """
    if json:
        from narrows.outcome import summary

        typer.echo(summary.dumps(result.summary), nl=False)
        return
    from narrows.cli.tables import print_result

    print_result(result, seconds)
    if output is not None:
        hint(f"results: {output}; for a page: narrows report {output}")
