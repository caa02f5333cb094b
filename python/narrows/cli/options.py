"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.base.errors import InputError
from narrows.cli import completion

if TYPE_CHECKING:
    from collections.abc import Iterable

    from narrows.ownership import Claim

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A scenario file (TOML; - is standard input), or a name from `narrows list scenarios`.",
        autocompletion=completion.scenarios,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Replace a value of the scenario. Can be repeated."),
]
Queue = Annotated[
    str | None,
    typer.Option(
        "--queue",
        metavar="KIND",
        help="Replace the bottleneck's queue discipline, with parameters after colons: fq_codel:target=10 ms.",
        autocompletion=completion.queues,
    ),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", metavar="N", help="Concurrent runs; by default one per processor.")
]
Dask = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler: tcp://host:8786."),
]
Estimate = Annotated[
    bool,
    typer.Option("--estimate", metavar="", help="Try some runs, estimate how long all would take, and keep nothing."),
]
Json = Annotated[bool, typer.Option("--json", metavar="", help="Print JSON for machines instead of tables.")]
Load = Annotated[
    list[Path] | None,
    typer.Option("--load", metavar="FILE.py", help="First run a Python file that registers congestion controls."),
]
MaxMemory = Annotated[
    str | None,
    typer.Option("--max-memory", metavar="SIZE", help="Memory limit, such as 8GB; by default 3/4 of the free memory."),
]
NoProgress = Annotated[bool, typer.Option("--no-progress", metavar="", help="Show no progress bar.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="DIR", help="Directory for the results.")]


Force = Annotated[
    bool,
    typer.Option(
        "--force", metavar="", help="Use DIR even if it holds files that Narrows did not write. They are kept."
    ),
]


def claimed(output: Path | None, force: bool, inputs: Iterable[str | Path] = (), kind: str = "results") -> Claim | None:
    """Claim the directory of ``-o`` before anything runs.

    Parameters
    ----------
    output : pathlib.Path, optional
    force : bool
        Whether ``--force`` was given.
    inputs : iterable of path
        Files that the command reads.
    kind : str
        As for `narrows.ownership.claim`.

    Returns
    -------
    Claim or None
        ``None`` without a directory.

    Raises
    ------
    InputError
        If the directory may not be used, or ``--force`` is given without one.
    """
    if output is None:
        if force:
            message = "--force needs the directory of -o; add -o DIR"
            raise InputError(message)
        return None
    from narrows import ownership

    return ownership.claim(output, kind=kind, force=force, inputs=inputs)


def overrides(assignments: list[str] | None) -> dict[str, str]:
    """Split the values of ``--set``.

    Parameters
    ----------
    assignments : list of str, optional
        Each ``path=value``.

    Returns
    -------
    dict
        Values by path.

    Raises
    ------
    InputError
        If an assignment has no ``=`` or no path.

    Examples
    --------
    >>> overrides(["duration=2 s", "title=a=b"])
    {'duration': '2 s', 'title': 'a=b'}
    """
    split: dict[str, str] = {}
    for assignment in assignments or []:
        path, equals, value = assignment.partition("=")
        if not equals or not path.strip():
            message = f'--set {assignment}: is not an assignment; allowed: path=value, such as "duration=20 s"'
            raise InputError(message)
        split[path.strip()] = value.strip()
    return split
