"""Jobs on threads of this process."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

from narrows.execution.job import Job
from narrows.execution.threads import Threads

if TYPE_CHECKING:
    from narrows import _core


@dataclass(frozen=True)
class Waiting(Job[str]):
    """A job that ends when its event is set."""

    name: str
    end: Event = field(default_factory=Event)

    @property
    def key(self) -> str:
        """The name."""
        return self.name

    def make(self, gauge: _core.Progress) -> str:
        """Wait for the event."""
        self.end.wait(20)
        gauge.check()
        return self.name


def test_a_short_job_is_seen_while_its_thread_executes_a_long_one() -> None:
    backend = Threads(1)
    short, long = Waiting("short"), Waiting("long")
    short.end.set()
    backend.submit(short)
    backend.submit(long)
    seen = [done for _ in range(10) if (done := backend.get(0.1)) is not None]
    assert [done.value() for done in seen] == ["short"]
    long.end.set()
    backend.stop()


def test_jobs_that_had_ended_can_be_taken_after_a_stop() -> None:
    backend = Threads(1)
    jobs = [Waiting(str(number)) for number in range(100)]
    for job in jobs:
        job.end.set()
        backend.submit(job)
    first = backend.get(20)
    backend.stop()
    rest = []
    while (done := backend.get(0)) is not None:
        rest.append(done.value())
    assert first is not None
    assert [first.value(), *rest] == [str(number) for number in range(1 + len(rest))]
