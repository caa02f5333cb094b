"""One run on several cores gives what one core gives, and is chosen where it pays."""

from __future__ import annotations

import threading
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import narrows as nw
from narrows import _core
from narrows.base.errors import InputError, Interrupted
from narrows.cli import app
from narrows.model.scenario import Scenario
from narrows.runs.simulated import Task, engine_result, threads_of

if TYPE_CHECKING:
    from pathlib import Path

DUMBBELL = """
format = 1
name = "dumbbell"
duration = "{duration}"
sampling = "{sampling}"
[topology]
kind = "dumbbell"
pairs = {pairs}
bottleneck = {{ rate = "{rate}", delay = "1 ms", queue = {{ limit = "{limit} packets" }} }}
access = {{ rate = "10 Gb/s", delay = "4 ms" }}
"""

SHAPES = {
    "few flows per host": {"pairs": 10, "rate": "100 Mb/s", "limit": 80, "each": 1, "duration": "2 s"},
    "many flows per host": {"pairs": 10, "rate": "1 Gb/s", "limit": 800, "each": 40, "duration": "600 ms"},
}


def scenario(shape: dict[str, Any], sampling: str) -> Scenario:
    flows = "".join(
        f'[[flows]]\nname = "f{number}-"\nfrom = "s*"\nto = "d*"\ncopies = {shape["pairs"]}\n'
        for number in range(shape["each"])
    )
    return Scenario.from_text(DUMBBELL.format(**shape, sampling=sampling) + flows, "t")


@pytest.mark.parametrize("sampling", ["10 ms", "off"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
def test_several_threads_give_the_digest_and_the_metrics_of_one(shape: dict[str, Any], sampling: str) -> None:
    one, *more = (nw.run(scenario(shape, sampling), threads=threads) for threads in (1, 2, 3))
    for made in more:
        assert made.digest == one.digest
        assert made.flows == one.flows
        assert made.queues == one.queues


def test_samples_in_a_file_are_those_in_memory(tmp_path: Path) -> None:
    chosen = scenario(SHAPES["many flows per host"], "500 us")
    spill = (str(tmp_path), _core.Budget(0))
    one, two = (_core.run(chosen.core, 1, 0, None, None, {}, spill, threads=threads) for threads in (1, 2))
    assert one.sampled("flows")[1] > 2
    assert (two.digest, two.events, two.packets) == (one.digest, one.events, one.packets)


def test_a_run_on_several_threads_stops_and_reports() -> None:
    chosen = scenario(SHAPES["few flows per host"] | {"duration": "1 h"}, "10 ms")
    gauge = _core.Progress()
    seen: list[float] = []
    ended: list[bool] = []

    def go() -> None:
        with pytest.raises(_core.Stopped):
            engine_result(Task(chosen, 1, threads=2), gauge)
        ended.append(True)

    thread = threading.Thread(target=go)
    thread.start()
    for _ in range(500):
        thread.join(0.02)
        seen.append(gauge.fraction())
        if seen[-1] > 0:
            break
    gauge.stop()
    thread.join(20)
    assert 0 < seen[-1] < 1
    assert ended == [True]


def test_ctrl_c_stops_a_run_on_several_threads() -> None:
    def press_ctrl_c(fraction: float) -> None:
        if fraction > 0:
            raise KeyboardInterrupt

    chosen = scenario(SHAPES["few flows per host"] | {"duration": "1 h"}, "10 ms")
    with pytest.raises(Interrupted):
        nw.run(chosen, threads=2, progress=press_ctrl_c)


def test_only_a_run_alone_takes_several_by_itself() -> None:
    assert threads_of(None, 1) is None
    assert threads_of(None, 2) == 1
    assert threads_of(3, 2) == 3
    with pytest.raises(InputError, match="threads is 65; allowed: 1 to 64"):
        threads_of(65, 1)


def test_a_process_of_a_pool_takes_one() -> None:
    with get_context("spawn").Pool(1) as pool:
        assert pool.apply(threads_of, (None, 1)) == 1


@pytest.mark.parametrize("threads", ["0", "65", "many", "-1"])
def test_a_number_of_threads_that_is_none_is_refused(threads: str, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(scenario(SHAPES["few flows per host"], "off").to_toml())
    refused = CliRunner().invoke(app, ["run", str(file), f"--threads={threads}"])
    assert refused.exit_code == 2
    assert "allowed: auto, or 1 to 64" in refused.stderr
