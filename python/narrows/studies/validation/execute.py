"""Running pairs in parallel: Narrows in threads, ns-2 in processes, stopped at once by Ctrl-C."""

from __future__ import annotations

import hashlib
import json
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from narrows import ownership
from narrows.base.engine import engine
from narrows.base.errors import RunError
from narrows.execution import job as execution
from narrows.execution.forecast import Scale
from narrows.execution.job import Parcel
from narrows.model.scenario import Scenario
from narrows.runs.simulated import Task, make
from narrows.store.journal import Journal
from narrows.studies.validation import inputs, ns2
from narrows.studies.validation.compare import Flow
from narrows.studies.validation.description import PAYLOAD_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows import _core
    from narrows.execution.means import Means
    from narrows.outcome import Run
    from narrows.studies.validation.description import Network, Variant

MEASURES = 1
"""Version of what is kept of a run; a new version invalidates kept runs."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is kept of a run until the page is written.

    Attributes
    ----------
    key : str
        Content address.
    flows : tuple of Flow
    """

    key: str
    flows: tuple[Flow, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain values."""
        flows = [
            {"mbps": one.mbps, "lost": one.lost, "timeouts": one.timeouts, "cwnd": one.cwnd.tolist()}
            for one in self.flows
        ]
        return {"key": self.key, "flows": flows}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Record:
        """Create a record from the output of `to_json`."""
        flows = tuple(
            Flow(mbps=one["mbps"], lost=one["lost"], timeouts=one["timeouts"], cwnd=np.array(one["cwnd"], np.float64))
            for one in row["flows"]
        )
        return cls(key=str(row["key"]), flows=flows)


@dataclass(frozen=True)
class _Simulation(execution.Job[Record]):
    """A run in one of the two simulators."""

    job: Job
    at: tuple[int, ...]

    @property
    def steps(self) -> tuple[int, ...]:
        return self.at

    @property
    def turn(self) -> int:
        return self.job.seed

    def parcel(self) -> Parcel:
        return Parcel(_remote, (self,))


def _remote(simulation: _Simulation, gauge: _core.Progress) -> Record:
    return simulation.make(gauge)


class _Ours(_Simulation):
    """A run on Narrows."""

    @cached_property
    def key(self) -> str:
        made = engine()
        return _address("narrows", made.release, made.build, self.text, str(self.job.seed))

    @cached_property
    def text(self) -> str:
        return inputs.scenario(self.job.variant, self.job.network, self.job.rival)

    def make(self, gauge: _core.Progress) -> Record:
        scenario = Scenario.from_text(self.text, f"{self.job.variant.name}/{self.job.network.name}")
        return Record(key=self.key, flows=tuple(_ours(self.job, make(Task(scenario, self.job.seed), gauge))))


class _Theirs(_Simulation):
    """A run on ns-2."""

    @cached_property
    def key(self) -> str:
        return _address("ns2", ns2.identity(), *self.arguments, str(self.job.fill))

    @property
    def arguments(self) -> list[str]:
        job = self.job
        rival = [] if job.rival is None else [f"rival={job.rival.ns2}"]
        return [*inputs.arguments(job.variant, job.network, job.seed), *job.ns2, *rival]

    def parcel(self) -> Parcel:
        return Parcel(_remote_ns2, (self, ns2.identity()))

    def make(self, gauge: _core.Progress) -> Record:
        line = ns2.run(self.arguments, self.job.fill, gauge)
        return Record(key=self.key, flows=tuple(theirs(self.job.network, line)))


def _remote_ns2(simulation: _Theirs, identity: str, gauge: _core.Progress) -> Record:
    if ns2.identity() != identity:
        message = "the worker has another ns-2, or another pair.tcl; allowed: workers with the same"
        raise RunError(message)
    return simulation.make(gauge)


def _address(*parts: str) -> str:
    return hashlib.sha256("\n".join(("narrows validate", str(MEASURES), *parts)).encode()).hexdigest()


def run_ours(jobs: Sequence[Job], means: Means) -> list[list[Flow]]:
    """Run pairs on Narrows.

    Parameters
    ----------
    jobs : sequence of Job
    means : Means

    Returns
    -------
    list of list of Flow
        The flows of each job.

    Raises
    ------
    ScenarioError, RunError, Interrupted
        As `narrows.runs.simulated.run_all`.
    """
    return _run([_Ours(job, at) for job, at in zip(jobs, _places(jobs), strict=True)], means)


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


def run_ns2(jobs: Sequence[Job], means: Means) -> list[list[Flow]]:
    """Run pairs on ns-2.

    Parameters
    ----------
    jobs : sequence of Job
    means : Means

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
    ns2.find()
    return _run([_Theirs(job, at) for job, at in zip(jobs, _places(jobs), strict=True)], means)


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
    jobs: Sequence[Job],
    means: Means,
) -> tuple[list[list[Flow]], list[list[Flow]]]:
    """Run pairs in both simulators.

    Parameters
    ----------
    jobs : sequence of Job
    means : Means

    Returns
    -------
    tuple
        The flows of each job, in Narrows and in ns-2.

    Raises
    ------
    InputError, ScenarioError, RunError
        As raised by `run_ours` and `run_ns2`.
    """
    if not jobs:
        return [], []
    made = _run(both(jobs), means)
    return made[: len(jobs)], made[len(jobs) :]


