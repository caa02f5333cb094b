"""The Rust extension: scenarios in, samples out. Conversion only."""

from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address
from os import PathLike
from typing import Any, Self, final

__all__ = [
    "Ack",
    "AlgorithmError",
    "Backstop",
    "Budget",
    "Congestion",
    "Deployed",
    "LiveError",
    "Path",
    "Progress",
    "Result",
    "Scenario",
    "ScenarioError",
    "Stopped",
    "Window",
    "attach",
    "attachable",
    "attached",
    "catalogue",
    "commit",
    "deliveries",
    "detach",
    "doctor",
    "end_on_failed_allocation",
    "live",
    "live_check",
    "live_shell",
    "own_threads",
    "packetdrill",
    "packetdrill_capture",
    "packetdrill_check",
    "packetdrill_live",
    "parse",
    "parse_each",
    "places",
    "release",
    "run",
    "schema",
    "version",
    "vm_header",
    "vm_qdisc_modules",
    "vm_request",
    "vm_result",
]

class ScenarioError(ValueError):
    """A refused scenario."""

    problems: list[dict[str, str | int | None]]
    """All problems: dicts with the keys path, line, field, value, allowed, message."""

class AlgorithmError(Exception):
    """A congestion control written in Python that failed."""

class Stopped(Exception):  # noqa: N818 - not an error: somebody asked for it
    """A run stopped by `Progress.stop`."""

class LiveError(Exception):
    """A failed live operation."""

    kind: str
    """Why: unavailable (on this machine), unsupported (what was requested), failed or stopped."""
    remedy: str | None
    """What would fix it, if it is unavailable; the message contains it too."""

@final
class Deployed:
    """A congestion control attached to this host."""

    @property
    def name(self) -> str:
        """Its name for TCP_CONGESTION."""
    @property
    def params(self) -> str:
        """Every parameter as text: ``profile=paper lambda_max=3``."""
    @property
    def is_default(self) -> bool:
        """Whether new connections of this network namespace use it."""
    @property
    def replaced(self) -> str | None:
        """The default that it replaced, if it is now the default."""
    @property
    def pin(self) -> str:
        """Its pin in the BPF file system."""

@final
class Ack:
    """An ACK that delivered data."""

    @property
    def acked(self) -> int:
        """Bytes newly acknowledged cumulatively."""
    @property
    def delivered(self) -> int:
        """Bytes newly delivered, cumulatively or by SACK."""
    @property
    def rtt_s(self) -> float | None:
        """Round-trip time sample, s; None without a valid sample (Karn's rule)."""
    @property
    def one_way_delay_s(self) -> float | None:
        """One-way delay including the clocks' offset, s; only differences are meaningful. None without timestamps."""
    @property
    def delivery_rate(self) -> float | None:
        """Delivery-rate sample, bit/s; None without one."""
    @property
    def app_limited(self) -> bool:
        """Whether the application limited the delivery-rate sample."""
    @property
    def marked(self) -> int:
        """Bytes reported as marked CE."""
    @property
    def newly_lost(self) -> int:
        """Bytes that this ACK revealed as lost."""

@final
class Congestion:
    """A congestion event."""

    @property
    def kind(self) -> str:
        """Kind of event: loss, ecn or timeout."""
    @property
    def repeated(self) -> bool:
        """Whether it is a repeated timeout of the same data: ssthresh must then stay (RFC 5681, section 3.1)."""
    @property
    def lost(self) -> int:
        """Bytes marked lost so far in this episode; zero for other events than a loss."""

