"""Fixtures that several tests share: short scenarios, their results, and columns as the engine returns them."""

from __future__ import annotations

import math
import os
import shutil
import signal
import struct
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import hypothesis
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from narrows.kernels import Kernel
    from narrows.model.scenario import Scenario
    from narrows.outcome import Batch, Run
    from narrows.outcome.samples import CoreTable

NONE = 2**64 - 1

T = TypeVar("T")

# How long an example takes depends on what else the machine does.
hypothesis.settings.register_profile("narrows", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("narrows")


class Trusted(Protocol):
    """Repeats a live action until there is no reason to distrust it."""

    def __call__(self, make: Callable[[], tuple[T, Sequence[str]]]) -> T: ...


class LiveRun(Protocol):
    """Runs a scenario live until a run can be trusted."""

    def __call__(self, which: Scenario, *, latest_ms: float = ..., **more: Any) -> Run: ...


def pytest_configure() -> None:
    """Enable Ctrl-C in child processes: background jobs of a shell ignore it, and their children inherit that."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def as_nobody() -> list[str]:
    """Return a command prefix that drops root's rights; empty if the tests do not run as root."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (util-linux) is not installed, to give up root's rights")
    before = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    tried = subprocess.run([*before, sys.executable, "-c", "import narrows"], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip("a user without rights cannot read this installation")
    return before


TRIES = 3
"""Number of live runs before a test that needs a trusted one is skipped."""


def _trusted(make: Callable[[], tuple[T, Sequence[str]]]) -> T:
    doubts: Sequence[str] = ()
    for _ in range(TRIES):
        value, doubts = make()
        if not doubts:
            return value
    pytest.skip(f"none of {TRIES} live runs is to be trusted; of the last: {'; '.join(doubts)}")


@pytest.fixture(scope="session")
def trusted() -> Trusted:
    """Return a function that repeats a live action, which returns a value and doubts, until there are no doubts.

    After three tries the test is skipped, with the doubts of the last one.
    """
    return _trusted


@pytest.fixture(scope="session")
def live_run(trusted: Trusted) -> LiveRun:
    """Return a function that runs a scenario live until a run can be trusted, or skips the test with the reason.

    With `latest_ms`, a run is also distrusted if a packet was later than that.
    """
    from narrows.base.errors import LiveError
    from narrows.outcome import Run
    from narrows.runs import live

    def once(which: Scenario, latest_ms: float, **more: Any) -> tuple[Run, Sequence[str]]:
        try:
            made = live.run(which, **more)
        except LiveError as error:
            if error.kind == "unavailable":
                pytest.skip(str(error))
            raise
        assert isinstance(made, Run)
        assert made.conditions is not None
        latest = made.conditions["lateness"]["max_us"] / 1000
        late = [f"a packet came {latest:.1f} ms late"] if latest > latest_ms else []
        return made, [*made.doubts, *late]

    def until_trusted(which: Scenario, *, latest_ms: float = math.inf, **more: Any) -> Run:
        return trusted(lambda: once(which, latest_ms, **more))

    return until_trusted


@pytest.fixture(scope="session")
def short() -> Scenario:
    """Return a bundled scenario, shortened to twelve seconds."""
    from narrows.model.scenario import Scenario

    return Scenario.from_file("dumbbell-cubic", {"duration": "12 s"})


@pytest.fixture(scope="session")
def one(short: Scenario) -> Run:
    """Return one run of the short scenario."""
    from narrows.outcome import Run
    from narrows.runs.simulated import run

    made = run(short, seed=3)
    assert isinstance(made, Run)
    return made


@pytest.fixture(scope="session")
def three(short: Scenario) -> Batch:
    """Return three runs of the short scenario."""
    from narrows.outcome import Batch
    from narrows.runs.simulated import run

    made = run(short, seed=3, runs=3)
    assert isinstance(made, Batch)
    return made


CELL = """
name = "cell"
title = "A wired server, a base station & two stations"
duration = "4 s"
sampling = "20 ms"

[[nodes]]
name = "server"

[[nodes]]
name = "ap"
kind = "router"

[[nodes]]
name = "w1"

[[nodes]]
name = "w2"

[[links]]
between = ["server", "ap"]
rate = "100 Mb/s"
delay = "2 ms"

[wifi]
name = "wlan"
base = "ap"
stations = ["w1", "w2"]
phy = "802.11b"
errors = [{ station = "w2", fer = "5 %" }]

[[flows]]
name = "down"
from = "server"
to = "w1"
cc = "cubic"

[[flows]]
name = "up"
from = "w2"
to = "server"
cc = "reno"
start = "500 ms"
"""


@pytest.fixture
def kernel() -> Kernel:
    """The newest kernel at hand; skips the test where there is none, or virtual machines cannot be started."""
    from narrows import kernels
    from narrows.base.errors import LiveError
    from narrows.runs import vm

    try:
        found = kernels.find(None)
        vm.check(found)
    except LiveError as error:
        pytest.skip(str(error))
    return found


@pytest.fixture(scope="session")
def wireless() -> Scenario:
    """Return a server, a base station and two stations on an 802.11b channel."""
    from narrows.model.scenario import Scenario

    return Scenario.from_text(CELL)


@pytest.fixture(scope="session")
def cell(wireless: Scenario) -> Run:
    """Return one run of the scenario with a channel."""
    from narrows.outcome import Run
    from narrows.runs.simulated import run

    made = run(wireless, seed=3)
    assert isinstance(made, Run)
    return made


@pytest.fixture(scope="session")
def cells(wireless: Scenario) -> Batch:
    """Return three runs of the scenario with a channel."""
    from narrows.outcome import Batch
    from narrows.runs.simulated import run

    made = run(wireless, seed=3, runs=3)
    assert isinstance(made, Batch)
    return made


ADVISED = """
name = "advised"
title = "Two flows, routers that tell windows"
duration = "8 s"

[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "2 Mb/s", delay = "10 ms", queue = { limit = "60 kB" } }
access = { rate = "20 Mb/s", delay = "1 ms", queue = { limit = "300 kB" } }

[tcp]
cc = "reno"
mss = "1000 B"
recv_buffer = "64 kB"

[ngwa]
mode = 5

[[flows]]
name = "first"
from = "s1"
to = "d1"

[[flows]]
name = "second"
from = "s2"
to = "d2"
start = "2 s"
"""


@pytest.fixture(scope="session")
def advised() -> Run:
    """Return one run of two flows through routers that run NGWA in mode 5."""
    from narrows.model.scenario import Scenario
    from narrows.outcome import Run
    from narrows.runs.simulated import run

    made = run(Scenario.from_text(ADVISED), seed=3)
    assert isinstance(made, Run)
    return made


@pytest.fixture(scope="session")
def advised_often() -> Batch:
    """Return three runs of the same scenario with different start times."""
    from narrows.model.scenario import Scenario
    from narrows.outcome import Batch
    from narrows.runs.simulated import run

    made = run(Scenario.from_text(ADVISED, overrides={"start_jitter": "300 ms"}), seed=3, runs=3)
    assert isinstance(made, Batch)
    return made


@pytest.fixture(scope="session")
def core_table() -> Callable[[dict[str, Sequence[int | None]]], CoreTable]:
    """Return a function that packs columns as the engine does; ``None`` becomes its "no value"."""

    def pack(columns: dict[str, Sequence[int | None]]) -> CoreTable:
        return [
            (name, "ns" if name.endswith("_ns") else "", f"What {name} means.", _packed(values))
            for name, values in columns.items()
        ]

    return pack


def _packed(values: Sequence[int | None]) -> bytes:
    return struct.pack(f"<{len(values)}Q", *(NONE if value is None else value for value in values))
