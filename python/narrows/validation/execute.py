"""Running pairs in parallel: Narrows in threads, ns-2 in processes, stopped at once by Ctrl-C."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

import numpy as np

from narrows import interruption
from narrows.errors import InputError, RunError
from narrows.runs import Task, processors, run_all
from narrows.scenario import Scenario
from narrows.validation import inputs
from narrows.validation.compare import Flow
from narrows.validation.description import PAYLOAD_BYTES, script

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from narrows.outcome import Run
    from narrows.runs import ProgressHook
    from narrows.validation.description import Network, Variant

_POLL_S = 0.1
_NS2_SHARE = 0.7
"""Share of the progress bar for ns-2."""

_AT_ONCE = 100
"""Number of Narrows runs per batch; the samples of a batch are freed before the next one starts."""

_LONGEST_S = 600.0
"""Time after which a run of ns-2 is aborted, s."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a pair, in one simulator.

    Attributes
    ----------
    variant : Variant
    network : Network
    seed : int
    fill : int
        Value of each byte of memory that ns-2 allocates.
    rival : Variant, optional
        The variant of the second flow, if it differs from the first.
    ns2 : tuple of str
        Additional arguments of ``pair.tcl``.
    """

    variant: Variant
    network: Network
    seed: int
    fill: int = 0
    rival: Variant | None = None
    ns2: tuple[str, ...] = ()


def environment(fill: int) -> dict[str, str]:
    """Return the environment under which glibc fills ns-2's fresh memory.

    ns-2.35 reads members of its agents before it initialises them. With a fixed fill, these reads always give the same
    values. glibc fills what `malloc` returns with the complement of ``MALLOC_PERTURB_``, but not what its thread cache
    returns, so the cache is turned off.

    Parameters
    ----------
    fill : int
        0 to 254; 255 would turn filling off.

    Returns
    -------
    dict
    """
    return os.environ | {"MALLOC_PERTURB_": str(fill ^ 0xFF), "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}


def find_ns2() -> str:
    """Find ns-2.

    Returns
    -------
    str
        Path of the program.

    Raises
    ------
    InputError
        If ns-2 is not installed.
    """
    found = shutil.which("ns") or shutil.which("ns2")
    if found is None:
        message = (
            "ns-2 is not installed; allowed: a program `ns` or `ns2` in the PATH, such as Debian's package ns2 brings"
        )
        raise InputError(message)
    return found


def run_ours(jobs: Sequence[Job], workers: int | None, progress: ProgressHook | None) -> list[list[Flow]]:
    """Run pairs on Narrows.

    Parameters
    ----------
    jobs : sequence of Job
    workers : int, optional
        Number of parallel runs.
    progress : callable, optional
        Called with the completed share of the work.

    Returns
    -------
    list of list of Flow
        The flows of each job.

    Raises
    ------
    ScenarioError, RunError, Interrupted
        As `narrows.runs.run_all`.
    """
    texts = [inputs.scenario(job.variant, job.network, job.rival) for job in jobs]
    parsed: dict[str, Scenario] = {}
    for job, text in zip(jobs, texts, strict=True):
        if text not in parsed:
            parsed[text] = Scenario.from_text(text, f"{job.variant.name}/{job.network.name}")
    tasks = [Task(parsed[text], job.seed) for job, text in zip(jobs, texts, strict=True)]
    total, done = sum(job.network.cost for job in jobs), 0.0
    flows: list[list[Flow]] = []
    for begin in range(0, len(jobs), _AT_ONCE):
        part = jobs[begin : begin + _AT_ONCE]
        share = sum(job.network.cost for job in part)
        runs = run_all(tasks[begin : begin + _AT_ONCE], workers, _within(progress, done / total, share / total))
        flows += [_ours(job, run) for job, run in zip(part, runs, strict=True)]
        done += share
    return flows


def _within(progress: ProgressHook | None, begin: float, share: float) -> ProgressHook | None:
    """Map the progress of a part to progress of the whole."""
    if progress is None:
        return None
    return lambda fraction: progress(begin + fraction * share)


def _ours(job: Job, run: Run) -> list[Flow]:
    frame = run.samples.frame("flow")
    flows = []
    for i, flow in enumerate(run.flows):
        own = frame[frame["name"] == flow.name]
        cwnd = np.zeros(round(job.network.duration / inputs.SAMPLE_S))
        at = (own["time_s"].to_numpy(dtype=np.float64) / inputs.SAMPLE_S).round().astype(np.int64)
        inside = at < len(cwnd)
        cwnd[at[inside]] = own["cwnd_bytes"].to_numpy(dtype=np.float64, na_value=0.0)[inside]
        flows.append(
            Flow(
                mbps=_mbps(job.network, i, flow.delivered_bytes),
                lost=flow.lost_packets,
                timeouts=flow.timeouts or 0,
                cwnd=cwnd / PAYLOAD_BYTES,
            )
        )
    return flows


def _mbps(network: Network, flow: int, delivered_bytes: float) -> float:
    start = inputs.START_S + flow * network.stagger
    return delivered_bytes * 8 / 1e6 / (network.duration - start)


def run_ns2(jobs: Sequence[Job], workers: int | None, progress: ProgressHook | None) -> list[list[Flow]]:
    """Run pairs on ns-2.

    Parameters
    ----------
    jobs : sequence of Job
    workers : int, optional
        Number of parallel runs; by default the number of processors.
    progress : callable, optional
        Called with the completed share of the work.

    Returns
    -------
    list of list of Flow
        The flows of each job.

    Raises
    ------
    InputError
        If ns-2 is not installed.
    RunError
        If a run failed; the other runs are stopped.
    """
    if not jobs:
        return []
    program = find_ns2()
    running = _Running()
    pool = ThreadPoolExecutor(max_workers=min(workers or processors(), len(jobs)), thread_name_prefix="ns2")
    try:
        futures = [pool.submit(_ns2, program, job, running) for job in jobs]
        _wait(futures, [job.network.cost for job in jobs], progress)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        running.stop()
        pool.shutdown()
        raise
    pool.shutdown()
    return [future.result() for future in futures]


class _Running:
    """The running processes, which can be stopped together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def start(self, command: list[str], env: dict[str, str]) -> subprocess.Popen[str]:
        with self._lock:
            if self._stopped:
                message = "stopped"
                raise RunError(message)
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)
            self._processes.add(process)
            return process

    def ended(self, process: subprocess.Popen[str]) -> None:
        with self._lock:
            self._processes.discard(process)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.kill()