@final
class Path:
    """What the connection knows of its path."""

    @property
    def now_s(self) -> float:
        """Current time, s."""
    @property
    def smss(self) -> int:
        """Sender maximum segment size, bytes."""
    @property
    def initial_window(self) -> int:
        """Initial window (RFC 6928), bytes."""
    @property
    def srtt_s(self) -> float | None:
        """Smoothed round-trip time, s; None before the first sample."""
    @property
    def min_rtt_s(self) -> float | None:
        """Smallest round-trip time, s."""
    @property
    def rto_s(self) -> float:
        """Retransmission timeout, s."""
    @property
    def flightsize(self) -> int:
        """Bytes sent and not cumulatively acknowledged (RFC 5681)."""
    @property
    def inflight(self) -> int:
        """Bytes in the network as estimated by the scoreboard (RFC 6675's pipe)."""
    @property
    def snd_una(self) -> int:
        """Offset of the first byte not acknowledged."""
    @property
    def snd_nxt(self) -> int:
        """Offset of the next byte to send for the first time."""
    @property
    def delivered(self) -> int:
        """Bytes delivered over the life of the connection."""
    @property
    def lost(self) -> int:
        """Bytes marked lost over the life of the connection."""
    @property
    def cwnd_limited(self) -> bool:
        """Whether cwnd limited the sender last time; grow only then (RFC 7661)."""
    @property
    def pacing_rate(self) -> float | None:
        """Rate at which segments are paced, whoever set it, bit/s; None without pacing."""
    @property
    def departure_s(self) -> float:
        """Earliest time at which pacing lets the next segment leave, s. It is `now_s` or earlier if nothing waits."""
    @property
    def phase(self) -> str:
        """Phase of loss recovery: open, disorder, cwr, recovery or loss."""

@final
class Window:
    """Values that a congestion control may set."""

    cwnd: float
    """Congestion window, bytes."""
    ssthresh: float | None
    """Slow-start threshold, bytes; None is "arbitrarily high" (RFC 5681)."""
    pacing_rate: float | None
    """Pacing rate, bit/s; None is the connection's own setting."""
    @property
    def in_slow_start(self) -> bool:
        """Whether cwnd is below ssthresh."""

