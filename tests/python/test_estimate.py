"""Estimates before a run begins: exact rows, memory from measured figures, time from the run's own pace."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import narrows as nw
from narrows.base import memory
from narrows.base.errors import InputError
from narrows.cli import progress
from narrows.model.scenario import Scenario
from narrows.runs import estimate

if TYPE_CHECKING:
    from pathlib import Path

NARROWS = [sys.executable, "-c", "from narrows.cli import main; main()"]

PAIR = """
duration = "100 ms"
sampling = "off"
nodes = [{ name = "a" }, { name = "b" }]
links = [{ between = ["a", "b"], rate = "10 Mb/s", delay = "5 ms" }]
flows = [{ name = "f", from = "a", to = "b", kind = "bulk", copies = COPIES }]
"""

CHAIN = """
duration = "100 ms"
sampling = "off"
topology = { kind = "chain", routers = COPIES, link = { rate = "10 Mb/s", delay = "5 ms" } }
flows = [{ name = "f", from = "h1", to = "h2", kind = "bulk" }]
"""

PEAK = """
import json, sys
def peak():
    return 1024 * int([l for l in open("/proc/self/status") if l.startswith("VmHWM")][0].split()[1])
import narrows as nw, pyarrow.parquet, pandas
from narrows.runs import estimate
from narrows.model.scenario import Scenario
nw.run("dumbbell-cubic", overrides={"duration": "12 s"}).save(sys.argv[2])
before = peak()
scenario = Scenario.from_text(sys.argv[1])
told = estimate.of(scenario).memory_bytes - estimate.FIXED
run = nw.run(scenario)
run.save(sys.argv[2])
print(json.dumps([told, peak() - before]))
"""


@pytest.mark.parametrize("name", ["dumbbell-cubic", "acns", "wifi-cell", "parking-lot"])
def test_rows_are_known_to_the_row_but_for_jitter(name: str) -> None:
    try:
        scenario = Scenario.from_file(name, {"start_jitter": "0 s"})
    except InputError:
        pytest.skip(f"there is no scenario {name}")
    run = nw.run(scenario, seed=1)
    assert estimate.of(scenario).rows == len(run.samples) > 0
    assert estimate.of(scenario, runs=3).rows == 3 * len(run.samples)
    assert estimate.of(scenario.with_overrides({"sampling": "off"})).rows == 0


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
@pytest.mark.parametrize(("text", "count"), [(PAIR, 20_000), (CHAIN, 5_000)])
def test_memory_is_what_was_told_or_less(text: str, count: int, tmp_path: Path) -> None:
    scenario = text.replace("COPIES", str(count))
    command = [sys.executable, "-c", PEAK, scenario, str(tmp_path / "out")]
    told, taken = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert taken < told < 2 * taken, f"told {told}, taken {taken}"


DUMBBELL = """
duration = "300 ms"
sampling = "off"
topology = { kind = "dumbbell", pairs = 5000, bottleneck = { rate = "2 Gb/s", delay = "5 ms" }, \
  access = { rate = "1 Gb/s", delay = "5 ms" } }
