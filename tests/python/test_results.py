"""Result directories: written atomically, never over other files, and read back unchanged."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.python.plainly import as_json

from narrows import ownership
from narrows.base.errors import InputError, RunError
from narrows.outcome import Batch, Run
from narrows.store import results

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def failing(number: int) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def tree(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_a_directory_holds_scenario_summary_and_samples(one: Run, tmp_path: Path) -> None:
    assert one.save(tmp_path / "r") == tmp_path / "r"
    assert tree(tmp_path) == ["r", "r/.narrows.json", "r/samples.parquet", "r/scenario.toml", "r/summary.json"]
    assert json.loads((tmp_path / "r" / "summary.json").read_text()) == one.summary


def test_missing_parents_are_made(one: Run, tmp_path: Path) -> None:
    one.save(tmp_path / "a" / "b" / "c")
    assert (tmp_path / "a" / "b" / "c" / "summary.json").exists()


@pytest.mark.parametrize("step", ["to_parquet", "write_text", "fsync", "rename"])
def test_a_full_disk_leaves_nothing_behind(
    step: str, one: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    match step:
        case "to_parquet":
            monkeypatch.setattr("narrows.outcome.samples.Samples.to_parquet", full_disk)
        case "fsync":
            monkeypatch.setattr(os, "fsync", full_disk)
        case _:
            monkeypatch.setattr(Path, step, full_disk)
    with pytest.raises(RunError, match="No space left on device"):
        one.save(tmp_path / "a" / "r")
    assert tree(tmp_path) == []


def test_a_failed_writing_keeps_the_results_of_before(
    one: Run, three: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.save(tmp_path / "r")
    monkeypatch.setattr("narrows.outcome.samples.Samples.to_parquet", full_disk)
    with pytest.raises(RunError):
        three.save(tmp_path / "r")
    assert json.loads((tmp_path / "r" / "summary.json").read_text())["digest"] == one.digest
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


@pytest.mark.parametrize("after", range(4))
def test_a_replacement_that_fails_half_way_leaves_one_whole(
    after: int, one: Run, three: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.save(tmp_path / "r")
    replace = Path.replace
    calls = 0

    def fail_later(self: Path, target: Path) -> Path:
        nonlocal calls
        calls += 1
        if calls > after:
            full_disk()
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fail_later)
    with pytest.raises(RunError):
        three.save(tmp_path / "r")
    monkeypatch.undo()
    wanted = one if after == 0 else three
    back = results.load(tmp_path / "r")
    assert back.digest == wanted.digest
    assert back.samples.to_arrow().num_rows == wanted.samples.to_arrow().num_rows
    one.save(tmp_path / "r")
    assert tree(tmp_path / "r") == [".narrows.json", "samples.parquet", "scenario.toml", "summary.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_an_interruption_leaves_nothing_behind(tmp_path: Path) -> None:
    def interrupted() -> None:
        with ownership.staged(tmp_path / "r") as temporary:
            (temporary / "half").write_text("x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert tree(tmp_path) == []


def test_results_replace_results_whole(one: Run, three: Batch, tmp_path: Path) -> None:
    three.save(tmp_path / "r")
    with ownership.staged(ownership.claim(tmp_path / "r"), part="report", alone=False) as folder:
        (folder / "figures").mkdir()
        (folder / "figures" / "queue.svg").write_text("of the old results")
    one.save(tmp_path / "r")
    assert tree(tmp_path / "r") == [".narrows.json", "samples.parquet", "scenario.toml", "summary.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_an_empty_directory_is_used(one: Run, tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    one.save(tmp_path / "r")
    assert (tmp_path / "r" / "summary.json").exists()


@pytest.mark.parametrize("name", ["thesis.tex", "summary.json"])
def test_a_directory_with_something_else_is_left_as_it_is(name: str, one: Run, tmp_path: Path) -> None:
    (tmp_path / name).write_text("years of work")
    with pytest.raises(InputError, match="left unchanged"):
        one.save(tmp_path)
    assert tree(tmp_path) == [name]


def test_a_file_is_not_replaced(one: Run, tmp_path: Path) -> None:
    (tmp_path / "r").write_text("years of work")
    with pytest.raises(InputError, match="is a file"):
        one.save(tmp_path / "r")
    assert (tmp_path / "r").read_text() == "years of work"


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.EACCES, InputError), (errno.EROFS, InputError), (errno.ENOSPC, RunError)]
)
def test_a_directory_that_cannot_be_made_is_told_before_any_run(
    number: int, kind: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "mkdir", failing(number))
    entered = False
    with pytest.raises(kind, match=os.strerror(number)), ownership.staged(tmp_path / "r"):
        entered = True
    assert not entered


def test_a_run_comes_back_as_it_was(one: Run, tmp_path: Path) -> None:
    one.save(tmp_path / "r")
    back = results.load(tmp_path / "r")
    assert isinstance(back, Run)
    assert back.summary == {**one.summary, "overrides": {}}
    assert back.samples.to_arrow().equals(one.samples.to_arrow())
    assert as_json(back.scenario) == {**as_json(one.scenario), "seed": one.seed}


def test_a_batch_comes_back_as_it_was(three: Batch, tmp_path: Path) -> None:
    three.save(tmp_path / "r")
    back = results.load(tmp_path / "r")
    assert isinstance(back, Batch)
    assert back.summary == {**three.summary, "overrides": {}}
    assert [run.digest for run in back.runs] == [run.digest for run in three.runs]
    assert back.runs[2].samples.to_arrow().to_pylist() == three.runs[2].samples.to_arrow().to_pylist()


def test_what_is_no_result_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"it has no summary\.json"):
        results.load(tmp_path)


@pytest.mark.parametrize(
    ("summary", "why"),
    [
        ("{", "cannot be read"),
        ("[]", "format is None"),
        ('{"format": 99}', "format is 99"),
        ('{"format": 1}', "damaged"),
    ],
)
def test_damaged_results_are_told_from_good_ones(summary: str, why: str, one: Run, tmp_path: Path) -> None:
    one.save(tmp_path / "r")
    (tmp_path / "r" / "summary.json").write_text(summary)
    with pytest.raises(InputError, match=why):
        results.load(tmp_path / "r")


def test_results_of_before_some_counters_have_no_value_for_them(three: Batch, tmp_path: Path) -> None:
    three.save(tmp_path / "r")
    path = tmp_path / "r" / "summary.json"
    summary = json.loads(path.read_text())
    later = ("triple_duplicate_acks", "later_duplicate_acks", "window_options", "window_options_ignored")
    for detail in summary["runs_detail"]:
        for flow in detail["flows"]:
            for counter in later:
                assert flow.pop(counter) is not None
    path.write_text(json.dumps(summary))
    back = results.load(tmp_path / "r")
    assert [getattr(back.flows[0], counter) for counter in later] == [None] * 4
    assert back.flows[0].fast_retransmits == three.flows[0].fast_retransmits


def test_routers_come_back(advised: Run, advised_often: Batch, tmp_path: Path) -> None:
    advised.save(tmp_path / "one")
    advised_often.save(tmp_path / "many")
    assert results.load(tmp_path / "one").routers == advised.routers != ()
    assert results.load(tmp_path / "many").routers == advised_often.routers != ()


def test_results_of_before_routers_were_kept_have_none(advised: Run, tmp_path: Path) -> None:
    advised.save(tmp_path / "r")
    path = tmp_path / "r" / "summary.json"
    summary = json.loads(path.read_text())
    assert summary.pop("routers")
    path.write_text(json.dumps(summary))
    back = results.load(tmp_path / "r")
    assert back.routers == ()
    assert back.flows == advised.flows


def test_results_without_their_samples_are_damaged(one: Run, tmp_path: Path) -> None:
    one.save(tmp_path / "r")
    (tmp_path / "r" / "samples.parquet").unlink()
    with pytest.raises(InputError, match=r"samples\.parquet is missing"):
        results.load(tmp_path / "r")
