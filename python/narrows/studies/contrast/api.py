"""`narrows.compare`: results side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.studies.contrast import reading
from narrows.studies.contrast.contrast import Contrast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.studies.contrast.reading import Result


def compare(*results: Result, names: Sequence[str] | None = None, metrics: Sequence[str] | None = None) -> Contrast:
    """Compare two or more results; the first is the baseline.

    Parameters
    ----------
    *results : path, Run, Batch or narrows.comparison.Comparison
        Directories that ``narrows run`` or ``narrows live`` wrote, also of an earlier version, or results as values. A
        comparison of a simulated with a live outcome stands for both.
    names : sequence of str, optional
        A label for each result; by default the names of directories, and ``A``, ``B`` .. for values.
    metrics : sequence of str, optional
        Names of the metrics to compare (``docs/json.md``); all by default.

    Returns
    -------
    Contrast
        Every metric of every object that the baseline shares with another result, with differences and their 95 %
        intervals: paired by seed where runs share their random numbers, otherwise Welch's.

    Raises
    ------
    InputError
        If there are fewer than two results, a directory holds none, two have no flow in common, or there is no such
        metric.
    ScenarioError
        If this version refuses the scenario of a result.

    Examples
    --------
    >>> import narrows as nw
    >>> runs = [nw.run("dumbbell-cubic", overrides={"duration": "12 s", "tcp.cc": cc}) for cc in ("cubic", "bbr")]
    >>> made = nw.compare(*runs, names=("cubic", "bbr"))
    >>> delay = made.row("queue", "r1->r2", "delay_mean_ms").differences[0]
    >>> delay.difference.mean < 0, made.against[0].method
    (True, 'none')
    """
    return Contrast(reading.arms(results, names), metrics)
