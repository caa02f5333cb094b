"""``narrows compare``: results side by side."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.cli import completion
from narrows.cli.guard import guarded, hint
from narrows.cli.options import Force, Json, Output, claimed

if TYPE_CHECKING:
    from narrows.studies.contrast import Contrast

EXAMPLE = (
    "Two results: narrows run dumbbell-cubic --runs 5 -o results/cubic; "
    "narrows run dumbbell-cubic --runs 5 --set tcp.cc=bbr -o results/bbr\n\n"
    "Example: narrows compare results/cubic results/bbr -o results/cubic-bbr\n\n"
    "Only some metrics: narrows compare results/cubic results/bbr --metrics throughput_mbps,delay_p95_ms"
)

EVERY = "all"
"""As ``--metrics``: show every metric."""


@guarded
def compare(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR",
            help="Directories that `narrows run` or `narrows live` wrote with -o; the first is the baseline. One of "
            "`narrows run --both` stands for both of its results.",
            autocompletion=completion.results,
        ),
    ],
    output: Output = None,
    force: Force = False,
    names: Annotated[
        str | None,
        typer.Option("--names", metavar="X,Y,..", help="A name for each result; by default those of the directories."),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics",
            metavar="NAMES",
            help="Compare only these metrics, such as throughput_mbps,rtt_p99_ms; all: print every metric.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Compare two or more results with the first: every metric, its difference, and an interval of that.

    Results may have other settings, seeds or versions, and be simulated or live. Intervals are paired by seed where
    runs share their random numbers, and Welch's otherwise. With -o, DIR gets a page with charts of all results over
    each other, and the tables as CSV.
    """
    from narrows.studies.contrast import compare as contrast
    from narrows.studies.contrast import reading, table

    wanted = None if metrics is None or metrics == EVERY else _split(metrics)
    made = contrast(*results, names=None if names is None else _split(names), metrics=wanted)
    held = claimed(output, force, reading.files(results))
    if held is not None:
        from narrows.studies.contrast import directory as directories

        page = directories.write(made, held)
    if json:
        typer.echo(table.dumps(made), nl=False)
        if made.doubts:
            hint(f"warning: not to be trusted: {'; '.join(made.doubts)}")
    else:
        _print(made, every=metrics == EVERY)
    if held is not None:
        hint(f"wrote {page}")


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",")]


def _print(made: Contrast, *, every: bool) -> None:
    from narrows.cli.compare_tables import print_contrast

    print_contrast(made, every=every)
