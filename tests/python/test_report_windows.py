"""Windows in reports: whether cwnd or rwnd limits a flow, windows announced by routers, and schemes' settings."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from tests.python.plainly import as_json

import narrows as nw
from narrows.model.scenario import Scenario
from narrows.report import charts, figures, network, schemes, windows, write_report
from narrows.report.write import metric_tables

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.outcome import Batch, Outcome, Run
    from narrows.report.charts import Figure, Panel

SPAN = (0.0, 4.0)
NO_ROUTERS = pd.DataFrame({"run": [], "time_s": [], "name": [], "flows": [], "window_bytes": []})


def flows(*, cwnd: list[float], rwnd: list[float], sent: list[float] | None = None) -> pd.DataFrame:
    """Samples of one flow, one per second, in kB."""
    n = len(cwnd)
    kilo = {"cwnd_bytes": cwnd, "rwnd_bytes": rwnd, "sent_bytes": sent or list(range(1, n + 1))}
    columns = {name: [value * 1e3 for value in values] for name, values in kilo.items()}
    return pd.DataFrame({"run": [0] * n, "time_s": np.arange(n, dtype=float), "name": ["a"] * n} | columns)


def routers(told: dict[str, list[float]], count: int = 2) -> pd.DataFrame:
    """Samples of routers, one per second, in kB."""
    parts = [
        pd.DataFrame(
            {
                "run": [0] * len(values),
                "time_s": np.arange(len(values), dtype=float),
                "name": [name] * len(values),
                "flows": [count] * len(values),
                "window_bytes": [value * 1e3 for value in values],
            }
        )
        for name, values in told.items()
    ]
    return pd.concat(parts)


def drawn(frame: pd.DataFrame, told: pd.DataFrame = NO_ROUTERS) -> Figure:
    made = windows.windows(frame, told, {"a": 0}, SPAN)
    assert made is not None
    return made


def figure_of(result: Outcome, name: str) -> Figure:
    order = {flow["name"]: index for index, flow in enumerate(as_json(result.scenario)["flows"])}
    made = figures.all_figures(result.samples, order, result.scenario.duration_s)
    return next(figure for figure in made if figure.name == name)


def panel(figure: Figure, label: str) -> Panel:
    return next(panel for panel in figure.panels if panel.y_label == label)


def named(panel: Panel) -> list[str]:
    return [line.name for line in panel.lines]


def test_a_receivers_window_that_never_rules_is_not_drawn() -> None:
    made = drawn(flows(cwnd=[10, 20, 30], rwnd=[64, 64, 30]))
    assert (made.name, made.title) == ("cwnd", "Congestion window over time")
    assert [panel.y_label for panel in made.panels] == ["cwnd (kB)"]


def test_where_it_ever_rules_the_smaller_of_the_two_is_drawn() -> None:
    made = drawn(flows(cwnd=[10, 20, 30, 40], rwnd=[64, 15, 30, 25]))
    assert made.title == "Windows over time"
    assert [panel.y_label for panel in made.panels] == ["min(cwnd, rwnd) (kB)", "cwnd (kB)", "rwnd (kB)"]
    assert panel(made, "min(cwnd, rwnd) (kB)").lines[0].y.tolist() == [10, 15, 30, 25]
    assert panel(made, "rwnd (kB)").lines[0].y.tolist() == [64, 15, 30, 25]
    assert "rwnd was the smaller one in 50 % of the flow's samples" in made.caption


def test_a_window_that_never_bounds_its_flow_does_not_press_the_others_onto_the_axis() -> None:
    bounded = flows(cwnd=[10, 40, 60, 50], rwnd=[30, 30, 30, 30])
    free = flows(cwnd=[10, 20, 30, 40], rwnd=[16_000] * 4).assign(name="b")
    made = windows.windows(pd.concat([bounded, free]), NO_ROUTERS, {"a": 0, "b": 1}, SPAN)
    assert made is not None
    assert named(panel(made, "rwnd (kB)")) == ["a"]
    assert named(panel(made, "cwnd (kB)")) == ["a", "b"]
    assert "rwnd is drawn only for flows that it limits at some time" in made.caption
    assert "limits at some time" not in drawn(bounded).caption


def test_nothing_is_a_window_of_zero_before_the_handshake_and_a_zero_window_after_it() -> None:
    made = drawn(flows(cwnd=[10, 10, 10], rwnd=[0, 64, 0], sent=[0, 1, 2]))
    assert np.isnan(panel(made, "rwnd (kB)").lines[0].y[0])
    assert panel(made, "min(cwnd, rwnd) (kB)").lines[0].y.tolist()[1:] == [10, 0]
    alone = drawn(flows(cwnd=[10, 10], rwnd=[0, 64], sent=[0, 1]))
    assert alone.title == "Congestion window over time"


def test_without_a_congestion_window_there_is_rwnd_alone() -> None:
    largest = (65_535 << 14) / 1e3
    made = drawn(flows(cwnd=[10, largest, largest], rwnd=[0, 64, 40], sent=[0, 1, 2]))
    assert [panel.y_label for panel in made.panels] == ["rwnd (kB)"]
    assert "RFC 793" in made.caption
    assert made.panels[0].lines[0].in_legend


def test_routers_that_tell_about_as_little_stand_beside_rwnd() -> None:
    told = routers({"r1": [97, 12, 30], "r2": [400, 400, 400], "r3": [64, 64, 64]})
    made = drawn(flows(cwnd=[90, 90, 90], rwnd=[64, 15, 30]), told)
    rwnd = panel(made, "rwnd (kB)")
    assert named(rwnd) == ["r1 tells", "r3 tells", "a"]
    assert rwnd.lines[0].y.tolist() == [97, 12, 30]
    assert "Of 3 routers the 2 that told the smallest windows are drawn." in made.caption
    limits = charts.described(made)["panels"][2]["y_range"]
    assert limits == pytest.approx([0, 64 * 1.06])  # r1's first large value does not widen the range


def test_a_crowd_of_routers_leaves_those_that_told_the_least() -> None:
    told = routers({f"r{i}": [60.0 - i, 60.0 - i] for i in range(9)})
    rwnd = panel(drawn(flows(cwnd=[90, 90], rwnd=[64, 60]), told), "rwnd (kB)")
    assert named(rwnd) == ["r5 tells", "r6 tells", "r7 tells", "r8 tells", "a"]


def test_a_router_without_flows_tells_nobody() -> None:
    assert windows.router_windows(routers({"r1": [97, 97]}, count=0), SPAN) is None
    made = drawn(flows(cwnd=[90], rwnd=[64]), routers({"r1": [30]}, count=0))
    assert named(panel(made, "rwnd (kB)")) == ["a"]


def test_short_peaks_of_what_is_told_are_cut_off_and_owned_to() -> None:
    values = [50.0] * 300
    peaked = windows.router_windows(routers({"r1": [400.0, *values]}), SPAN)
    assert peaked is not None
    assert "up to 400 kB, are cut off" in peaked.caption
    assert panel(peaked, "Told (kB)").y_top == 50
    flat = windows.router_windows(routers({"r1": [97.0, *values]}), SPAN)
    assert flat is not None
    assert "cut off" not in flat.caption
    assert panel(flat, "Told (kB)").y_top is None


def test_samples_of_before_windows_were_told_are_drawn(advised: Run) -> None:
    old = advised.samples.frame("router").drop(columns="window_bytes")
    assert windows.router_windows(old, SPAN) is None
    made = windows.windows(advised.samples.frame("flow"), old, {}, SPAN)
    assert made is not None
    assert named(panel(made, "rwnd (kB)")) == ["first", "second"]


def test_the_windows_of_a_run_follow_what_its_routers_tell(advised: Run) -> None:
    made = figure_of(advised, "cwnd")
    rwnd = panel(made, "rwnd (kB)")
    lines = {line.name: line for line in rwnd.lines}
    share = int(0.98 * 60_000 / 2) / 1e3
    assert [lines[name].y[-1] for name in ("r1 tells", "first", "second")] == pytest.approx([share] * 3)
    counted = panel(figure_of(advised, "router-windows"), "Flows")
    assert {line.name: line.y[-1] for line in counted.lines} == {"r1": 2, "r2": 2}


@pytest.mark.parametrize("mode", range(1, 9))
def test_every_mode_can_be_drawn(mode: int, advised: Run) -> None:
    scenario = advised.scenario.with_overrides({"ngwa.mode": mode, "duration": "4 s"})
    labels = [panel.y_label for panel in figure_of(nw.run(scenario), "cwnd").panels]
    assert ("cwnd (kB)" in labels) is (mode in {1, 2, 5, 6})
    assert labels[-1] == "rwnd (kB)"


def test_a_small_receive_buffer_shows_without_any_scheme(short: Scenario) -> None:
    small = short.with_overrides({"tcp.recv_buffer": "30 kB"})
    made = figure_of(nw.run(small), "cwnd")
    assert [panel.y_label for panel in made.panels] == ["min(cwnd, rwnd) (kB)", "cwnd (kB)", "rwnd (kB)"]
    assert "Grey" not in made.caption
    top = np.nanmax(panel(made, "min(cwnd, rwnd) (kB)").lines[0].y)
    assert 0.9 * 30 < top <= 30


def test_commands_are_drawn_for_acns_alone(advised: Run) -> None:
    order = {"first": 0, "second": 1}
    names = [figure.name for figure in figures.all_figures(advised.samples, order, 8.0)]
    assert "router-windows" in names
    assert "router-commands" not in names
    acns = nw.run("acns", overrides={"sampling": "1 s"})
    names = [figure.name for figure in figures.all_figures(acns.samples, {}, acns.scenario.duration_s)]
    assert "router-commands" in names
    assert "router-windows" not in names


@pytest.fixture(scope="module")
def page(advised_often: Batch, tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_report(advised_often, tmp_path_factory.mktemp("ngwa")).read_text(encoding="utf-8")


def test_the_page_says_what_the_mode_means(page: str) -> None:
    text = re.sub(
        r"\s+", " ", re.sub(r"<[^>]+>", " ", page.split("<caption><b>NGWA</b>")[1].split("</table>", maxsplit=1)[0])
    )
    assert "Mode 5" in text
    assert "Congestion window on: senders keep their congestion control" in text
    assert "Smoothing off: the latest value" in text
    assert "Flow division on: 0.98 × the queue&#39;s limit / its flows" in text
    assert "Routers r1, r2" in text


def test_the_page_marks_and_counts_at_the_routers(page: str, advised_often: Batch) -> None:
    assert "a dashed ring marks a router that runs NGWA" in page
    table = page.split("What the routers did to packets")[1].split("</table>", maxsplit=1)[0]
    assert "Inserted" in table
    assert "Lowered" not in table
    assert "Malformed" not in table
    mean = advised_often.router("r1").inserted
    assert f"{mean:,.1f}" in table or f"{mean:,.0f}" in table


def test_routers_without_anything_to_tell_have_no_table(advised: Run) -> None:
    title = "What the routers did to packets"
    assert title in [table.title for table in metric_tables(advised, {})]
    still = tuple(replace(router, inserted=0, lowered=0, kept=0) for router in advised.routers)
    assert title not in [table.title for table in metric_tables(replace(advised, routers=still), {})]


def test_settings_say_what_each_mode_and_switch_does(advised: Run) -> None:
    def rows(**overrides: str | int | float | bool) -> dict[str, str]:
        scenario = advised.scenario.with_overrides({f"ngwa.{key}": value for key, value in overrides.items()})
        name, made = schemes.setting_rows(scenario.resolved)
        assert name == "NGWA"
        return dict(made)

    assert rows(mode=3)["Congestion window"].endswith("losses are recovered by the timer alone")
    assert rows(mode=3, fast_retransmit=True)["Congestion window"].endswith("as the flow's recovery says")
    assert rows(mode=2, alpha=0.25)["Smoothing"] == "on: S ← 0.75 S + 0.25 W at the receiver"
    assert rows(mode=2)["Flow division"] == "off: the queue's free bytes"
    assert rows(stamp="arrival")["Written"] == "before a packet enters"
    assert rows(max_window="64 KiB")["Largest window"] == "65,536 bytes"
    assert rows(shrink=True)["Right edge"] == "may move left"
    assert rows(idle_timeout="90 s")["Flow tables"].startswith("flows without a segment for 90 s leave")


def test_settings_of_acns_and_of_nothing(short: Scenario) -> None:
    name, rows = schemes.setting_rows(Scenario.from_file("acns").resolved)
    assert name == "ACNS"
    assert dict(rows)["Freeze, fallback"] == "from weights of 0.95 and 1"
    assert schemes.setting_rows(short.resolved) == ("", [])


def test_the_table_of_flows_owns_that_a_congestion_window_is_off(advised: Run) -> None:
    off = advised.scenario.with_overrides({"ngwa.mode": 8, "flows.second.tcp.assist": "none"})
    assert [row["cc"] for row in network.flow_rows(off.resolved)] == ["none (RFC 793) with NGWA", "reno"]
    assert network.flow_rows(advised.scenario.resolved)[0]["cc"] == "reno with NGWA"
    assert len(network.of(off).agents) == 2
    one = advised.scenario.with_overrides({"ngwa.enabled": False})
    assert not network.of(one).agents


def test_results_are_drawn_from_their_directory(advised: Run, tmp_path: Path) -> None:
    advised.save(tmp_path / "r")
    text = write_report(tmp_path / "r", tmp_path / "page").read_text(encoding="utf-8")
    assert (tmp_path / "page" / "figures" / "router-windows.png").exists()
    assert "What the routers did to packets" in text
