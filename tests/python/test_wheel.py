"""The wheel, installed outside the checkout: its files, each verb's examples, and each paper's quick reproduction."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from narrows.cli import app
from narrows_papers import PAPERS

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = ROOT / "python"
PACKAGES: Final = ("narrows/", "narrows_papers/")

UNAVAILABLE: Final = 3
"""Exit code of a command that needs live runs on a machine without them."""

SERVED: Final = "narrows ui dumbbell-cubic --no-browser"
"""A command that ends by Ctrl-C alone."""

LONG: Final = {"narrows reproduce ngwa --live --quick": 30.0, SERVED: 10.0}
"""Commands that take a quarter of an hour of real time, or do not end, with the seconds until the test's Ctrl-C."""

EXAMPLES: Final = {
    str(verb.name): [
        (caption, command)
        for caption, _, command in (line.partition(": ") for line in str(verb.epilog).split("\n\n"))
        if caption and command
    ]
    for verb in app.registered_commands
}
"""Captions and commands at the end of each verb's help."""

REPRODUCTIONS: Final = [
    command
    for command in (
        *(f"narrows reproduce {paper} --quick" for paper in sorted(PAPERS)),
        *(f"narrows reproduce {paper} --beyond --quick" for paper, one in sorted(PAPERS.items()) if one.beyond),
        *(f"narrows reproduce {paper} --live --quick" for paper, one in sorted(PAPERS.items()) if one.live),
    )
    if not any(example.startswith(command) for _, example in EXAMPLES["reproduce"])
]
"""Quick reproductions that are not among the examples."""