def _wait(futures: Sequence[Future[list[Flow]]], costs: Sequence[float], progress: ProgressHook | None) -> None:
    """Wait for all futures, or for the first failure, polling so that Ctrl-C takes effect at once."""
    finished: SimpleQueue[Future[list[Flow]]] = SimpleQueue()
    for future in futures:
        future.add_done_callback(finished.put)
    cost = dict(zip(map(id, futures), costs, strict=True))
    pending, done, total, told = len(futures), 0.0, sum(costs), time.monotonic()
    while pending:
        interruption.check()
        with suppress(Empty):
            future = finished.get(timeout=_POLL_S)
            future.result()
            pending -= 1
            done += cost[id(future)]
        if progress is not None and (not pending or time.monotonic() - told >= _POLL_S):
            progress(min(1.0, done / total))
            told = time.monotonic()


def _ns2(program: str, job: Job, running: _Running) -> list[Flow]:
    command = [program, str(script()), *inputs.arguments(job.variant, job.network, job.seed), *job.ns2]
    if job.rival is not None:
        command.append(f"rival={job.rival.ns2}")
    process = running.start(command, environment(job.fill))
    try:
        _, said = process.communicate(timeout=_LONGEST_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        message = f"{' '.join(command)}: did not end within {_LONGEST_S:g} s"
        raise RunError(message) from None
    finally:
        running.ended(process)
    begin = said.rfind('{"version"')
    if process.returncode != 0 or begin < 0:
        message = f"{' '.join(command)}: failed with exit code {process.returncode}: {said.strip()[-300:]}"
        raise RunError(message)
    return theirs(job.network, said[begin:])


def theirs(network: Network, line: str) -> list[Flow]:
    """Parse the output of ``pair.tcl``.

    Parameters
    ----------
    network : Network
        The network of the run.
    line : str
        The line of JSON that the script printed.

    Returns
    -------
    list of Flow
    """
    return [
        Flow(
            mbps=_mbps(network, i, flow["delivered_bytes"]),
            lost=flow["lost_packets"],
            timeouts=flow["timeouts"],
            cwnd=np.array(flow["cwnd"], dtype=np.float64),
        )
        for i, flow in enumerate(json.loads(line)["flows"])
    ]


def run_both(
    jobs: Sequence[Job], workers: int | None, progress: ProgressHook | None
) -> tuple[list[list[Flow]], list[list[Flow]]]:
    """Run pairs in both simulators.

    Parameters
    ----------
    jobs : sequence of Job
    workers : int, optional
        Number of parallel runs.
    progress : callable, optional
        Called with the completed share of the work.

    Returns
    -------
    tuple
        The flows of each job, in Narrows and in ns-2.

    Raises
    ------
    InputError, ScenarioError, RunError
        As raised by `run_ours` and `run_ns2`.
    """
    find_ns2()
    ours = run_ours(jobs, workers, _within(progress, 0.0, 1 - _NS2_SHARE))
    return ours, run_ns2(jobs, workers, _within(progress, 1 - _NS2_SHARE, _NS2_SHARE))
