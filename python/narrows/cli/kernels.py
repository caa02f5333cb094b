"""``narrows kernels``: the kernels that virtual machines can run, adding and removing one, building a module."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.base.errors import InputError
from narrows.cli import completion
from narrows.cli.guard import guarded, hint
from narrows.cli.options import Json, NoProgress  # noqa: TC001 - Typer reads the annotations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.kernels import Kernel

EXAMPLE = "Example: narrows kernels\n\nThe newest kernel of Debian 12: narrows kernels add debian:bookworm"


class Action(StrEnum):
    """What to do."""

    ADD = "add"
    REMOVE = "remove"
    BUILD = "build"


_ALLOWED = {
    Action.ADD: "debian:bookworm, debian:trixie, debian:sid, FILE",
    Action.REMOVE: "a name or release",
    Action.BUILD: "sch_dualpi2",
}
"""What can be named for each action."""


@guarded
def kernels(
    action: Annotated[Action | None, typer.Argument(help="By default the kernels are listed.")] = None,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="To add: debian:bookworm, debian:trixie, debian:sid, a package FILE.deb, or /boot/vmlinuz-RELEASE."
            " To remove: a name or release. To build: sch_dualpi2, a module that Debian leaves out.",
            autocompletion=completion.kernels,
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel",
            metavar="NAME",
            help="Build for this kernel; by default for the newest that fits.",
            autocompletion=completion.kernels,
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Build in this new folder and keep it; by default it is removed."),
    ] = None,
    json: Json = False,
    no_progress: NoProgress = False,
) -> None:
    """List the kernels that virtual machines can run, with what each has; add one, remove one, or build a module.

    A kernel is unpacked into a cache of the user's, not installed. Only debian:SUITE and building need the network;
    nothing needs root. Building needs the program debootstrap. NARROWS_CACHE names another cache,
    NARROWS_DEBIAN_MIRROR another mirror.
    """
    from narrows import kernels as there

    for option, value in (("--kernel", kernel), ("--keep", keep)):
        if value is not None and action is not Action.BUILD:
            message = f"{option}: is for `narrows kernels build`"
            raise InputError(message)
    if action is None:
        _show(there.at_hand(), json)
        return
    if name is None:
        message = f"NAME: is missing; allowed: {_ALLOWED[action]}"
        raise InputError(message)
    if action is Action.REMOVE:
        removed, left = there.remove(name)
        if left:
            hint(f"{there.directory() / removed.release}: kept what Narrows did not write: {', '.join(left)}")
        told = f"{removed.name} ({removed.release}) is removed"
        _answer([removed.release], json, told, key="removed")
        return
    from narrows.cli.progress import Bar

    with Bar(name, wanted=not no_progress, quiet=True) as bar:

        def progress(what: str, fraction: float) -> None:
            bar.describe(f"{name}: {what}")
            bar(fraction)

        is_added = action is Action.ADD
        found = there.add(name, progress) if is_added else there.build(name, kernel, keep, progress)
    if json:
        _show([found], json)
    elif is_added:
        typer.echo(f"{found.name}: Linux {found.release} is at hand")
        typer.echo(f"  verified: {found.facts.get('verified') or 'no; a file is taken as it is'}")
    else:
        typer.echo(f"{found.name}: Linux {found.release} has {name}")
        for one in found.facts.get("built", []):
            if one["module"] == name:
                typer.echo(f"  built from {one['package']} {one['version']}: {one['verified']}")


def _answer(values: Sequence[str], json: bool, told: str, key: str) -> None:
    if json:
        from json import dumps

        typer.echo(dumps({"format": 1, key: list(values)}, indent=2))
    else:
        typer.echo(told)


def _show(found: Sequence[Kernel], json: bool) -> None:
    from narrows.kernels import directory

    if json:
        from json import dumps

        content = {"format": 1, "directory": str(directory()), "kernels": [kernel.to_dict() for kernel in found]}
        typer.echo(dumps(content, indent=2, ensure_ascii=False))
    elif found:
        _print(found)
    else:
        typer.echo("no kernel is at hand; `narrows kernels add debian:bookworm` adds one")


def _print(found: Sequence[Kernel]) -> None:
    from rich.console import Console

    from narrows.cli.plain import new_table
    from narrows.kernels import FEATURES

    out = Console(highlight=False)
    table = new_table()
    table.add_column("name", style="bold")
    table.add_column("release")
    table.add_column("congestion controls", ratio=2)
    table.add_column("qdiscs", ratio=2)
    table.add_column("features")
    for kernel in found:
        features = [name for name in FEATURES if kernel.has(name)]
        words = (" ".join(names) for names in (kernel.congestion_controls, kernel.qdiscs, features))
        table.add_row(kernel.name, kernel.release, *words)
    out.print(table)
