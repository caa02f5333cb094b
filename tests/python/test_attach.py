"""``narrows attach`` and ``narrows detach`` in the test's own namespaces, and what they refuse."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from narrows import _core
from narrows.base.errors import LiveError
from narrows.cli import app
from narrows.runs import host

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer.testing import Result

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
NARROWS = f"{sys.executable} -c 'from narrows.cli import main; main()'"

USE = """
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"agile_sd")
client.sendall(b"x" * 65536)
assert client.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\\0") == b"agile_sd"
print("used")
"""


def names() -> list[str]:
    return AVAILABLE.read_text().split()


@pytest.fixture
def apart() -> Iterator[None]:
    """Skip if nothing can be attached; allow only one such test at a time on this machine, over all working copies."""
    if os.geteuid() != 0:
        pytest.skip("attaching takes root")
    if not Path("/sys/kernel/btf/vmlinux").exists():
        pytest.skip("the kernel has no type information (CONFIG_DEBUG_INFO_BTF)")
    if shutil.which("unshare") is None:
        pytest.skip("unshare (util-linux) is not installed")
    with Path("/tmp/narrows-attach.lock").open("w") as lock:  # noqa: S108 - shared with the tests in Rust
        fcntl.flock(lock, fcntl.LOCK_EX)
        if "agile_sd" in names():
            pytest.skip("agile_sd is registered already")
        yield


def inside(script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script in new namespaces without a BPF file system; pins and defaults end with them."""
    prepared = f'umount -l /sys/fs/bpf 2> /dev/null; ip link set lo up; narrows() {{ {NARROWS} "$@"; }}\n{script}'
    done = subprocess.run(
        ["unshare", "--mount", "--net", "sh", "-c", prepared], capture_output=True, text=True, timeout=60, check=False
    )
    until = time.monotonic() + 5
    while "agile_sd" in names():
        assert time.monotonic() < until, "agile_sd is left over"
        time.sleep(0.02)
    return done


@pytest.mark.usefixtures("apart")
def test_attach_use_list_detach() -> None:
    done = inside(
        "set -e\n"
        "narrows attach agile_sd --param lambda_max=4 --default\n"
        f"{sys.executable} -c '{USE.replace(chr(39), chr(34))}'\n"
        "narrows attach --list --json\n"
        "narrows attach agile_sd -p lambda_max=4\n"
        "narrows detach agile_sd\n"
        "narrows attach --list\n"
        "cat /proc/sys/net/ipv4/tcp_available_congestion_control\n"
    )
    assert done.returncode == 0, done.stderr
    assert "agile_sd is attached to this host, with profile=paper lambda_max=4 " in done.stdout
    assert "net.ipv4.tcp_congestion_control is agile_sd instead of " in done.stdout
    assert "iperf3 -c HOST -C agile_sd" in done.stdout
    assert "\nused\n" in done.stdout
    listed = json.loads(done.stdout[done.stdout.index("{\n") : done.stdout.index("\n}\n") + 2])
    assert listed["format"] == 1
    assert [(item["name"], item["is_default"]) for item in listed["attached"]] == [("agile_sd", True)]
    assert listed["attached"][0]["parameters"]["lambda_max"] == "4"
    assert "agile_sd was attached already, with profile=paper lambda_max=4 " in done.stdout
    assert "agile_sd is no longer registered" in done.stdout
    *_, nothing, left = done.stdout.splitlines()
    assert nothing == "nothing is attached"
    assert "agile_sd" not in left


@pytest.mark.usefixtures("apart")
def test_other_parameters_are_refused_until_it_is_detached() -> None:
    done = inside("narrows attach agile_sd > /dev/null; narrows attach agile_sd -p beta1=0.8; echo $?")
    assert done.stdout == "2\n"
    assert "agile_sd is attached already, with profile=paper lambda_max=3 beta1=0.9" in done.stderr
    assert "`narrows detach agile_sd`" in done.stderr


@pytest.mark.usefixtures("apart")
def test_nothing_outlives_the_mount_namespace() -> None:
    assert inside("narrows attach agile_sd").returncode == 0  # `inside` waits until the name is gone


def narrows(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["attach"], "NAME: is missing; allowed: agile_sd, bic, compound, dctcp, "),
        (["attach", "cubic"], "cubic: Narrows has no eBPF program of this name; allowed: agile_sd, bic, compound, "),
        (["attach", "agile_sd", "--param", "lambda_max"], "allowed: name=value"),
        (["attach", "agile_sd", "--param", "lambda_max=200"], "allowed: a number from 1 to 100 segments per RTT"),
        (["attach", "agile_sd", "--param", "lambda=2"], "agile_sd has no such parameter; allowed: profile, lambda_max"),
        (["attach", "agile_sd", "--list"], "allowed: narrows attach --list"),
    ],
)
def test_what_is_not_possible_is_refused(arguments: list[str], said: str) -> None:
    shown = narrows(*arguments)
    assert shown.exit_code == 2
    assert shown.stdout == ""
    assert shown.stderr.startswith("error: ")
    assert said in shown.stderr


def test_without_rights_it_says_so_and_leaves_with_3(as_nobody: list[str]) -> None:
    code = "from narrows.cli import main; main()"
    command = [*as_nobody, sys.executable, "-c", code, "attach", "agile_sd"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith("error: registering congestion controls: not available here: ")
    assert "run it as root" in done.stderr


def test_what_is_not_ours_is_not_detached(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        error = _core.LiveError(f"congestion control: {name}: not ours; allowed: nothing is attached")
        error.kind, error.remedy = "unsupported", None
        raise error

    monkeypatch.setattr(_core, "detach", refuse)
    shown = narrows("detach", "reno")
    assert shown.exit_code == 2
    assert shown.stderr == "error: congestion control: reno: not ours; allowed: nothing is attached\n"


@pytest.mark.parametrize(("kind", "code"), [("unavailable", 3), ("unsupported", 2), ("failed", 1), ("stopped", 1)])
def test_the_kind_of_an_error_is_its_exit_code(kind: str, code: int) -> None:
    assert LiveError("no", kind).exit_code == code


def test_parameters_of_python_are_words_of_the_engine() -> None:
    with pytest.raises(LiveError, match="allowed: a number from 1 to 100") as raised:
        host.attach("agile_sd", {"lambda_max": 0.5})
    assert raised.value.kind == "unsupported"
    with pytest.raises(LiveError, match="profile=true"):
        host.attach("agile_sd", {"profile": True})