def both(jobs: Sequence[Job]) -> list[_Simulation]:
    """Return the runs of pairs in both simulators, those of Narrows first.

    Parameters
    ----------
    jobs : sequence of Job

    Returns
    -------
    list

    Raises
    ------
    InputError
        If ns-2 is not installed.
    """
    ns2.find()
    places = _places(jobs)
    return [
        *(_Ours(job, at) for job, at in zip(jobs, places, strict=True)),
        *(_Theirs(job, (1, *at[1:])) for job, at in zip(jobs, places, strict=True)),
    ]


def scales(simulations: Sequence[_Simulation]) -> list[Scale]:
    """Return the axes of runs for the forecast: simulator, variant and network.

    Parameters
    ----------
    simulations : sequence
        As `both` returns them.

    Returns
    -------
    list of Scale
    """
    return [Scale(1 + max((one.at[axis] for one in simulations), default=0)) for axis in range(3)]


def _places(jobs: Sequence[Job]) -> list[tuple[int, ...]]:
    variants = {name: i for i, name in enumerate(dict.fromkeys(job.variant.name for job in jobs))}
    networks = {name: i for i, name in enumerate(dict.fromkeys(job.network.name for job in jobs))}
    return [(0, variants[job.variant.name], networks[job.network.name]) for job in jobs]


def _run(simulations: Sequence[_Simulation], means: Means) -> list[list[Flow]]:
    """Execute the runs that are not kept yet, and return the flows of all."""
    wanted = {one.key: one for one in simulations}
    texts = {one.text: one.job for one in wanted.values() if isinstance(one, _Ours)}
    for text, job in texts.items():  # a refused scenario is reported before anything runs
        Scenario.from_text(text, f"{job.variant.name}/{job.network.name}")
    with ExitStack() as stack:
        store = None
        if means.keep is not None:
            store = stack.enter_context(Journal(means.keep, Record, ownership.UNFINISHED))
        records = {} if store is None else store.read(wanted)

        def keep(made: Mapping[str, Record]) -> None:
            if store is not None:
                store.append(list(made.values()))

        means.execute("validation", wanted, scales(simulations), records, keep, _any_scenario(simulations))
    return [list(records[one.key].flows) for one in simulations]


def _any_scenario(simulations: Sequence[_Simulation]) -> Scenario:
    first = simulations[0].job
    return Scenario.from_text(inputs.scenario(first.variant, first.network, first.rival))
