"""``narrows schema``: the JSON Schema of scenario files."""

from __future__ import annotations

import typer

from narrows.cli.guard import guarded
from narrows.cli.options import Load  # noqa: TC001 - Typer reads the annotations

EXAMPLE = "Example: narrows schema > narrows.schema.json"


@guarded
def schema(load: Load = None) -> None:
    """Print the JSON Schema of scenario files, for editors that check and complete TOML.

    It has the names that scenarios may use. With --load it also has those of your own congestion controls.
    """
    import json

    from narrows import _core
    from narrows.model import own

    for own_file in load or []:
        own.load(own_file)
    typer.echo(json.dumps(json.loads(_core.schema(own.rows())), indent=2, ensure_ascii=False))
