# ruff: noqa: ARG002 - hooks have the arguments that the engine gives them
"""One signal ends a command in any phase, and no hook of a user's algorithm can block a run."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.python import pace

import narrows as nw
from narrows.base.errors import InputError, RunError
from narrows.model import own

if TYPE_CHECKING:
    from collections.abc import Iterator

NARROWS = str(Path(sys.executable).with_name("narrows"))

PATIENCE_S = 60
"""Longest wait for something that should take a second, since the machine may be busy."""

HOOK = """
import pathlib, re, time, narrows

@narrows.congestion_control("stuck", time_limit_s={limit})
class Stuck:
    "Does not return."

    def on_ack(self, ack, path, window):
        pathlib.Path({mark!r}).touch()
        {body}

    def on_congestion(self, event, path, window):
        window.ssthresh = window.cwnd
"""

BODIES = {
    "loops": "while True: pass",
    "sleeps": "time.sleep(1e6)",
    "swallows what is raised": """
        while True:
            try:
                while True: pass
            except BaseException:
                pass
""",
    "is in C code that lets nobody else in": "re.match('(a+)+$', 64 * 'a' + 'b')",
}
"""Ways in which a hook does not return, by description."""

MANY = """
duration = "100 ms"
sampling = "off"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Gb/s", delay = "10 ms" }
access = { rate = "100 Gb/s", delay = "1 ms" }
[[flows]]
from = "s1"
to = "d1"
copies = 200000
"""


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Remove each test's algorithms, so that the next test does not see them."""
    yield
    for name in list(own.controls()):
        own.unregister(name)


def command(tmp_path: Path, body: str, limit: str) -> tuple[list[str], Path]:
    """Return a command whose run blocks in a hook, and the file that the hook creates first."""
    mark = tmp_path / "mark"
    file = tmp_path / "stuck.py"
    file.write_text(HOOK.format(limit=limit, mark=str(mark), body=body.strip()))
    settings = ["--set", "duration=12 s", "--set", "flows.first.cc=stuck", "--load", str(file), "--no-progress"]
    return [NARROWS, "run", "dumbbell-cubic", *settings], mark


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_hook_over_its_time_limit_fails_the_run_by_its_name(body: str, tmp_path: Path) -> None:
    arguments, _ = command(tmp_path, body, "0.2")
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert ended.returncode == 1, ended.stderr
    assert "stuck: on_ack took longer than its time limit of 0.2 s" in ended.stderr
    assert "Fatal" not in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_one_signal_ends_a_run_whatever_its_hook_does(body: str, number: signal.Signals, tmp_path: Path) -> None:
    arguments, mark = command(tmp_path, body, "float('inf')")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + PATIENCE_S
        while not mark.exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        assert mark.exists()
        process.send_signal(number)
        try:
            _, said = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 128 + number, said
    assert "interrupted" in said
    assert "Fatal" not in said


def test_a_hook_that_returns_in_time_is_not_hurried() -> None:
    class Slow:
        """Sleeps for a tenth of a second now and then."""

        calls = 0

        def on_ack(self, ack: own.Ack, path: own.Path, window: own.Window) -> None:
            """Sleep less than the limit per call, but more than it in total."""
            Slow.calls += 1
            if Slow.calls % 100 == 0:
                time.sleep(0.1)

        def on_congestion(self, event: own.Congestion, path: own.Path, window: own.Window) -> None:
            """Keep the window."""
            window.ssthresh = window.cwnd

    own.register("slow", Slow, time_limit_s=30)
    changes = {"duration": "12 s", "flows.first.cc": "slow", "flows.first.size": "2 MB"}
    one = nw.run("dumbbell-cubic", overrides=changes)
    own.register("slow", Slow, time_limit_s=float("inf"))
    assert one.digest == nw.run("dumbbell-cubic", overrides=changes).digest


def test_a_limit_of_no_time_is_refused() -> None:
    with pytest.raises(InputError, match="time_limit_s is 0; allowed: more than 0 s"):
        own.register("never", type("Never", (), {"on_ack": print, "on_congestion": print}), time_limit_s=0)


def test_a_hook_is_interrupted_in_a_program_too() -> None:
    class Loops:
        """Does not return."""

        def on_ack(self, ack: own.Ack, path: own.Path, window: own.Window) -> None:
            """Loop."""
            while True:
                pass

        def on_congestion(self, event: own.Congestion, path: own.Path, window: own.Window) -> None:
            """Loop."""

    own.register("loops", Loops, time_limit_s=0.2)
    with pytest.raises(RunError, match=r"loops: on_ack took longer than its time limit of 0.2 s"):
        nw.run("dumbbell-cubic", overrides={"duration": "12 s", "flows.first.cc": "loops"})


SWALLOWED = """
import os, signal, narrows

@narrows.congestion_control("any")
class Any:
    "Is not used."

    def on_ack(self, ack, path, window):
        pass

    def on_congestion(self, event, path, window):
        pass

class Last:
    def __del__(self):
        os.kill(os.getpid(), signal.{name})
        for _ in range(1000):  # the handler runs between two steps of these
            pass

Last()
print("went on", flush=True)
"""
"""Raises a signal while a destructor is running, so that Python prints and drops the exception."""


