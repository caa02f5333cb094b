"""``narrows evaluate``: a congestion control by the criteria of RFC 9743."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - Typer reads it
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from narrows.base.errors import InputError
from narrows.cli import completion
from narrows.cli.guard import guarded, hint
from narrows.cli.options import (
    Dask,
    Force,
    Jobs,
    Json,
    Load,
    MaxMemory,
    NoProgress,
    Output,
    claimed,
)

if TYPE_CHECKING:
    from narrows.studies.evaluate import Evaluation

EXAMPLE = (
    "Example: narrows evaluate bbr3 --quick -o results/bbr3\n\n"
    "Better and worse than another version: "
    "narrows evaluate bbr3:cc_params.profile=draft --quick --only 7.1 --against results/bbr3\n\n"
    "One section, or one row: narrows evaluate prague --only 7.1 --quick\n\n"
    "On this machine's Linux instead of the simulator: narrows evaluate cubic --live --only sharing.two -o results/live"
)

_SECONDS: Final = {"s": 1.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class _Wish:
    """What every control of a command is evaluated with."""

    quick: bool
    seed: int
    most: int | None
    only: tuple[str, ...] | None
    jobs: int | None
    dask: str | None
    progress: bool
    live: bool


@guarded
def evaluate(
    control: Annotated[
        str | None,
        typer.Argument(
            metavar="CC",
            help="A congestion control from `narrows list cc`, with fields of tcp after colons: bbr3:ecn=true.",
            autocompletion=completion.controls,
        ),
    ] = None,
    output: Output = None,
    force: Force = False,
    quick: Annotated[
        bool, typer.Option("--quick", metavar="", help="Leave out slow networks, and make at most 24 runs of each.")
    ] = False,
    live: Annotated[
        bool,
        typer.Option(
            "--live", metavar="", help="Make the runs on this machine's own TCP stack, in real time; needs root."
        ),
    ] = False,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="NAMES", help="Criteria, rows or sections of the RFC, separated by commas."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="First seed.")] = 1,
    runs: Annotated[
        int | None,
        typer.Option("--runs", "-n", metavar="N", help="Most seeds of a row; by default 48, with --quick 24."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="TIME", help="Make no more runs after this time: 90 s, 10 min, 1 h."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="DIR",
            help="Compare with an earlier evaluation, or the stored baseline of a control: what got better and worse.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", metavar="", help="Exit with 1 if a row is not met, or with --against got worse."),
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", metavar="", help="Evaluate every control that ships, each into DIR/NAME.")
    ] = False,
    league: Annotated[
        Path | None,
        typer.Option("--league", metavar="FILE", help="Write the league table of the evaluations in DIR, and end."),
    ] = None,
    criteria: Annotated[
        bool, typer.Option("--criteria", metavar="", help="List the criteria with their thresholds, and end.")
    ] = False,
    dask: Dask = None,
    load: Load = None,
    jobs: Jobs = None,
    max_memory: MaxMemory = None,
    json: Json = False,
    no_progress: NoProgress = False,
) -> None:
    """Evaluate a congestion control by the criteria of RFC 9743: met, not met or undecided, each with its interval.

    Runs are made until each criterion is decided, or its runs or the budget end. With -o, DIR gets a page with the
    verdicts by section, the numbers, the scenarios and every finished run. After Ctrl-C, the same command continues
    from there.
    """
    from narrows.base import memory
    from narrows.model import own

    memory.allow(max_memory)
    for own_file in load or []:
        own.load(own_file)
    chosen = None if only is None else tuple(name.strip() for name in only.split(",") if name.strip())
    wish = _Wish(quick, seed, runs, chosen, jobs, dask, not no_progress, live)
    deadline = None if budget is None else time.monotonic() + _seconds(budget)
    if criteria:
        _criteria(json=json)
        return
    if league is not None:
        _league(league, output, quick=quick)
        return
    if every:
        if live:
            message = "--live with --all: live runs take real time; allowed: a control at a time"
            raise InputError(message)
        _every(wish, control, output, deadline, force=force)
        return
    if control is None:
        message = "no control; allowed: a name from `narrows list cc`, --all, --criteria, or --league FILE -o DIR"
        raise InputError(message)
    _one(wish, control, claimed(output, force, (), "evaluation"), deadline, against, strict=strict, json=json)


def _one(
    wish: _Wish,
    control: str,
    held: Any,
    deadline: float | None,
    against: str | None,
    *,
    strict: bool,
    json: bool,
) -> None:
    from narrows.cli import evaluate_tables
    from narrows.studies.evaluate import export, page, saved
    from narrows.studies.evaluate.against import against as compared

    old = None if against is None else saved.load(against)
    begin = time.monotonic()
    made = _made(wish, control, held, deadline)
    written = None if held is None else page.write(made, held)
    content = export.to_json(made)
    changed = None if old is None else compared(old, content)
    if json:
        import json as codec

        whole = content if changed is None else {**content, "against": changed.to_json()}
        typer.echo(codec.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False))
    else:
        evaluate_tables.print_evaluation(content, time.monotonic() - begin)
        if changed is not None:
            evaluate_tables.print_against(changed)
    if written is not None:
        hint(f"wrote {written}")
    if strict and (made.counts["not met"] if changed is None else changed.counts["worse"]):
        raise typer.Exit(1)


def _every(wish: _Wish, control: str | None, output: Path | None, deadline: float | None, *, force: bool) -> None:
    from narrows import ownership
    from narrows.studies.evaluate import page, shipped

    if control is not None or output is None:
        message = "--all takes -o DIR and no control; allowed: narrows evaluate --all --quick -o DIR"
        raise InputError(message)
    for name in shipped():
        begin = time.monotonic()
        held = ownership.claim(output / name, kind=ownership.EVALUATION, force=force)
        made = _made(wish, name, held, deadline)
        page.write(made, held)
        told = ", ".join(f"{count} {verdict}" for verdict, count in made.counts.items() if count)
        typer.echo(f"{name}: {told}; {made.made:,} runs in {time.monotonic() - begin:.0f} s")
        if deadline is not None and time.monotonic() > deadline:
            hint("the budget ended; the same command with more continues from there")
            return


def _made(wish: _Wish, control: str, held: Any, deadline: float | None) -> Evaluation:
    from narrows.cli.evaluate_progress import EvaluationDisplay
    from narrows.studies.evaluate import execute, make

    plan = make(control, quick=wish.quick, seed=wish.seed, most=wish.most, only=wish.only, live=wish.live)
    return execute(
        plan,
        held,
        jobs=wish.jobs,
        dask=wish.dask,
        watch=lambda what: EvaluationDisplay(what, wanted=wish.progress),
        budget_s=None if deadline is None else max(0.0, deadline - time.monotonic()),
    )


def _league(file: Path, output: Path | None, *, quick: bool) -> None:
    from narrows.report import render
    from narrows.studies.evaluate import export, league, saved, shipped

    if output is None:
        message = "--league needs -o DIR; allowed: the directory of `narrows evaluate --all -o DIR`"
        raise InputError(message)
    found = saved.below(output)
    worlds = sorted({str(one.get("world", export.SIMULATED)) for one in found})
    if len(worlds) > 1:
        message = f"{output}: holds evaluations of {' and of '.join(worlds)}; allowed: all simulated, or of one kernel"
        raise InputError(message)
    controls = [str(one["control"]) for one in found]
    fast = " --quick" if quick else ""
    whole = set(controls) >= set(shipped())
    evaluated = (
        [f"narrows evaluate --all{fast} -o {output}"]
        if whole
        else [f"narrows evaluate {name}{fast} -o {output / name}" for name in controls]
    )
    text = league.markdown(found, "\n$ ".join([*evaluated, f"narrows evaluate --league {file}{fast} -o {output}"]))
    render.write_text(file, text)
    hint(f"wrote {file}")


def _criteria(*, json: bool) -> None:
    from narrows.cli import evaluate_tables
    from narrows.studies.evaluate import catalogue

    if json:
        import json as codec
        from dataclasses import asdict

        known = catalogue()
        shape = {
            "format": 1,
            "criteria": [asdict(one) for one in known.criteria],
            "networks": [asdict(one) for one in known.networks.values()],
            "not_evaluated": [asdict(one) for one in known.not_evaluated],
        }
        typer.echo(codec.dumps(shape, indent=1, ensure_ascii=False))
    else:
        evaluate_tables.print_criteria(catalogue())


def _seconds(text: str) -> float:
    """Parse a time of real clocks.

    >>> _seconds("90 s"), _seconds("1.5min")
    (90.0, 90.0)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h)\s*", text)
    if found is None or float(found[1]) == 0:
        message = f"--budget {text!r}: is not a time; allowed: a number above 0 and s, min or h, such as 10 min"
        raise InputError(message)
    return float(found[1]) * _SECONDS[found[2]]