flows = [{ name = "f", from = "s*", to = "d*", kind = "bulk", copies = COPIES }]
"""

THREADS = """
import sys
import narrows as nw
from narrows.model.scenario import Scenario
nw.run(Scenario.from_text(sys.argv[1]), threads=int(sys.argv[2]))
print(1024 * int([l for l in open("/proc/self/status") if l.startswith("VmHWM")][0].split()[1]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_memory_of_a_second_thread_is_what_was_told_or_less() -> None:
    text = DUMBBELL.replace("COPIES", "5000")
    scenario = Scenario.from_text(text)
    told = estimate.of(scenario, threads=2).memory_bytes - estimate.of(scenario).memory_bytes
    assert estimate.of(scenario, threads=None) == estimate.of(scenario, threads=2)
    one, two = (
        int(subprocess.run([sys.executable, "-c", THREADS, text, threads], check=True, capture_output=True).stdout)
        for threads in ("1", "2")
    )
    assert 0 < two - one < told, f"told {told}, taken {two - one}"


@pytest.mark.parametrize(
    ("overrides", "cause"),
    [
        ({"flows[0].copies": 999_000}, r"999,001 flows \(flows, copies\): takes about \d+ GB of memory"),
        ({"sampling": "1 ns"}, r"samples \(sampling\) take about .* TB on the disk"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_cause(
    overrides: dict[str, str | int], cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free", lambda: 1_000_000_000)
    with pytest.raises(InputError, match=cause):
        nw.run("dumbbell-cubic", overrides=overrides)


def test_max_memory_is_the_bound_that_is_told(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(PAIR.replace("COPIES", "100000"))
    command = [*NARROWS, "run", str(tmp_path / "s.toml"), "-o", str(tmp_path / "out")]
    told = subprocess.run([*command, "--max-memory", "300MB"], capture_output=True, text=True, check=False)
    assert told.returncode == 2
    assert "100,000 flows (flows, copies): takes about" in told.stderr
    assert "--max-memory" in told.stderr
    assert not (tmp_path / "out").exists()
    bad = subprocess.run([*command, "--max-memory", "lots"], capture_output=True, text=True, check=False)
    assert bad.returncode == 2
    assert "lots: is not a size; allowed: a number and a unit" in bad.stderr


def test_the_limits_of_the_process_count() -> None:
    code = "from narrows.base import memory; print(memory.free())"
    limited = ["bash", "-c", f"ulimit -v 2000000; exec {sys.executable} -c '{code}'"]
    assert int(subprocess.run(limited, check=True, capture_output=True, text=True).stdout) < 2_000_000 * 1024


def test_a_long_run_says_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    pace = progress.Pace(said.append)
    steps = [(1.0, 0.0), (5.0, 0.001), (7.0, 0.001), (8.0, 0.002), (95.0, 0.02), (695.0, 0.14), (905.0, 0.5)]
    for at, fraction in steps:
        now[0] = at
        pace(fraction)
    assert said == [
        "takes about 50 min; 50 min left (0.2 % done)",
        "takes about 79 min; 77 min left (2 % done)",
        "takes about 83 min; 71 min left (14 % done)",
        "takes about 30 min; 15 min left (50 % done)",
    ]
    said.clear()
    slow = progress.Pace(said.append)  # five seconds of set-up, and half of the work was done before
    for at, fraction in [(910.0, 0.5), (912.0, 0.51)]:
        now[0] = at
        slow(fraction)
    assert said == ["takes about 2 min; 98 s left (51 % done)"]
    said.clear()
    quick = progress.Pace(said.append)
    for at, fraction in [(912.1, 0.1), (915.0, 0.5)]:
        now[0] = at
        quick(fraction)
    assert not said, "what takes seconds is not told"


def test_a_long_run_says_so_on_the_command_line() -> None:
    command = [
        *NARROWS,
        "run",
        "dumbbell-cubic",
        "--set",
        "duration=3e9 s",
        "--set",
        "sampling=off",
    ]
    with subprocess.Popen([*command, "--no-progress"], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        process.terminate()
    assert line.startswith("dumbbell-cubic: takes about ")
    assert " d " in line


FULL = """
import resource
import narrows as nw
from narrows import _core; from narrows.base import memory
from narrows.cli import guard
from narrows.model.scenario import Scenario

@guard.guarded
def verb():
    scenario = Scenario.from_text({text!r})
    nw.run(scenario, overrides={{"flows[0].copies": 1}})
    used = memory._status("VmSize")
    resource.setrlimit(resource.RLIMIT_AS, (used + 60_000_000, resource.RLIM_INFINITY))
    _core.run(scenario.core, 1, 0, None, None, {{}})

import typer
app = typer.Typer()
app.command()(verb)
app()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's here")
def test_a_failed_allocation_of_the_engine_ends_with_exit_code_1() -> None:
    code = FULL.format(text=PAIR.replace("COPIES", "200000"))
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 1, ended.stderr[-2000:]
    assert "out of memory" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("verb", ["contest", "sweep", "live"])
def test_every_verb_that_runs_refuses_what_memory_does_not_hold(verb: str, tmp_path: Path) -> None:
    text = PAIR.replace("COPIES", "20000")
    big = tmp_path / "big.toml"
    two = 'flows = [{ name = "one", from = "a", to = "b" }, { name = "two", from = "a", to = "b" }, '
    big.write_text(text.replace("flows = [", two))
    grid = tmp_path / "grid.toml"
    grid.write_text('name = "grid"\nscenario = "big.toml"\n[[axes]]\npath = "duration"\nvalues = ["100 ms"]\n')
    what = {
        "contest": ["--cc", "cubic,reno", "--on", str(big), "--slots", "one,two"],
        "sweep": [str(grid), "-o", str(tmp_path / "out")],
        "live": [str(big)],
    }[verb]
    command = [*NARROWS, verb, *what, "--max-memory", "150 MB", "--no-progress"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if verb == "live" and ended.returncode == 3:
        pytest.skip(ended.stderr.strip())
    assert ended.returncode == (1 if verb == "sweep" else 2), ended.stderr
    assert "20,002 flows (flows, copies): takes about" in ended.stderr
    assert "(--max-memory)" in ended.stderr
