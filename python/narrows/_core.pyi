"""The Rust extension: scenarios in, samples out. Conversion only."""

from typing import final

__all__ = [
    "Progress",
    "Result",
    "Scenario",
    "ScenarioError",
    "Stopped",
    "catalogue",
    "parse",
    "run",
    "schema",
    "version",
]

class ScenarioError(ValueError):
    """A scenario that is refused."""

    problems: list[dict[str, str | int | None]]
    """All problems: dicts with the keys path, line, field, value, allowed, message."""

class Stopped(Exception):  # noqa: N818 - not an error: somebody asked for it
    """A run that was stopped by `Progress.stop`."""

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
    def tables(self) -> dict[str, list[tuple[str, str, str, bytes]]]:
        """Return the tables: columns as (name, unit, meaning, little-endian u64 values); 2^64-1 is "no value"."""

def parse(text: str, path: str, overrides: list[tuple[str, str]]) -> Scenario:
    """Parse and validate a scenario; raises `ScenarioError`."""

def run(scenario: Scenario, seed: int, run: int, progress: Progress | None, pcap_dir: str | None) -> Result:
    """Run a scenario without holding the interpreter's lock; raises `Stopped` and `OSError`."""

def schema() -> str:
    """Return the JSON Schema of scenario files."""

def catalogue() -> str:
    """Return congestion controls, queues and schemes with their parameters, as JSON."""

def version() -> str:
    """Return the version of the engine."""
