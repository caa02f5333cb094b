"""``narrows export``: tables and figures of a result as files for other programs and papers."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer

from narrows.base.errors import InputError
from narrows.cli import completion
from narrows.cli.guard import guarded
from narrows.cli.options import Json  # noqa: TC001 - Typer reads the annotations

if TYPE_CHECKING:
    from narrows.export.values import Contents

EXAMPLE = (
    "Results to export: narrows run dumbbell-cubic --runs 3 -o results/cubic\n\n"
    "What there is: narrows export results/cubic --list\n\n"
    "Numbers: narrows export results/cubic -o numbers\n\n"
    "Example: narrows export results/cubic -o paper --to latex,pdf --figures throughput,queue"
)


@guarded
def export(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A directory that `narrows run`, `live`, `compare`, `contest`, `sweep`, `aqm` or `reproduce` wrote.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="OUT", help="Directory for the files. Other files in it are kept as they are."
        ),
    ] = None,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FORMAT,..",
            help="Tables: csv, latex. Figures: pdf, svg, png, pgf (TikZ). Packets of runs with --pcap: xplot, ns2, "
            "qlog.",
            autocompletion=completion.export_formats,
        ),
    ] = "csv",
    tables: Annotated[
        str, typer.Option("--tables", metavar="NAME,..", help="Only these tables; * stands for any letters.")
    ] = "",
    figures: Annotated[
        str, typer.Option("--figures", metavar="NAME,..", help="Only these figures; * stands for any letters.")
    ] = "",
    width: Annotated[
        str,
        typer.Option("--width", metavar="WIDTH", help="Width of figures: column (3.5 in), page (7.16 in), or in mm."),
    ] = "column",
    flow: Annotated[
        str, typer.Option("--flow", metavar="NAME", help="Only the packets of this flow (xplot, qlog).")
    ] = "",
    dpi: Annotated[int, typer.Option("--dpi", metavar="N", help="Resolution of PNG, dots per inch.")] = 300,
    listing: Annotated[
        bool, typer.Option("--list", metavar="", help="List what there is in DIR, and write nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Write tables as CSV or LaTeX, figures as PDF, SVG, PNG or TikZ, and packets, from any directory of results.

    Without --tables and --figures, all of them. Nothing is replaced but earlier exports of the same result.
    """
    from narrows.cli.report import told_as_damage
    from narrows.export.directory import contents
    from narrows.export.files import put
    from narrows.export.options import options

    wanted = options(to, tables=tables, figures=figures, width=width, dpi=dpi, flow=flow)
    if output is None and not listing:
        message = "no directory for the files; allowed: -o OUT, or --list to see what there is"
        raise InputError(message)
    with told_as_damage(directory):
        made = contents(directory)
        if listing or output is None:
            _list(made, json=json)
            return
        written = put(made, output, wanted)
    if json:
        import json as serial

        typer.echo(serial.dumps([str(path) for path in written], indent=2))
        return
    for path in written:
        typer.echo(path)


def _list(made: Contents, *, json: bool) -> None:
    from narrows.export.values import PACKETS

    groups = (("tables", made.tables), ("figures", made.figures))
    captured = made.outcome is not None and any(run.captures is not None for run in made.outcome.runs)
    if json:
        import json as serial

        content: dict[str, list[Any]] = {
            kind: [{"name": one.name, "title": one.title, "formats": list(one.formats)} for one in items]
            for kind, items in groups
        }
        content["packets"] = list(PACKETS) if captured else []
        typer.echo(serial.dumps({"kind": made.kind, "name": made.name, **content}, indent=2, ensure_ascii=False))
        return
    wide = max((len(one.name) for _, items in groups for one in items), default=0)
    for kind, items in groups:
        if items:
            typer.echo(kind.capitalize())
        for one in items:
            typer.echo(f"  {one.name:<{wide}}  {one.title} ({', '.join(one.formats)})")
    if captured:
        typer.echo("Packets\n  of each TCP flow (xplot, qlog) and of all links (ns2)")
