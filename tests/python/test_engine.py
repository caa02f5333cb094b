"""The commit in every version: from git, from the environment, or marked as unknown."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from narrows import _core
from narrows.base import engine

if TYPE_CHECKING:
    from narrows.outcome import Run

SCRIPT = Path(__file__).parents[2] / "crates" / "py" / "build.rs"


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the build script separately."""
    if shutil.which("rustc") is None or not SCRIPT.exists():
        pytest.skip("needs rustc and the sources of crates/py")
    made = tmp_path_factory.mktemp("script") / "build"
    command = ["rustc", "--edition", "2024", "--crate-name", "build", str(SCRIPT), "-o", str(made)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return made


def field(script: Path, package: Path, **more: str) -> tuple[str, str]:
    out = package / "out"
    out.mkdir(exist_ok=True)
    environment = {"CARGO_MANIFEST_DIR": str(package), "OUT_DIR": str(out), "PATH": os.environ["PATH"]} | more
    told = subprocess.run(
        [script], env=environment, cwd=package, capture_output=True, text=True, check=True, timeout=60
    )
    written = (out / "commit").read_text()
    assert len(written) == 64
    found = re.fullmatch(r"NARROWS-COMMIT<([0-9a-z.]+) *>", written)
    assert found is not None
    return found[1], told.stdout


def git(where: Path, *words: str) -> str:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *words], cwd=where, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    made = tmp_path / "top" / "crates" / "py"
    made.mkdir(parents=True)
    (made / "lib.rs").write_text("one")
    (tmp_path / "top" / "notes.txt").write_text("one")
    return made


def test_the_commit_is_that_of_the_checkout_and_tells_whether_it_was_clean(script: Path, package: Path) -> None:
    top = package.parents[1]
    git(top, "init", "-q")
    git(top, "add", "crates/py/lib.rs", "notes.txt")
    git(top, "commit", "-qm", "one")
    commit = git(top, "rev-parse", "--short=7", "HEAD")
    made, told = field(script, package)
    assert made == commit
    assert "crates/py/lib.rs\n" in told
    (top / "notes.txt").write_text("is not packaged")
    assert field(script, package)[0] == commit
    (package / "lib.rs").write_text("two")
    assert field(script, package)[0] == f"{commit}.dirty"


def test_outside_git_the_commit_is_unknown_or_what_it_is_told(script: Path, package: Path) -> None:
    assert field(script, package)[0] == "unknown"
    assert field(script, package, NARROWS_COMMIT="9094a25.dirty")[0] == "9094a25.dirty"
    made, told = field(script, package, NARROWS_COMMIT="main")
    assert made == "unknown"
    assert "allowed: a commit" in told
    (package / "commit.txt").write_text("$Format:%h$\n")
    assert field(script, package)[0] == "unknown"
    (package / "commit.txt").write_text("9094a25\n")
    assert field(script, package)[0] == "9094a25"


def test_sources_within_another_projects_checkout_have_no_commit_of_it(script: Path, package: Path) -> None:
    outer = package.parents[2]
    git(outer, "init", "-q")
    git(outer, "add", ".")
    git(outer, "commit", "-qm", "another project")
    assert field(script, package)[0] == "unknown"


def test_every_result_has_the_version_with_its_commit(one: Run) -> None:
    version = _core.version()
    assert re.fullmatch(r"\d+\.\d+\.\d+\+(g[0-9a-f]{7,40}(\.dirty)?|unknown)", version)
    assert one.summary["version"] == version == engine.engine().version


def test_the_commit_is_no_part_of_the_build() -> None:
    content = Path(str(_core.__file__)).read_bytes()
    assert len(engine._COMMIT.findall(content)) == 1
    mine = engine.engine()
    assert mine == engine.Engine(mine.release, mine.build, "another")
