"""Results for other programs: tables as CSV and LaTeX, figures as PDF, SVG, PNG and PGF/TikZ.

>>> import narrows as nw
>>> run = nw.run("dumbbell-cubic", seed=1, overrides={"duration": "12 s"})
>>> sorted(table.name for table in nw.export.contents(run).tables)
['flows', 'flows-delay', 'queues', 'samples-flows', 'samples-queues']
"""

from __future__ import annotations

from narrows.export.directory import contents
from narrows.export.files import write
from narrows.export.options import Options
from narrows.export.values import FIGURES, FORMATS, PACKETS, TABLES, Contents, Drawing, Printed, Rows, Table

__all__ = [
    "FIGURES",
    "FORMATS",
    "PACKETS",
    "TABLES",
    "Contents",
    "Drawing",
    "Options",
    "Printed",
    "Rows",
    "Table",
    "contents",
    "write",
]