def files_below(top: Path) -> set[str]:
    """Return the files below a directory as relative paths, including those behind links to directories."""
    return {
        os.path.relpath(Path(folder) / name, top)
        for folder, _, names in os.walk(top, followlinks=True)
        for name in names
        if Path(folder).name != "__pycache__"
    }


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel and the checkout's dependencies, but without its package."""

    home: Path

    def run(
        self, command: str, cwd: Path, *, interrupt_after_s: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command line in a directory, with this environment's programs first and empty standard input."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "NARROWS"))}
        environment |= {"PATH": f"{self.home / 'bin'}:{environment['PATH']}", "HOME": str(cwd), "COLUMNS": "400"}
        # With `exec`, Ctrl-C reaches the command itself instead of the shell.
        line = f"exec {command}" if interrupt_after_s is not None else command
        started = subprocess.Popen(
            ["/bin/sh", "-c", line],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            out, err = started.communicate(timeout=interrupt_after_s or 900)
        except subprocess.TimeoutExpired:
            started.send_signal(signal.SIGINT if interrupt_after_s is not None else signal.SIGTERM)
            out, err = started.communicate(timeout=60)
        return subprocess.CompletedProcess(command, started.returncode, out, err)


def made_once(folders: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that the first of the processes of pytest-xdist makes, and the others wait for."""
    top = folders.getbasetemp()
    top = top.parent if "PYTEST_XDIST_WORKER" in os.environ else top
    with (top / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (top / f"{name}.made").exists():
            shutil.rmtree(top / name, ignore_errors=True)
            (top / name).mkdir()
            make(top / name)
            (top / f"{name}.made").touch()
    return top / name


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a wheel of this checkout, built like the engine in `make setup` to reuse compiled code."""
    if shutil.which("maturin") is None or shutil.which("cargo") is None:
        pytest.skip("maturin or cargo is not in the PATH, to build a wheel")
    (made,) = made_once(tmp_path_factory, "wheel", build).glob("*.whl")
    return made


def build(out: Path) -> None:
    """Build the wheel into a folder."""
    python = str(Path(sys.prefix) / "bin" / "python")
    environment = {**os.environ, "VIRTUAL_ENV": sys.prefix, "PYO3_PYTHON": python}
    built = subprocess.run(
        [
            *("maturin", "build", "--release", "--locked", "--offline"),
            *("--auditwheel", "skip", "--interpreter", python, "--out", str(out)),
        ],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Return an environment with the wheel installed by pip, without the network."""

    def install(folder: Path) -> None:
        venv.create(folder / "env", symlinks=True, with_pip=False)
        (packages,) = folder.glob("env/lib/python*/site-packages")
        # A .pth file adds only the directory: .pth files inside it, such as the checkout's own, are not read.
        (packages / "dependencies.pth").write_text("\n".join(p for p in sys.path if Path(p).name == "site-packages"))
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "env/bin/python"), "install", "--quiet"]
        subprocess.run([*pip, "--no-deps", "--no-index", "--ignore-installed", str(wheel)], check=True)

    home = made_once(tmp_path_factory, "installed", install) / "env"
    (packages,) = home.glob("lib/python*/site-packages")
    here = Installed(home)
    where = here.run("python -c 'import narrows, sys; print(narrows.__file__, *sys.path)'", home)
    assert where.returncode == 0, where.stderr
    assert where.stdout.startswith(str(packages))
    assert str(PACKAGE) not in where.stdout.split()
    return here


def try_out(installed: Installed, command: str, cwd: Path) -> str | None:
    """Run a command that must work; if this machine lacks something that it needs, return what."""
    programs = re.findall(r"--exec \w+ '(?:sleep \d+; )?(\w+)", command)
    if command.startswith("narrows validate") and "--against live" not in command:
        programs.append("ns")  # what variants are set beside by default
    for program in programs:
        if shutil.which(program) is None:
            return f"{command}: {program} is not installed"
    if command.startswith("narrows kernels add debian:"):
        return f"{command}: fetches packages from the network"
    limit = LONG.get(command)
    ended = installed.run(command, cwd, interrupt_after_s=limit)
    told = f"{command}\nexit code {ended.returncode}\n{ended.stdout[-2000:]}\n{ended.stderr[-4000:]}"
    assert "Traceback" not in ended.stderr, told
    if ended.returncode == UNAVAILABLE:
        return f"{command}: {ended.stderr.strip()}"
    if "--against live" in command and ended.returncode == 1:
        # The command works; how near its figures come depends on how busy this machine is.
        assert "than the yardstick allows" in ended.stderr, told
        return f"{command}: {ended.stderr.strip().splitlines()[-1]}"
    if limit is not None and ended.returncode == 130:
        assert (
            ("http://127.0.0.1:" in ended.stdout) if command == SERVED else "live runs had finished" in ended.stderr
        ), told
        return None
    assert ended.returncode == 0, told
    return None


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    here = {name for name in files_below(PACKAGE) if name.startswith(PACKAGES) and not name.endswith(".so")}
    assert len([name for name in here if name.startswith("narrows/data/")]) > 90
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith(PACKAGES) and not name.endswith(".so")}
    assert packed == here


@pytest.mark.slow
def test_the_wheel_installs_the_man_page_and_this_versions_digests(installed: Installed, tmp_path: Path) -> None:
    page = installed.home / "share" / "man" / "man1" / "narrows.1"
    assert page.read_bytes() == (ROOT / "packaging/data/share/man/man1/narrows.1").read_bytes()
    shown = installed.run("narrows verify dctcp-marking", tmp_path)
    assert shown.returncode == 0, shown.stdout + shown.stderr


def test_every_verb_ends_in_examples_of_itself() -> None:
    for verb, examples in EXAMPLES.items():
        assert any(command.startswith(f"narrows {verb}") for _, command in examples), verb
        for caption, command in examples:
            for part in re.sub(r"'[^']*'", "", command).split("; "):
                assert part.split()[0] in {"narrows", "printf"}, f"{caption}: {command}"
    assert [command for _, command in EXAMPLES["ui"]] == [SERVED], "a command that does not end is interrupted"


@pytest.mark.slow
@pytest.mark.parametrize("verb", EXAMPLES)
def test_the_examples_of_the_help_work_where_the_wheel_is_installed(
    verb: str, installed: Installed, tmp_path: Path
) -> None:
    shown = installed.run(f"narrows {verb} --help", tmp_path).stdout
    if verb in {"attach", "detach"}:
        listed = installed.run("narrows attach --list --json", tmp_path)
        if listed.returncode == 0 and json.loads(listed.stdout)["attached"]:
            pytest.skip("congestion controls are attached to this host already")
    lacking = []
    for number, (caption, command) in enumerate(EXAMPLES[verb]):
        assert f" {caption}: {command}" in shown
        place = tmp_path / str(number) if verb == "init" else tmp_path  # a file that is there is not written again
        place.mkdir(exist_ok=True)
        lacking.append(try_out(installed, command, place))
    if any(lacking):
        works = f"{lacking.count(None)} of {len(lacking)} work"
        pytest.skip("; ".join((works, *(why for why in lacking if why))))


@pytest.mark.slow
@pytest.mark.parametrize("command", REPRODUCTIONS)
def test_papers_are_reproduced_where_the_wheel_is_installed(command: str, installed: Installed, tmp_path: Path) -> None:
    lacking = try_out(installed, command, tmp_path)
    if lacking:
        pytest.skip(lacking)
