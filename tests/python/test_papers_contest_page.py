"""The contest of fifteen variants with real runs: measurements, claims, and pages."""

from __future__ import annotations

import csv
import json
import re
import time
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from rich.console import Console
from tests.python.plainly import as_json

from narrows import contest
from narrows.base.errors import InputError
from narrows.cli.curves import print_curve
from narrows.execution.means import Means
from narrows.studies.reproduction import reproduce
from narrows.studies.reproduction.result import Curve
from narrows_papers.contest import evaluation, evidence, experiment, heat, page, pair, published, report, rests, text
from narrows_papers.contest.claims import claims, examples, hybla_takes_more
from narrows_papers.contest.measured import Meeting, Once, collect
from narrows_papers.contest.variants import NAMES, VARIANTS, variant
from narrows_papers.frame import execute

if TYPE_CHECKING:
    from pathlib import Path

    from narrows_papers.contest.experiment import Made

FEW = tuple(variant(name) for name in ("Reno", "Vegas"))


def reproduce_few(folder: Path) -> Any:
    """Run a quick reproduction with two variants instead of seven."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "QUICK_VARIANTS", FEW)
        patch.setattr(report, "PAIRS", (("Reno", "Vegas"),))
        return reproduce("contest", folder, quick=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("contest") / "out"
    return folder, reproduce_few(folder)


@pytest.fixture(scope="module")
def runs() -> Made:
    plans = {of: experiment.plan(of, FEW, runs=2) for of in experiment.SETS}
    return experiment.Made(plans, {of: contest.execute(one).records for of, one in plans.items()}, 0)


def meeting(first: str, second: str, tpp: tuple[float, float], time: float | None = 2.0, runs: int = 3) -> Meeting:
    share = tpp[1] / sum(tpp)
    return Meeting(first, second, tuple(Once(i, tpp[0], tpp[1], share, time) for i in range(runs)))


def as_published() -> dict[tuple[str, str], Meeting]:
    """Return meetings with exactly the published TPPs of both starters, as far as the reading provides them."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for one in published.read():
        found.setdefault((one.first, one.second), {})[one.of] = one.tpp
    pairs = {}
    for (first, second), tpp in found.items():
        time = {"Reno": 15.5, "Compound": 1.5}.get(first, 3.0)
        pairs[first, second] = meeting(first, second, (tpp["first"], tpp.get("second", 0.65 - tpp["first"])), time)
    return pairs


def test_the_scenario_is_the_published_network() -> None:
    resolved = as_json(experiment.scenario())
    flows = [(f["from"], f["to"], f["start_ns"] / 1e9, f["stop_ns"] / 1e9) for f in resolved["flows"]]
    assert flows == [("n0", "n3", 5, 105), ("n1", "n4", 15, 120)]
    assert {(link["forward"]["rate_bps"], link["forward"]["delay_ns"]) for link in resolved["links"]} == {(10e6, 2e6)}
    (channel,) = resolved["wifi"]
    assert channel["base"]["node"] == "base"
    assert [one["node"] for one in channel["stations"]] == ["n3", "n4"]
    assert (channel["mode"], channel["basic_rate_bps"]) == ({"kind": "rate", "rate_bps": 1_000_000}, 1_000_000)
    assert (channel["slot_ns"], channel["sifs_ns"], channel["cw_min"], channel["cw_max"]) == (20_000, 10_000, 31, 1023)
    assert (channel["short_retry"], channel["long_retry"], channel["rts_threshold_bytes"]) == (7, 4, 0)


def test_a_contest_is_the_papers_450_runs() -> None:
    plan = experiment.plan("limited", runs=1)
    assert plan.total == 450
    assert plan.labels == NAMES
    assert (plan.window.start_s, plan.window.end_s) == experiment.WINDOW_S


def test_the_sets_differ_in_the_window_limit_alone() -> None:
    both = [experiment.plan(of, VARIANTS, runs=1, orders=("as_is",)) for of in experiment.SETS]
    for one, other in zip(*(plan.matches for plan in both), strict=True):
        flows = [dict(as_json(match.scenario)) for match in (one, other)]
        tcp = [[flow.pop("tcp") for flow in map(dict, some["flows"])] for some in flows]
        for limited, unlimited in zip(*tcp, strict=True):
            changed = {key for key in limited if limited[key] != unlimited[key]}
            assert changed <= {"max_cwnd_bytes", "initial_ssthresh_bytes"}


