"""Running pairs: ours in threads, ns-2 as processes, many at the same time, stopped at once by Ctrl-C."""

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
"""Share of the time that ns-2 takes, for the progress bar."""

_AT_ONCE = 100
"""So many runs of ours are made before their samples are let go."""

_LONGEST_S = 600.0
"""After this a run on ns-2 is given up."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a pair in either simulator.

    Attributes
    ----------
    variant : Variant
    network : Network
    seed : int
    fill : int
        The value of each byte of memory that ns-2 gets.
    rival : Variant, optional
        The variant of the second flow, where it is another one.
    ns2 : tuple of str
        Further arguments of ``pair.tcl``.
    """

    variant: Variant
    network: Network
    seed: int
    fill: int = 0
    rival: Variant | None = None
    ns2: tuple[str, ...] = ()


def environment(fill: int) -> dict[str, str]:
    """Return the environment under which glibc fills ns-2's fresh memory.

    ns-2.35 reads members of its agents before it writes them. Under a fixed fill what it reads is the same each time.
    glibc fills what `malloc` returns with the complement of ``MALLOC_PERTURB_``, but not what its thread cache returns,
    so that this is turned off.

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
        The program.

    Raises
    ------
    InputError
        If it is not installed.
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
        How many at the same time.
    progress : callable, optional
        Called with the share of the work that is done.

    Returns
    -------
    list of list of Flow
        Per job, its flows.

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
    """Report the progress of a part as that of the whole."""
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
        How many at the same time; as many as there are processors by default.
    progress : callable, optional
        Called with the share of the work that is done.

    Returns
    -------
    list of list of Flow
        Per job, its flows.

    Raises
    ------
    InputError
        If ns-2 is not installed.
    RunError
        If a run failed; the others are stopped.
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
    """The processes under way, so that they can be ended together."""

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
    """Wait for all, or for the first to fail, in short steps, so that Ctrl-C is heard at once."""
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
    """Read what ``pair.tcl`` prints.

    Parameters
    ----------
    network : Network
        What was run.
    line : str
        Its line of JSON.

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
    """Run pairs on both.

    Parameters
    ----------
    jobs : sequence of Job
    workers : int, optional
        How many runs at the same time.
    progress : callable, optional
        Called with the share of the work that is done.

    Returns
    -------
    tuple
        Ours and theirs, per job.

    Raises
    ------
    InputError, ScenarioError, RunError
        As of either.
    """
    find_ns2()
    ours = run_ours(jobs, workers, _within(progress, 0.0, 1 - _NS2_SHARE))
    return ours, run_ns2(jobs, workers, _within(progress, 1 - _NS2_SHARE, _NS2_SHARE))
