"""``narrows run``: run a scenario."""

from __future__ import annotations

import math
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer

from narrows.base.errors import InputError
from narrows.cli import continuing, ending
from narrows.cli.guard import guarded, hint, warn
from narrows.cli.options import File, Force, Jobs, Json, Load, MaxMemory, NoProgress, Output, Set, claimed, overrides

if TYPE_CHECKING:
    from narrows.cli.progress import Bar
    from narrows.model.scenario import Scenario
    from narrows.runs.captures import Staged
    from narrows.runs.kept import Kept
    from narrows.runs.simulated import Batch, Run
    from narrows.stats import Precision

EXAMPLE = (
    "Example: narrows run dumbbell-cubic --runs 20 --set 'duration=90 s' -o out\n\n"
    "Until the interval is narrow enough: narrows run dumbbell-cubic --until 2%\n\n"
    "Compared with this machine's own TCP: narrows run dumbbell-cubic --both --set 'duration=12 s'"
)


_MUCH = 1e9
"""Bytes of samples from which their size is reported before a run."""

MIN_RUNS = 2
"""Fewest runs that give an interval."""


@dataclass(frozen=True)
class _Order:
    """Number and seed of the wanted runs; `metric` is that of `until`."""

    seed: int | None
    runs: int
    jobs: int | None
    threads: int | None
    until: Precision | None
    metric: str | None


@guarded
def run(
    file: File,
    output: Output = None,
    force: Force = False,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Seed; by default the scenario's own.")
    ] = None,
    set_: Set = None,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs",
            "-n",
            metavar="N",
            help="Number of runs, each with its own random numbers: 1 by default. With --until the minimum: 10.",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="PERCENT",
            help="Run until the 95 % interval of a metric's mean is within ± this percentage of it: 2%.",
        ),
    ] = None,
    until_metric: Annotated[
        str | None,
        typer.Option(
            "--until-metric",
            metavar="METRIC",
            help="Metric for --until: throughput_mbps or goodput_mbps (all flows together), jain, or KIND.NAME.METRIC "
            "such as flow.first.rtt_mean_ms; throughput_mbps by default.",
        ),
    ] = None,
    max_runs: Annotated[
        int | None, typer.Option("--max-runs", metavar="N", help="Maximum number of runs with --until; 200 by default.")
    ] = None,
    pcap: Annotated[
        bool,
        typer.Option("--pcap", metavar="", help="Capture packets into DIR/pcap (pcapng, a file per link or channel)."),
    ] = False,
    both: Annotated[
        bool,
        typer.Option(
            "--both", metavar="", help="Also run it on this machine's own TCP stack, and compare (Linux, root)."
        ),
    ] = False,
    load: Load = None,
    jobs: Jobs = None,
    threads: Annotated[
        str | None,
        typer.Option(
            "--threads", metavar="N", help="Cores of one run; auto, the default, takes two for one run where that pays."
        ),
    ] = None,
    max_memory: MaxMemory = None,
    json: Json = False,
    no_progress: NoProgress = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", metavar="", help="Print nothing but errors.")] = False,
) -> None:
    """Run a scenario and print a summary; with -o, keep everything in a directory.

    The same scenario, seed and version give the same digest, whatever the number of jobs. With -o, the same
    command continues several runs that were interrupted.
    """
    from narrows.base import memory

    memory.allow(max_memory)
    if both:
        for option, given in (("--until", until), ("--pcap", pcap), ("--load", load), ("--threads", threads)):
            if given:
                message = f"{option} cannot be combined with --both; allowed: --runs, --seed, --set, --jobs and -o"
                raise InputError(message)
        from narrows.cli.both import run_both

        run_both(
            file,
            overrides(set_),
            seed,
            runs,
            jobs,
            claimed(output, force, [file]),
            json=json,
            bar=not no_progress,
            quiet=quiet,
        )
        return
    if pcap and output is None:
        message = "--pcap needs a directory to put the packets; add -o DIR"
        raise InputError(message)
    if until and threads:
        message = f"--threads {threads}: cannot be combined with --until, whose runs use all cores; leave out --threads"
        raise InputError(message)
    order = _Order(
        seed,
        1 if runs is None else runs,
        jobs,
        _threads(threads),
        _precision(until, until_metric, runs, max_runs),
        until_metric,
    )
    held = claimed(output, force, [file, *(load or [])])
    from narrows import ownership
    from narrows.cli.progress import Bar
    from narrows.model import own
    from narrows.model.scenario import Scenario
    from narrows.runs import captures
    from narrows.store import results

    for own_file in load or []:
        own.load(own_file)
    scenario = Scenario.from_file(file, overrides(set_))
    warn(scenario)
    _check(scenario, order, output, quiet=quiet)
    most = order.runs if order.until is None else order.until.most
    begin = time.monotonic()
    with continuing.store(output, wanted=most > 1 and not pcap) as opened:
        kept = continuing.simulated(opened, scenario, seed, most, quiet=quiet)
        with ExitStack() as stack:
            # Create the directory first, so that an unwritable one is reported before the long wait, not after it.
            directory = stack.enter_context(ownership.staged(held)) if held is not None else None
            stack.enter_context(memory.spilling_into(directory))
            bar = stack.enter_context(Bar(scenario.name, wanted=not (no_progress or quiet), quiet=quiet))
            captured = captures.Staged(directory / results.PCAP) if directory is not None and pcap else None
            result, interruption = ending.finished(
                lambda: _run(scenario, order, captured, bar, kept),
                opened,
                directory,
                "--runs {runs}" if order.until is None else "--runs {runs} --max-runs {runs}",
            )
        if not quiet:
            ending.show(result, time.monotonic() - begin, output, json=json)
            _warn(result)
        if interruption is not None:
            raise interruption


