"""When a test of how soon something ends passes, fails and is skipped."""

from __future__ import annotations

import pytest
from tests.python import pace


@pytest.mark.parametrize(
    ("shares", "times", "outcome", "left"),
    [
        ([1.0], [0.5, 9.0], None, 1),
        ([1.0, 1.0], [2.0, 0.5], pytest.fail.Exception, 1),
        ([0.2, 1.0], [2.0, 0.5], None, 0),
        ([1.0, 0.2, 0.2, 0.2], [2.0, 2.0, 2.0], pytest.skip.Exception, 0),
    ],
    ids=["in time", "late on a quiet machine", "in time when repeated", "late on a crowded machine"],
)
def test_only_a_crowded_machine_excuses_what_is_late(
    shares: list[float],
    times: list[float],
    outcome: type[BaseException] | None,
    left: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pace, "share", lambda: shares.pop(0))
    if outcome is None:
        pace.prompt(lambda: times.pop(0), 1.0)
    else:
        with pytest.raises(outcome, match=r"it took 2\.00 s"):
            pace.prompt(lambda: times.pop(0), 1.0)
    assert len(times) == left
