"""Sweep files: their meaning, and the errors in invalid ones."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.python.plainly import as_json

from narrows.base.errors import InputError, ScenarioError, SweepError
from narrows.model import own
from narrows.studies.sweep import address, bounds, lines
from narrows.sweep import Sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHORT = """
format = 1
name = "buffers"
scenario = "dumbbell-cubic"
seeds = 3

[set]
duration = "12 s"
topology.bottleneck.delay = "5 ms"

[[axes]]
name = "cc"
path = "tcp.cc"
values = ["reno", "cubic"]

[[axes]]
name = "buffer"
path = "topology.bottleneck.queue.limit"
range = { from = 10, to = 30, step = 10 }
unit = "packets"
"""


def axis(text: str) -> Sweep:
    return Sweep.parse(f'scenario = "dumbbell-cubic"\n[[axes]]\n{text}')


def labels(sweep: Sweep) -> list[object]:
    return [next(iter(point.labels.values())) for point in sweep.points]


def refused(text: str, *parts: str) -> list[str]:
    with pytest.raises(SweepError) as caught:
        Sweep.parse(text, "some.toml")
    told = [str(problem) for problem in caught.value.problems]
    for part in parts:
        assert any(part in line for line in told), f"{part} is not in {told}"
    return told


def test_axes_are_crossed_and_the_last_changes_fastest() -> None:
    sweep = Sweep.parse(SHORT)
    assert [tuple(point.labels.values()) for point in sweep.points] == [
        ("reno", 10), ("reno", 20), ("reno", 30), ("cubic", 10), ("cubic", 20), ("cubic", 30),
    ]  # fmt: skip
    assert len(sweep.runs) == 18
    assert [(run.point.index, run.seed) for run in sweep.runs[2:5]] == [(0, 3), (1, 1), (1, 2)]
    assert sweep.points[-1] is sweep.points[5]
    with pytest.raises(IndexError):
        sweep.points[6]


def test_a_point_is_the_scenario_with_its_values_and_those_of_set() -> None:
    point = Sweep.parse(SHORT).points[4]
    queue = next(link for link in as_json(point.scenario)["links"] if link["forward"]["rate_bps"] == 10_000_000)
    assert queue["forward"]["queue"]["limit_packets"] == 20
    assert queue["forward"]["delay_ns"] == 5_000_000
    assert point.scenario.duration_s == 12
    assert set(point.scenario.congestion_controls().values()) == {"cubic"}


def test_seeds_are_the_same_at_every_point() -> None:
    sweep = Sweep.parse(SHORT)
    by_point = {point.index: [run.seed for run in sweep.runs if run.point is point] for point in sweep.points}
    assert set(map(tuple, by_point.values())) == {(1, 2, 3)}
    listed = Sweep.parse('scenario = "dumbbell-cubic"\nseeds = [7, 3]')
    assert [run.seed for run in listed.runs] == [7, 3]
    assert str(listed.points[0]) == "the only point"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('path = "x"\nvalues = [1, 2]', [1, 2]),
        ('path = "x"\nrange = { from = 5, to = 21, step = 5 }', [5, 10, 15, 20]),
        ('path = "x"\nrange = { from = 3, to = 1, step = -1 }', [3, 2, 1]),
        ('path = "x"\nrange = { from = 0.1, to = 0.3, step = 0.1 }', [0.1, 0.2, 0.3]),
        ('path = "x"\nlog_range = { from = 1, to = 1000, count = 4 }', [1, 10, 100, 1000]),
        ('path = "x"\nlog_range = { from = 1, to = 4, count = 9 }', [1, 2, 3, 4]),
        ('path = "x"\nlog_range = { from = 1e-6, to = 1e-4, count = 3 }', [1e-6, 1e-5, 1e-4]),
        ('path = "x"\nvalues = ["a", "b"]\nlabels = ["first", "second"]', ["first", "second"]),
        ('path = "x"\nvalues = [{ kind = "red" }, { kind = "droptail" }]', ["{kind = red}", "{kind = droptail}"]),
    ],
)
def test_values_of_an_axis(text: str, expected: list[object]) -> None:
    assert labels(axis(text)) == expected


def test_decimals_reach_the_scenario_as_they_are_written() -> None:
    sweep = axis('path = "topology.bottleneck.per"\nvalues = [1e-6, 0.10]')
    assert [point.overrides["topology.bottleneck.per"] for point in sweep.points] == ["0.000001", "0.10"]
    forward = as_json(sweep.points[0].scenario)["links"][0]["forward"]
    assert any(link["forward"] != forward for link in as_json(sweep.points[1].scenario)["links"])


def test_a_unit_goes_to_the_scenario_and_the_number_into_the_column() -> None:
    sweep = axis('path = "topology.bottleneck.rate"\nvalues = [5, 10.5]\nunit = "Mb/s"\nname = "rate"')
    assert [dict(point.labels) for point in sweep.points] == [{"rate": 5}, {"rate": 10.5}]
    assert [point.overrides["topology.bottleneck.rate"] for point in sweep.points] == ["5 Mb/s", "10.5 Mb/s"]


def test_zipped_paths_move_together() -> None:
    text = 'zip = { "tcp.cc" = ["reno", "cubic"], "tcp.delayed_ack" = [true, false] }'
    both = axis(text)
    assert [dict(point.overrides) for point in both.points] == [
        {"tcp.cc": "reno", "tcp.delayed_ack": True},
        {"tcp.cc": "cubic", "tcp.delayed_ack": False},
    ]
    assert both.columns == ("tcp.cc", "tcp.delayed_ack")
    named = axis(f'name = "arm"\n{text}\nlabels = ["old", "new"]')
    assert [dict(point.labels) for point in named.points] == [{"arm": "old"}, {"arm": "new"}]


def test_scenarios_can_be_an_axis(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(Sweep.parse(SHORT).points[0].scenario.to_toml())
    file = tmp_path / "sweep.toml"
    file.write_text('[[axes]]\npath = "scenario"\nvalues = ["mine.toml", "speed-w1"]\n')
    sweep = Sweep.from_file(file)
    assert sweep.name == "sweep"
    assert [point.scenario.name for point in sweep.points] == ["dumbbell-cubic", "speed-w1"]
    assert labels(sweep) == ["mine.toml", "speed-w1"]


def test_overrides_of_the_command_line_win_over_set_and_not_over_axes() -> None:
    assert Sweep.parse(SHORT, overrides={"duration": "15 s"}).points[0].scenario.duration_s == 15
    with pytest.raises(InputError, match=r"--set tcp.cc: an axis of <text> sets this"):
        Sweep.parse(SHORT, overrides={"tcp.cc": "reno"})


def test_all_problems_are_told_at_once_with_line_field_value_and_what_is_allowed() -> None:
    text = """
