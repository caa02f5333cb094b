"""The user's programs on hosts of the emulated network: ``narrows live --exec`` and ``narrows shell``."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.python.conftest import Trusted

NARROWS = [sys.executable, "-c", "from narrows.cli import main; main()"]

SCENARIO = """
duration = "1500 ms"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mb/s", delay = "5 ms" }
access = { rate = "100 Mb/s", delay = "1 ms" }
[[flows]]
from = "s1"
to = "d1"
stop = "200 ms"
"""

SERVER = """
import socket
with socket.create_server(("d1", 7)) as server:
    connection, _ = server.accept()
    while data := connection.recv(100):
        connection.sendall(data)
"""

CLIENT = """
import os, socket, time
while True:
    try:
        connection = socket.create_connection(("d1", 7), timeout=1)
        break
    except ConnectionRefusedError:  # the server is not up yet
        time.sleep(0.05)
with connection:
    begin = time.monotonic()
    connection.sendall(b"over the network")
    print("came back:", connection.recv(100).decode())
    print("round trip:", round((time.monotonic() - begin) * 1000))
    print("from:", connection.getsockname()[0] == os.environ["NARROWS_ADDRESS_s1"], os.environ["NARROWS_HOST"])
"""


def narrows(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*NARROWS, *arguments], capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> str:
    if os.geteuid() != 0:
        pytest.skip("live runs take root")
    file = tmp_path_factory.mktemp("live") / "small.toml"
    file.write_text(SCENARIO)
    tried = narrows("live", str(file), "--set", "duration=100 ms", "-q")
    if tried.returncode == 3:
        pytest.skip(tried.stderr.strip())
    assert tried.returncode == 0, tried.stderr
    return str(file)


def test_programs_on_two_hosts_talk_through_the_network(scenario: str, trusted: Trusted, tmp_path: Path) -> None:
    for name, text in {"server": SERVER, "client": CLIENT}.items():
        (tmp_path / f"{name}.py").write_text(text)
    on = [("d1", f"{sys.executable} {tmp_path}/server.py"), ("s1", f"{sys.executable} {tmp_path}/client.py")]
    programs = [word for pair in on for word in ("--exec", *pair)]

    def once() -> tuple[str, list[str]]:
        done = narrows("live", scenario, "--no-progress", "--set", "duration=4 s", *programs)
        assert done.returncode == 0, done.stderr
        return done.stderr, re.findall("not to be trusted: (.*)", done.stderr)

    said = trusted(once)
    assert "warning: --exec" not in said
    assert "came back: over the network" in said
    assert "from: True s1" in said
    match = re.search(r"round trip: (\d+)", said)
    # 7 ms in each direction; the programs may wait for a processor.
    assert match is not None
    assert 14 <= int(match[1]) < 200


def test_how_programs_end_is_told_beside_a_result_that_they_do_not_disturb(scenario: str) -> None:
    commands = ["echo to you", "exit 3", "kill -9 $$", "echo to me >&2; sleep 60"]
    done = narrows("live", scenario, "--json", *(word for command in commands for word in ("--exec", "d1", command)))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["conditions"]["programs"] == [
        "d1: echo to you: exit code 0",
        "d1: exit 3: exit code 3",
        "d1: kill -9 $$: ended by signal 9",
        "d1: echo to me >&2; sleep 60: ran until the end",
    ]
    assert {"to you", "to me", "warning: --exec d1: exit 3: exit code 3"} <= set(done.stderr.splitlines())
    assert done.stderr.count("warning: --exec") == 2


@pytest.mark.parametrize(
    ("host", "command", "said"),
    [
        ("s1", "nosuchprogram -c d1", "there is no program `nosuchprogram` in PATH"),
        ("s1", "/no/such/program", "/no/such/program"),
        ("s1", "  ", "no command"),
        ("s9", "true", "s9"),
        ("r1", "true", "r1"),
    ],
)
def test_what_cannot_be_run_is_refused(scenario: str, host: str, command: str, said: str) -> None:
    done = narrows("live", scenario, "--no-progress", "--exec", host, command)
    assert done.returncode == 2
    assert "--exec" in done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def at_a_terminal(arguments: Sequence[str], typed: Sequence[str]) -> tuple[int, str]:
    """Run a command at a new terminal and type lines, each after a while."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["SHELL"] = "/bin/sh"
        os.execv(arguments[0], list(arguments))  # noqa: S606 - the forked child becomes the command
    said = b""

    def read() -> bool:
        nonlocal said
        try:
            more = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            return False
        said += more
        return bool(more)

    deadline = time.monotonic() + 60
    for line in typed:
        prompts = said.count(b"(narrows)")
        while said.count(b"(narrows)") <= prompts - 1 or b"(narrows)" not in said:
            assert time.monotonic() < deadline, said
            assert read(), said
        time.sleep(0.3)
        os.write(terminal, line.encode() + b"\n")
    while read():
        assert time.monotonic() < deadline, said
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), said.decode()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_shell_on_a_host(scenario: str) -> None:
    typed = ["echo I am $(hostname) with $(ls /sys/class/net)", "getent hosts d1 | tr -s ' '", "exit 7"]
    code, said = at_a_terminal([*NARROWS, "shell", scenario, "s1"], typed)
    assert code == 7, said
    assert re.search(r"I am s1 with lo \w+", said), said
    assert re.search(r"\d+ d1\b", said), said


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_shell_on_no_host_is_refused(scenario: str) -> None:
    done = narrows("shell", scenario, "s9")
    assert done.returncode == 2
    assert "s9" in done.stderr