def test_both_orders_of_slots_are_runs_of_the_one_who_starts_first(runs: Made) -> None:
    records = runs.records["limited"]
    assert len(records) == 2 * len(experiment.ORDERS) * len(FEW) ** 2
    found = collect(records)
    assert set(found) == {(a.name, b.name) for a in FEW for b in FEW}
    one = found["Reno", "Vegas"]
    assert len(one.runs) == 4
    as_is = next(r for r in records if (r.first, r.second, r.order, r.run) == ("Reno", "Vegas", "as_is", 0))
    swapped = next(r for r in records if (r.first, r.second, r.order, r.run) == ("Vegas", "Reno", "swapped", 0))
    tpps = [flow.tpp_mbps * 1e6 / 2**20 for flow in (as_is.flows[0], swapped.flows[1]) if flow and flow.tpp_mbps]
    assert sorted(r.tpp_first for r in one.runs if r.run == 0) == pytest.approx(sorted(tpps))
    assert one.tpp("first").n == 2


def test_the_limit_binds_in_the_limited_set_only(runs: Made) -> None:
    """Two flows of at most 20 segments cannot overflow a queue of 50 packets; without a limit Reno does."""
    lost = {
        of: sum(flow.lost_packets for one in runs.records[of] for flow in one.flows if flow) for of in experiment.SETS
    }
    assert lost["unlimited"] > 100 > lost["limited"]


def test_cells_are_read_as_marked() -> None:
    compared = evaluation.compare({("Cubic", "Vegas"): meeting("Cubic", "Vegas", (0.5, 0.1))})
    told = [(one.printed.name, one.cell.published, round(one.cell.measured, 9)) for one in compared]
    assert told == [("table2/Cubic/Vegas", 0.568, 0.5), ("table3/Vegas/Cubic", 0.084, 0.1)]


def test_the_published_values_agree_with_themselves() -> None:
    compared = evaluation.compare(as_published())
    shares = evaluation.shares(compared)
    assert {group: shares[group].total for group in evaluation.GROUPS} == {"others": 338, "hybla": 54, "vegas": 58}
    assert shares["others"].near == 338
    assert shares["vegas"].near == 58
    assert {one.printed.slip for one in evaluation.beyond(compared)} <= {"by_row", "repeated"}


def test_claims_hold_for_what_the_paper_prints() -> None:
    found = claims(as_published(), as_published())
    failing = [one.text for one in found if not one.holds]
    assert len(found) == 11
    assert all("fast networks" in one or "Hybla has more" in one for one in failing)


def test_claims_rest_on_the_choices_under_which_they_do_not_hold() -> None:
    found = claims(as_published(), as_published())
    told = {text.split(" (")[0]: choice for text, choice in rests.choices(found, evidence.search()).items()}
    assert told["Hybla relegates Westwood"] == "ns-2's defaults (not so with: window limit binds Hybla, too)"
    assert "queue of 25 packets" in told["Reno and CUBIC come to share"]
    assert not any(text.startswith("Vegas yields") for text in told), "every choice keeps it"


def test_the_score_has_other_choices_beside_it() -> None:
    readings = evaluation.readings(as_published(), published.read())
    told = rests.score(readings, evidence.search())
    assert told.startswith("by the captions as printed ")
    assert "22 cells with no RTS and CTS" in told
    assert "17 cells with an ACK for every second segment" in told
    assert told in text.headline(readings, [], 5, told)


def test_claims_fail_where_all_are_equal() -> None:
    equal = {(a, b): meeting(a, b, (0.325, 0.325), 3.0) for a in NAMES for b in NAMES}
    found = {one.text.split(" (")[0]: one.holds for one in claims(equal, equal)}
    holding = {text for text, holds in found.items() if holds}
    assert {text.split()[0] for text in holding} == {"Without", "Vegas", "Reno", "Compound"}
    assert not found["Vegas yields to every other variant, whether it starts first or second"]
    assert not found["Reno against CUBIC takes longer to come to equilibrium than Compound against CUBIC"]