@pytest.mark.parametrize("verb", ["run", "contest", "sweep"])
def test_a_signal_whose_exception_is_swallowed_ends_the_command(verb: str, tmp_path: Path) -> None:
    file = tmp_path / "last.py"
    file.write_text(SWALLOWED.format(name="SIGTERM"))
    sweep = tmp_path / "two.toml"
    sweep.write_text(
        'scenario = "dumbbell-cubic"\nseeds = 2\n[[axes]]\npath = "flows.first.cc"\nvalues = ["cubic", "reno"]\n'
    )
    what = {
        "run": ["dumbbell-cubic", "--runs", "2"],
        "contest": ["--cc", "cubic,reno", "--on", "dumbbell-cubic", "-o", str(tmp_path / "out")],
        "sweep": [str(sweep), "-o", str(tmp_path / "out")],
    }[verb]
    arguments = [NARROWS, verb, *what, "--load", str(file), "--no-progress"]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert "went on" in ended.stdout, ended.stderr
    assert "Exception ignored" in ended.stderr
    assert ended.returncode == 128 + signal.SIGTERM, ended.stderr
    assert "interrupted" in ended.stderr


LOST = """
import os, signal, sys, time, weakref
from narrows.store import results

class Some:
    pass

class Last:
    def __del__(self):
        hit()

def hit(*_):
    os.kill(os.getpid(), signal.{name})
    for _ in range(1000):  # the handler runs between two steps of these
        pass

def in_a_destructor():
    Last()

def in_a_callback_of_a_weak_reference():
    some = Some()
    kept = weakref.ref(some, hit)
    del some

def in_code_that_catches_everything():
    try:
        hit()
    except BaseException:
        pass

def fill(*arguments, **options):
    {where}()
    for _ in range(400):
        time.sleep(0.05)
    print("went on", flush=True)

results.fill = fill
from narrows.cli import main
main()
"""
"""Runs a command that loses the exception of a signal while it writes results, where nothing looks for signals."""


def interrupted(program: str, out: Path, by: signal.Signals) -> str:
    """Run a Python program with the arguments of `narrows run`, and return what it prints when the signal ends it."""
    arguments = [sys.executable, "-c", program, "run", "dumbbell-cubic", "--set", "duration=12 s", "-o", str(out)]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert ended.returncode == 128 + by, ended.stderr
    assert ended.stdout == "", "it went on"
    assert not out.exists()
    return ended.stderr


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize(
    "where", ["in_a_destructor", "in_a_callback_of_a_weak_reference", "in_code_that_catches_everything"]
)
def test_a_signal_whose_exception_is_lost_where_nothing_waits_comes_again(
    where: str, name: str, tmp_path: Path
) -> None:
    said = interrupted(LOST.format(name=name, where=where), tmp_path / "out", signal.Signals[name])
    assert "error: interrupted" in said


EARLY = """
import os, signal
set_fd = signal.set_wakeup_fd

def early(*arguments, **options):
    signal.set_wakeup_fd = set_fd
    os.kill(os.getpid(), signal.SIGTERM)
    return set_fd(*arguments, **options)

signal.set_wakeup_fd = early
from narrows.cli import main
main()
"""
"""Runs a command that gets a signal after its handlers are set and before its work begins."""


def test_a_signal_between_handlers_and_work_ends_the_command(tmp_path: Path) -> None:
    assert interrupted(EARLY, tmp_path / "out", signal.SIGTERM) == "error: interrupted\n"


@pytest.mark.slow
@pytest.mark.parametrize("after_s", [0.4, 1.2, 2.0, 3.0, 5.0])
def test_every_phase_of_a_run_of_many_flows_stops_soon(after_s: float, tmp_path: Path) -> None:
    """The bound is several times what an idle machine needs."""
    pace.prompt(lambda: stopped(after_s, tmp_path), 5)


def stopped(after_s: float, tmp_path: Path) -> float:
    """Stop a run of many flows after some time, and return how long it takes to end, s."""
    file = tmp_path / "many.toml"
    file.write_text(MANY)
    arguments = [NARROWS, "run", str(file), "--no-progress", "-o", str(tmp_path / "out"), "--force"]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(after_s)
        process.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        _, said = process.communicate(timeout=PATIENCE_S)
        took = time.monotonic() - begin
    # Before the handlers are set, and after the last of its work, the interpreter ends with the signal's default
    # action.
    assert process.returncode in {0, 128 + signal.SIGTERM, -signal.SIGTERM}, said
    return took


LATE = """
import os, signal, sys, time
from narrows.runs import simulated

taken = simulated.taken

def late(*arguments, **options):
    made = taken(*arguments, **options)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.5)  # the main thread hears it and asks the run to stop
    return made

simulated.taken = late
from narrows.cli import main
main()
"""
"""Runs a command whose run gets a signal after the last step that looks for one."""


def test_a_run_that_ends_after_it_was_asked_to_stop_is_not_kept(tmp_path: Path) -> None:
    assert "interrupted: 0 of 1 runs had finished" in interrupted(LATE, tmp_path / "out", signal.SIGTERM)
