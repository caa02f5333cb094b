"""``narrows init``: a first scenario, by options or by questions."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from narrows.base.errors import InputError
from narrows.cli import completion
from narrows.cli.guard import guarded, hint, note

if TYPE_CHECKING:
    from narrows.model.first import First

EXAMPLE = (
    "Example: narrows init --rate '10 Mb/s' --rtt '40 ms' --cc cubic,bbr -o first.toml\n\n"
    "By questions, in a terminal: narrows init"
)

_QUESTIONS = (
    ("name", "Name of the scenario"),
    ("rate", "Rate of the bottleneck"),
    ("rtt", "Round-trip time without queueing"),
    ("buffer", "Buffer of the bottleneck (packets, bytes, a time, or bdp)"),
    ("queue", "Queue discipline"),
    ("cc", "Congestion controls, one per flow"),
    ("duration", "Duration of a run"),
)
"""What is asked, in this order."""


@guarded
def init(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="New file; NAME.toml by default. - is standard output."),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Name of the scenario: first.")] = None,
    rate: Annotated[
        str | None, typer.Option("--rate", metavar="RATE", help="Rate of the bottleneck: 10 Mb/s by default.")
    ] = None,
    rtt: Annotated[
        str | None, typer.Option("--rtt", metavar="TIME", help="Round-trip time without queueing: 40 ms by default.")
    ] = None,
    buffer: Annotated[
        str | None,
        typer.Option(
            "--buffer",
            metavar="SIZE",
            help="Limit of the bottleneck's queue: '50 packets', '75 kB', '40 ms' or '1 bdp', which is the default.",
        ),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option(
            "--queue", metavar="KIND", help="Queue discipline: droptail by default.", autocompletion=completion.queues
        ),
    ] = None,
    cc: Annotated[
        str | None,
        typer.Option(
            "--cc",
            metavar="NAMES",
            help="Congestion controls, separated by commas, one per flow: cubic,cubic by default.",
            autocompletion=completion.controls,
        ),
    ] = None,
    flows: Annotated[
        int | None, typer.Option("--flows", metavar="N", help="Number of flows, which take the controls in turn.")
    ] = None,
    duration: Annotated[
        str | None, typer.Option("--duration", metavar="TIME", help="Duration of a run: 30 s by default.")
    ] = None,
) -> None:
    """Write a commented first scenario, ready to run.

    Without options it asks, if standard input is a terminal. No file is replaced.
    """
    from narrows.model.first import First, written

    given: dict[str, Any] = {
        "name": name,
        "rate": rate,
        "rtt": rtt,
        "buffer": buffer,
        "queue": queue,
        "cc": cc,
        "flows": flows,
        "duration": duration,
    }
    chosen = {option: value for option, value in given.items() if value is not None}
    if output is not None:
        _free(output)
    named = {} if output is None or str(output) == "-" else {"name": _name(output)}
    answers = First(**{**named, **chosen})
    if not chosen and sys.stdin.isatty():
        answers = _asked(answers)
    text = written(answers)
    target = Path(f"{answers.name}.toml") if output is None else output
    if str(target) == "-":
        typer.echo(text, nl=False)
        return
    _free(target)
    _write(target, text)
    hint(f"{target} is written; run it: narrows run {target}")


def _name(output: Path) -> str:
    """Return a name that scenarios may have, from the file's."""
    kept = (letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "-" for letter in output.stem)
    return "".join(kept)[:64] or "first"


def _asked(answers: First) -> First:
    """Ask for each answer until it is one; Enter takes what is proposed."""
    from narrows.model.first import check

    for option, question in _QUESTIONS:
        while True:
            value = typer.prompt(question, default=getattr(answers, option), err=True).strip()
            try:
                check(option, value)
            except InputError as error:
                note(str(error).removeprefix(f"--{option} "))
                continue
            answers = replace(answers, **{option: value})
            break
    return answers


def _free(target: Path) -> None:
    if str(target) != "-" and (target.exists() or target.is_symlink()):
        message = f"{target}: exists, and is left unchanged; allowed: a new file (-o FILE), or - for standard output"
        raise InputError(message)


def _write(target: Path, text: str) -> None:
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        _free(target)
    except OSError as error:
        message = f"{target}: cannot be written: {error.strerror or error}; allowed: a file in an existing directory"
        raise InputError(message) from None
