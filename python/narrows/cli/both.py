"""``narrows run --both``: a scenario in the simulator and on this machine's own TCP stack, side by side."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from narrows.cli import continuing
from narrows.cli.guard import hint, warn

if TYPE_CHECKING:
    from narrows.ownership import Claim
    from narrows.studies.comparison import Comparison


def run_both(
    file: str,
    overrides: dict[str, str],
    seed: int | None,
    runs: int | None,
    jobs: int | None,
    output: Claim | None,
    *,
    json: bool,
    bar: bool,
    quiet: bool,
) -> None:
    """Run a scenario in both ways, print the differences, and save them if a directory is given.

    Parameters
    ----------
    file : str
        The scenario as the user named it.
    overrides : dict
        Values by path.
    seed, runs, jobs : int or None
        As for `narrows.comparison.run_both`.
    output : Claim or None
        Directory for both arms and their comparison.
    json, bar, quiet : bool
        Whether to print JSON; to show a progress bar; to print nothing.

    Raises
    ------
    NarrowsError
        As for `narrows.comparison.run_both`.
    """
    from narrows import ownership
    from narrows.cli.progress import Bar
    from narrows.model.scenario import Scenario
    from narrows.studies import comparison
    from narrows.studies.comparison import directory as directories

    scenario = Scenario.from_file(file, overrides)
    warn(scenario)
    begin = time.monotonic()
    made: comparison.Comparison | None = None
    interruption: comparison.ComparisonInterrupted | None = None
    with continuing.store(None if output is None else Path(output.named), wanted=True) as opened:
        with ExitStack() as stack:
            # Create the directory first, so that an unwritable one is reported before the long wait, not after it.
            directory = stack.enter_context(ownership.staged(output)) if output is not None else None
            what = f"{scenario.name}: live and simulated"
            shown = stack.enter_context(Bar(what, wanted=bar and not quiet, quiet=quiet))
            options: dict[str, Any] = {} if opened is None else {"store": opened}
            try:
                made = comparison.run_both(
                    scenario, runs=1 if runs is None else runs, seed=seed, jobs=jobs, progress=shown, **options
                )
            except comparison.ComparisonInterrupted as caught:
                # Runs that are kept are left to the same command, as in `ending.finished`.
                if opened is not None or not caught.arms:
                    raise continuing.told(caught, opened, "--runs {runs}") from None
                interruption = caught
                if len(caught.arms) > 1:
                    made = comparison.Comparison(*caught.arms)
            if directory is not None and made is not None:
                directories.fill(made, directory)
        if made is not None and not quiet:
            _show(made, output, time.monotonic() - begin, json=json)
        if interruption is not None:
            raise interruption


def _show(made: Comparison, output: Claim | None, seconds: float, *, json: bool) -> None:
    from narrows.studies.comparison import directory as directories

    if json:
        typer.echo(directories.dumps(made.to_json()), nl=False)
    else:
        from narrows.cli.comparison_tables import print_comparison

        print_comparison(made, seconds)
        if output is not None:
            hint(f"results: {output.named}; for a page: narrows report {output.named}")
    if made.doubts and json:
        hint(f"warning: not to be trusted: {'; '.join(made.doubts)}")
