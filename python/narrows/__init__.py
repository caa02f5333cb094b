"""Narrows, a congestion-control laboratory: write one scenario; run it in simulation or on real Linux TCP.

>>> import narrows as nw
>>> run = nw.run("dumbbell-cubic", seed=1, overrides={"duration": "12 s"})
>>> run.digest == nw.run("dumbbell-cubic", seed=1, overrides={"duration": "12 s"}).digest
True

Names are loaded on first use, so importing the package is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from narrows import comparison, contest, stats, sweep
    from narrows.catalogue import list_algorithms
    from narrows.errors import (
        InputError,
        Interrupted,
        LiveError,
        NarrowsError,
        Problem,
        RunError,
        ScenarioError,
        SweepError,
    )
    from narrows.own import congestion_control, register
    from narrows.reproduction import reproduce
    from narrows.results import load
    from narrows.runs import Batch, Run, Task, run, run_all
    from narrows.samples import Samples
    from narrows.scenario import Scenario
    from narrows.until import run_until

_HOME = {
    "Batch": "narrows.runs",
    "InputError": "narrows.errors",
    "Interrupted": "narrows.errors",
    "LiveError": "narrows.errors",
    "NarrowsError": "narrows.errors",
    "Problem": "narrows.errors",
    "Run": "narrows.runs",
    "RunError": "narrows.errors",
    "Samples": "narrows.samples",
    "Scenario": "narrows.scenario",
    "ScenarioError": "narrows.errors",
    "SweepError": "narrows.errors",
    "Task": "narrows.runs",
    "congestion_control": "narrows.own",
    "list_algorithms": "narrows.catalogue",
    "load": "narrows.results",
    "register": "narrows.own",
    "reproduce": "narrows.reproduction",
    "run": "narrows.runs",
    "run_all": "narrows.runs",
    "run_until": "narrows.until",
}

_MODULES = ("comparison", "contest", "stats", "sweep")

__all__ = [
    "Batch",
    "InputError",
    "Interrupted",
    "LiveError",
    "NarrowsError",
    "Problem",
    "Run",
    "RunError",
    "Samples",
    "Scenario",
    "ScenarioError",
    "SweepError",
    "Task",
    "comparison",
    "congestion_control",
    "contest",
    "list_algorithms",
    "load",
    "register",
    "reproduce",
    "run",
    "run_all",
    "run_until",
    "stats",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from narrows import _core

        return _core.version()
    if name in _MODULES:
        return import_module(f"narrows.{name}")
    if name not in _HOME:
        message = f"module 'narrows' has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_MODULES})
