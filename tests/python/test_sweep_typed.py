"""Axes of quantities: numbers with a unit in data set, terminal and JSON; data sets of earlier versions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from narrows.cli import app
from narrows.studies.sweep.quantity import typed
from narrows.sweep import Sweep, execute, load

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = """
name = "typed"
scenario = "speed-w1"
[set]
duration = "200 ms"
[[axes]]
name = "buffer"
path = "topology.link.queue.limit"
values = ["100 packets", "20 packets", "5 packets"]
[[axes]]
name = "rate"
path = "topology.link.rate"
values = ["500 kb/s", "2 Mb/s", "10 Mb/s"]
"""


def labels(axis: str) -> tuple[list[object], dict[str, str]]:
    made = Sweep.parse(f'scenario = "speed-w1"\n[[axes]]\nname = "a"\npath = "topology.link.rate"\n{axis}')
    return [value.labels["a"] for value in made.axes[0].values], dict(made.axes[0].units)


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        ('values = ["20 packets", "5 packets"]', ([20, 5], {"a": "packets"})),
        ('values = ["500 kb/s", "2 Mb/s"]', ([500, 2000], {"a": "kb/s"})),
        ('values = ["10Mbit/s", "0.5 Mb/s"]', ([10.0, 0.5], {"a": "Mb/s"})),
        ('values = ["1 ms", "30 us"]', ([1.0, 0.03], {"a": "ms"})),
        ('values = [5, 20]\nunit = "packets"', ([5, 20], {"a": "packets"})),
        ('values = [5, 20]\nunit = "packets"\nlabels = ["1 bdp", "4 bdp"]', ([1, 4], {"a": "BDP"})),
        ('values = [6, 21]\nunit = "packets"\nlabels = [5, 20]', ([5, 20], {})),
        ('values = ["20 packets", "30 kB"]', (["20 packets", "30 kB"], {})),
        ('values = ["1 Mb/s", "1000 kb/s"]', (["1 Mb/s", "1000 kb/s"], {})),
        ('values = ["reno", "20 packets"]', (["reno", "20 packets"], {})),
        ('values = ["5", "20"]', (["5", "20"], {})),
    ],
)
def test_texts_of_one_dimension_are_numbers_with_a_unit(
    axis: str, expected: tuple[list[object], dict[str, str]]
) -> None:
    found, units = labels(axis)
    assert (found, units) == expected
    assert [type(value) for value in found] == [type(value) for value in expected[0]]


def test_the_scenario_gets_the_text_as_it_stands() -> None:
    point = Sweep.parse(TEXTS).points[1]
    assert dict(point.overrides)["topology.link.queue.limit"] == "100 packets"
    assert dict(point.overrides)["topology.link.rate"] == "2 Mb/s"
    assert str(point) == "buffer = 100 packets, rate = 2000 kb/s"


def test_zipped_columns_have_a_unit_each() -> None:
    text = 'zip = { "topology.link.rate" = ["1 Mb/s", "1 Mb/s"], "topology.link.delay" = ["1 ms", "1 s"] }'
    axis = Sweep.parse(f'scenario = "speed-w1"\n[[axes]]\n{text}').axes[0]
    assert axis.units == {"topology.link.rate": "Mb/s", "topology.link.delay": "ms"}
    assert [dict(value.labels) for value in axis.values] == [
        {"topology.link.rate": 1, "topology.link.delay": 1},
        {"topology.link.rate": 1, "topology.link.delay": 1000},
    ]


def test_the_data_set_has_numbers_and_their_unit(tmp_path: Path) -> None:
    made = execute(Sweep.parse(TEXTS), tmp_path / "out")
    assert made.units == {"buffer": "packets", "rate": "kb/s"}
    read = pd.read_parquet(tmp_path / "out" / "runs")
    assert [str(read[name].dtype) for name in ("buffer", "rate")] == ["int64", "int64"]
    assert list(read[read.kind == "run"].sort_values(["buffer", "rate"])["buffer"]) == [5] * 3 + [20] * 3 + [100] * 3
    [part] = (tmp_path / "out" / "runs").iterdir()
    assert pq.read_schema(part).field("buffer").metadata[b"unit"] == b"packets"
    assert json.loads((tmp_path / "out" / "sweep.json").read_text())["units"] == made.units
    assert load(tmp_path / "out").units == made.units


def test_terminal_and_json_name_the_unit_and_order_by_number(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(TEXTS)
    arguments = ["sweep", str(tmp_path / "t.toml"), "-o", str(tmp_path / "out"), "--no-progress"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.stderr
    assert "buffer  100, 20, 5 packets  (3)" in shown.stderr
    lines = [line.split()[0] for line in shown.stdout.splitlines() if line.startswith(("buffer", "  "))]
    assert lines[:4] == ["buffer", "5", "20", "100"]
    assert "buffer (packets)" in shown.stdout
    told = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert [axis["unit"] for axis in told["axes"]] == ["packets", "kb/s"]
    assert told["axes"][0]["values"] == [100, 20, 5]
    assert "rate (kb/s)" in CliRunner().invoke(app, ["sweep", str(tmp_path / "t.toml"), "--plan"]).stdout


def as_before(part: Path) -> None:
    """Rewrite a part as versions before units did: quantities as text, no unit in the metadata."""
    table = pq.read_table(part, partitioning=None)
    for name, unit in (("buffer", "packets"), ("rate", "kb/s")):
        texts = pa.array([f"{value} {unit}" for value in table[name].to_pylist()])
        field = pa.field(name, pa.string(), metadata={"role": "axis"})
        table = table.set_column(table.schema.get_field_index(name), field, texts)
    pq.write_table(table, part, write_page_checksum=True)


def test_a_data_set_of_an_earlier_version_is_read_and_continued(tmp_path: Path) -> None:
    first = execute(Sweep.parse(TEXTS), tmp_path / "out")
    [part] = (tmp_path / "out" / "runs").iterdir()
    as_before(part)
    assert pd.read_parquet(part)["buffer"].iloc[0] == "100 packets"
    old = load(tmp_path / "out")
    assert old.units == first.units
    pd.testing.assert_frame_equal(old.to_pandas(), first.to_pandas())
    again = execute(Sweep.parse(TEXTS), tmp_path / "out")
    assert (again.kept, again.made) == (9, 0)
    [part] = (tmp_path / "out" / "runs").iterdir()
    assert pq.read_schema(part).field("rate").metadata[b"unit"] == b"kb/s"


def test_parts_of_both_versions_are_read_together(tmp_path: Path) -> None:
    one = execute(Sweep.parse(TEXTS), tmp_path / "out")
    [part] = (tmp_path / "out" / "runs").iterdir()
    table = pq.read_table(part, partitioning=None)
    addresses = table["address"].to_pylist()
    half = addresses.index(list(dict.fromkeys(addresses))[5])
    new = part.with_name(part.name.replace("part-0000000", "part-1000000"))
    pq.write_table(table.slice(half), new, write_page_checksum=True)
    pq.write_table(table.slice(0, half), part, write_page_checksum=True)
    as_before(part)
    both = load(tmp_path / "out")
    assert both.units == one.units
    pd.testing.assert_frame_equal(both.to_pandas(), one.to_pandas())


def test_no_number_is_lost_by_converting() -> None:
    found = typed(["1 h", "90 min", "1 ns"])
    assert found is not None
    assert found.values == (1.0, 1.5, 1 / 3600e9)
