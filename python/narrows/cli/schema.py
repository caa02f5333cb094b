"""``narrows schema``: the JSON Schema of scenario files."""

from __future__ import annotations

import typer

from narrows.cli.guard import guarded

EXAMPLE = "Example: narrows schema > narrows.schema.json"


@guarded
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors that check and complete TOML."""
    import json

    from narrows import _core

    typer.echo(json.dumps(json.loads(_core.schema()), indent=2, ensure_ascii=False))
