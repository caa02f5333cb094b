"""`narrows check --live`: test cases on this machine's own TCP stack. Needs root, and judges its own conditions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

import narrows as nw
from narrows.base.errors import InputError, LiveError
from narrows.cli import app
from narrows.model.scenario import Scenario
from narrows.runs import live as runs
from narrows.studies.check import live as checked

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.python.conftest import Trusted

    from narrows.studies.check import CaseResult, Check

NETWORK = """
duration = "8 s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mb/s", delay = "18 ms", queue = { limit = "200 packets" } }
access = { rate = "100 Mb/s", delay = "1 ms", queue = { limit = "1000 packets" } }
[tcp]
stack = "linux"
cc = "reno"
[[flows]]
name = "s1"
from = "s1"
to = "d1"
"""

DROP = (
    NETWORK
    + """
[[steps]]
name = "drop"
when = "flow.cwnd >= 20 packets"
within = "50 rounds"
drop = { packets = 1 }

[[steps]]
name = "recovering"
after = "drop"
when = "flow.phase == 'recovery'"
within = "10 rounds"

[[steps]]
name = "recovered"
after = "recovering"
when = "flow.phase == 'open'"
within = "20 rounds"

[[expect]]
name = "one loss is one congestion event"
after = "drop"
until = "recovered"
never = "total('drop', flow.losses) > 1 or total('drop', flow.timeouts) > 0"

[[expect]]
name = "only the lost segment is sent again"
after = "recovered"
then = "total('drop', flow.retransmitted) <= 1 packets and total('drop', bottleneck.dropped) == 1"

[[expect]]
name = "untold"
after = "recovered"
then = "flow.lost >= 0 B"
"""
)

PAUSE = (
    NETWORK
    + """
[[steps]]
name = "pause"
at = "1 s"
pause = true

[[steps]]
name = "quiet"
after = "pause"
when = "flow.idle"
within = "1 s"

[[steps]]
name = "resume"
after = "quiet"
delay = "500 ms"
resume = true
app_rate = "2 Mb/s"

[[steps]]
name = "slow"
after = "resume"
delay = "1 s"
set = { rate = "5 Mb/s" }

[[steps]]
name = "fast"
after = "slow"
delay = "1 s"
app_rate = "unlimited"

[[steps]]
name = "end"
after = "fast"
delay = "2 s"

[[expect]]
name = "nothing is sent in the pause"
after = "quiet"
until = "resume"
always = "flow.idle"

[[expect]]
name = "the application's rate"
after = "slow"
then = "between(total('resume', flow.goodput) / 1 s, 1.6 Mb/s, 2.4 Mb/s)"