def test_a_pair_without_equilibrium_counts_as_slower() -> None:
    pairs = as_published()
    pairs["Reno", "Cubic"] = meeting("Reno", "Cubic", (0.32, 0.32), None)
    told = next(one for one in claims(pairs, pairs) if "takes longer" in one.text)
    assert told.holds
    assert told.measured.startswith("never and 1.5 s")


def test_equilibrium_is_the_median_and_needs_most_runs() -> None:
    once = [Once(i, 0.3, 0.3, 0.5, time) for i, time in enumerate((1.0, 2.0, 9.0, None))]
    assert Meeting("Reno", "Cubic", tuple(once)).equilibrium_s == 2.0
    rare = [Once(i, 0.3, 0.3, 0.5, time) for i, time in enumerate((1.0, None))]
    assert Meeting("Reno", "Cubic", tuple(rare)).equilibrium_s is None
    kept = [replace(one, second_share=0.2) for one in once]
    assert Meeting("Reno", "Vegas", tuple(kept)).equilibrium_s is None


def test_every_cell_beyond_has_a_reason_and_no_other() -> None:
    far = {pair: meeting(*pair, (1.0, 2.0)) for pair in as_published()}
    compared = evaluation.compare(far)
    assert all(text.reason(one) in text.reasons().values() for one in compared)
    assert {text.reason(one) for one in compared} == set(text.reasons().values())
    assert all(text.reason(one) is None for one in evaluation.compare(as_published()) if one.within(6))


def test_what_is_said_of_ns2_is_what_its_table_has() -> None:
    others = evidence.ns2()
    assert len(others) == 450
    printed = published.read()
    plain = [one for one in printed if not {"Vegas", "Hybla"} & {one.first, one.second}]
    assert evidence.near(others, plain, 6) == (338, 338)
    second = others["Cubic", "Vegas", "second"]
    assert second.low <= second.mean <= second.high
    rows = {"Bic", "Cubic", "Illinois", "Westwood"}
    assert all(others["Hybla", one, "first"].mean > others["Hybla", one, "second"].mean for one in rows)


def test_the_distance_to_ns2_is_none_for_its_own_means() -> None:
    others = evidence.ns2()
    own = {
        (a, b): meeting(a, b, (others[a, b, "first"].mean, others[a, b, "second"].mean)) for a in NAMES for b in NAMES
    }
    middle, near, total = evidence.distance(others, own, 6)
    assert (round(middle, 9), near, total) == (0, 450, 450)
    twice = {pair: meeting(*pair, (2 * one.tpp("first").mean, 2 * one.tpp("second").mean)) for pair, one in own.items()}
    assert evidence.distance(others, twice, 6)[1] == 0


def test_maps_have_the_papers_ranges_and_mark_the_slips() -> None:
    one = heat.published_map(published.read(), 3)
    assert one.squares["Vegas", "Cubic"] == heat.Square(
        ".084", heat.BAND_COLOURS[0], "Vegas / Cubic: 0.084 (read by row)", "by_row"
    )
    assert one.squares["Cubic", "Cubic"].colour == heat.BAND_COLOURS[2]
    assert one.squares["Cubic", "Vegas"].colour == heat.BAND_COLOURS[3]
    assert len(one.squares) == 225


def test_maps_of_differences_tell_sides_apart() -> None:
    colours = [heat.difference_colour(percent) for percent in (-31, -7, 0, 7, 31)]
    assert tuple(colours) == heat.DIFFERENCE_COLOURS


def test_maps_of_behaviours_tell_the_time() -> None:
    pairs = {
        ("Reno", "Cubic"): meeting("Reno", "Cubic", (0.32, 0.32), 4.5),
        ("Cubic", "Vegas"): meeting("Cubic", "Vegas", (0.5, 0.1)),
        ("Vegas", "Cubic"): meeting("Vegas", "Cubic", (0.1, 0.5)),
    }
    squares = heat.behaviour_map("", pairs).squares
    assert [squares[pair].text for pair in pairs] == ["4.5", "1", "2"]


