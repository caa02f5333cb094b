"""``narrows list``: the names that a scenario can use, and the bundled scenarios."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from narrows.cli.guard import guarded
from narrows.cli.options import Json  # noqa: TC001 - Typer reads the annotations

EXAMPLE = "Example: narrows list cc"


class What(StrEnum):
    """What to list."""

    CC = "cc"
    QUEUES = "queues"
    SCHEMES = "schemes"
    PHYS = "phys"
    SCENARIOS = "scenarios"


@guarded
def catalogue(
    what: Annotated[What, typer.Argument(help="Congestion controls, queues, schemes, 802.11 PHYs or scenarios.")],
    json: Json = False,
) -> None:
    """List the names that a scenario can use, with parameters and sources, or the bundled scenarios."""
    from narrows.model.catalogue import catalogue as catalogue_of
    from narrows.model.catalogue import list_scenarios

    entries = list_scenarios() if what is What.SCENARIOS else catalogue_of()[what.value]
    if json:
        import json as codec

        typer.echo(codec.dumps({"format": 1, what.value: entries}, indent=2, ensure_ascii=False))
        return
    from narrows.cli.catalogue_tables import print_catalogue, print_controls, print_phys, print_scenarios

    if what is What.SCENARIOS:
        print_scenarios(entries)
    elif what is What.CC:
        print_controls(entries)
    elif what is What.PHYS:
        print_phys(entries)
    else:
        print_catalogue(entries)
