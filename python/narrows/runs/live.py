"""Live runs: a scenario on this machine's own TCP stack, in network namespaces, through Narrows' own bottleneck.

A live run takes as long as its scenario lasts. Runs are made one after another: two at once would disturb each other.
A live run yields the same results as a simulated one, and its conditions in addition.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows import _core
from narrows.base import bundled, interruption
from narrows.base.errors import InputError, Interrupted, LiveError
from narrows.model.scenario import Override, Scenario
from narrows.outcome import Batch, Run
from narrows.runs import captures, estimate
from narrows.runs.simulated import in_range, taken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from pathlib import Path

    from narrows.runs.kept import Kept

__all__ = ["Program", "check", "make", "run"]

_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Program:
    """A program that runs on a host of the emulated network while the scenario runs.

    Attributes
    ----------
    host : str
        Name of the host in the scenario.
    command : str
        For ``sh -c``; names of the scenario's hosts are replaced by their addresses.
    """

    host: str
    command: str


def check(scenario: Scenario) -> None:
    """Check that this machine can run a scenario live, without running it.

    Parameters
    ----------
    scenario : Scenario

    Raises
    ------
    LiveError
        If it cannot, with what would fix it; or if the scenario cannot run live.
    """
    try:
        _core.live_check(scenario.core)
    except _core.LiveError as error:
        raise _told(scenario, error) from None


def _told(scenario: Scenario, error: _core.LiveError) -> LiveError:
    """Convert the error; if a refused scenario is bundled and has a variant for live runs, name the variant."""
    told = LiveError.from_core(error)
    variant = f"{scenario.name}-live"
    if told.kind == "unsupported" and variant in bundled.scenarios():
        return LiveError(f"{told}\n  scenario {variant} is its variant for live runs", told.kind, told.remedy)
    return told


def run(
    scenario: str | PathLike[str] | Scenario,
    seed: int | None = None,
    runs: int = 1,
    overrides: Mapping[str, Override] | None = None,
    pcap: str | PathLike[str] | None = None,
    programs: Sequence[Program] = (),
    progress: Callable[[float], None] | None = None,
    first: int = 0,
    kept: Kept | None = None,
) -> Run | Batch:
    """Run a scenario live.

    Parameters
    ----------
    scenario : path, str or Scenario
        A file, the name of a bundled scenario, or a scenario.
    seed : int, optional
        For random losses, random queues and applications; the scenario's own by default. The kernel's own random
        choices do not depend on it.
    runs : int
        Number of runs, made one after another.
    overrides : mapping, optional
        Values by path of the field.
    pcap : path, optional
        Directory to capture packets into (pcapng, a file per link; a directory per run if there are several).
    programs : sequence of Program
        Programs to run on hosts during the run.
    progress : callable, optional
        Called about ten times a second with the completed share of the work, in [0, 1].
    first : int
        Index of the first run; random losses, queues and applications depend on a run's index.
    kept : narrows.runs.kept.Kept, optional
        Where runs are kept as they end, and found again; only without captures.

    Returns
    -------
    Run or Batch
        A batch if more than one run was requested. Runs have `conditions`.

    Raises
    ------
    InputError
        If an argument is out of range or a file cannot be read.
    LiveError
        If this machine cannot do it, or a step failed.
    Interrupted
        On Ctrl-C; holds the finished runs.
    """
    parsed = scenario if isinstance(scenario, Scenario) else Scenario.from_file(scenario)
    if overrides:
        parsed = parsed.with_overrides(overrides)
    estimate.check_one(parsed)
    chosen = parsed.seed if seed is None else in_range("seed", seed, 0, 2**63 - 1)
    in_range("runs", runs, 1, 100_000)
    in_range("first", first, 0, 100_000)
    for program in programs:
        _known(parsed, program.host, "--exec")
    with captures.into(pcap, parsed, runs) as folder:
        indices = range(first, first + runs)
        made, interruption = _all(parsed, chosen, indices, folder, programs, progress, None if folder else kept)
        captures.drop_unfinished(folder, made, runs)
    if interruption is not None:
        raise interruption
    made = [captures.located(one, pcap, runs) for one in made]
    return made[0] if runs == 1 else Batch(scenario=parsed, seed=chosen, runs=tuple(made))


def _all(
    scenario: Scenario,
    seed: int,
    indices: range,
    captured: Path | None,
    programs: Sequence[Program],
    progress: Callable[[float], None] | None,
    kept: Kept | None,
) -> tuple[list[Run], Interrupted | None]:
    """Make runs, one after another; after Ctrl-C return those that had finished, and the interruption."""
    made: list[Run] = []
    runs = len(indices)
    for done, index in enumerate(indices):

        def told(share: float, done: int = done) -> None:
            if progress is not None:
                progress((done + share) / runs)

        where = captures.of_run(captured, done, runs)
        try:
            found = None if kept is None else kept.get(scenario, index)
            made.append(_one(scenario, seed, index, where, programs, told) if found is None else found)
            if kept is not None and found is None:
                kept.put_whole(made[-1])
        except KeyboardInterrupt:
            return made, Interrupted(Batch(scenario=scenario, seed=seed, runs=tuple(made)), runs)
    return made, None


def _one(
    scenario: Scenario,
    seed: int,
    index: int,
    pcap: Path | None,
    programs: Sequence[Program],
    progress: Callable[[float], None],
) -> Run:
    """Make one run on a thread of its own, so that Ctrl-C takes effect at once."""
    gauge = _core.Progress()
    results: list[_core.Result] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            told = [(program.host, program.command) for program in programs]
            where = None if pcap is None else str(pcap)
            results.append(_core.live(scenario.core, seed, index, gauge, where, told))
        except BaseException as error:  # noqa: BLE001 - it is raised again, on the thread that waits
            failures.append(error)

    thread = threading.Thread(target=work, name="narrows-live")
    thread.start()
    try:
        while thread.is_alive():
            interruption.check()
            thread.join(_POLL_S)
            progress(gauge.fraction())
    except BaseException:
        gauge.stop()
        thread.join()
        raise
    for failure in failures:
        if isinstance(failure, _core.LiveError):
            raise _told(scenario, failure) from None
        raise failure
    return taken(scenario, seed, index, results[0], results[0].conditions())


def make(scenario: Scenario, seed: int, gauge: _core.Progress) -> Run:
    """Make one live run on the calling thread, for executors with threads of their own.

    Parameters
    ----------
    scenario : Scenario
    seed : int
    gauge : narrows._core.Progress
        Reports progress, and can stop the run.

    Returns
    -------
    Run
        With its `conditions`.

    Raises
    ------
    LiveError
        If this machine cannot do it, or a step failed.
    narrows._core.Stopped
        If it was stopped through the gauge.
    """
    try:
        made = _core.live(scenario.core, seed, 0, gauge, None, [])
    except _core.LiveError as error:
        gauge.check()
        raise _told(scenario, error) from None
    return taken(scenario, seed, 0, made, made.conditions())


def shell(scenario: Scenario, host: str | None = None, *, traffic: bool = False) -> int:
    """Open a shell on a host of the emulated network, on this terminal.

    Parameters
    ----------
    scenario : Scenario
    host : str, optional
        The first host by default.
    traffic : bool
        Whether the scenario's flows run meanwhile.

    Returns
    -------
    int
        The shell's exit code.

    Raises
    ------
    InputError
        If there is no such host.
    LiveError
        If this machine cannot do it.
    """
    chosen = host if host is not None else hosts(scenario)[0]
    _known(scenario, chosen, "HOST")
    try:
        return _core.live_shell(scenario.core, scenario.seed, chosen, traffic)
    except _core.LiveError as error:
        raise LiveError.from_core(error) from None


def hosts(scenario: Scenario) -> list[str]:
    """Return the names of a scenario's hosts.

    Parameters
    ----------
    scenario : Scenario

    Returns
    -------
    list of str
        In the scenario's order.
    """
    return [node.name for node in scenario.resolved.nodes if node.kind == "host"]


def _known(scenario: Scenario, host: str, field: str) -> None:
    if host not in hosts(scenario):
        message = f"{field} {host}: {scenario.name} has no host of this name; allowed: {', '.join(hosts(scenario))}"
        raise InputError(message)
