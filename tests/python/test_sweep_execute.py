"""Running sweeps: which runs are kept, which are repeated, which fail, and what two processes may not do."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import narrows as nw
from narrows.base import durable
from narrows.base.errors import InputError, RunError, ScenarioError
from narrows.model import own
from narrows.studies.sweep import address, bounds
from narrows.sweep import Sweep, SweepInterrupted, execute, load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from narrows.sweep import Progress, SweepResult

TINY = """
name = "tiny"
scenario = "speed-w1"
seeds = 2
[set]
duration = "300 ms"
start_jitter = "1 ms"
[[axes]]
name = "cc"
path = "tcp.cc"
values = ["reno", "cubic"]
[[axes]]
name = "buffer"
path = "topology.link.queue.limit"
values = [5, 20, 80]
unit = "packets"
"""

MEASURED = ["cpu_s", "wall_s"]
"""Columns that differ between any two executions."""


def settled(made: SweepResult) -> pd.DataFrame:
    return made.to_pandas().drop(columns=MEASURED)


@pytest.fixture(scope="module")
def tiny() -> SweepResult:
    return execute(Sweep.parse(TINY))


def parts(directory: Path) -> list[Path]:
    return sorted((directory / "runs").glob("*"))


@pytest.mark.skipif("mimalloc" not in pa.supported_memory_backends(), reason="this pyarrow has no mimalloc")
def test_arrow_has_its_allocator_again_after_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    during: set[str] = set()

    def look(_: Progress) -> None:
        during.add(pa.default_memory_pool().backend_name)

    one = Sweep.parse(TINY.replace("seeds = 2", "seeds = 1"))
    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.mimalloc_memory_pool())
    try:
        monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
        execute(one, tmp_path / "small", progress=look)
        assert during
        assert during <= {"jemalloc", "system"}
        assert pa.default_memory_pool().backend_name == "mimalloc"
        monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", "mimalloc")
        during.clear()
        execute(one, tmp_path / "chosen", progress=look)
        assert during == {"mimalloc"}, "what the user has chosen"
    finally:
        pa.set_memory_pool(before)


def test_a_sweep_is_the_runs_that_one_would_make_by_hand(tiny: SweepResult) -> None:
    assert (tiny.asked, tiny.made, tiny.kept, tiny.failures) == (12, 12, 0, [])
    runs = tiny.runs
    assert list(runs.columns[:4]) == ["cc", "buffer", "seed", "address"]
    assert list(zip(runs["cc"], runs["buffer"], runs["seed"], strict=True))[:3] == [
        ("reno", 5, 1), ("reno", 5, 2), ("reno", 20, 1),
    ]  # fmt: skip
    settings = {
        "duration": "300 ms",
        "start_jitter": "1 ms",
        "tcp.cc": "cubic",
        "topology.link.queue.limit": "20 packets",
    }
    alone = nw.run("speed-w1", seed=2, overrides=settings)
    row = runs[(runs["cc"] == "cubic") & (runs["buffer"] == 20) & (runs["seed"] == 2)].iloc[0]
    assert row["digest"] == alone.digest
    assert row["packets"] == alone.packets
    flow = tiny.flows[tiny.flows["address"] == row["address"]].iloc[0]
    assert flow["flow"] == "bulk"
    assert flow["flow_cc"] == "cubic"
    assert flow["throughput_mbps"] == alone.flows[0].throughput_mbps
    queues = tiny.queues[tiny.queues["address"] == row["address"]]
    assert list(queues["queue"]) == [queue.name for queue in alone.queues]
    assert tiny.frame("station").empty
    with pytest.raises(InputError, match="kind is 'host'; allowed: run, flow"):
        tiny.frame("host")


def test_seeds_give_different_runs_and_jobs_do_not(tiny: SweepResult) -> None:
    assert len(set(tiny.runs["digest"])) == 12
    pd.testing.assert_frame_equal(settled(execute(Sweep.parse(TINY), jobs=1)), settled(tiny))


def test_a_finished_run_is_not_made_again(tmp_path: Path, tiny: SweepResult) -> None:
    first = execute(Sweep.parse(TINY), tmp_path / "out")
    again = execute(Sweep.parse(TINY), tmp_path / "out")
    assert (first.kept, first.made, again.kept, again.made) == (0, 12, 12, 0)
    pd.testing.assert_frame_equal(settled(first), settled(tiny))
    pd.testing.assert_frame_equal(again.to_pandas(), first.to_pandas())
    pd.testing.assert_frame_equal(load(tmp_path / "out").to_pandas(), first.to_pandas())
    assert load(tmp_path / "out").digest == tiny.digest


def test_the_data_set_is_one_that_pandas_reads(tmp_path: Path, tiny: SweepResult) -> None:
    execute(Sweep.parse(TINY), tmp_path / "out")
    assert len(parts(tmp_path / "out")) == 1
    read = pd.read_parquet(tmp_path / "out" / "runs")
    assert list(read["digest"].dropna()) == list(tiny.runs["digest"])
    assert (tmp_path / "out" / "sweep.toml").read_text() == TINY
    assert Sweep.from_file(tmp_path / "out" / "sweep.toml").points[0].scenario.name == "speed-w1"


def test_the_directory_alone_is_enough_to_go_on(tmp_path: Path, tiny: SweepResult) -> None:
    there = tmp_path / "there"
    (there / "nets").mkdir(parents=True)
    (there / "nets" / "one.toml").write_text(nw.Scenario.from_file("speed-w1").text)
    text = TINY.replace('"speed-w1"', '"nets/one.toml"')
    (there / "tiny.toml").write_text(text.replace("seeds = 2", "seeds = 1"))
    execute(Sweep.from_file(there / "tiny.toml"), tmp_path / "out")
    (there / "nets" / "one.toml").unlink()
    copied = Sweep.from_file(tmp_path / "out" / "sweep.toml")
    again = execute(copied, tmp_path / "out")
    assert (again.kept, again.made) == (6, 0)
    assert set(again.runs["packets"]) <= set(tiny.runs["packets"])


def test_more_points_and_seeds_add_to_what_is_there_and_fewer_put_aside(tmp_path: Path, tiny: SweepResult) -> None:
    execute(Sweep.parse(TINY), tmp_path / "out")
    more = execute(Sweep.parse(TINY.replace("80]", "80, 160]").replace("seeds = 2", "seeds = 3")), tmp_path / "out")
    assert (more.asked, more.kept, more.made) == (24, 12, 12)
    fewer = execute(Sweep.parse(TINY.replace(", 20, 80]", "]")), tmp_path / "out")
    assert (fewer.asked, fewer.kept, fewer.made) == (4, 4, 0)
    assert set(pd.read_parquet(tmp_path / "out" / "runs")["address"]) == set(fewer.runs["address"])
    assert list((tmp_path / "out" / "other").glob("*.parquet"))
    back = execute(Sweep.parse(TINY), tmp_path / "out")
    assert (back.kept, back.made) == (12, 0)
    pd.testing.assert_frame_equal(settled(back), settled(tiny), check_like=True)


def test_a_renamed_axis_runs_nothing_again(tmp_path: Path) -> None:
    execute(Sweep.parse(TINY), tmp_path / "out")
    renamed = execute(Sweep.parse(TINY.replace('name = "buffer"', 'name = "room"')), tmp_path / "out")
    assert (renamed.kept, renamed.made) == (12, 0)
    read = pd.read_parquet(tmp_path / "out" / "runs")
    assert "room" in read.columns
    assert "buffer" not in read.columns


def test_points_that_are_the_same_scenario_are_run_once_and_listed_each(tmp_path: Path) -> None:
    text = TINY + '[[axes]]\nname = "twin"\npath = "topology.link.per"\nvalues = ["0", "0 %"]\n'
    made = execute(Sweep.parse(text), tmp_path / "out")
    assert (made.asked, made.made) == (24, 12)
    for result in (made, load(tmp_path / "out"), execute(Sweep.parse(text), tmp_path / "out")):
        assert len(result.runs) == 24
        assert len(result.flows) == 24
        assert list(result.runs["twin"])[:4] == ["0", "0", "0 %", "0 %"]
        assert result.runs["digest"].nunique() == 12


def test_only_the_metrics_to_keep_are_kept(tmp_path: Path) -> None:
    text = 'keep = ["throughput_mbps", "jain"]\n' + TINY
    made = execute(Sweep.parse(text), tmp_path / "out")
    assert list(made.flows.columns)[4:] == ["flow", "flow_cc", "throughput_mbps"]
    assert "jain" in made.runs.columns
    assert "utilisation" not in made.table.schema.names
    with pytest.raises(InputError, match=r"kept jain, throughput_mbps, and not .*allowed: keep"):
        execute(Sweep.parse(TINY), tmp_path / "out")


def test_a_measure_adds_columns_and_is_part_of_the_address(tmp_path: Path) -> None:
    def half(run: nw.Run) -> dict[str, float | None]:
        return {"half_mbps": (run.flows[0].throughput_mbps or 0) / 2}

    def fails(run: nw.Run) -> dict[str, float | None]:
        raise ValueError(run.seed)

    plain = Sweep.parse(TINY)
    made = execute(plain.with_measure(half), tmp_path / "out")
    assert list(made.runs["half_mbps"]) == list(made.flows["throughput_mbps"] / 2)
    assert plain.runs[0].address not in set(made.runs["address"])
    failed = execute(plain.with_measure(fails))
    assert len(failed.failures) == 12
    assert failed.failures[0].error == "the measure fails raised ValueError: 1"


FAULTY = """
import narrows

