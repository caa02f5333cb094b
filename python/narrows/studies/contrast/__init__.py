"""Any results beside a baseline: `narrows compare` and `narrows.compare`.

`compare` reads results and returns a `Contrast`: every metric of all, and the difference of each further result from
the first with an interval. `narrows.studies.comparison` is another thing: a simulated and a live outcome of one
scenario, made together by ``narrows run --both``.
"""

from __future__ import annotations

from narrows.studies.contrast.api import compare
from narrows.studies.contrast.changes import Change
from narrows.studies.contrast.contrast import Contrast, Row
from narrows.studies.contrast.differences import Against, Difference

__all__ = ["Against", "Change", "Contrast", "Difference", "Row", "compare"]
