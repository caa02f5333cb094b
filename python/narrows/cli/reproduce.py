"""``narrows reproduce``: repeat a paper's experiments."""

from __future__ import annotations

from typing import Annotated

import typer

from narrows.cli.guard import guarded, hint
from narrows.cli.options import Jobs, Json, NoProgress, Output  # noqa: TC001 - Typer reads the annotations

EXAMPLE = (
    "Example: narrows reproduce acns --quick -o results/acns\n\n"
    "One pair of the contest over time: narrows reproduce contest --pair westwood hybla\n\n"
    "Beyond the paper: narrows reproduce ngwa --beyond"
)


@guarded
def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="The paper: acns, contest or ngwa.")],
    quick: Annotated[
        bool, typer.Option("--quick", metavar="", help="A first look in under half a minute: fewer runs.")
    ] = False,
    output: Output = None,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs",
            "-n",
            metavar="N",
            help="Runs per arm (of a contest: seeds; of ngwa: rounds); by default as many as the paper's page says.",
        ),
    ] = None,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option("--pair", metavar="A B", help="Of contest: this pair alone over time, A starting first."),
    ] = None,
    beyond: Annotated[
        bool,
        typer.Option(
            "--beyond", metavar="", help="Of ngwa: what its own section asks for next, as a report of its own."
        ),
    ] = False,
    jobs: Jobs = None,
    json: Json = False,
    no_progress: NoProgress = False,
) -> None:
    """Repeat a paper's experiments and set what was published beside what is measured.

    The page, the figures and the numbers go into DIR, results/PAPER by default. A contest that was interrupted goes on
    where it was.
    """
    from narrows.cli.progress import Bar
    from narrows.reproduction import reproduce as repeat

    with Bar(f"reproducing {paper}", wanted=not no_progress) as bar:
        made = repeat(paper, output, quick=quick, runs=runs, jobs=jobs, pair=pair, beyond=beyond, progress=bar)
    if json:
        import json as codec

        typer.echo(codec.dumps(made.to_json(), indent=2, ensure_ascii=False, allow_nan=False))
        return
    from narrows.cli.tables import print_reproduction

    print_reproduction(made)
    for path in made.paths:
        hint(f"wrote {path}")
