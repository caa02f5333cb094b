"""Congestion controls written in Python: exact results, validated windows, and runs that stop with a reason."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import narrows as nw
from narrows.cli import app
from narrows.model import own

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "own_congestion_control.py"
CHANGES = {"duration": "12 s", "flows.first.cc": "mine"}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Remove each test's algorithms, so that the next test does not see them."""
    yield
    for name in list(own.controls()):
        own.unregister(name)


class Reno:
    """Reno by RFC 5681 as in the engine: counts bytes."""

    def __init__(self) -> None:
        self.counted = 0

    def on_ack(self, ack: own.Ack, path: own.Path, window: own.Window) -> None:
        """Grow the window as in `crates/cc/src/algorithms/reno.rs`."""
        acked = ack.acked
        if not acked or not path.cwnd_limited:
            return
        if window.in_slow_start:
            step = min(acked, path.smss)
            used = step if window.ssthresh is None else min(step, int(window.ssthresh) - int(window.cwnd))
            window.cwnd += used
            acked = step - used
            if not acked:
                return
        per = max(int(window.cwnd), path.smss)
        if self.counted >= per:
            self.counted = 0
            window.cwnd += path.smss
        self.counted += acked
        if self.counted >= per:
            window.cwnd += path.smss * (self.counted // per)
            self.counted %= per

    def on_congestion(self, event: own.Congestion, path: own.Path, window: own.Window) -> None:
        """Halve FlightSize."""
        self.counted = 0
        half = max(path.flightsize // 2, 2 * path.smss)
        if event.kind == "timeout":
            if not event.repeated:
                window.ssthresh = half
            window.cwnd = path.smss
        else:
            window.ssthresh = half
            window.cwnd = min(window.cwnd, half)


def test_reno_in_python_is_the_engines_reno_to_the_bit() -> None:
    own.register("mine", Reno)
    mine = nw.run("dumbbell-cubic", seed=3, overrides=CHANGES)
    theirs = nw.run("dumbbell-cubic", seed=3, overrides={**CHANGES, "flows.first.cc": "reno"})
    assert mine.digest == theirs.digest
    assert mine.flows[0].lost_packets > 0, "the run shows losses, or it would prove little"


def test_the_result_does_not_depend_on_the_number_of_jobs() -> None:
    own.register("mine", Reno)
    one = nw.run("dumbbell-cubic", seed=3, runs=3, jobs=1, overrides=CHANGES)
    many = nw.run("dumbbell-cubic", seed=3, runs=3, jobs=3, overrides=CHANGES)
    assert isinstance(one, nw.Batch)
    assert isinstance(many, nw.Batch)
    assert [run.digest for run in one.runs] == [run.digest for run in many.runs]


NONSENSE: dict[str, list[Any]] = {
    "cwnd": [0, -1, math.nan, math.inf, 2**40, None, True, "a lot"],
    "ssthresh": [0, -1, math.nan, 2**40, "a lot"],
    "pacing_rate": [0, -1, math.nan, math.inf, "a lot"],
}


@pytest.mark.parametrize(("field", "nonsense"), [(field, value) for field in NONSENSE for value in NONSENSE[field]])
@pytest.mark.parametrize("hook", ["on_ack", "on_congestion", "on_start"])
def test_nonsense_stops_the_run_with_name_and_value(field: str, nonsense: Any, hook: str) -> None:
    class Mine(Reno):
        pass

    def spoil(*arguments: Any) -> None:
        setattr(arguments[-1], field, nonsense)

    setattr(Mine, hook, spoil)
    own.register("mine", Mine)
    with pytest.raises(nw.RunError) as caught:
        nw.run("dumbbell-cubic", seed=1, overrides=CHANGES)
    message = str(caught.value)
    assert f"mine: {hook} set {field} to {nonsense!r}; allowed: " in message
    assert "cwnd before the call" in message


def test_a_value_without_end_is_cut_in_the_message() -> None:
    class Mine(Reno):
        def on_start(self, _path: own.Path, window: own.Window) -> None:
            window.cwnd = 10**400

    own.register("mine", Mine)
    with pytest.raises(nw.RunError, match=r"set cwnd to 10{59}\.\.\.; allowed: "):
        nw.run("dumbbell-cubic", seed=1, overrides=CHANGES)


def test_a_decorator_without_its_name_is_refused() -> None:
    with pytest.raises(nw.InputError, match=r"allowed: @narrows\.congestion_control\('reno'\)"):
        own.congestion_control(Reno)  # type: ignore[arg-type]
    with pytest.raises(nw.InputError, match="my_aimd"):
        own.register(5, Reno)  # type: ignore[arg-type]


def test_a_parameter_without_a_range_asks_for_a_number() -> None:
    class Mine(Reno):
        def __init__(self, gain: float = 1.5) -> None:
            super().__init__()
            self.gain = gain

    own.register("mine", Mine)
    with pytest.raises(nw.ScenarioError, match=r"allowed: a number$"):
        nw.Scenario.from_file("dumbbell-cubic", {**CHANGES, "flows.first.tcp.cc_params.gain": "much"})


def test_an_exception_stops_the_run_with_name_and_line() -> None:
    class Mine(Reno):
        def on_ack(self, ack: own.Ack, path: own.Path, window: own.Window) -> None:
            if path.now_s > 1:
                raise ZeroDivisionError("no queue")
            super().on_ack(ack, path, window)

    own.register("mine", Mine)
    with pytest.raises(
        nw.RunError,
        match=r"mine: on_ack raised ZeroDivisionError: no queue \(test_own\.py:\d+\); simulated time 1\.\d+ s",
    ):
        nw.run("dumbbell-cubic", seed=1, overrides=CHANGES)


def test_an_object_that_cannot_be_made_stops_the_run() -> None:
    class Mine(Reno):
        def __init__(self) -> None:
            raise OSError("no file")

    own.register("mine", Mine)
    with pytest.raises(nw.RunError, match="mine: raised when it was made: OSError: no file"):
        nw.run("dumbbell-cubic", seed=1, overrides=CHANGES)


def test_parameters_come_from_the_scenario() -> None:
    seen: list[tuple[float, bool]] = []

    class Mine(Reno):
        def __init__(self, gain: float = 1.5, fast: bool = False) -> None:
            super().__init__()
            seen.append((gain, fast))

    own.register("mine", Mine)
    changes: dict[str, str | int] = {**CHANGES, "flows.first.tcp.cc_params.gain": 3}
    nw.run("dumbbell-cubic", seed=1, overrides=changes)
    assert set(seen) == {(3.0, False)}
    with pytest.raises(nw.ScenarioError, match="gian"):
        nw.Scenario.from_file("dumbbell-cubic", {**CHANGES, "flows.first.tcp.cc_params.gian": 3})
    entry = next(entry for entry in nw.list_algorithms() if entry["name"] == "mine")
    assert [parameter["default"] for parameter in entry["parameters"]] == [1.5, False]


class Asks(Reno):
    """Has a parameter that no scenario can set."""

    def __init__(self, words: str = "a b") -> None:
        super().__init__()
        self.words = words


@pytest.mark.parametrize(
    ("name", "factory", "reason"),
    [
        ("cubic", Reno, "the engine has one of this name"),
        ("My CC", Reno, "lower-case letters"),
        ("mine", type("Half", (), {"on_ack": print}), "has no method on_congestion; allowed: a class with on_ack"),
        ("mine", Asks, "'words' has the default 'a b'"),
    ],
)
def test_what_cannot_be_registered_is_refused(name: str, factory: type, reason: str) -> None:
    with pytest.raises(nw.InputError, match=reason):
        own.register(name, factory)
    assert name not in own.controls()


def test_a_scenario_that_names_it_is_refused_once_it_is_forgotten() -> None:
    own.register("mine", Reno)
    scenario = nw.Scenario.from_file("dumbbell-cubic", CHANGES)
    own.unregister("mine")
    with pytest.raises(nw.ScenarioError, match="is not a congestion control"):
        nw.Scenario.from_file("dumbbell-cubic", CHANGES)
    with pytest.raises(nw.RunError, match='congestion control "mine" is unknown'):
        nw.run(scenario)


def test_the_command_line_loads_it() -> None:
    changes = ["--set", "duration=12 s", "--set", "flows.first.cc=aimd", "--json"]
    done = CliRunner().invoke(app, ["run", "dumbbell-cubic", "--load", str(EXAMPLE), *changes])
    assert done.exit_code == 0, done.output
    assert '"aimd"' in done.stdout


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\n", "registers no congestion control"),
        ("x = 1\n\ny = 1 / 0\n", "own.py:3: ZeroDivisionError: division by zero"),
        ("x = (\n", "own.py:1: SyntaxError"),
        ("import narrows\nnarrows.register('cubic', dict)\n", "the engine has one of this name"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_named(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "own.py"
    file.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(app, ["run", "dumbbell-cubic", "--load", str(file)])
    assert done.exit_code == 2
    assert reason in " ".join(done.output.split())


def test_the_example_runs() -> None:
    shown = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True, timeout=120)
    lines = shown.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["aimd", "cubic", "aimd", "cubic"]
    gentle, eager = (float(lines[i].split(")")[1].split()[0]) for i in (0, 2))
    assert eager > gentle, "a larger increase takes more of the bottleneck"