def test_the_reproduction_writes_what_it_says(made: tuple[Path, Any]) -> None:
    folder, result = made
    assert result.paths[0] == folder / "report.html"
    assert all(path.is_file() for path in result.paths)
    names = {path.name for path in result.figures}
    for stem in ("table-2", "table-3", "unlimited", "behaviours", "pair-limited-reno-vegas", "topology"):
        assert {f"{stem}.png", f"{stem}.svg"} <= names
    assert (folder / "runs.jsonl").is_file()


def test_its_summary_is_the_contract(made: tuple[Path, Any]) -> None:
    folder, result = made
    summary = json.loads((folder / "summary.json").read_text())
    contract = result.to_json()
    assert {key: summary[key] for key in contract} == contract
    assert summary["total"] == 2 * len(FEW) ** 2
    assert summary["within_6_percent"]["all"]["total"] == 8
    names = [cell["name"] for cell in summary["cells"]]
    assert names[:2] == ["table2/Reno/Reno", "table2/Reno/Vegas"]
    assert len(names) == 8 + 8


def test_its_table_of_cells_tells_how_they_are_read(made: tuple[Path, Any]) -> None:
    folder, _ = made
    rows = {row["name"]: row for row in csv.DictReader((folder / "cells.csv").read_text().splitlines())}
    one = rows["table3/Vegas/Reno"]
    assert (one["first"], one["second"], one["of"], one["published"]) == ("Reno", "Vegas", "second", "0.082")
    for row in rows.values():
        if row["published"]:
            assert bool(row["reason"]) == (abs(float(row["difference_percent"])) > 6)


def test_it_goes_on_where_it_was(made: tuple[Path, Any]) -> None:
    folder, _ = made
    before = (folder / "runs.jsonl").read_bytes()
    summary = (folder / "summary.json").read_bytes()
    reproduce_few(folder)
    assert (folder / "runs.jsonl").read_bytes() == before
    assert (folder / "summary.json").read_bytes() == summary