format = 2
sede = 3
scenario = "no-such-scenario"
seeds = 0
keep = ["throughput"]
[[axes]]
name = "digest"
path = "tcp.cc"
values = []
[[axes]]
path = "a"
range = { from = 1, to = 10, step = -1 }
[[axes]]
path = "b"
values = [1]
log_range = { from = 1, to = 2, count = 3 }
[[axes]]
zip = { c = [1, 2], d = [1] }
"""
    told = refused(
        text,
        "some.toml:2: format is 2; allowed: 1",
        "some.toml:3: sede: there is no such key (did you mean seeds?); allowed: format, name",
        "some.toml:4: scenario is 'no-such-scenario'; allowed: a file beside the sweep",
        "some.toml:5: seeds is 0; allowed: how many",
        "some.toml:6: keep is 'throughput'; allowed: throughput_mbps",
        "some.toml:10: axes[0].values is []; allowed: a list",
        "some.toml:13: axes[1].range.step is -1; allowed: a step that leads from 1 to 10",
        "some.toml:14: axes[2]: has values and log_range; allowed: one of values, range and log_range",
        "some.toml:19: axes[3].zip: c has 2, d has 1; allowed: lists of the same length",
    )
    assert len(told) == 9


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('name = "digest"\npath = "tcp.cc"\nvalues = ["reno"]', "axes[0].name is 'digest'; allowed: a name that is no"),
        ('path = "x"\nvalues = [1, 1]', "a value occurs twice; allowed: each value once"),
        ('path = "x"\nvalues = [1]\nunit = 3', "axes[0].unit is 3; allowed: a unit"),
        ('path = "x"\nvalues = ["a"]\nunit = "ms"', "allowed: a unit beside plain numbers"),
        ('path = "x"\nvalues = [1]\nlabels = ["a", "b"]', "allowed: a list of 1 different texts or numbers"),
        (
            'path = "x"\nrange = { from = 1, to = 1e9, step = 1 }',
            "has 1,000,000,000 values; allowed: at most 1,000,000",
        ),
        ('path = "x"\nrange = { from = 1, to = "5 ms", step = 1 }', "range.to is '5 ms'; allowed: a number; units go"),
        ('path = "x"\nrange = { from = 1, to = 2 }', "range.step: is missing"),
        ('path = "x"\nlog_range = { from = 0, to = 2, count = 3 }', "goes from 0 to 2; allowed: two different ends"),
        ('path = "x"\nlog_range = { from = 1, to = 2, count = 1.5 }', "allowed: a whole number from 2"),
        ("values = [1]", "axes[0].path: is missing"),
        ('path = "x"\nvalue = [1]', "axes[0].value: there is no such key (did you mean values?)"),
        (
            'path = "x"\nvalues = [1]\n[[axes]]\npath = "x"\nvalues = [2]',
            "x is set twice; allowed: a path that no other",
        ),
        ('path = "x"\nvalues = [1]\n[set]\nx = 2', "set.x: an axis sets this too; allowed: one of both"),
        ('name = "s"\npath = "seed"\nvalues = [1]', "axes[0].path is 'seed'; allowed: seeds = .. at the top"),
        ('path = "scenario"\nvalues = ["speed-w1"]', "there is an axis over scenarios too; allowed: one of both"),
    ],
)
def test_an_axis_is_refused(text: str, part: str) -> None:
    refused(f'scenario = "dumbbell-cubic"\n[[axes]]\n{text}', part)


def test_what_is_no_toml_no_text_or_no_file_is_refused(tmp_path: Path) -> None:
    refused("seeds = [1,\n", "is not TOML")
    with pytest.raises(InputError, match="cannot be read"):
        Sweep.from_file(tmp_path / "none.toml")
    with pytest.raises(InputError, match="is a directory"):
        Sweep.from_file(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(InputError, match="is not text in UTF-8"):
        Sweep.from_file(tmp_path / "latin.toml")
    refused("seeds = 1", "scenario: is missing; allowed: a scenario file beside this one")


def test_a_refused_point_names_the_axis_and_its_line() -> None:
    text = SHORT.replace('"reno", "cubic"', '"reno", "cubbic"')
    point = Sweep.parse(text, "some.toml").points[3]
    assert point.refusal is not None
    assert str(point.refusal).startswith('some.toml:11: tcp.cc: "cubbic" is not a congestion control')
    with pytest.raises(ScenarioError):
        _ = point.scenario


def test_addresses_tell_scenario_seed_and_engine_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = Sweep.parse(SHORT)
    before = [run.address for run in sweep.runs]
    assert len(set(before)) == len(before)
    commented = SHORT.replace("[set]", "# what differs\n[set]").replace('name = "buffers"', 'name = "other"')
    assert [run.address for run in Sweep.parse(commented).runs] == before
    told = commented.replace('duration = "12 s"', 'duration = "12 s"\ntitle = "Another"\nname = "renamed"')
    assert Sweep.parse(told).points[0].scenario.name == "renamed"
    assert [run.address for run in Sweep.parse(told).runs] == before
    other_text = Sweep.parse(SHORT.replace('"12 s"', '"13 s"'))
    assert not {run.address for run in other_text.runs} & set(before)
    monkeypatch.setattr(address, "engine", lambda: address.Engine("0.1.0", "another build", "unknown"))
    assert not {run.address for run in Sweep.parse(SHORT).runs} & set(before)


OWN = """
import narrows