@narrows.congestion_control("faulty")
class Faulty:
    def on_ack(self, ack, path, window):
        if {condition}:
            raise RuntimeError("no more")
        window.cwnd = 4 * path.smss
    def on_congestion(self, event, path, window):
        window.ssthresh = window.cwnd
"""


@pytest.fixture
def no_own_left() -> Iterator[None]:
    yield
    own.unregister("faulty")


@pytest.mark.usefixtures("no_own_left")
def test_a_point_that_fails_is_recorded_and_the_others_go_on(tmp_path: Path, tiny: SweepResult) -> None:
    file = tmp_path / "faulty.py"
    file.write_text(FAULTY.format(condition="path.now_s > 0.01"))
    own.load(file)
    text = TINY.replace('"reno", "cubic"', '"reno", "faulty", "cubbic"')
    made = execute(Sweep.parse(text, "t.toml"), tmp_path / "out")
    failures = made.failures
    assert len(failures) == 12
    assert "faulty: on_ack raised RuntimeError: no more (faulty.py:8)" in failures[0].error
    assert str(failures[0]).startswith(
        "cc = faulty, buffer = 5 packets, seed 1: speed-w1: run 0 with seed 1 was stopped"
    )
    assert failures[-1].labels == {"cc": "cubbic", "buffer": 80}
    assert failures[-1].error.startswith('t.toml:8: tcp.cc: "cubbic" is not a congestion control, did you')
    good = made.runs[made.runs["cc"] == "reno"]
    assert list(good["digest"]) == list(tiny.runs["digest"][:6])
    # Failed runs are tried again and finished ones are not; a repaired algorithm succeeds.
    again = execute(Sweep.parse(text), tmp_path / "out")
    assert (again.kept, again.made, len(again.failures)) == (6, 12, 12)
    file.write_text(FAULTY.format(condition="False"))
    own.load(file)
    mended = execute(Sweep.parse(text), tmp_path / "out")
    assert (mended.kept, mended.made, len(mended.failures)) == (6, 12, 6)
    assert len(mended.runs) == 18


def test_a_file_that_fits_no_point_is_refused_as_a_whole(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"tcp.ccc"):
        execute(Sweep.parse(TINY.replace("tcp.cc", "tcp.ccc")), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_directory_of_something_else_another_sweep_or_another_build_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("dear to me")
    with pytest.raises(InputError, match="holds something other than a sweep and is left unchanged"):
        execute(Sweep.parse(TINY), tmp_path / "thesis")
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["chapter.txt"]
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file"):
        execute(Sweep.parse(TINY), tmp_path / "file")
    execute(Sweep.parse(TINY), tmp_path / "out")
    with pytest.raises(InputError, match="holds the sweep 'tiny'; allowed: another directory for 'large'"):
        execute(Sweep.parse(TINY.replace('"tiny"', '"large"')), tmp_path / "out")
    before = {path: path.read_bytes() for path in parts(tmp_path / "out")}
    monkeypatch.setattr(address, "engine", lambda: address.Engine("9.9.9", "0123456789abcdef", "0000000"))
    with pytest.raises(
        InputError, match=r"holds runs of narrows .* and this is 9.9.9\+g0000000 \(build .*never mixed; allowed: a"
    ):
        execute(Sweep.parse(TINY), tmp_path / "out")
    assert {path: path.read_bytes() for path in parts(tmp_path / "out")} == before
    with pytest.raises(InputError, match="is not the directory of a sweep"):
        load(tmp_path / "thesis")


def test_two_processes_on_one_directory_are_refused_by_a_lock(tmp_path: Path) -> None:
    execute(Sweep.parse(TINY), tmp_path / "out")
    # Another process holds the lock, as a running sweep would; when it is killed, the lock is free.
    script = (
        "import sys, time; from pathlib import Path; from narrows.base import durable\n"
        f"file = Path({str(tmp_path / 'out' / 'lock')!r}).open('ab'); print(durable.locked(file), flush=True)\n"
        "time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        with pytest.raises(InputError, match="another sweep is writing there; allowed: one at a time"):
            execute(Sweep.parse(TINY), tmp_path / "out")
        other.kill()
    assert execute(Sweep.parse(TINY), tmp_path / "out").kept == 12


@pytest.mark.parametrize("damage", ["truncated", "garbage", "flipped", "empty"])
def test_a_damaged_part_is_put_aside_and_its_runs_are_made_again(
    tmp_path: Path, tiny: SweepResult, damage: str
) -> None:
    out = tmp_path / "out"
    execute(Sweep.parse(TINY.replace("seeds = 2", "seeds = [1]")), out)
    kept = parts(out)[0].read_bytes()
    execute(Sweep.parse(TINY), out)
    part = parts(out)[0]
    # As after a power loss that left the old part intact and a newer one damaged.
    whole = part.read_bytes()
    middle = len(whole) // 2
    part.write_bytes(
        {
            "truncated": whole[:middle],
            "garbage": b"PAR1" + os.urandom(5000) + b"PAR1",
            "flipped": whole[:1000] + bytes(byte ^ 0xFF for byte in whole[1000:1040]) + whole[1040:],
            "empty": b"",
        }[damage]
    )
    (out / "runs" / "part-00000000-aaaaaaaa.parquet").write_bytes(kept)
    (out / "runs" / ".part-00000009-bbbbbbbb.parquet.1234.partial").write_bytes(whole[:100])
    again = execute(Sweep.parse(TINY), out)
    assert (again.broken, again.kept, again.made) == (1, 6, 6)
    pd.testing.assert_frame_equal(settled(again), settled(tiny))
    assert [path.name for path in (out / "broken").iterdir()] == [part.name]
    assert len(list((out / "runs").iterdir())) == 1
    assert execute(Sweep.parse(TINY), out).broken == 0


def test_parts_left_twice_by_an_interrupted_compaction_count_once(tmp_path: Path, tiny: SweepResult) -> None:
    out = tmp_path / "out"
    execute(Sweep.parse(TINY), out)
    whole = parts(out)[0]
    half = pq.read_table(whole).slice(0, 40)
    pq.write_table(half, out / "runs" / "part-00000000-aaaaaaaa.parquet")
    assert len(load(out).runs) == 12
    again = execute(Sweep.parse(TINY), out)
    assert (again.kept, again.made) == (12, 0)
    pd.testing.assert_frame_equal(settled(again), settled(tiny))
    assert len(parts(out)) == 1


def test_ctrl_c_keeps_what_had_finished(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def interrupt(state: Progress) -> None:
        if state.done >= 3:
            raise KeyboardInterrupt

    slow = Sweep.parse(TINY.replace('"300 ms"', '"60 s"'))
    with pytest.raises(SweepInterrupted, match=r"interrupted: \d+ of 12 runs had finished; the same command continues"):
        execute(slow, out, jobs=1, progress=interrupt)
    there = len(load(out).runs)
    assert 3 <= there < 12
    again = execute(slow, out)
    assert (again.kept, again.made) == (there, 12 - there)
    with pytest.raises(SweepInterrupted, match="nothing is kept without a directory"):
        execute(Sweep.parse(TINY), progress=lambda _: (_ for _ in ()).throw(KeyboardInterrupt))


def test_a_full_disk_loses_no_finished_run_and_leaves_nothing_half_written(
    tmp_path: Path, tiny: SweepResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    execute(Sweep.parse(TINY.replace("seeds = 2", "seeds = [1]")), out)
    write = os.write

    def full(descriptor: int, content: memoryview) -> int:
        if "part-" not in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
            return write(descriptor, content)
        if len(content) > 2000:  # a part of it still fits, as on a disk that fills up
            return write(descriptor, content[:2000])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(RunError, match="No space left on device; what had finished is kept, and the same command"):
            execute(Sweep.parse(TINY), out)
    assert not [path for path in (out / "runs").iterdir() if path.name.startswith(".")]
    assert len(load(out).runs) == 6
    again = execute(Sweep.parse(TINY), out)
    assert (again.kept, again.made) == (6, 6)
    pd.testing.assert_frame_equal(settled(again), settled(tiny))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_disk_that_is_really_full(tmp_path: Path, tiny: SweepResult) -> None:
    mounted = tmp_path / "small"
    mounted.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", str(mounted)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this system lets nobody mount a tmpfs")
    try:
        with pytest.raises(InputError, match=r"12 runs take up to .* are free; allowed: fewer runs"):
            execute(Sweep.parse(TINY), mounted / "out")
        with pytest.raises(RunError, match="No space left on device"):
            execute(Sweep.parse(TINY.replace("seeds = 2", "seeds = 60")), mounted / "out", large=True)
        there = len(load(mounted / "out").runs)
        assert 0 < there < 360
        subprocess.run(["mount", "-o", "remount,size=64m", str(mounted)], check=True)
        made = execute(Sweep.parse(TINY.replace("seeds = 2", "seeds = 60")), mounted / "out")
        assert (made.kept, made.made) == (there, 360 - there)
        assert set(tiny.runs["digest"]) <= set(made.runs["digest"])
    finally:
        subprocess.run(["umount", str(mounted)], check=False)


def test_a_run_is_forced_to_disk_before_it_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For power loss: contents are forced to disk before the rename, and the rename before the run is reported."""
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def traced_fsync(descriptor: int) -> None:
        fsync(descriptor)
        done.append(f"fsync {Path(f'/proc/self/fd/{descriptor}').readlink().name}")

    def traced_replace(path: Path, target: Path) -> Path:
        done.append(f"rename {path.name} {target.name}")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", traced_fsync)
    monkeypatch.setattr(Path, "replace", traced_replace)
    (tmp_path / "runs").mkdir()
    durable.write(tmp_path / "runs" / "part-0.parquet", b"content")
    partial = f".part-0.parquet.{os.getpid()}.partial"
    assert done == [f"fsync {partial}", f"rename {partial} part-0.parquet", "fsync runs"]


