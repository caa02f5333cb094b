"""The user's files are kept: no command removes, replaces or moves a file that Narrows did not write."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from narrows import ownership
from narrows.base.errors import InputError, RunError
from narrows.cli import app
from narrows.ownership import MANIFEST, staging
from narrows.store import results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from narrows.outcome import Run

NARROWS = [sys.executable, "-c", "from narrows.cli import main; main()"]

Tree = dict[str, bytes | str | None]
"""Contents of files, targets of links, and ``None`` for folders, by relative path."""


def snapshot(root: Path) -> Tree:
    made: Tree = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            made[name] = str(path.readlink())
        else:
            made[name] = path.read_bytes() if path.is_file() else None
    return made


def write(root: Path, tree: Tree) -> None:
    for name, content in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.mkdir(exist_ok=True)
        elif isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(content)


def narrows(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [*NARROWS, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, timeout=300)


SHORT = ("--set", "duration=12 s", "--no-progress")


def plain(directory: Path, **files: str) -> None:
    """Write some files as a command does."""
    with ownership.staged(directory) as folder:
        for name, text in files.items():
            (folder / name.replace("__", "/")).parent.mkdir(exist_ok=True)
            (folder / name.replace("__", "/")).write_text(text)


# States of a directory.


def test_a_directory_lists_what_is_narrows_own(one: Run, tmp_path: Path) -> None:
    one.save(tmp_path / "r")
    listed = json.loads((tmp_path / "r" / MANIFEST).read_text())
    assert listed["kind"] == "results"
    sizes = {name: entry["size"] for name, entry in listed["files"].items()}
    assert sizes == {
        name: (tmp_path / "r" / name).stat().st_size for name in ("samples.parquet", "scenario.toml", "summary.json")
    }


def test_files_of_the_user_are_named_and_kept(tmp_path: Path) -> None:
    plain(tmp_path / "o", a="1")
    theirs: Tree = {"notes.txt": b"x\n", "sub": None, "sub/thesis.tex": b"y\n", "link": "notes.txt", "z": b""}
    write(tmp_path / "o", theirs)
    before = snapshot(tmp_path)
    with pytest.raises(InputError, match=r"link, notes\.txt, sub/ and 1 more; allowed: another directory, or --force"):
        plain(tmp_path / "o", a="2")
    assert snapshot(tmp_path) == before
    with ownership.staged(ownership.claim(tmp_path / "o", force=True)) as folder:
        (folder / "b").write_text("3")
    after = snapshot(tmp_path / "o")
    assert {name: after.get(name, 0) for name in theirs} == theirs
    assert set(after) == {*theirs, "b", MANIFEST}


def test_a_listed_file_that_was_changed_is_the_users(tmp_path: Path) -> None:
    plain(tmp_path / "o", a="1", b="2")
    (tmp_path / "o" / "a").write_text("7")  # same size as before
    with pytest.raises(InputError, match="left unchanged: a;"):
        plain(tmp_path / "o", b="3")
    with ownership.staged(ownership.claim(tmp_path / "o", force=True)) as folder:
        (folder / "b").write_text("3")
    assert (tmp_path / "o" / "a").read_text() == "7"
    assert (tmp_path / "o" / "b").read_text() == "3"


def test_results_without_a_list_are_the_users(one: Run, tmp_path: Path) -> None:
    one.save(tmp_path / "r")
    (tmp_path / "r" / MANIFEST).unlink()
    with pytest.raises(InputError, match="a version that kept no list of its files count as yours"):
        one.save(tmp_path / "r")
    with pytest.raises(InputError, match="has the name of a file that is to be written"):
        ownership.claim(tmp_path / "r", force=True)
    assert results.load(tmp_path / "r").digest == one.digest


@pytest.mark.parametrize("damage", ["{", "[]", '{"narrows_files": 1}', '{"narrows_files": 1, "files": {"../x": 1}}'])
def test_a_damaged_list_lists_nothing(damage: str, tmp_path: Path) -> None:
    plain(tmp_path / "o", a="1")
    (tmp_path / "o" / MANIFEST).write_text(damage)
    with pytest.raises(InputError, match="left unchanged"):
        plain(tmp_path / "o", a="2")
    assert (tmp_path / "o" / "a").read_text() == "1"


def test_a_list_cannot_reach_out_of_its_directory(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    plain(tmp_path / "o", a="1")
    entry = json.loads((tmp_path / "o" / MANIFEST).read_text())["files"]["a"]
    listed = {"narrows_files": 1, "kind": "results", "files": {"../thesis.tex": entry}}
    (tmp_path / "o" / MANIFEST).write_text(json.dumps(listed))
    (tmp_path / "thesis.tex").write_text("1")
    with pytest.raises(InputError):
        plain(tmp_path / "o", a="2")
    assert (tmp_path / "thesis.tex").read_text() == "1"


def test_a_link_as_directory_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "o").symlink_to("real")
    with pytest.raises(InputError, match="is a symbolic link to real"):
        ownership.claim(tmp_path / "o", force=True)


def with_figure(held: ownership.Claim) -> None:
    with ownership.staged(held) as folder:
        (folder / "figures").mkdir()
        (folder / "figures" / "a").write_text("ours")


def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a").write_text("mine")
    plain(tmp_path / "o", b="1")
    (tmp_path / "o" / "figures").symlink_to(tmp_path / "pictures")
    held = ownership.claim(tmp_path / "o", force=True)
    with pytest.raises(RunError, match=r"figures was not written by Narrows and is kept; .* are in .*o-2"):
        with_figure(held)
    assert snapshot(tmp_path / "pictures") == {"a": b"mine"}
    assert (tmp_path / "o" / "b").read_text() == "1"
    assert (tmp_path / "o-2" / "figures" / "a").read_text() == "ours"


def test_a_file_that_comes_while_the_command_runs_is_kept_and_so_are_the_results(tmp_path: Path) -> None:
    def write_meanwhile() -> None:
        with ownership.staged(tmp_path / "o") as folder:
            (folder / "summary.json").write_text("ours")
            (tmp_path / "o").mkdir()
            (tmp_path / "o" / "summary.json").write_text("theirs")

    with pytest.raises(RunError, match=r"are in .*o-2"):
        write_meanwhile()
    assert (tmp_path / "o" / "summary.json").read_text() == "theirs"
    assert (tmp_path / "o-2" / "summary.json").read_text() == "ours"


def test_kinds_of_directories_do_not_replace_each_other(tmp_path: Path) -> None:
    ownership.claim(tmp_path / "c", kind=ownership.CONTEST).make()
    for force in (False, True):
        with pytest.raises(InputError, match="of another kind"):
            ownership.claim(tmp_path / "c", force=force)


def test_a_file_that_is_read_is_not_replaced(tmp_path: Path) -> None:
    plain(tmp_path / "o", **{"scenario.toml": "x"})
    with pytest.raises(InputError, match="an input of this command that would be replaced"):
        ownership.claim(tmp_path / "o", inputs=[tmp_path / "o" / "scenario.toml"], force=True)


def test_explain_replaces_its_pages_and_no_others(tmp_path: Path) -> None:
    from narrows.report import pages

    (tmp_path / "reno.md").write_text("# My notes on Reno\n")
    with pytest.raises(InputError, match=r"reno\.md: was not written by Narrows"):
        pages.write_all(tmp_path, ["reno"])
    assert snapshot(tmp_path) == {"reno.md": b"# My notes on Reno\n"}
    (tmp_path / "reno.md").unlink()
    pages.write_all(tmp_path, ["reno"])
    assert pages.write_all(tmp_path, ["reno"]) == [tmp_path / "reno.md"]
    (tmp_path / "reno.svg").write_text("<svg/>")
    with pytest.raises(InputError, match=r"reno\.svg: was not written by Narrows"):
        pages.write_all(tmp_path, ["reno"])


# Random trees, and kills at every step.

NAMES = st.sampled_from(
    f"a b figures pcap summary.json scenario.toml notes.txt {MANIFEST} runs lock owner.json content "
    "part-00000001-0a1b2c3d.parquet .narrows.0a1b2c3d.partial .o.0a1b2c3d.partial".split()
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
CONTENTS = st.one_of(
    st.none(), st.binary(max_size=40), st.sampled_from(["a", "..", "../elsewhere", "/nowhere", "elsewhere/precious"])
)


def consistent(tree: dict[str, bytes | str | None]) -> Tree:
    """Leave out paths below a file or a link."""
    solid = {name for name, content in tree.items() if content is not None}
    return {
        name: content
        for name, content in sorted(tree.items())
        if not any(str(parent) in solid for parent in Path(name).parents)
    }


TREES = st.dictionaries(PATHS, CONTENTS, max_size=8).map(consistent)


def kept(root: Path, theirs: Tree) -> None:
    there = snapshot(root)
    for name, content in theirs.items():
        assert there.get(name, "gone") == content, name


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(inside=TREES, beside=TREES, ours=TREES, again=TREES, force=st.booleans(), alone=st.booleans())
def test_no_foreign_byte_changes(
    tmp_path_factory: pytest.TempPathFactory,
    inside: Tree,
    beside: Tree,
    ours: Tree,
    again: Tree,
    force: bool,
    alone: bool,
) -> None:
    root = tmp_path_factory.mktemp("tree")
    write(root, {name: content for name, content in beside.items() if name.split("/")[0] != "o"})
    with ownership.staged(root / "o") as folder:
        write(folder, {name: c for name, c in ours.items() if isinstance(c, bytes) and MANIFEST not in name})
    mine = {name for name, content in snapshot(root / "o").items() if content is not None}
    theirs: Tree = {}
    for name, content in inside.items():
        path = root / "o" / name
        if not os.path.lexists(path) and all(parent.is_dir() for parent in path.parents if os.path.lexists(parent)):
            write(root / "o", {name: content})
            theirs[name] = content
        elif name in mine and isinstance(content, bytes) and path.read_bytes() != content:
            path.write_bytes(content)
            theirs[name] = content
    outside = {name: content for name, content in snapshot(root).items() if not name.startswith("o")}
    before = snapshot(root / "o")
    try:
        held = ownership.claim(root / "o", force=force)
        with ownership.staged(held, alone=alone) as folder:
            write(folder, {name: c for name, c in again.items() if isinstance(c, bytes) and MANIFEST not in name})
    except InputError:
        assert snapshot(root / "o") == before
    except RunError as error:
        if "was not written by Narrows" not in str(error):
            raise
    kept(root / "o", theirs)
    kept(root, outside)


OPERATIONS = ("mkdir", "open", "rename", "replace", "unlink", "rmdir", "fsync", "link", "write")


def killed_after(steps: int, work: Callable[[], None]) -> bool:
    """Do some work in a child process that is killed before change number `steps`; True if the work was completed."""
    child = os.fork()
    if child == 0:
        left = steps

        def counted(call: Callable[..., object]) -> Callable[..., object]:
            def checked(*arguments: object, **options: object) -> object:
                nonlocal left
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1
                return call(*arguments, **options)

            return checked

        for name in OPERATIONS:
            setattr(os, name, counted(getattr(os, name)))
        try:
            work()
        except BaseException:  # noqa: BLE001 - the parent sees it in the exit code
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFEXITED(status)


def each_kill(work: Callable[[Path], None], root: Path, prepare: Callable[[Path], None]) -> Iterator[Path]:
    for steps in range(1000):
        where = root / str(steps)
        where.mkdir()
        prepare(where)
        ended = killed_after(steps, lambda where=where: work(where / "o"))  # type: ignore[misc]
        yield where
        if ended:
            assert steps > 10
            return


def age(where: Path) -> None:
    """Make folders without an owner old: in their first seconds they may belong to a process that is creating them."""
    for path in where.rglob(".*.partial"):
        if path.is_dir():
            os.utime(path, (0, 0))


OLD = {"summary.json": "old", "figures__a": "old", "figures__b": "old"}
NEW = {"summary.json": "new", "figures__a": "new", "c": "new"}


def contents(directory: Path) -> dict[str, str]:
    ownership.found(directory)
    return {
        name.replace("/", "__"): content.decode()
        for name, content in snapshot(directory).items()
        if isinstance(content, bytes) and not name.startswith(".narrows")
    }


def test_a_command_killed_at_any_step_leaves_the_old_files_or_the_new(tmp_path: Path) -> None:
    seen = set()
    for where in each_kill(lambda out: plain(out, **NEW), tmp_path, lambda where: plain(where / "o", **OLD)):
        left = contents(where / "o")
        assert left in (OLD, NEW)
        seen.add(left["summary.json"])
        age(where)
        plain(where / "o", d="later")
        assert snapshot(where / "o").keys() == {"d", MANIFEST}
        assert [path.name for path in where.iterdir()] == ["o"]
    assert seen == {"old", "new"}


def test_a_new_directory_is_whole_or_not_there_whenever_the_command_is_killed(tmp_path: Path) -> None:
    for where in each_kill(lambda out: plain(out, **NEW), tmp_path, lambda _: None):
        if (where / "o").exists():
            assert contents(where / "o") == NEW
        age(where)
        plain(where / "o", d="later")
        assert snapshot(where / "o").keys() == {"d", MANIFEST}
        assert [path.name for path in where.iterdir()] == ["o"]


def test_files_of_the_user_stay_whenever_the_command_is_killed(tmp_path: Path) -> None:
    theirs: Tree = {"notes.txt": b"x", "figures/mine.png": b"y", "sub/link": "../notes.txt", ".narrows.x.partial": b"z"}

    def prepare(where: Path) -> None:
        plain(where / "o", **OLD)
        write(where / "o", theirs)

    def forced(out: Path) -> None:
        with ownership.staged(ownership.claim(out, force=True)) as folder:
            (folder / "summary.json").write_text("new")

    for where in each_kill(forced, tmp_path, prepare):
        kept(where / "o", theirs)
        age(where)
        forced(where / "o")
        kept(where / "o", theirs)
        assert (where / "o" / "summary.json").read_text() == "new"
        assert not list((where / "o").glob(".narrows.????????.partial"))


# Leftovers of killed processes.


def test_the_folder_of_a_live_process_is_left_alone(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom narrows import ownership\n"
        "with ownership.staged(sys.argv[1]) as folder:\n"
        "    (folder / 'x').write_text('x'); print(folder, flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, tmp_path / "o"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        ownership.claim(tmp_path / "o")
        assert (folder / "x").exists()
        process.kill()
        process.wait()
        ownership.claim(tmp_path / "o")
        assert list(tmp_path.iterdir()) == []
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("inside", [{}, {"content/x": b"x"}, {"owner.json": b"{}"}, {"owner.json": b'{"what": "x"}'}])
def test_a_folder_is_not_known_by_its_name_alone(inside: Tree, tmp_path: Path) -> None:
    theirs: Tree = {f".o.0a1b2c3d.partial/{name}": content for name, content in inside.items()} or {
        ".o.0a1b2c3d.partial": None
    }
    write(tmp_path, theirs)
    plain(tmp_path / "o", a="1")
    kept(tmp_path, theirs)


def test_a_users_file_in_a_killed_commands_folder_stays(tmp_path: Path) -> None:
    made = staging.Staging.make(tmp_path / "o")
    (made.folder / "mine").write_text("x")
    made.release()
    ownership.claim(tmp_path / "o")
    assert (made.folder / "mine").read_text() == "x"
    assert not (made.folder / "owner.json").exists()


# All commands.


def test_run_keeps_what_it_did_not_write(tmp_path: Path) -> None:
    out = tmp_path / "o"
    assert narrows("run", "dumbbell-cubic", "-o", out, *SHORT, "-q").returncode == 0
    theirs: Tree = {"notes.txt": b"x\n", "sub": None, "sub/thesis.tex": b"x\n"}
    write(out, theirs)
    before = snapshot(out)
    again = narrows("run", "dumbbell-cubic", "-o", out, *SHORT)
    assert (again.returncode, again.stdout) == (2, "")
    assert "notes.txt, sub/" in again.stderr
    assert "--force" in again.stderr
    assert snapshot(out) == before
    forced = narrows("run", "dumbbell-cubic", "-o", out, *SHORT, "--seed", "9", "--force")
    assert forced.returncode == 0
    kept(out, theirs)
    assert json.loads((out / "summary.json").read_text())["seed"] == 9


def test_run_keeps_its_input(tmp_path: Path) -> None:
    (tmp_path / "e").mkdir()
    scenario = narrows("show", "dumbbell-cubic", "--set", "duration=12 s").stdout.encode()
    write(tmp_path / "e", {"exp.toml": scenario})
    refused = narrows("run", "e/exp.toml", "-o", "e", "--no-progress", cwd=tmp_path)
    assert refused.returncode == 2
    assert snapshot(tmp_path / "e") == {"exp.toml": scenario}
    assert narrows("run", "e/exp.toml", "-o", "e", "--no-progress", "--force", cwd=tmp_path).returncode == 0
    kept(tmp_path / "e", {"exp.toml": scenario})
    own = narrows("run", "e/scenario.toml", "-o", "e", "--no-progress", "--force", cwd=tmp_path)
    assert own.returncode == 2
    assert "an input of this command that would be replaced" in own.stderr


SWEEP = 'name = "s"\nscenario = "speed-w1"\nseeds = 2\n[set]\nduration = "1 s"\n'


@pytest.fixture
def commands(tmp_path: Path) -> list[tuple[str | Path, ...]]:
    (tmp_path / "s.toml").write_text(SWEEP)
    contest = ("contest", "--cc", "reno", "--runs", "1", "--no-solo", "--set", "duration=12 s", "--no-progress")
    return [
        ("run", "dumbbell-cubic", *SHORT),
        ("run", "dumbbell-cubic", "--runs", "2", *SHORT),
        ("sweep", tmp_path / "s.toml", "--no-progress"),
        contest,
        ("reproduce", "acns", "--quick", "--no-progress"),
        ("reproduce", "agile-sd", "--quick", "--no-progress"),
        ("reproduce", "contest", "--quick", "--no-progress"),
        ("reproduce", "ngwa", "--quick", "--no-progress"),
        ("reproduce", "ngwa", "--beyond", "--quick", "--no-progress"),
        ("reproduce", "contest", "--pair", "westwood", "hybla", "--quick", "--no-progress"),
        ("live", "dumbbell-cubic", *SHORT),
        ("run", "dumbbell-cubic", "--both", *SHORT),
        ("reproduce", "acns", "--live", "--quick", "--no-progress"),
        ("reproduce", "ngwa", "--live", "--quick", "--no-progress"),
    ]


@pytest.mark.slow
def test_every_command_refuses_a_foreign_directory_and_a_link_before_it_runs(
    commands: list[tuple[str | Path, ...]], tmp_path: Path
) -> None:
    theirs: Tree = {"notes.md": b"x", "figures/a.png": b"y", "runs.jsonl": b"{", "runs/part-1.parquet": b"", "up": ".."}
    write(tmp_path / "o", theirs)
    (tmp_path / "link").symlink_to("o")
    for command in commands:
        for where, why in (("o", "left unchanged"), ("link", "is a symbolic link")):
            refused = CliRunner().invoke(app, [*map(str, command), "-o", str(tmp_path / where)])
            assert (refused.exit_code, refused.stdout) == (2, ""), command
            assert why in refused.stderr, command
        assert snapshot(tmp_path / "o") == snapshot(tmp_path / "o") | theirs
        assert {*snapshot(tmp_path / "o")} == {*theirs, "figures", "runs"}


@pytest.mark.slow
def test_kills_at_random_moments_change_no_foreign_byte_and_leave_nothing(
    commands: list[tuple[str | Path, ...]], tmp_path: Path
) -> None:
    choose = random.Random(16)  # noqa: S311 - which moments, not secrets
    theirs: Tree = {"notes.md": b"x", "figures/mine.png": b"y", "runs/mine.parquet": b"PAR1", "up": ".."}
    usual_s: dict[tuple[str | Path, ...], float] = {}
    killed = 0
    for number, command in enumerate([*commands[:4], commands[9]] * 3):
        out = tmp_path / str(number) / "o"
        write(out, theirs)
        for _ in range(2):
            process = subprocess.Popen(
                [*NARROWS, *map(str, command), "-o", str(out), "--force"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            # Results are written near the end.
            with suppress(subprocess.TimeoutExpired):
                process.wait(choose.uniform(0.3, 1.05) * min(usual_s.get(command, 1.0), 4.0))
            process.kill()
            killed += process.wait() != 0
            kept(out, theirs)
        age(out.parent)
        begin = time.monotonic()
        ended = narrows(*command, "-o", out, "--force")
        usual_s[command] = time.monotonic() - begin
        assert ended.returncode == 0, ended.stderr
        kept(out, theirs)
        assert not list(out.rglob("*.partial"))
        assert [path.name for path in out.parent.iterdir()] == ["o"]
    assert killed > 10, "two of three commands were over before they were killed"
