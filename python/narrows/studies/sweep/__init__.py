"""Sweeps: a scenario over axes and seeds, run on all cores or a cluster, and kept in one data set.

>>> from narrows import sweep
>>> s = sweep.Sweep.parse('''
... scenario = "dumbbell-cubic"
... seeds = 2
... [set]
... duration = "12 s"
... [[axes]]
... name = "buffer"
... path = "topology.bottleneck.queue.limit"
... values = [10, 40]
... unit = "packets"
... ''')
>>> result = sweep.execute(s)
>>> result.flows.groupby("buffer")["throughput_mbps"].count().tolist()
[4, 4]

``docs/sweep.md`` describes sweep files, the directory and the columns.
"""

from __future__ import annotations

from narrows.base.errors import SweepError
from narrows.execution.forecast import Estimate
from narrows.studies.sweep.execute import Progress, SweepInterrupted, execute
from narrows.studies.sweep.plan import Sweep, SweepRun
from narrows.studies.sweep.point import Point
from narrows.studies.sweep.result import Failure, SweepResult, load

__all__ = [
    "Estimate",
    "Failure",
    "Point",
    "Progress",
    "Sweep",
    "SweepError",
    "SweepInterrupted",
    "SweepResult",
    "SweepRun",
    "execute",
    "load",
]