def _check(scenario: Scenario, order: _Order, output: Path | None, *, quiet: bool) -> None:
    """Refuse runs that exceed memory or disk, before a directory is made; report large amounts of samples."""
    from narrows.runs import estimate
    from narrows.runs import simulated as runs

    workers = runs.processors() if order.jobs is None else order.jobs
    threads = 1 if order.until is not None else runs.threads_of(order.threads, order.runs)
    made = estimate.check(scenario, order.runs, max(1, workers), output, threads)
    if made.disk_bytes >= _MUCH and not quiet:
        from narrows.base.memory import shown

        hint(f"{scenario.name}: {made.rows:,} samples, about {shown(made.disk_bytes)} on the disk")


def _run(scenario: Scenario, order: _Order, captured: Staged | None, bar: Bar, kept: Kept | None) -> Run | Batch:
    from narrows.runs import simulated as runs

    options: dict[str, Any] = {"seed": order.seed, "jobs": order.jobs, "pcap": captured, "kept": kept}
    if order.until is None:
        return runs.run(scenario, runs=order.runs, progress=bar, threads=order.threads, **options)
    from narrows.runs.until import DEFAULT_METRIC, State, run_until

    metric = order.metric or DEFAULT_METRIC

    def show(state: State) -> None:
        width = 100 * state.estimate.half_width / abs(state.estimate.mean or math.nan)
        reached = "" if math.isnan(width) else f", ±{width:.2g} %"
        bar.describe(f"{scenario.name}: {state.runs} of about {state.needed} runs{reached}")
        bar(state.fraction)

    return run_until(scenario, order.until, metric, progress=show, **options)


def _precision(until: str | None, metric: str | None, runs: int | None, max_runs: int | None) -> Precision | None:
    """Return the precision of ``--until``, where ``--runs`` is the fewest runs."""
    if until is None:
        for name, value in (("--until-metric", metric), ("--max-runs", max_runs)):
            if value is not None:
                message = f"{name} {value}: needs --until; add --until 2%, for example"
                raise InputError(message)
        return None
    from narrows.stats import Precision
    from narrows.stats.precision import LEAST_RUNS, MOST_RUNS

    least = min(LEAST_RUNS, max_runs or LEAST_RUNS) if runs is None else runs
    most = max(MOST_RUNS, least) if max_runs is None else max_runs
    if least < MIN_RUNS:
        given = f"--max-runs {max_runs}" if runs is None else f"--runs {runs}"
        message = f"{given}: is too few with --until: one run has no interval; allowed: {MIN_RUNS} or more"
        raise InputError(message)
    if most < least:
        message = f"--max-runs {max_runs}: allowed: as many as --runs ({least}) or more"
        raise InputError(message)
    return Precision(relative=percentage(until), least=least, most=most)


def _threads(text: str | None) -> int | None:
    """Read the value of ``--threads``; ``None`` is ``auto``."""
    if text is None or text == "auto":
        return None
    from narrows.runs.simulated import MOST_THREADS

    if text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_THREADS:
        return int(text)
    message = f"--threads {text}: is not a number of threads; allowed: auto, or 1 to {MOST_THREADS}"
    raise InputError(message)


def percentage(text: str) -> float:
    """Read the value of ``--until``.

    Parameters
    ----------
    text : str
        Such as ``2%`` or ``0.5 %``.

    Returns
    -------
    float
        As a fraction of 1.

    Raises
    ------
    InputError
        If it is not a percentage above 0 and below 100.

    Examples
    --------
    >>> percentage("2%"), percentage(" 0.5 % ")
    (0.02, 0.005)
    """
    number, sign, rest = text.strip().partition("%")
    with suppress(ValueError):
        value = float(number)
        if sign and not rest and 0 < value < 100:
            return value / 100
    message = f"--until {text}: is not a width; allowed: a percentage of the mean above 0 and below 100, such as 2%"
    raise InputError(message)


def _warn(result: Run | Batch) -> None:
    until = getattr(result, "until", None)
    if until is not None and not until.met:
        more = "; --max-runs allows more" if until.runs >= until.precision.most else ""
        hint(f"warning: {until.told()}{more}")
