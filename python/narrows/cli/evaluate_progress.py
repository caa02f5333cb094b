"""Progress of an evaluation on stderr: rows decided, the current look, and the time left of all looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.cli.runs_progress import RunsDisplay
from narrows.studies.evaluate.progress import EvaluationProgress

if TYPE_CHECKING:
    from narrows.execution.work import Progress


class EvaluationDisplay(RunsDisplay):
    """Display of an evaluation in progress; see `narrows.cli.runs_progress.RunsDisplay`."""

    def _count(self, state: Progress) -> str:
        if not isinstance(state, EvaluationProgress):
            return super()._count(state)
        rows = f"{state.decided:,} of {state.rows:,} rows decided"
        return f"{self._what}: {rows}; {state.look}: {super()._count(state)}"
