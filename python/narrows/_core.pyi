"""The Rust extension: scenarios in, samples out. Conversion only."""

from collections.abc import Callable
from typing import Any, final

__all__ = [
    "Ack",
    "AlgorithmError",
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
    "detach",
    "doctor",
    "live",
    "live_check",
    "live_shell",
    "parse",
    "run",
    "schema",
    "version",
]

class ScenarioError(ValueError):
    """A scenario that is refused."""

    problems: list[dict[str, str | int | None]]
    """All problems: dicts with the keys path, line, field, value, allowed, message."""

class AlgorithmError(Exception):
    """A congestion control written in Python that failed."""

class Stopped(Exception):  # noqa: N818 - not an error: somebody asked for it
    """A run that was stopped by `Progress.stop`."""

class LiveError(Exception):
    """Something live that could not be done."""

    kind: str
    """Why: unavailable (this machine cannot), unsupported (what was asked for), failed or stopped."""
    remedy: str | None
    """What would change it, for what is unavailable; it stands in the message too."""

@final
class Deployed:
    """A congestion control that was attached to this host."""

    @property
    def name(self) -> str:
        """Its name for TCP_CONGESTION."""
    @property
    def params(self) -> str:
        """Every parameter in words: ``profile=paper lambda_max=3``."""
    @property
    def is_default(self) -> bool:
        """Whether new connections of this network namespace use it."""
    @property
    def replaced(self) -> str | None:
        """The default that it replaced, if it is the default."""
    @property
    def pin(self) -> str:
        """Where in the BPF file system it is held."""

@final
class Ack:
    """An ACK that delivered something."""

    @property
    def acked(self) -> int:
        """Bytes newly acknowledged cumulatively."""
    @property
    def delivered(self) -> int:
        """Bytes newly delivered, cumulatively or by SACK."""
    @property
    def rtt_s(self) -> float | None:
        """Round-trip time sample, s; None where there is no valid one (Karn's rule)."""
    @property
    def one_way_delay_s(self) -> float | None:
        """One-way delay with the clocks' offset in it, s; only differences mean something. None without timestamps."""
    @property
    def delivery_rate(self) -> float | None:
        """Delivery-rate sample, bit/s; None where there is none."""
    @property
    def app_limited(self) -> bool:
        """Whether the application limited the delivery-rate sample."""
    @property
    def marked(self) -> int:
        """Bytes reported as marked CE."""
    @property
    def newly_lost(self) -> int:
        """Bytes that this ACK showed to be lost."""

@final
class Congestion:
    """A congestion event."""

    @property
    def kind(self) -> str:
        """What happened: loss, ecn or timeout."""
    @property
    def repeated(self) -> bool:
        """Whether it is a further timeout of the same data: ssthresh must then stay (RFC 5681, section 3.1)."""
    @property
    def lost(self) -> int:
        """Bytes marked lost so far in this episode; zero but for a loss."""

@final
class Path:
    """What the connection knows of its path."""

    @property
    def now_s(self) -> float:
        """Present time, s."""
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
        """Sent and not cumulatively acknowledged (RFC 5681), bytes."""
    @property
    def inflight(self) -> int:
        """In the network by the scoreboard's estimate (RFC 6675's pipe), bytes."""
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
        """Whether cwnd was what stopped the sender last time; grow only then (RFC 7661)."""
    @property
    def pacing_rate(self) -> float | None:
        """Rate at which segments are paced, whoever set it, bit/s; None where they are not."""
    @property
    def phase(self) -> str:
        """Phase of loss recovery: open, disorder, cwr, recovery or loss."""

@final
class Window:
    """What a congestion control may set."""

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
    def to_toml(self) -> str:
        """Return the scenario as TOML with every default shown."""
    def to_json(self) -> str:
        """Return the resolved scenario (nodes, links, flows) as JSON."""

@final
class Progress:
    """How far a run is, and the means to stop it; shared between threads."""

    def __init__(self) -> None: ...
    def fraction(self) -> float:
        """Return the share of the simulated time that has passed, in [0, 1]."""
    def stop(self) -> None:
        """Ask the run to stop; it raises `Stopped`."""

@final
class Result:
    """What one run yields."""

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
        """Nodes of the stations of 802.11 channels: channel by channel, the base station first."""
    @property
    def channel_names(self) -> list[str]: ...
    def conditions(self) -> dict[str, Any] | None:
        """Return what a live run depended on; none of a simulated one."""

    def tables(self) -> dict[str, list[tuple[str, str, str, bytes]]]:
        """Return the tables: columns as (name, unit, meaning, little-endian u64 values); 2^64-1 is "no value"."""

def parse(
    text: str,
    path: str,
    overrides: list[tuple[str, str]],
    own: list[tuple[str, str, list[tuple[str, str, bool | float]]]],
) -> Scenario:
    """Parse and validate a scenario, which may name the congestion controls of `own`; raises `ScenarioError`."""

def run(
    scenario: Scenario,
    seed: int,
    run: int,
    progress: Progress | None,
    pcap_dir: str | None,
    own: dict[str, Callable[..., object]],
) -> Result:
    """Run a scenario without holding the interpreter's lock; raises `Stopped`, `AlgorithmError` and `OSError`."""

def live(
    scenario: Scenario,
    seed: int,
    run: int,
    progress: Progress | None,
    pcap_dir: str | None,
    programs: list[tuple[str, str]],
) -> Result:
    """Run a scenario live without holding the interpreter's lock; raises `LiveError`."""

def live_check(scenario: Scenario) -> None:
    """Check that a scenario can run live here, without running it; raises `LiveError`."""

def live_shell(scenario: Scenario, seed: int, host: str, traffic: bool) -> int:
    """Open a shell on a host of the emulated network, on this terminal; return its exit code; raises `LiveError`."""

def schema() -> str:
    """Return the JSON Schema of scenario files."""

def catalogue() -> str:
    """Return congestion controls, queues and schemes with their parameters, as JSON."""

def attach(name: str, params: list[tuple[str, str]], default: bool) -> tuple[Deployed, bool, bool]:
    """Register a congestion control on this host; raises `LiveError`.

    Returns it, whether it is new, and whether the BPF file system was mounted for it.
    """

def detach(name: str) -> str | None:
    """Take a congestion control away from this host; raises `LiveError`.

    Returns the default that is in force again, if it was the default.
    """

def attached() -> list[Deployed]:
    """Return the congestion controls that were attached to this host; raises `LiveError`."""

def attachable() -> list[str]:
    """Return the names of the congestion controls that are here as eBPF programs."""

def doctor() -> list[tuple[str, str, str, str, str, str]]:
    """Look what this machine can do.

    Each check is name, status (ok, partly, missing, unknown), what was found, what for, why it is not ok, and what
    would change that.
    """

def version() -> str:
    """Return the version of the engine."""
