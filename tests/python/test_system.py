"""`.ci/system`: what `make setup` installs by apt, and what it says before; apt itself is replaced by a script."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]

TOOLS: Final = ("as", "bash", "cargo", "cat", "cc", "cp", "env", "head", "ld", "make", "mktemp", "pkg-config", "rm",
                "rustc", "tail", "touch", "uname")  # fmt: skip

APT: Final = """#!/bin/bash
cp {folder}/told {folder}/told-before-$1 2>/dev/null || cp {folder}/told {folder}/told-before
echo "Reading database ... chatter on standard output"
echo "debconf: chatter on standard error" >&2
for word; do
    [ "$word" != pkg-config ] || cp {real} {folder}/bin/pkg-config
done
exit {code}
"""
"""Notes what the script had printed when it was called, chatters, and "installs" pkg-config."""


class Machine:
    """A folder of programs, in place of this machine's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            if found is None:
                pytest.skip(f"{tool} is not in the PATH")
            self.script(tool, f'#!/bin/bash\nexec {found} "$@"\n')
        self.user(0)
        # An environment with pip takes ten seconds to make.
        self.script(
            "python3.11",
            f'#!/bin/bash\n[ "$1 $2" = "-m venv" ] && set -- -m venv --without-pip "$3"\nexec {sys.executable} "$@"\n',
        )

    def script(self, name: str, text: str) -> None:
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(text, "utf-8")
        path.chmod(0o755)

    def user(self, number: int) -> None:
        self.script("id", f"#!/bin/bash\necho {number}\n")

    def apt(self, code: int = 0) -> None:
        self.script("apt-get", APT.format(folder=self.folder, real=self.bin / "pkg-config.real", code=code))

    def lacks_pkg_config(self) -> None:
        (self.bin / "pkg-config").rename(self.bin / "pkg-config.real")

    def setup(self, **environment: str) -> tuple[int, str, str]:
        """Run the script; return its exit code and what it printed."""
        told = self.folder / "told"
        # Cargo's and Python's own settings stay; of the PATH only the folder.
        kept = {k: v for k, v in os.environ.items() if k in {"HOME", "CARGO_HOME", "RUSTUP_HOME"}}
        with told.open("wb") as out:
            ended = subprocess.run(
                [str(ROOT / ".ci" / "system"), str(self.folder / "venv")],
                env={**kept, "PATH": str(self.bin), **environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                check=False,
            )
        return ended.returncode, told.read_text("utf-8"), ended.stderr.decode()

    def called(self) -> set[str]:
        """Return the files that apt's stand-in left."""
        return {path.name for path in self.folder.glob("told-before*")}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_without_root_nothing_is_asked_of_apt_if_everything_is_there(machine: Machine) -> None:
    machine.user(1000)
    machine.apt(code=1)
    code, told, errors = machine.setup()
    assert code == 0, errors
    assert (machine.folder / "venv" / "bin" / "python").exists()
    assert "apt" not in told
    assert machine.called() == set()


def test_what_apt_installs_is_told_before_and_nothing_of_its_chatter(machine: Machine) -> None:
    machine.lacks_pkg_config()
    machine.apt()
    code, told, errors = machine.setup()
    assert code == 0, errors
    announcement = (
        "missing (names of Debian packages):\n  pkg-config    finds libelf and zlib\napt-get installs them now"
    )
    assert told.startswith(announcement)
    (before, *_) = [machine.folder / name for name in sorted(machine.called())]
    assert before.read_text("utf-8").startswith(announcement)
    assert "chatter" not in told + errors


def test_a_failure_of_apt_is_shown_with_its_last_lines(machine: Machine) -> None:
    machine.lacks_pkg_config()
    machine.apt(code=100)
    code, told, errors = machine.setup()
    assert code == 1
    assert "debconf: chatter on standard error" in errors
    assert "setup: apt-get update failed; as root: apt-get install pkg-config" in errors
    assert "chatter" not in told


def test_apt_can_be_declined(machine: Machine) -> None:
    machine.lacks_pkg_config()
    machine.apt()
    code, told, errors = machine.setup(APT="0")
    assert (code, errors) == (1, "setup: APT=0 declines apt; as root: apt-get install pkg-config\n")
    assert "  pkg-config " in told
    assert machine.called() == set()


def test_without_root_and_sudo_the_command_for_root_is_told(machine: Machine) -> None:
    machine.lacks_pkg_config()
    machine.apt()
    machine.user(1000)
    code, _, errors = machine.setup()
    assert code == 1
    assert errors == "setup: this is not root, and there is no sudo; as root: apt-get install pkg-config\n"
    assert machine.called() == set()


def test_without_a_terminal_sudo_does_not_wait_for_a_password(machine: Machine) -> None:
    machine.lacks_pkg_config()
    machine.apt()
    machine.user(1000)
    machine.script("sudo", '#!/bin/bash\n[ "$1" = -n ] || exit 9\nshift\nexec "$@"\n')
    code, told, errors = machine.setup()
    assert code == 0, errors
    assert "apt-get installs them now, with sudo; APT=0 make setup declines that" in told


def test_a_compiler_that_finds_no_libelf_asks_for_it(machine: Machine) -> None:
    machine.script("cc", f'#!/bin/bash\n[[ " $* " != *" -lelf "* ]] && exec {shutil.which("cc")} "$@"\nexit 1\n')
    code, told, errors = machine.setup()
    assert code == 1
    assert told == "missing (names of Debian packages):\n  libelf-dev    header and library that libbpf needs\n"
    assert errors == "setup: there is no apt-get here: install them by hand, then run this again\n"