def test_too_little_room_is_told_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = Sweep.parse(TINY)
    monkeypatch.setattr(bounds, "free_bytes", lambda _: 10_000)
    with pytest.raises(InputError, match=r"12 runs take up to \d+ kB, and 10 kB are free; allowed: fewer runs"):
        execute(sweep, tmp_path / "out")
    assert not parts(tmp_path / "out")
    assert execute(sweep, tmp_path / "out", large=True).made == 12


def test_the_room_that_is_told_is_enough(tmp_path: Path) -> None:
    sweep = Sweep.parse(TINY)
    told = bounds.room(sweep, 1)
    execute(Sweep.parse(TINY.replace("seeds = 2", "seeds = 1").replace(", 20, 80]", "]")), tmp_path / "out", jobs=1)
    used = sum(path.stat().st_size for path in parts(tmp_path / "out")) / 2
    assert told / 8 < used < told


def test_progress_is_told_to_the_end() -> None:
    told: list[Progress] = []
    execute(Sweep.parse(TINY), progress=told.append)
    assert (told[0].done, told[0].total, told[0].left_s, told[0].estimate) == (0, 12, None, None)
    assert (told[-1].done, told[-1].fraction, told[-1].left_s, told[-1].failed) == (12, 1.0, 0.0, 0)
    with pytest.raises(InputError, match="jobs is 0; allowed: 1 to 4096"):
        execute(Sweep.parse(TINY), jobs=0)


def test_room_is_told_within_an_order_of_magnitude_and_small_parts_are_put_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = Sweep.parse(TINY.replace("seeds = 2", "seeds = 160"))
    assert bounds.room(sweep, 960) < 4_000_000, "28.7 MB were told, of runs that take 0.16 MB in the end"
    monkeypatch.setattr("narrows.studies.sweep.store.SMALL_PARTS", 2)
    monkeypatch.setattr("narrows.store.writer.GROUP_S", 0.0)
    few = Sweep.parse(TINY)
    made = execute(few, tmp_path / "out", jobs=1)
    assert (made.made, len(parts(tmp_path / "out"))) == (12, 1)
    assert execute(few, tmp_path / "out").kept == 12
    assert settled(made).equals(settled(execute(few)))
