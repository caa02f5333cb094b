"""Cells of a case's grid, the expression of ``-k``, and which files are test cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from narrows.base.errors import InputError, ScenarioError
from narrows.model.scenario import Scenario
from narrows.studies.check import cells, dumbbell, files
from narrows.studies.check.cells import Cell, Grid
from narrows.studies.check.dumbbell import Path
from narrows.studies.check.selection import Selection

if TYPE_CHECKING:
    import pathlib

DUMBBELL = """
duration = "10 s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mb/s", delay = "20 ms", queue = { limit = "50 packets" } }
access = { rate = "100 Mb/s", delay = "1 ms" }
[[flows]]
from = "s1"
to = "d1"
"""
ASYMMETRIC = DUMBBELL.replace('delay = "20 ms",', 'delay = "20 ms", reverse = { delay = "30 ms", rate = "1 Mb/s" },')
PAIRS = """
duration = "10 s"
[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "10 Mb/s", delay = "20 ms" }
access = [{ rate = "100 Mb/s", delay = "1 ms" }, { rate = "1 Gb/s", delay = "10 ms" }]
[[flows]]
from = "s1"
to = "d1"
[[flows]]
from = "s2"
to = "d2"
"""


def made(text: str, cell: Cell, flow: int = 0) -> Scenario:
    scenario = Scenario.from_text(text)
    return scenario.with_overrides(dumbbell.overrides(scenario, flow, f"flows[{flow}]", cell))


@pytest.mark.parametrize("text", [DUMBBELL, PAIRS], ids=["one pair", "two pairs"])
@pytest.mark.parametrize("rate_bps", [64_000, 10_000_000, 1_000_000_000, 10_000_000_000])
@pytest.mark.parametrize("rtt_ns", [500_000, 1_000_000, 4_000_000, 100_000_000, 1_000_000_000])
def test_a_cell_has_its_rate_and_its_round_trip_time(text: str, rate_bps: int, rtt_ns: int) -> None:
    for flow in range(text.count("[[flows]]")):
        scenario = made(text, Cell(rate_bps, rtt_ns), flow)
        path = Path.of(scenario, flow)
        assert path is not None
        assert path.rate_bps == rate_bps
        assert path.rtt_ns == pytest.approx(rtt_ns, abs=2)
        access = [link for link in scenario.resolved.links if link.a != "r1" or link.b != "r2"]
        assert all(link.forward.rate_bps >= 10 * rate_bps for link in access)


def test_a_cell_keeps_values_that_are_enough() -> None:
    access = made(DUMBBELL, Cell(1_000_000, 100_000_000)).resolved.links[1].forward
    assert (access.rate_bps, access.delay_ns) == (100_000_000, 1_000_000)


def test_the_round_trip_time_counts_both_directions_where_they_differ() -> None:
    path = Path.of(made(ASYMMETRIC, Cell(rtt_ns=200_000_000)), 0)
    assert path is not None
    assert path.rtt_ns == 200_000_000
    assert path.rate_bps == 10_000_000


def test_a_buffer_is_in_bandwidth_delay_products_and_holds_a_window_at_least() -> None:
    limits = [
        made(DUMBBELL, cell).resolved.links[0].forward.queue.limit_packets
        for cell in (Cell(12_000_000, 100_000_000, 1.5), Cell(64_000, 1_000_000, 1.5), Cell(64_000, 1_000_000))
    ]
    assert limits == [150, dumbbell.LEAST_PACKETS, 50]


def test_a_cell_has_at_least_as_many_round_trips_as_the_file() -> None:
    base = Scenario.from_text(DUMBBELL)
    trips = base.duration_s / 0.044
    assert made(DUMBBELL, Cell(10_000_000, 1_000_000_000)).duration_s == pytest.approx(trips, rel=1e-6)
    assert made(DUMBBELL, Cell(10_000_000, 1_000_000)).duration_s == base.duration_s
    # Where four packets take longer than the round-trip time, they count: 4 x 12 kb at 64 kb/s are 0.75 s.
    assert made(DUMBBELL, Cell(64_000, 1_000_000)).duration_s == pytest.approx(trips * 0.75, rel=1e-6)


def test_a_receive_buffer_grows_to_the_limit_of_window_scaling() -> None:
    tcp = made(DUMBBELL, Cell(10_000_000_000, 1_000_000_000)).resolved.flows[0].tcp
    assert tcp is not None
    assert tcp.settings["recv_buffer_bytes"] == dumbbell.LARGEST_WINDOW


def test_a_grid_on_anything_but_a_dumbbell_is_refused() -> None:
    chain = """
    duration = "5 s"
    [topology]
    kind = "chain"
    routers = 1
    link = { rate = "10 Mb/s", delay = "5 ms" }
    [[flows]]
    from = "h1"
    to = "h2"
    """
    with pytest.raises(InputError, match='allowed: \\[topology\\] with kind = "dumbbell", or no grid'):
        made(chain, Cell(1_000_000, 100_000_000))


def test_a_grid_is_the_product_of_its_dimensions() -> None:
    grid = Grid.from_json({"rate_bps": [10**6, 64_000], "rtt_ns": [10**6, 10**8], "buffer_bdp": [1.5]})
    assert [cell.label for cell in grid.cells()] == [
        "64 kb/s x 1 ms x 1.5 BDP",
        "64 kb/s x 100 ms x 1.5 BDP",
        "1 Mb/s x 1 ms x 1.5 BDP",
        "1 Mb/s x 100 ms x 1.5 BDP",
    ]
    assert Grid.from_json(None).cells() == ()


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("10 Mb/s x 100 ms", "10 Mb/s x 100 ms"),
        ("10Mb/sx100ms", "10 Mb/s x 100 ms"),
        ("0.5 ms × 10 Gb/s", "10 Gb/s x 500 us"),
        ("1 Gbit/s x 1 s x 2 BDP", "1 Gb/s x 1 s x 2 BDP"),
    ],
)
def test_a_label_of_a_cell_is_read_again(text: str, label: str) -> None:
    cell = cells.parse(text, Grid())
    assert cell.label == label
    assert cells.parse(label, Grid()) == cell


@pytest.mark.parametrize("text", ["", "fast", "10 Mb/s x 5 Mb/s", "10 kB x 1 ms", "-1 Mb/s x 1 ms", "0 Mb/s x 1 ms"])
def test_what_is_no_cell_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--grid"):
        cells.parse(text, Grid())


@pytest.mark.parametrize(
    ("expression", "chosen"),
    [
        ("startup", [True, True, False]),
        ("not startup", [False, False, True]),
        ("STARTUP and not loss", [True, False, False]),
        ("loss or drain", [False, True, True]),
        ("not (loss or drain)", [True, False, False]),
        ("cubic", [False, False, False]),
    ],
)
def test_an_expression_selects_by_parts_of_names(expression: str, chosen: list[bool]) -> None:
    names = ["bbr/startup[10 Mb/s x 1 ms]", "bbr/startup-loss", "bbr/drain"]
    assert [Selection.parse(expression).takes(name) for name in names] == chosen


@pytest.mark.parametrize("expression", ["", "and", "a or", "(a", "a)", "not", "a b", "(" * 5000])
def test_what_is_no_expression_is_refused(expression: str) -> None:
    with pytest.raises(InputError, match=r"-k .*allowed: parts of names"):
        Selection.parse(expression)


CASE = DUMBBELL + '[[expect]]\neventually = "bottleneck.dropped > 0"\n'


def test_a_directory_gives_its_cases_at_any_depth_and_skips_other_scenarios(tmp_path: pathlib.Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "b.toml").write_text(CASE)
    (tmp_path / "deep" / "er" / "a.toml").write_text(CASE)
    (tmp_path / "plain.toml").write_text(DUMBBELL)
    (tmp_path / "notes.md").write_text("no case")
    found = files.find([tmp_path, tmp_path / "b.toml"])
    assert [one.path for one in found.files] == [str(tmp_path / "b.toml"), str(tmp_path / "deep/er/a.toml")]
    assert [name.rpartition("/")[2] for name in found.skipped] == ["plain"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: folder, "has no test cases; allowed: a directory with files"),
        (lambda folder: folder / "missing", "no such file or directory, and no bundled set of cases has that name"),
        (lambda folder: _written(folder / "a.toml", DUMBBELL), "has neither steps nor expectations"),
        (lambda folder: _written(folder / "a.toml", b"\xff\xfe"), "is not text in UTF-8"),
    ],
)
def test_what_holds_no_case_is_refused(tmp_path: pathlib.Path, make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        files.find([make(tmp_path)])  # type: ignore[operator]


def test_files_that_are_not_toml_are_named_with_their_lines(tmp_path: pathlib.Path) -> None:
    _written(tmp_path / "a.toml", "duration = \n")
    _written(tmp_path / "b.toml", CASE + "[[expect\n")
    with pytest.raises(ScenarioError) as caught:
        files.find([tmp_path])
    assert [problem.line for problem in caught.value.problems] == [1, CASE.count("\n") + 1]
    assert all("is not TOML" in problem.message for problem in caught.value.problems)


def _written(path: pathlib.Path, content: str | bytes) -> pathlib.Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
