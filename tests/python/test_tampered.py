"""Modified results: they are reported as damaged or still work; and pages of contests and sweeps."""

from __future__ import annotations

import json
import random
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from narrows import contest
from narrows.base.errors import InputError
from narrows.cli import app
from narrows.outcome.rewritten import COLUMNS
from narrows.outcome.samples import KINDS
from narrows.store import results
from narrows.studies.contest import saved
from narrows.sweep import Sweep, execute

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from narrows.outcome import Batch, Run

    Tamper = Callable[[Path, random.Random], None]

SWEEP = """
name = "small"
scenario = "speed-w1"
seeds = 2
[set]
duration = "2 s"
start_jitter = "1 ms"
[[axes]]
name = "cc"
path = "tcp.cc"
values = ["reno", "cubic"]
[[axes]]
name = "buffer"
path = "topology.link.queue.limit"
values = [5, 50]
unit = "packets"
"""


@pytest.fixture(scope="module")
def originals(one: Run, three: Batch, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("originals")
    one.save(root / "run")
    three.save(root / "batch")
    execute(Sweep.parse(SWEEP), root / "sweep")
    contest.run(["reno", "cubic"], runs=2, out=root / "contest", overrides={"duration": "12 s"}).report(
        root / "contest"
    )
    return {name: root / name for name in ("run", "batch", "sweep", "contest")}


def report(directory: Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["report", str(directory)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stderr


def test_columns_are_those_of_the_engine(one: Run) -> None:
    for kind in KINDS:
        assert tuple(one.samples.table(kind).schema.names[4:]) == COLUMNS[kind]


# Pages of contests and sweeps.


def test_a_sweeps_directory_has_a_page(originals: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(originals["sweep"], tmp_path / "s")
    assert report(tmp_path / "s") == (0, "")
    page = (tmp_path / "s" / "report.html").read_text(encoding="utf-8")
    for told in ("Over cc", "Over buffer", "8 runs: ", "throughput_mbps", "cc = reno", "narrows sweep"):
        assert told in page
    assert {path.name for path in (tmp_path / "s" / "figures").iterdir()} >= {"over-cc.png", "over-buffer.svg"}
    assert report(tmp_path / "s") == (0, "")
    again = execute(Sweep.parse(SWEEP), tmp_path / "s")
    assert again.kept == 8


def test_a_contests_page_is_made_again(originals: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(originals["contest"], tmp_path / "c")
    first = (tmp_path / "c" / "contest.json").read_bytes()
    made = saved.load(tmp_path / "c")
    assert (made.plan.labels, made.plan.runs) == (("reno", "cubic"), 2)
    (tmp_path / "c" / "report.html").unlink()
    assert report(tmp_path / "c") == (0, "")
    page = (tmp_path / "c" / "report.html").read_text(encoding="utf-8")
    assert "Who harms whom" in page
    assert (tmp_path / "c" / "contest.json").read_bytes() == first


def test_a_contest_that_has_not_ended_says_so(originals: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(originals["contest"], tmp_path / "c")
    (tmp_path / "c" / "contest.json").unlink()
    code, told = report(tmp_path / "c")
    assert code == 2
    assert "has not ended" in told


def test_a_page_of_the_users_is_not_replaced(originals: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(originals["run"], tmp_path / "r")
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "r" / "report.html").write_text("mine")
    code, told = report(tmp_path / "r")
    assert code == 2
    assert "was not written by Narrows" in told
    assert (tmp_path / "r" / "report.html").read_text() == "mine"
    (tmp_path / "r" / "report.html").unlink()
    (tmp_path / "r" / "figures").mkdir()
    (tmp_path / "r" / "figures" / "topology.svg").write_text("mine")
    code, told = report(tmp_path / "r")
    assert code == 2
    assert "figures" in told
    assert [path.name for path in (tmp_path / "r" / "figures").iterdir()] == ["topology.svg"]


# Tampering.


def leaves(value: Any, where: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [where] if where else []
    for key, one in inner:
        found += leaves(one, (*where, key))
    return found


VALUES: list[Any] = [
    "text",
    10**400,
    -1,
    1e308,
    float("nan"),
    None,
    True,
    [],
    {},
    [None],
    {"a": 1},
    "",
    "\x00",
    2**63,
    0.5,
]


def tampered_json(name: str) -> Tamper:
    def tamper(root: Path, choose: random.Random) -> None:
        content = json.loads((root / name).read_text(encoding="utf-8"))
        *where, last = choose.choice(leaves(content))
        holder = content
        for key in where:
            holder = holder[key]
        if choose.random() < 0.3:
            del holder[last]
        else:
            holder[last] = choose.choice(VALUES)
        (root / name).write_text(json.dumps(content), encoding="utf-8")

    return tamper


def tampered_lines(name: str) -> Tamper:
    def tamper(root: Path, choose: random.Random) -> None:
        lines = (root / name).read_text(encoding="utf-8").splitlines()
        index = choose.randrange(len(lines))
        content = json.loads(lines[index])
        *where, last = choose.choice(leaves(content))
        holder = content
        for key in where:
            holder = holder[key]
        holder[last] = choose.choice(VALUES)
        lines[index] = json.dumps(content)
        (root / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    return tamper


def tampered_bytes(name: str) -> Tamper:
    def tamper(root: Path, choose: random.Random) -> None:
        path = choose.choice(sorted(root.glob(name)))
        content = bytearray(path.read_bytes())
        match choose.randrange(4):
            case 0:
                del content[choose.randrange(len(content)) :]
            case 1:
                content[choose.randrange(len(content))] ^= 1 << choose.randrange(8)
            case 2:
                content[:0] = b"\xff\x00"
            case _:
                content.clear()
        path.write_bytes(content)

    return tamper


def tampered_table(name: str) -> Tamper:
    def tamper(root: Path, choose: random.Random) -> None:
        path = choose.choice(sorted(root.glob(name)))
        frame = pd.read_parquet(path)
        column = choose.choice(list(frame.columns))
        match choose.randrange(6):
            case 0:
                frame = frame.drop(columns=column)
            case 1:
                frame[column] = "text"
            case 2:
                frame = frame.iloc[:0]
            case 3:
                frame[column] = np.nan
            case 4:
                frame = frame.rename(columns={column: "other"})
            case _:
                frame = frame.sample(frac=0.5, random_state=choose.randrange(1000))
        frame.to_parquet(path)

    return tamper


KINDS_OF: list[tuple[str, str, Tamper]] = [
    *((kind, "summary.json", tampered_json("summary.json")) for kind in ("run", "batch")),
    *((kind, "samples.parquet", tampered_table("samples.parquet")) for kind in ("run", "batch")),
    *(("run", name, tampered_bytes(name)) for name in ("summary.json", "samples.parquet", "scenario.toml")),
    ("contest", "contest.json", tampered_json("contest.json")),
    ("contest", "runs.jsonl", tampered_lines("runs.jsonl")),
    *(("contest", name, tampered_bytes(name)) for name in ("contest.json", "runs.jsonl", "scenario.toml")),
    ("sweep", "sweep.json", tampered_json("sweep.json")),
    ("sweep", "part", tampered_table("runs/*.parquet")),
    *(("sweep", name, tampered_bytes(name)) for name in ("sweep.json", "sweep.toml", "runs/*.parquet")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name", "tamper"), KINDS_OF, ids=[f"{kind}-{name}" for kind, name, _ in KINDS_OF])
@pytest.mark.filterwarnings("default")
def test_tampered_results_are_damaged_or_work(
    kind: str, name: str, tamper: Tamper, originals: dict[str, Path], tmp_path: Path
) -> None:
    choose = random.Random(f"{kind} {name}")  # noqa: S311 - choice of modifications, not secrets
    for number in range(12):
        where = tmp_path / str(number)
        shutil.copytree(originals[kind], where)
        tamper(where, choose)
        code, told = report(where)
        assert code in (0, 2), told
        assert code == 0 or told.startswith("error: "), told
        shutil.rmtree(where)


def test_a_text_or_a_huge_number_as_a_metric_is_damage(originals: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(originals["run"], tmp_path / "r")
    path = tmp_path / "r" / "summary.json"
    content = json.loads(path.read_text())
    values: tuple[Any, ...] = ("text", 10**400, True, [], float("nan"), 1e300)
    for value in values:
        content["flows"][0]["throughput_mbps"] = value
        path.write_text(json.dumps(content))
        with pytest.raises(InputError, match=r"is damaged: .*throughput_mbps"):
            results.load(tmp_path / "r")


def test_samples_that_pandas_rewrote_are_the_same(originals: dict[str, Path], one: Run, tmp_path: Path) -> None:
    shutil.copytree(originals["run"], tmp_path / "r")
    path = tmp_path / "r" / "samples.parquet"
    pd.read_parquet(path).to_parquet(path)
    back = results.load(tmp_path / "r")
    for kind in KINDS:
        assert back.samples.table(kind).to_pylist() == one.samples.table(kind).to_pylist()
    assert report(tmp_path / "r")[0] == 0


@pytest.mark.parametrize("column", ["cwnd_bytes", "packets", "kind", "time_s"])
def test_samples_without_a_column_are_damaged(column: str, originals: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(originals["run"], tmp_path / "r")
    path = tmp_path / "r" / "samples.parquet"
    pq.write_table(pq.read_table(path).drop_columns([column]), path)
    with pytest.raises(InputError, match=rf"is damaged: .*lacks the columns {column}"):
        results.load(tmp_path / "r")


def test_a_damaged_comparison_says_so(tmp_path: Path) -> None:
    for content in (
        "{",
        "[]",
        '{"kind": "comparison", "format": 1}',
        '{"kind": "comparison", "format": 1, "arms": [1, 2]}',
    ):
        (tmp_path / "comparison.json").write_text(content)
        assert report(tmp_path)[0] == 2
