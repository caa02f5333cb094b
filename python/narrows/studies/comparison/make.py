"""Making both arms of a comparison: first live, then simulated."""

from __future__ import annotations

import platform
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from narrows.base.errors import Interrupted
from narrows.model.scenario import Scenario
from narrows.runs import simulated
from narrows.runs.kept import Kept
from narrows.studies.comparison.comparison import Arm, Comparison
from narrows.studies.sweep import address as addresses

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from narrows.execution.job import ProgressHook
    from narrows.outcome import Batch, Run
    from narrows.store.archive import Archive

SIMULATED: Final = "simulated"
LIVE: Final = "live"
"""Labels of the arms that `run_both` makes."""

_LIVE_SHARE: Final = 0.9
"""Share of the progress bar for the live runs, which take real time, one after the other."""


class ComparisonInterrupted(Interrupted):
    """Ctrl-C during both arms of a comparison: running runs were stopped, finished ones are kept.

    Parameters
    ----------
    caught : Interrupted
        What ended the arm in progress.
    runs : int
        Number of runs requested of each arm.
    arms : sequence of Arm
        The arms so far.
    """

    def __init__(self, caught: Interrupted, runs: int, arms: Sequence[Arm]) -> None:
        self.arms = tuple(arm for arm in arms if arm.outcome.runs)
        """Arms with a finished run, in the order of `Comparison`."""
        done = sum(len(arm.outcome.runs) for arm in self.arms)
        message = f"interrupted: {done} of {2 * runs} runs had finished, live and simulated together"
        super().__init__(caught.finished, 2 * runs, message)


def run_both(
    scenario: str | PathLike[str] | Scenario,
    runs: int = 1,
    seed: int | None = None,
    jobs: int | None = None,
    progress: ProgressHook | None = None,
    store: Archive | None = None,
) -> Comparison:
    """Run a scenario live, on the machine's own stack, and in the simulator.

    The live runs come first, so that nothing is simulated in vain if they are not available.

    Parameters
    ----------
    scenario : path, str or Scenario
        A file, the name of a bundled scenario, or a scenario.
    runs : int
        Number of runs of each arm. Two or more give intervals.
    seed : int, optional
        Seed of both arms; the scenario's own by default.
    jobs : int, optional
        Number of parallel simulations; by default the number of processors.
    progress : callable, optional
        Called with the completed share of the work, in [0, 1].
    store : Archive, optional
        Where runs of both arms are kept as they end, and found again: live ones on the same kernel.

    Returns
    -------
    Comparison
        The simulated arm is the first: differences are live minus simulated.

    Raises
    ------
    LiveError
        If live runs are not available on this machine, or one failed.
    InputError, ScenarioError, RunError
        As `narrows.run`.
    ComparisonInterrupted
        On Ctrl-C; holds the finished runs.
    """
    parsed = scenario if isinstance(scenario, Scenario) else Scenario.from_file(scenario)
    if seed is not None and seed != parsed.seed:
        # Set the seed in the scenario, so that both arms and the saved scenario files have the same one.
        parsed = parsed.with_overrides({"seed": simulated.in_range("seed", seed, 0, 2**63 - 1)})
    simulated.in_range("runs", runs, 1, 1_000_000)
    if jobs is not None:
        simulated.in_range("jobs", jobs, 1, 4096)
    try:
        live = run_live(parsed, runs, _share(progress, 0.0, _LIVE_SHARE), store)
    except Interrupted as caught:
        raise ComparisonInterrupted(caught, runs, [Arm(LIVE, caught.finished)]) from None
    try:
        kept = None if store is None else Kept(store, addresses.of_runs(parsed, parsed.seed))
        ours = simulated.run(parsed, runs=runs, jobs=jobs, progress=_share(progress, _LIVE_SHARE, 1.0), kept=kept)
    except Interrupted as caught:
        raise ComparisonInterrupted(caught, runs, [Arm(SIMULATED, caught.finished), Arm(LIVE, live)]) from None
    return Comparison(Arm(SIMULATED, ours), Arm(LIVE, live))


def run_live(
    scenario: Scenario, runs: int, progress: ProgressHook | None = None, store: Archive | None = None
) -> Run | Batch:
    """Run a scenario live, on the machine's own stack.

    Parameters
    ----------
    scenario : Scenario
    runs : int
        Number of runs, one after the other.
    progress : callable, optional
    store : Archive, optional
        Where runs are kept as they end, and found again on the same kernel.

    Returns
    -------
    Run or Batch

    Raises
    ------
    LiveError
        If live runs are not available on this machine, or one failed.
    RunError
        If a run cannot be stored.
    Interrupted
        On Ctrl-C; holds the finished runs.
    """
    live: Any = import_module("narrows.runs.live")  # by name, so that a substitute module can be used
    address = partial(_address, scenario)
    try:
        made: Run | Batch = live.run(
            scenario, runs=runs, progress=progress, **({} if store is None else {"kept": Kept(store, address)})
        )
    except Interrupted as caught:
        if store is None:
            raise
        message = (
            f"interrupted: finished live runs are kept in {store.directory}; the same command continues from there"
        )
        raise Interrupted(caught.finished, runs, message) from None
    return made


def _address(scenario: Scenario, index: int) -> str:
    """Content address of a live run, which depends on the kernel too."""
    host = f"live on {platform.release()} {platform.machine()}"
    return addresses.of(addresses.content(scenario.to_toml(), [host, f"run {index}"]), scenario.seed)


def _share(progress: ProgressHook | None, begin: float, end: float) -> ProgressHook | None:
    """Map the progress of a part to progress of the whole."""
    if progress is None:
        return None
    return lambda fraction: progress(begin + fraction * (end - begin))
