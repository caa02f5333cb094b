"""Totals of routers: counted by the engine, shown where relevant, left out if zero."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from rich.console import Console
from tests.python.plainly import as_json
from typer.testing import CliRunner

import narrows as nw
from narrows.base.errors import InputError
from narrows.cli import app
from narrows.cli.tables import print_result
from narrows.metrics.routers import COUNTERS, RouterMetrics, router_metrics, told
from narrows.model.scenario import Scenario
from narrows.model.schemes import NgwaMode, running

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.outcome import Batch, Outcome, Run

QUIET = RouterMetrics(name="r9", **dict.fromkeys(COUNTERS, 0))


def printed(result: Outcome) -> str:
    screen = io.StringIO()
    print_result(result, 1.0, Console(width=80, highlight=False, file=screen))
    return screen.getvalue()


def test_counters_are_the_engines() -> None:
    row: dict[str, int | None] = {counter: 10 + i for i, counter in enumerate(COUNTERS)}
    assert router_metrics("r1", row).to_dict() == {"name": "r1", **row}


def test_the_first_router_inserts_and_the_next_keeps_what_is_smaller(advised: Run) -> None:
    first, second = advised.routers
    segments = sum(flow.sent_packets - flow.lost_packets for flow in advised.flows)
    # Packets that wait at the first router when the run ends have no option yet. A SYN and the last ACK of a handshake
    # have one.
    assert 0.9 * segments < first.inserted <= segments + 2 * len(advised.flows)
    assert 0 < second.kept + second.lowered <= first.inserted
    # ACKs meet the second router first.
    assert 0 < first.kept + first.lowered <= second.inserted < first.inserted
    assert (first.full, first.malformed, first.unsupported, first.asked) == (0, 0, 0, 0)
    assert advised.router("r2") is second
    with pytest.raises(InputError, match=r"router is 's1'; allowed: r1, r2"):
        advised.router("s1")


def test_means_over_runs_are_means(advised_often: Batch) -> None:
    values = advised_often.values("router", "r1", "inserted")
    assert len({*values}) > 1
    assert advised_often.router("r1").inserted == pytest.approx(sum(value or 0 for value in values) / 3)
    assert advised_often.estimate("router", "r1", "inserted").n == 3


def test_routers_of_acns_count_questions_and_commands() -> None:
    run = nw.run("acns", seed=1)
    assert [router.name for router in run.routers] == as_json(run.scenario)["acns"]["routers"]
    assert sum(router.asked for router in run.routers) > 1000
    assert sum(router.wrote_freeze + router.wrote_fallback for router in run.routers) > 0
    assert not any(router.inserted or router.kept for router in run.routers)
    assert told(run.routers)[0] == "asked"
    assert re.search(r"^ACNS +asked +froze", printed(run), re.MULTILINE)


def test_the_terminal_shows_what_happened_and_no_columns_of_zeros(advised: Run) -> None:
    text = printed(advised)
    assert re.search(r"^NGWA +inserted +kept *$", text, re.MULTILINE)
    row = re.search(r"^r1 +([\d,]+) +([\d,]+) *$", text, re.MULTILINE)
    assert row is not None
    assert row[1] == f"{advised.routers[0].inserted:,}"
    assert row[2] == f"{advised.routers[0].kept:,}"
    assert max(map(len, text.splitlines())) <= 80


def test_the_terminal_tells_what_was_left_alone_and_why(advised: Run) -> None:
    busy = replace(advised.routers[0], lowered=7, full=11, malformed=13, unsupported=17)
    text = printed(replace(advised, routers=(busy, advised.routers[1])))
    assert re.search(r"^NGWA +inserted +lowered +kept +no room +malformed +not possible *$", text, re.MULTILINE)
    assert len(re.findall(r"left alone", text)) == 3
    assert re.search(r"^r1 +[\d,]+ +7 +[\d,]+ +11 +13 +17 *$", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 80


def test_routers_that_did_nothing_are_named_without_a_table(advised: Run, one: Run) -> None:
    assert "asked nothing: r9" in printed(replace(advised, routers=(QUIET,)))
    assert "router" not in printed(one)


def test_a_crowd_of_routers_is_cut(advised: Run) -> None:
    many = tuple(replace(advised.routers[0], name=f"r{i}") for i in range(14))
    text = printed(replace(advised, routers=many))
    assert "(4 routers not shown; --json has all)" in text
    assert re.search(r"^r9 ", text, re.MULTILINE)
    assert not re.search(r"^r10 ", text, re.MULTILINE)


def test_a_notebook_shows_them(advised: Run, one: Run) -> None:
    shown = advised._repr_html_()
    assert "<th>router</th><th>options inserted</th><th>options kept</th>" in shown
    assert "<th>router</th>" not in one._repr_html_()


def test_a_notebook_says_what_a_scheme_is_set_to(advised: Run, short: Scenario) -> None:
    shown = advised.scenario._repr_html_()
    assert "<th>NGWA</th>" in shown
    assert "<td>Flow division</td><td>on: 0.98 × the queue&#39;s limit / its flows</td>" in shown
    assert "<th>NGWA</th>" not in short._repr_html_()


@pytest.mark.parametrize(
    ("number", "congestion_window", "smoothing", "flow_division"),
    [
        (1, True, False, False),
        (2, True, True, False),
        (3, False, False, False),
        (4, False, True, False),
        (5, True, False, True),
        (6, True, True, True),
        (7, False, False, True),
        (8, False, True, True),
    ],
)
def test_modes_are_those_of_the_papers_table(
    number: int, congestion_window: bool, smoothing: bool, flow_division: bool
) -> None:
    assert NgwaMode.of(number) == NgwaMode(number, congestion_window, smoothing, flow_division)


@pytest.mark.parametrize("mode", range(1, 9))
def test_a_flow_without_congestion_window_has_no_congestion_control(mode: int, advised: Run) -> None:
    scenario = advised.scenario.with_overrides({"ngwa.mode": mode, "flows.second.tcp.assist": "none"})
    named = "reno" if NgwaMode.of(mode).congestion_window else "none"
    assert scenario.congestion_controls() == {"first": named, "second": "reno"}
    # In the engine, a flow without a congestion window has the largest window that TCP can express.
    run = nw.run(scenario.with_overrides({"duration": "3 s"}))
    cwnd = run.samples.frame("flow").groupby("name", observed=True)["cwnd_bytes"].max()
    assert bool(cwnd["first"] > 1e9) is (named == "none")
    assert cwnd["second"] < 1e9


def test_at_most_one_scheme_runs(advised: Run, short: Scenario) -> None:
    assert running(short.resolved) is None
    found = running(advised.scenario.resolved)
    assert found is not None
    assert (found[0], found[1]["mode"]) == ("ngwa", 5)


def test_show_says_what_a_mode_means(advised: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(advised.scenario.text)
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "mine.toml")])
    assert "mode 5: with congestion window and flow division, without smoothing" in shown.stderr
    assert as_json(Scenario.from_text(shown.stdout)) == as_json(advised.scenario)