@narrows.congestion_control("still")
class Still:
    "A window that stays."
    def on_ack(self, ack, path, window):
        window.cwnd = {segments} * path.smss
    def on_congestion(self, event, path, window):
        window.ssthresh = window.cwnd
"""


@pytest.fixture
def no_own_left() -> Iterator[None]:
    yield
    own.unregister("still")


@pytest.mark.usefixtures("no_own_left")
def test_the_code_of_ones_own_congestion_control_is_in_the_address(tmp_path: Path) -> None:
    file = tmp_path / "still.py"
    text = SHORT.replace('"reno", "cubic"', '"reno", "still"')
    addresses = []
    for segments in (4, 4, 5):
        file.write_text(OWN.format(segments=segments))
        own.load(file)
        addresses.append([run.address for run in Sweep.parse(text).runs])
    assert addresses[0] == addresses[1]
    assert addresses[0][:9] == addresses[2][:9], "reno has nothing to do with it"
    assert not set(addresses[0][9:]) & set(addresses[2][9:])


def test_fingerprints_tell_code_and_bound_arguments_apart() -> None:
    def scaled(factor: float, run: object) -> float:
        return factor * len(str(run))

    def compiled(text: str) -> str:
        space: dict[str, Callable[..., object]] = {}
        exec(compile(f"def f(run):\n    return {text}", "<no file>", "exec"), space)  # noqa: S102
        return address.fingerprint(space["f"])

    assert address.fingerprint(partial(scaled, 2)) == address.fingerprint(partial(scaled, 2))
    assert address.fingerprint(partial(scaled, 2)) != address.fingerprint(partial(scaled, 3))
    assert compiled("1") == compiled("1")
    assert compiled("1") != compiled("2")


def test_fingerprints_tell_closures_and_defaults_apart() -> None:
    def around(factor: float) -> Callable[[float], float]:
        return lambda value: factor * value

    def default(factor: float) -> Callable[[float], float]:
        def scaled(value: float, factor: float = factor) -> float:
            return factor * value

        return scaled

    for make in (around, default):
        assert address.fingerprint(make(2)) == address.fingerprint(make(2))
        assert address.fingerprint(make(2)) != address.fingerprint(make(3))


def test_a_million_points_are_refused_before_any_is_made() -> None:
    ranges = [f'[[axes]]\npath = "{path}"\nrange = {{ from = 1, to = 1000, step = 1 }}\n' for path in ("x", "y")]
    sweep = Sweep.parse(SHORT + "".join(ranges), "big.toml")
    with pytest.raises(InputError, match=r"big.toml: has 6,000,000 points and 18,000,000 runs; allowed: 100,000 runs"):
        bounds.check_runs(sweep)
    assert dict(sweep.points[-1].labels) == {"cc": "cubic", "buffer": 30, "x": 1000, "y": 1000}


def test_the_example_and_the_pages_examples_are_sweeps() -> None:
    root = Path(__file__).resolve().parents[2]
    example = Sweep.from_file(root / "examples" / "buffer_sweep.toml")
    assert len(example.points) == 28
    assert all(point.refusal is None for point in example.points)
    page = (root / "docs" / "sweep.md").read_text(encoding="utf-8")
    shown = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert shown
    for text in shown:
        sweep = Sweep.parse(f'scenario = "dumbbell-cubic"\n{text}')
        assert [point.refusal for point in sweep.points] == [None, None]
    for key in ("format", "name", "scenario", "seeds", "keep", "[set]", "[[axes]]", "values", "range", "log_range",
                "unit", "labels"):  # fmt: skip
        assert f"| `{key}` |" in page


def test_lines_are_found_under_quoted_and_dotted_keys() -> None:
    places = lines.index('[set]\n"a.b" = 1\nc.d = 2\n[[axes]]\n  [axes.zip]\n  "x.y" = [1]\n')
    assert places["set", "a.b"] == 2
    assert places["set", "c", "d"] == 3
    assert lines.find(places, ("axes", 0, "path")) == 4
    assert lines.find(places, ("nowhere",)) is None


def test_two_files_that_would_be_kept_as_one_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("a/b.toml", "a-b.toml"):
        (tmp_path / name).write_text("")
    (tmp_path / "some.toml").write_text('[[axes]]\npath = "scenario"\nvalues = ["a/b.toml", "a-b.toml"]\n')
    with pytest.raises(SweepError, match=r"some.toml:3: .*a-b.toml and a/b.toml would be kept in one file; allowed"):
        Sweep.from_file(tmp_path / "some.toml")


def test_points_parsed_together_are_those_parsed_one_by_one() -> None:
    text = SHORT.replace('"reno", "cubic"', '"reno", "misspelt", "cubic"')
    together, alone = Sweep.parse(text), Sweep.parse(text)
    together.resolve()
    assert [run.address for run in together.runs] == [run.address for run in alone.runs]
    assert [str(point.refusal) for point in together.points] == [str(point.refusal) for point in alone.points]
    assert sum(point.refusal is not None for point in together.points) == len(together.points) / 3
    first = together.points[0].scenario
    assert (first.to_toml(), first.overrides) == (
        alone.points[0].scenario.to_toml(),
        alone.points[0].scenario.overrides,
    )