[[expect]]
name = "the link's new rate"
after = "end"
then = "between(total('fast', flow.goodput) / 2 s, 4.2 Mb/s, 5 Mb/s) and bottleneck.rate == 5 Mb/s"
"""
)


@pytest.fixture(autouse=True)
def possible() -> None:
    try:
        runs.check(Scenario.from_text(NETWORK, "network.toml"))
    except LiveError as error:
        pytest.skip(str(error))


def narrows(*words: str | Path) -> tuple[int, str]:
    arguments = ["check", *map(str, words), "--live", "--no-progress"]
    made = CliRunner().invoke(app, arguments, env={"COLUMNS": "200", "NO_COLOR": "1"})
    return made.exit_code, made.output


def only(trusted: Trusted, text: str) -> CaseResult:
    """Check one case until its run can be trusted."""

    def once() -> tuple[Check, Sequence[str]]:
        made = nw.check(Scenario.from_text(text, "case.toml"), live=True)
        return made, made.cases[0].doubts

    (one,) = trusted(once).cases
    return one


def test_a_dropped_segment_is_one_congestion_event_of_the_kernels_reno(trusted: Trusted) -> None:
    one = only(trusted, DROP)
    assert one.outcome is not None
    assert one.verdict == "passed", one.reason
    drop, recovering, recovered = (step.happened_s for step in one.outcome.steps)
    assert drop is not None
    assert recovering is not None
    assert recovered is not None
    # The loss is seen after the segment's queue and a round trip of 40 ms, and repaired a round trip later.
    assert 0.04 <= recovering - drop < 0.5
    assert recovered >= recovering + 0.04
    assert one.outcome.ended_s < 8, "the run ends when all is decided"
    met, again, untold = one.outcome.expectations
    assert (met.verdict, again.verdict, untold.verdict) == ("met", "met", "does not apply")
    assert "Linux does not tell flow.lost" in (untold.reason or "")
    assert met.looks > 20, "a look follows each ACK"


def test_applications_pause_and_links_change_while_the_kernel_sends(trusted: Trusted) -> None:
    one = only(trusted, PAUSE)
    assert one.verdict == "passed", one.reason
    assert one.outcome is not None
    at = {step.name: step.happened_s for step in one.outcome.steps}
    assert at["pause"] == pytest.approx(1, abs=0.01)
    assert at["slow"] is not None
    assert at["resume"] is not None
    assert at["slow"] - at["resume"] == pytest.approx(1, abs=0.01)


def test_an_unmet_expectation_is_a_failure_with_its_plot(trusted: Trusted, tmp_path: Path) -> None:
    text = NETWORK + '[[expect]]\nname = "too short"\nalways = "flow.srtt < 30 ms"\n'
    one = only(trusted, text)
    assert (one.verdict, one.failed) == ("failed", True)
    assert "flow.srtt is 4" in (one.reason or ""), one.reason
    (tmp_path / "short.toml").write_text(text)
    code, output = narrows(tmp_path / "short.toml", "-o", tmp_path / "out")
    assert code == 1, output
    told = json.loads((tmp_path / "out" / "check.json").read_text())
    assert told["live"] is True
    assert told["cases"][0]["tries"] >= 1
    page = (tmp_path / "out" / "report.html").read_text()
    assert "narrows check" in page
    assert "--live" in page
    assert "data:image/svg+xml" in page, "the plot of the run itself"
    suite = ElementTree.parse(tmp_path / "out" / "junit.xml").getroot()[0]  # noqa: S314 - our own file
    assert suite.get("failures") == "1"


def test_what_linux_does_not_tell_is_refused_before_the_start_with_its_line(tmp_path: Path) -> None:
    text = NETWORK + '[[steps]]\nwhen = "flow.undos > 0"\npause = true\n[[expect]]\nalways = "flow.cwnd > 0 B"\n'
    (tmp_path / "undone.toml").write_text(text)
    code, output = narrows(tmp_path / "undone.toml")
    line = text.splitlines().index('when = "flow.undos > 0"')
    assert code == 2, output
    flat = " ".join(output.split())
    assert f"undone.toml: steps[0].when (line {line})" in flat or f"steps[0].when (line {line + 1})" in flat, output
    assert "Linux does not tell flow.undos" in flat


def test_cases_that_cannot_run_live_leave_the_others_alone(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(
        NETWORK.replace('cc = "reno"', 'cc = "bbr3"') + '[[expect]]\nalways = "flow.cwnd > 0 B"\n'
    )
    (tmp_path / "b.toml").write_text(NETWORK.replace("8 s", "500 ms") + '[[expect]]\nalways = "flow.cwnd > 0 B"\n')
    made = nw.check(tmp_path, live=True)
    first, second = made.cases
    assert first.verdict == "not applicable"
    assert (first.reason or "").startswith("cannot run live: a.toml: flows.")
    assert "bbr3" in (first.reason or "")
    assert second.verdict in ("passed", "failed")
    assert second.outcome is not None


def test_nothing_but_one_run_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(DROP)
    for option in (("--jobs", "2"), ("--dask", "tcp://localhost:1")):
        code, output = narrows(tmp_path / "a.toml", *option)
        assert code == 2
        assert option[0] in output
    with pytest.raises(InputError, match="one after another"):
        nw.check(Scenario.from_text(DROP, "case.toml"), live=True, jobs=3)


def test_doubts_repeat_a_run_and_mark_its_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    once = checked.LiveRun._once

    def doubted(run: checked.LiveRun, gauge: object) -> object:
        from dataclasses import replace

        nonlocal count
        count += 1
        return replace(once(run, gauge), doubts=("the bottleneck was late",))  # type: ignore[arg-type]

    monkeypatch.setattr(checked.LiveRun, "_once", doubted)
    short = NETWORK.replace("8 s", "300 ms") + '[[expect]]\nalways = "flow.cwnd > 0 B"\n'
    (one,) = nw.check(Scenario.from_text(short, "case.toml"), live=True).cases
    assert (count, one.tries, one.doubts) == (checked.TRIES, checked.TRIES, ("the bottleneck was late",))
    assert one.shown.endswith("(doubtful)")
