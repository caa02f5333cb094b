"""Comparisons of queue disciplines: the plan, the ellipses, no repeated runs, the page, and bad input."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from narrows.base.errors import InputError, ScenarioError
from narrows.cli import app
from narrows.model.catalogue import engine_catalogue
from narrows.model.scenario import Scenario
from narrows.store.journal import RUNS
from narrows.studies import aqm
from narrows.studies.aqm import page

if TYPE_CHECKING:
    from pathlib import Path

SHORT = {"duration": "25 s"}


def test_every_bundled_scenario_takes_every_discipline() -> None:
    plan = aqm.make(runs=1)
    names = [row["name"] for row in engine_catalogue()["queues"]]
    assert plan.queues == tuple(name for name in names if name not in {"tbf", "policer"})
    assert plan.scenarios == aqm.SCENARIOS
    for cell in plan.cells:
        link = cell.scenario.resolved.links[0]
        assert link.forward.queue.kind == cell.queue
        assert link.forward.queue.limit_packets in {250, 500}


def test_the_slowest_direction_is_measured() -> None:
    observed = {cell.scenario_label: cell.observed for cell in aqm.make(["droptail"], runs=1).cells}
    assert observed["aqm-asymmetric"] == "r2->r1"
    assert {name for scenario, name in observed.items() if scenario != "aqm-asymmetric"} == {"r1->r2"}


def test_ecn_is_switched_on_where_the_discipline_has_it() -> None:
    cells = {cell.queue: cell for cell in aqm.make(["droptail", "codel", "codel:ecn=false"], ["aqm-ecn"], runs=1).cells}
    settings = {name: cell.scenario.resolved.links[0].forward.queue.settings for name, cell in cells.items()}
    assert "ecn" not in settings["droptail"]
    assert settings["codel"]["ecn"] is True
    assert settings["codel:ecn=false"]["ecn"] is False


def test_codel_trades_goodput_for_much_delay(tmp_path: Path) -> None:
    made = aqm.run(["droptail", "codel"], ["aqm-tcp-friendly"], runs=3, overrides={"duration": "40 s"}, out=tmp_path)
    tail, codel = (made.delay_ms(queue, "aqm-tcp-friendly").mean for queue in ("droptail", "codel"))
    assert codel < tail / 4
    goodput = [made.estimate("goodput_mbps", queue, "aqm-tcp-friendly").mean for queue in ("droptail", "codel")]
    assert 0.75 * goodput[0] < goodput[1] <= 10
    page.write(made, tmp_path)
    assert {"report.html", "aqm.json", "cells.csv", RUNS, "figures"} <= {one.name for one in tmp_path.iterdir()}
    told = json.loads((tmp_path / "aqm.json").read_text())
    assert [cell["queue"] for cell in told["cells"]] == ["droptail", "codel"]
    html = (tmp_path / "report.html").read_text()
    assert "TCP-friendly senders" in html
    assert page.command(made) in html.replace("&#39;", "'")


def test_no_run_is_repeated(tmp_path: Path) -> None:
    first = aqm.run(["codel"], ["aqm-tcp-friendly"], runs=1, overrides=SHORT, out=tmp_path)
    kept = (tmp_path / RUNS).read_text()
    more = aqm.run(["codel"], ["aqm-tcp-friendly"], runs=2, overrides=SHORT, out=tmp_path)
    assert (tmp_path / RUNS).read_text().startswith(kept)
    assert len(more.records) == 2
    assert more.records[0] == first.records[0]


def test_records_do_not_depend_on_the_number_of_jobs() -> None:
    one, two = (aqm.run(["red", "codel"], ["aqm-bursts"], runs=2, overrides=SHORT, jobs=jobs) for jobs in (1, 2))
    assert one.records == two.records


def test_the_ellipse_has_the_axes_of_the_covariance() -> None:
    plan = aqm.make(["codel"], ["aqm-tcp-friendly"], runs=4)
    made = aqm.run(["codel"], ["aqm-tcp-friendly"], runs=1, overrides=SHORT)
    from dataclasses import replace

    # Points on a line of slope 2: the minor axis is zero, and the major one is the standard deviation along it.
    points = [(1.0, 2.0), (2.0, 4.0), (3.0, 6.0), (4.0, 8.0)]
    records = tuple(replace(made.records[0], delay_mean_ms=x, goodput_mbps=y) for x, y in points)
    ellipse = aqm.Aqm(plan, records).ellipse("codel", "aqm-tcp-friendly")
    assert ellipse is not None
    assert (ellipse.delay_ms, ellipse.goodput_mbps) == (2.5, 5.0)
    assert ellipse.major == pytest.approx((math.sqrt(5 / 3), 2 * math.sqrt(5 / 3)))
    assert ellipse.minor == pytest.approx((0, 0), abs=1e-6)
    x, y = ellipse.outline(5)
    assert (x[0], y[0]) == pytest.approx((2.5 + math.sqrt(5 / 3), 5 + 2 * math.sqrt(5 / 3)))
    single = aqm.Aqm(plan, records[:1]).ellipse("codel", "aqm-tcp-friendly")
    assert single is not None
    assert single.major == (0.0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"queues": []}, "no queue; allowed: one or more"),
        ({"queues": ["codel", "codel"]}, "queue 'codel': is named twice"),
        ({"scenarios": ["aqm-ecn", "aqm-ecn"]}, "scenario 'aqm-ecn': is named twice"),
        ({"runs": 0}, "runs is 0; allowed: 1 or more"),
        ({"seed": -1}, "seed is -1; allowed: 0 to"),
        ({"queues": ["codel:target"]}, "'target' is not an assignment"),
        ({"scenarios": ["aqm-nothing"]}, "no such file"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        aqm.make(**arguments)  # type: ignore[arg-type]


def test_an_unknown_discipline_is_refused_with_its_place() -> None:
    with pytest.raises(ScenarioError) as refused:
        aqm.make(["kodel"], ["aqm-ecn"])
    assert "topology.bottleneck.queue.kind" in str(refused.value)
    assert "did you mean `codel`" in str(refused.value)


def test_a_discipline_replaces_the_bottlenecks_and_keeps_its_limit() -> None:
    made = Scenario.from_file("red-ecn").with_queue("fq_codel:target=10 ms:ecn=false")
    queue = made.resolved.links[0].forward.queue
    assert (queue.kind, queue.limit_packets) == ("fq_codel", 200)
    assert queue.settings["ecn"] is False
    assert made.resolved.links[1].forward.queue.kind == "droptail"


def test_without_a_bottleneck_all_disciplines_are_replaced() -> None:
    made = Scenario.from_file("hybrid-contest").with_queue("codel")
    assert {link.forward.queue.kind for link in made.resolved.links} == {"codel"}
    assert made.resolved.links[0].forward.queue.limit_packets == 50
    assert {station.queue.kind for station in made.channels[0].stations} == {"codel"}


def test_report_names_the_command_that_makes_the_page_of_a_comparison(tmp_path: Path) -> None:
    (tmp_path / "aqm.json").write_text("{}")
    done = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert done.exit_code == 2
    assert "the `narrows aqm` command that made it" in " ".join(done.stderr.split())
    assert [file.name for file in tmp_path.iterdir()] == ["aqm.json"]
