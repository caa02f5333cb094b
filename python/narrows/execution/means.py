"""How a command's runs are executed: where, what is kept, and who is told."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from narrows.execution.backend import choose
from narrows.execution.forecast import in_order
from narrows.execution.work import Set, Work, WorkInterrupted
from narrows.outcome import Batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from narrows.execution.forecast import Scale
    from narrows.execution.job import Job, ProgressHook
    from narrows.execution.work import Hook, Progress, Watch
    from narrows.model.scenario import Scenario
    from narrows.ownership import Target

R = TypeVar("R")


@dataclass(frozen=True)
class Means:
    """How runs are executed.

    Attributes
    ----------
    jobs : int or None
        Number of parallel runs; by default the number of processors.
    dask : str or None
        Address of the scheduler of a Dask cluster, whose workers execute the runs instead of this process.
    keep : path, Claim or None
        Directory in which finished runs are kept, and where existing ones are found; see `narrows.store.pending`.
    watch : callable or None
        Shows the progress of a set of runs.
    progress : callable or None
        Called with the completed share of the work, in [0, 1].
    """

    jobs: int | None = None
    dask: str | None = None
    keep: Target | None = None
    watch: Watch | None = None
    progress: ProgressHook | None = None

    def part(self, begin: float, share: float) -> Means:
        """Return the same means for a part of the work.

        Parameters
        ----------
        begin, share : float
            Where the part begins, and how much of the whole it is, in [0, 1].

        Returns
        -------
        Means
        """
        progress = self.progress
        if progress is None:
            return self
        return replace(self, progress=lambda fraction: progress(begin + fraction * share))

    @contextmanager
    def shown(self, what: str) -> Iterator[Hook]:
        """Show the progress of a set of runs.

        Parameters
        ----------
        what : str
            What is executed, in words.

        Yields
        ------
        callable
            Takes the progress.
        """
        with ExitStack() as stack:
            watched = None if self.watch is None else stack.enter_context(self.watch(what))

            told = 0.0

            def tell(state: Progress) -> None:
                nonlocal told
                if watched is not None:
                    watched(state)
                # An estimate may fall; what a caller is told never does.
                told = max(told, state.fraction)
                if self.progress is not None:
                    self.progress(told)

            yield tell

    def execute(
        self,
        what: str,
        wanted: Mapping[str, Job[R]],
        axes: Sequence[Scale],
        found: dict[str, R],
        keep: Callable[[Mapping[str, R]], None] | None,
        scenario: Scenario,
    ) -> None:
        """Execute the jobs that have no result yet, and add their results.

        Parameters
        ----------
        what : str
            What is executed, in words.
        wanted : mapping
            Jobs by key.
        axes : sequence of Scale
            Axes of the jobs, for the forecast.
        found : dict
            Results by key: those that are there, and afterwards all.
        keep : callable or None
            Stores results by key.
        scenario : Scenario
            One of the scenarios, for the exception on Ctrl-C.

        Raises
        ------
        InputError
            If the number of jobs is out of range, or the cluster cannot be used.
        RunError
            If a run failed; the other runs are stopped.
        WorkInterrupted
            On Ctrl-C.
        """

        def commit(made: Mapping[str, R]) -> None:
            if keep is not None:
                keep(made)
            found.update(made)

        missing = in_order([job for key, job in wanted.items() if key not in found])
        what_is = Set(missing=missing, axes=axes, total=len(wanted), kept=len(found), commit=commit)
        with ExitStack() as stack:
            backend = choose(self.jobs, self.dask)
            stack.callback(backend.stop)
            work = Work(what_is, backend)
            tell = stack.enter_context(self.shown(what))
            try:
                work.run(tell)
            except KeyboardInterrupt:
                nothing = Batch(scenario=scenario, seed=scenario.seed, runs=())
                raise WorkInterrupted(nothing, work.done, len(wanted), self.keep) from None