class Links(HTMLParser):
    """Collects the resources that a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        wanted = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}.get(tag)
        self.loaded += [value for name, value in attrs if name == wanted and value]


def test_its_page_loads_nothing_from_elsewhere(made: tuple[Path, Any]) -> None:
    folder, result = made
    shown = (folder / "report.html").read_text()
    links = Links()
    links.feed(shown)
    assert links.loaded
    assert all(link.startswith("data:") for link in links.loaded)
    assert not re.search(r"@import|url\((?!data:)", shown.split("</style>")[0])
    for claim in result.claims:
        assert claim.text.split("(")[0].strip() in shown
    assert shown.count('class="heat"') == 14


def test_a_directory_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError):
        reproduce("contest", tmp_path, quick=True)
    with pytest.raises(InputError):
        reproduce("contest", tmp_path, pair=("reno", "vegas"), runs=1)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_pair_is_found_by_any_of_its_names(tmp_path: Path) -> None:
    result = reproduce("contest", tmp_path / "pair", pair=("ILLINOIS", "vegas"), runs=1)
    assert all(path.is_file() for path in result.paths)
    assert [cell.name for cell in result.cells[:2]] == ["table2/Illinois/Vegas", "table3/Vegas/Illinois"]
    assert [claim.text.split(" (")[0] for claim in result.claims] == ["Illinois keeps the link when Vegas joins"]
    assert [curve.title.rpartition(": ")[2] for curve in result.curves] == ["throughput", "cwnd"] * 2
    page_text = (tmp_path / "pair" / "report.html").read_text()
    assert "Illinois against Vegas" in page_text


def test_a_pair_of_one_variant_tells_its_flows_apart() -> None:
    (duel,) = execute.run_set(pair.runs([("limited", "Reno", "Reno")], 1), Means())
    assert pair.labels(duel) == ("Reno, first", "Reno, second")
    rates, windows = pair.curves(duel)
    assert max(np.nanmax(row.y) for row in windows) <= 20
    # The second starts at 15 s; the first stops at 105 s.
    assert np.nansum(rates[1].y[rates[1].x < 15]) == 0
    assert np.nanmax(rates[0].y[rates[0].x > 107]) == 0


def test_the_pairs_record_is_that_of_the_contest(runs: Made) -> None:
    (duel,) = execute.run_set(pair.runs([("limited", "Reno", "Vegas")], 1), Means())
    once = next(
        r for r in runs.records["limited"] if (r.first, r.second, r.order, r.run) == ("Reno", "Vegas", "as_is", 0)
    )
    assert duel.runs[0].digest == once.digest


def test_what_is_not_run_is_not_claimed() -> None:
    assert examples({}) == []
    assert claims({}, {}) == []


def test_curves_in_a_terminal_are_as_high_as_their_values() -> None:
    out = Console(width=60, record=True, color_system=None)
    x = np.arange(0, 100, 1.0)
    print_curve(Curve("cwnd", "segments", (("a", x, np.full(100, 20.0)), ("b", x, np.zeros(100)))), out)
    drawn = out.export_text().splitlines()
    assert drawn[0].startswith("cwnd (segments)")
    assert "●" in drawn[1]
    assert "○" in drawn[9]
    assert not any("●" in line for line in drawn[2:])
    assert max(map(len, drawn)) <= 60


def test_nearness_counts_every_cell_once_by_group() -> None:
    rows = page.nearness(evaluation.readings(as_published(), published.read()))
    assert rows[0].cells == sum(row.cells for row in rows[5:]) == 450


@pytest.mark.parametrize(("by_row", "moved_cells"), [(False, 41), (True, 225 - 15 - 41)])
def test_each_reading_assigns_every_cell_but_the_row_that_is_printed_twice(by_row: bool, moved_cells: int) -> None:
    printed = published.read()
    assigned = evaluation.assigned(printed, by_row=by_row)
    assert len(assigned) == 437
    assert {(one.table, one.of) for one in assigned} == {(2, "first"), (3, "second")}
    starts = {(one.first, one.second) == (one.row, one.column) for one in assigned if one.table == 3}
    assert starts == ({True, False} if by_row else {True})  # a variant against itself is the same by either
    where = {one.name: one for one in assigned}
    moved = [one for one in printed if one.name in where and one != where[one.name]]
    assert len(moved) == moved_cells
    assert by_row or all({"Vegas", "Hybla"} & {one.row, one.column} for one in moved)


def test_the_readings_are_explained_in_three_sentences() -> None:
    found = evaluation.readings(as_published(), published.read())
    said = text.explained(found)
    assert said.count(". ") == 2
    for cells in (found.read, found.captioned, found.by_row):
        assert str(evaluation.share(cells)) in said
    assert evaluation.share(found.captioned).near < evaluation.share(found.read).near - 13


@pytest.mark.slow
def test_the_contest_reaches_its_figures() -> None:
    """Nine of ten cells without Vegas within 6 %, Hybla ahead of all, 450 runs in 120 s of processor time.

    Cells of runs in which Vegas starts first, and those of its rivals, are within 30 %. If it starts second, its TPP is
    what ns-2 has over seeds; the published figures are a low one of these (see the page).
    """
    begin = time.process_time()
    done = contest.execute(experiment.plan("limited", runs=1))
    assert time.process_time() - begin < 120
    meetings = collect(done.records)
    compared = evaluation.compare(meetings)
    assert evaluation.share([one for one in compared if one.group != "vegas"]).of_1 >= 0.9
    assert evaluation.shares(compared)["others"].of_1 == 1
    for one in compared:
        joined = one.printed.second == "Vegas" and one.printed.of == "second" and one.printed.first != "Vegas"
        assert one.within(evaluation.VEGAS_PERCENT) or joined, one
    others = evidence.ns2()
    for name in NAMES:
        if name not in ("Vegas", "Hybla"):
            assert 0.06 < meetings[name, "Vegas"].tpp("second").mean < 0.19
            assert 0.06 < others[name, "Vegas", "second"].mean < 0.19
    told = hybla_takes_more(meetings)
    assert told is not None
    assert told.holds
