"""Scenarios and outcomes in other processes: pickle, multiprocessing with both ways to start, joblib."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

import narrows as nw
from narrows.model import own

if TYPE_CHECKING:
    from pathlib import Path

OVERRIDES = {"duration": "12 s", "sampling": '{ interval = "100 ms", state = true }'}


class Halver:
    """Halve the window at loss, else add a segment per ACK."""

    def on_ack(self, path: object, window: object, ack: object) -> None:
        """Grow."""

    def on_congestion(self, path: object, window: object, event: object) -> None:
        """Shrink."""


def restored(content: bytes) -> Any:
    """Return what was pickled."""
    return pickle.loads(content)  # noqa: S301 - it was pickled here


def simulated(scenario: nw.Scenario, seed: int) -> nw.Run:
    """Run a scenario; what a pool's workers do."""
    return nw.run(scenario, seed=seed)


def same(left: nw.Run | nw.Batch, right: nw.Run | nw.Batch) -> None:
    """Two outcomes have the same results, samples and state."""
    assert left.digest == right.digest
    assert left.summary == right.summary
    assert left.samples.to_arrow().equals(right.samples.to_arrow())
    assert left.samples.state.frame().equals(right.samples.state.frame())
    assert left.transfers.table().equals(right.transfers.table())


@pytest.fixture(scope="module")
def scenario() -> nw.Scenario:
    """The reference scenario, shorter."""
    return nw.Scenario.load("dumbbell-cubic", OVERRIDES)


def test_scenario_run_and_batch_are_pickled(scenario: nw.Scenario) -> None:
    """A copy equals the original, with every protocol."""
    run, batch = nw.run(scenario, seed=1), nw.run(scenario, seed=1, runs=2)
    assert isinstance(batch, nw.Batch)
    assert batch.flows, "means that were computed do not travel"
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        copy = restored(pickle.dumps(scenario, protocol))
        assert (copy.to_toml(), copy.path, copy.overrides) == (scenario.to_toml(), scenario.path, scenario.overrides)
        same(restored(pickle.dumps(run, protocol)), run)
        same(restored(pickle.dumps(batch, protocol)), batch)


def test_transfers_and_loaded_outcomes_are_pickled(tmp_path: Path) -> None:
    """So are results of a directory, and the rows of workloads."""
    run = nw.run("web-search", overrides={"duration": "2 s"})
    assert len(run.transfers) > 0
    same(restored(pickle.dumps(run)), run)
    loaded = nw.load(run.save(tmp_path / "out"))
    same(restored(pickle.dumps(loaded)), loaded)


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_processes_give_what_this_one_gives(scenario: nw.Scenario, method: str) -> None:
    """A pool takes scenarios and returns runs, however its processes start."""
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        made = list(pool.map(simulated, [scenario] * 2, [1, 2]))
    for seed, run in zip([1, 2], made, strict=True):
        same(run, nw.run(scenario, seed=seed))


def test_joblib_gives_what_this_process_gives(scenario: nw.Scenario) -> None:
    """Joblib's workers do the same, by name and with a scenario that is here."""
    joblib = pytest.importorskip("joblib")
    made = joblib.Parallel(n_jobs=2)(joblib.delayed(simulated)(scenario, seed) for seed in (1, 2))
    for seed, run in zip([1, 2], made, strict=True):
        same(run, nw.run(scenario, seed=seed))


def test_a_control_of_ones_own_travels_with_its_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that does not know the control learns it from the scenario."""
    monkeypatch.setattr(own, "_registry", dict(own._registry))
    nw.register("halver", Halver)
    text = pickle.dumps(nw.Scenario.load("dumbbell-cubic", {"flows[0].cc": "halver"}))
    own._registry.clear()
    assert restored(text).own_controls() == {"halver": Halver}
