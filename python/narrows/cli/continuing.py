"""Runs that ``run``, ``live`` and ``--both`` keep as they end, so that the same command continues there."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from narrows.cli.guard import hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from narrows.base.errors import Interrupted
    from narrows.kernels import Kernel
    from narrows.model.scenario import Scenario
    from narrows.runs.kept import Kept
    from narrows.runs.live import Program
    from narrows.store.archive import Archive


@contextmanager
def store(output: Path | None, *, wanted: bool) -> Iterator[Archive | None]:
    """Open the kept runs of an output; they are removed if the block succeeds, and stay otherwise.

    Parameters
    ----------
    output : pathlib.Path or None
    wanted : bool
        Whether the command makes runs that are worth it: several, without captures.

    Yields
    ------
    Archive or None
    """
    if output is None or not wanted:
        yield None
        return
    from narrows.runs import kept

    with kept.beside(output) as opened:
        threading.Thread(target=_load_statistics, name="narrows-statistics", daemon=True).start()
        yield opened


def _load_statistics() -> None:
    """Load what intervals need while runs are made: loading takes most of a second, which Ctrl-C must not wait for."""
    from narrows.stats import mean_ci

    mean_ci((0.0, 1.0))


def simulated(opened: Archive | None, scenario: Scenario, seed: int | None, most: int, *, quiet: bool) -> Kept | None:
    """Return the kept runs of a simulated batch, and say how many there are.

    Parameters
    ----------
    opened : Archive or None
    scenario : Scenario
    seed : int, optional
    most : int
        Number of runs, or the most there may be.
    quiet : bool

    Returns
    -------
    Kept or None
    """
    return None if opened is None else _kept(opened, scenario, seed, (), most, quiet=quiet)


def live(
    opened: Archive | None,
    scenario: Scenario,
    seed: int | None,
    runs: int,
    where: tuple[Kernel | None, bool, Iterable[Program]],
    *,
    quiet: bool,
) -> Kept | None:
    """Return the kept runs of a live batch, which depend on the kernel and on programs too.

    Parameters
    ----------
    opened : Archive or None
    scenario : Scenario
    seed : int, optional
    runs : int
    where : tuple
        Kernel of the virtual machine or ``None``, whether its own queue disciplines are used, and programs.
    quiet : bool

    Returns
    -------
    Kept or None
    """
    if opened is None:
        return None
    import platform

    kernel, qdisc, programs = where
    if kernel is None:
        parts = [f"live on {platform.release()} {platform.machine()}"]
    else:
        from narrows.runs import vm

        parts = [f"in a virtual machine {vm.address(kernel)} {qdisc}"]
    parts += [f"{program.host} {program.command}" for program in programs]
    return _kept(opened, scenario, seed, parts, runs, quiet=quiet)


def told(interruption: Interrupted, opened: Archive | None, fewer: str = "") -> Interrupted:
    """Say in the message of an interruption that the same command continues.

    Parameters
    ----------
    interruption : Interrupted
    opened : Archive or None
    fewer : str
        Options with which the same command makes no more runs than have finished; ``{runs}`` stands for their number.
        By default there are none.

    Returns
    -------
    Interrupted
        The same.
    """
    if opened is not None and opened.keys():
        message = f"{interruption}; the same command continues from there"
        finished = len(interruption.finished.runs)
        if fewer and finished > 1:
            message += f", and with {fewer.format(runs=finished)} writes the results of {finished} runs"
        interruption.args = (message,)
    return interruption


def _kept(
    opened: Archive, scenario: Scenario, seed: int | None, parts: Iterable[str], most: int, *, quiet: bool
) -> Kept:
    from narrows.runs.kept import Kept
    from narrows.studies.sweep import address

    kept = Kept(opened, address.of_runs(scenario, scenario.seed if seed is None else seed, parts))
    there = kept.count(most)
    if there and not quiet:
        hint(f"{there} run{'' if there == 1 else 's'} kept in {opened.directory}, which this command continues")
    return kept
