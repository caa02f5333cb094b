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
    from narrows import comparison, contest, export, packets, stats, sweep
    from narrows.base.errors import (
        InputError,
        Interrupted,
        LiveError,
        NarrowsError,
        Problem,
        RunError,
        ScenarioError,
        SweepError,
    )
    from narrows.model.catalogue import list_algorithms
    from narrows.model.own import congestion_control, register
    from narrows.model.scenario import Scenario
    from narrows.outcome.samples import Samples
    from narrows.runs.simulated import Batch, Run, Task, run, run_all
    from narrows.runs.until import run_until
    from narrows.store.results import load
    from narrows.studies.check import check
    from narrows.studies.contrast import Contrast, compare
    from narrows.studies.reproduction import reproduce

_HOME = {
    "Batch": "narrows.runs.simulated",
    "Contrast": "narrows.studies.contrast",
    "InputError": "narrows.base.errors",
    "Interrupted": "narrows.base.errors",
    "LiveError": "narrows.base.errors",
    "NarrowsError": "narrows.base.errors",
    "Problem": "narrows.base.errors",
    "Run": "narrows.runs.simulated",
    "RunError": "narrows.base.errors",
    "Samples": "narrows.outcome.samples",
    "Scenario": "narrows.model.scenario",
    "ScenarioError": "narrows.base.errors",
    "SweepError": "narrows.base.errors",
    "Task": "narrows.runs.simulated",
    "check": "narrows.studies.check",
    "compare": "narrows.studies.contrast",
    "congestion_control": "narrows.model.own",
    "list_algorithms": "narrows.model.catalogue",
    "load": "narrows.store.results",
    "register": "narrows.model.own",
    "reproduce": "narrows.studies.reproduction",
    "run": "narrows.runs.simulated",
    "run_all": "narrows.runs.simulated",
    "run_until": "narrows.runs.until",
}

_MODULES = ("comparison", "contest", "export", "packets", "stats", "sweep")

__all__ = [
    "Batch",
    "Contrast",
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
    "check",
    "compare",
    "comparison",
    "congestion_control",
    "contest",
    "export",
    "list_algorithms",
    "load",
    "packets",
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