@final
class Scenario:
    """A validated scenario."""

    @property
    def name(self) -> str: ...
    @property
    def duration_ns(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def warnings(self) -> list[dict[str, str | int | None]]:
        """What is legal but odd: dicts as those of `ScenarioError.problems`."""
    def size(self) -> dict[str, int]:
        """Return counts: nodes, links, flows, flow_rows, queue_rows, router_rows, state_rows (what sampling yields)."""
    def flow_controls(self) -> list[tuple[str, str | None, str | None]]:
        """Return for each flow of the file its name, its congestion control and its scheme; ``None`` for UDP."""
    @property
    def has_channels(self) -> bool:
        """Whether it has 802.11 channels."""
    def to_toml(self) -> str:
        """Return the scenario as TOML with every default shown."""
    def to_nameless_toml(self) -> str:
        """Return the same without the settings that affect no run: name, title, description and seed."""
    def to_json(self) -> str:
        """Return the resolved scenario (nodes, links, flows) as JSON.

        Values shared by several flows or links are listed once: ``tcp``, ``traffic``, ``stop_ns``, ``forward``,
        ``reverse`` are indices into ``tcps``, ``traffics``, ``stops`` and ``directions``, and ends are indices of
        nodes.
        """
    def paths(self) -> list[list[int]]:
        """Return the nodes that the packets of each flow pass: indices, both ends included."""

@final
class Progress:
    """Progress of a run, and a way to stop it; shared between threads."""

    def __init__(self) -> None: ...
    def fraction(self) -> float:
        """Return the share of the simulated time that has passed, in [0, 1]."""
    def stop(self) -> None:
        """Ask the run to stop; it raises `Stopped`."""
    def check(self) -> None:
        """Raise `Stopped` if `stop` was called."""

@final
class Backstop:
    """Ends the process on a signal if no Python handler runs within a given time."""

    def __new__(cls, grace_s: float, message: str, signals: list[int]) -> Self: ...
    def fileno(self) -> int:
        """Return the descriptor for `signal.set_wakeup_fd`."""
    def heard(self) -> None:
        """Record that a Python handler has run."""

@final
class Budget:
    """Bytes of samples that may stay in memory, shared by all runs that use it."""

    def __new__(cls, most: int) -> Self: ...
    def kept(self) -> int:
        """Return the number of bytes in memory now."""

@final
class Result:
    """The result of one run."""

    @property
    def digest(self) -> str: ...
    @property
    def events(self) -> int: ...
    @property
    def packets(self) -> int: ...
    @property
    def flow_names(self) -> list[str]: ...
    @property
    def queue_names(self) -> list[str]: ...
    @property
    def router_names(self) -> list[str]: ...
    @property
    def station_names(self) -> list[str]:
        """Nodes of the stations of 802.11 channels: by channel, the base station first."""
    @property
    def channel_names(self) -> list[str]: ...
    @property
    def workload_names(self) -> list[str]: ...
    @property
    def subqueue_names(self) -> list[tuple[int, int, str]]:
        """Sub-queues in the order of ``subqueue_totals``: index of the queue, index in it, and label."""
    def conditions(self) -> dict[str, Any] | None:
        """Return the conditions of a live run; ``None`` for a simulated one."""

    def tables(self) -> dict[str, list[tuple[str, str, str, bytes]]]:
        """Return the totals: columns as (name, unit, meaning, little-endian u64 values); 2^64-1 is "no value"."""
    def rows(self, table: str, begin: int, count: int) -> list[dict[str, int | None]]:
        """Return `count` rows of a table of totals from row `begin`, as far as there are some; None is "no value"."""

    def totals(self, table: str) -> tuple[tuple[str, ...], bytes]:
        """Return `flow_totals` or `queue_totals`: names of columns, and little-endian u64 values row by row."""

    def series(self) -> list[tuple[str, int, str, str, str, str, list[str]]]:
        """Return what the rows of `state` describe, by the index in their column `series`.

        Kind of object, its index, algorithm, variable, unit, meaning, and words for the values 0, 1, 2 ..
        """
    def sampled(self, table: str) -> tuple[int, int]:
        """Return how many rows and chunks the samples have: `flows`, `queues`, `routers`, `subqueues` or `state`."""
    def chunk(self, table: str, number: int) -> list[tuple[str, str, str, bytes]]:
        """Return a chunk of such samples: columns as in `tables`."""
    def case(self) -> str | None:
        """Return what came of the scenario's test case as JSON; ``None`` without one."""
    def case_series(self) -> str | None:
        """Return the recorded variables of the test case as JSON: ``time_s``, and ``variables`` with their values."""

def parse(
    text: str,
    path: str,
    overrides: list[tuple[str, str]],
    own: list[tuple[str, str, list[tuple[str, str, bool | float]]]],
    folder: str | None = None,
) -> Scenario:
    """Parse and validate a scenario, which may name the congestion controls of `own`; raises `ScenarioError`.

    Traces are relative to `folder`, or to the working directory.
    """

def parse_each(
    text: str,
    path: str,
    overrides: list[list[tuple[str, str]]],
    own: list[tuple[str, str, list[tuple[str, str, bool | float]]]],
    folder: str | None = None,
) -> list[tuple[Scenario, str] | ScenarioError]:
    """Parse and validate a scenario once for each list of overrides, as `parse` does.

    Return for each a scenario with its `to_nameless_toml`, or why it is refused.
    """

def run(
    scenario: Scenario,
    seed: int,
    run: int,
    progress: Progress | None,
    pcap_dir: str | None,
    own: dict[str, tuple[Callable[..., object], float]],
    spill: tuple[str, Budget] | None = None,
    until_decided: bool = False,
    looks: tuple[float, float] | None = None,
    threads: int | None = ...,
) -> Result:
    """Run a scenario without holding the interpreter's lock.

    ``own`` has congestion controls by name, each with the time limit of one call, s. ``spill`` is a directory for
    samples that do not stay in memory, and the budget of bytes that do. ``until_decided`` ends the run of a test
    case as soon as everything is decided; ``looks`` is the time, s, in which its variables are recorded. ``threads`` is
    how many threads the run has if it can be divided; ``None`` is as many as pay. Raises `Stopped`, `AlgorithmError`,
    `OSError` and `MemoryError`.
    """

def own_threads() -> int:
    """Return the number of threads of runs with the user's congestion controls: running, or left behind in a hook."""

def live(
    scenario: Scenario,
    seed: int,
    run: int,
    progress: Progress | None,
    pcap_dir: str | None,
    programs: list[tuple[str, str]],
    until_decided: bool = ...,
    looks: tuple[float, float] | None = ...,
) -> Result:
    """Run a scenario live without holding the interpreter's lock; raises `LiveError`."""

def vm_qdisc_modules(scenario: Scenario) -> list[str]:
    """Return the kernel modules that a scenario's queues need where the kernel carries them."""

def vm_request(scenario: Scenario, seed: int, run: int, programs: list[tuple[str, str]], kernel_qdisc: bool) -> bytes:
    """Return what a virtual machine is asked to run: bytes for `narrows.runs.vm`."""

def vm_header(memory: bytes) -> tuple[int, int, int, int, int]:
    """Return how far a virtual machine is, from the head of the memory that it shares.

    The state (0 starting, 1 running, 2 done), the scenario time and the guest's time in nanoseconds, and where its
    result begins and ends.
    """

def vm_result(scenario: Scenario, result: bytes) -> Result:
    """Return the result of a run in a virtual machine; raises the guest's `LiveError`."""

def live_check(scenario: Scenario) -> None:
    """Check that a scenario can run live here, without running it; raises `LiveError`."""

def live_shell(scenario: Scenario, seed: int, host: str, traffic: bool) -> int:
    """Open a shell on a host of the emulated network, on this terminal; return its exit code; raises `LiveError`."""

def end_on_failed_allocation() -> None:
    """End this process with exit code 1 and a message if an allocation of the engine fails; for commands."""

def schema(own: list[tuple[str, str, list[tuple[str, str, bool | float]]]] = ...) -> str:
    """Return the JSON Schema of scenario files; `own` adds congestion controls, as for `parse`."""

def places(text: str) -> list[tuple[list[str | int], int]]:
    """Return the path and the line, from 1, of each key and each element of an array in a TOML document.

    Of a document that is not TOML, only what could be read.
    """

def catalogue() -> str:
    """Return congestion controls, queues, schemes and PHYs with their parameters, as JSON."""

def packetdrill(
    invocation: dict[str, Any], included: Callable[[str], str | None], progress: Progress
) -> dict[str, Any]:
    """Run a packetdrill script on Narrows' TCP in virtual time; raises `Stopped` after `Progress.stop`.

    `invocation` has ``text``, ``path`` (its name in errors), ``options`` (name and value of those that hold where the
    script sets none), ``overrides`` (those that replace the script's) and ``symbols``. `included` returns the text of a
    file that a command line of the script names.

    The result has ``ended`` (``match``, ``mismatch``, ``refused`` or ``invalid``), ``line``, ``why``, ``difference``,
    ``state``, ``steps`` (time in nanoseconds, line, text), ``code`` (line, text, fields of ``tcp_info``) and
    ``packets`` (time in nanoseconds, whether it leaves the host, bytes).
    """

def packetdrill_live(invocation: dict[str, Any], directory: str, progress: Progress) -> dict[str, Any]:
    """Run a packetdrill script on this machine's kernel; raises LiveError, also after `Progress.stop`.

    As `packetdrill`; ``ended`` is also ``late`` if this machine was too slow. Command lines run in `directory`.
    """

def packetdrill_check() -> None:
    """Check that packetdrill scripts can run live here; raises LiveError."""

def packetdrill_capture(path: str | PathLike[str], packets: Sequence[tuple[int, bool, bytes]]) -> None:
    """Write packets (time in nanoseconds, whether it leaves the host, bytes) to a pcapng file; raises OSError."""

def deliveries(
    path: str | PathLike[str], src: IPv4Address | IPv6Address | None, dst: IPv4Address | IPv6Address | None
) -> tuple[bytes, bytes]:
    """Return times and lengths of the IP packets in a capture; raises ValueError.

    Times are 64-bit integers in nanoseconds since the first packet, lengths 32-bit integers in bytes.
    """

def attach(name: str, params: list[tuple[str, str]], default: bool) -> tuple[Deployed, bool, bool]:
    """Register a congestion control on this host; raises `LiveError`.

    Returns the congestion control, whether it is new, and whether the BPF file system was mounted for it.
    """

def detach(name: str) -> str | None:
    """Remove a congestion control from this host; raises `LiveError`.

    Returns the default that applies again, if the removed one was the default.
    """

def attached() -> list[Deployed]:
    """Return the congestion controls attached to this host; raises `LiveError`."""

def attachable() -> list[str]:
    """Return the names of the congestion controls available as eBPF programs."""

def doctor() -> list[tuple[str, str, str, str, str, str]]:
    """Check what this machine can do.

    Each check is name, status (ok, partly, missing, unknown), what was found, what it is used for, why it is not ok,
    and how to fix it.
    """

def version() -> str:
    """Return the version with its commit: ``0.1.0+g9094a25``, ``0.1.0+g9094a25.dirty`` or ``0.1.0+unknown``."""

def release() -> str:
    """Return the released version of the engine, without the commit."""

def commit() -> str:
    """Return the commit that the package was built from, with ``.dirty`` if the tree was not clean, or ``unknown``."""
