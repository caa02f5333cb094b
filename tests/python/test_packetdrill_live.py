"""Packetdrill scripts of our own on this machine's kernel."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.python import pace
from typer.testing import CliRunner

from narrows import _core
from narrows.cli import app
from narrows.studies.packetdrill import Result, find, run

SCRIPTS = Path(__file__).parents[1] / "packetdrill"

NEWER = ("rfc9768/",)
"""Folders of scripts that ask for AccECN, which kernels before 7.0 refuse."""


@pytest.fixture(autouse=True)
def possible() -> None:
    if shutil.which("sysctl") is None:
        pytest.skip("scripts set sysctls: sysctl (Debian package procps) is not installed")
    try:
        _core.packetdrill_check()
    except _core.LiveError as error:
        pytest.skip(str(error))


def by_time(result: Result) -> bool:
    """Return whether this machine was late, or only the time of a packet differs: a kernel's timers can be late too."""
    fields = () if result.difference is None else result.difference.fields
    return result.ended == "late" or (bool(fields) and all(field == "time" for field, _, _ in fields))


def test_scripts_of_our_own_match_on_the_kernel() -> None:
    outcomes = [one for one in run(find([SCRIPTS]), ["live"]) if not one.script.name.startswith(NEWER)]
    assert len(outcomes) > 20
    failed = [(one.script.name, first) for one in outcomes if (first := one.first("live"))]
    assert not [f"{name}:{first.line}: {first.why}" for name, first in failed if not by_time(first)]
    if failed:
        pytest.skip(f"this machine was too late for {', '.join(name for name, _ in failed)}, each time")


def test_both_worlds_are_shown_side_by_side() -> None:
    script = SCRIPTS / "rfc9293" / "passive-open-and-close.pkt"
    made = CliRunner().invoke(app, ["packetdrill", "--both", str(script)], env={"COLUMNS": "200", "NO_COLOR": "1"})
    if re.search(r"\blate\b|: outbound packet: time is", made.output):
        pytest.skip("this machine was too late")
    assert made.exit_code == 0, made.output
    head = next(line for line in made.output.splitlines() if line.lstrip().startswith("script"))
    assert head.split() == ["script", "simulated", "live"]
    assert "live: 1 of 1 scripts match" in made.output


def has_namespace(process: int) -> bool:
    """Return whether a thread of a process is in a network namespace other than ours."""
    ours = Path("/proc/self/ns/net").readlink()
    threads = Path(f"/proc/{process}/task")
    with suppress(OSError):
        return any((thread / "ns" / "net").readlink() != ours for thread in threads.iterdir())
    return False


@pytest.mark.parametrize("world", ["--live", "--both"])
def test_ctrl_c_ends_a_live_script_within_a_second(world: str, tmp_path: Path) -> None:
    pace.prompt(lambda: interrupted(world, tmp_path), 1.5)  # a second, and the end of the process


def interrupted(world: str, tmp_path: Path) -> float:
    """Press Ctrl-C in a live script, and return how long it takes to end, s."""
    script, output = tmp_path / "long.pkt", tmp_path / "out"
    script.write_text(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n"
        "+200 < S 0:0(0) win 1000\n"
    )
    narrows = [sys.executable, "-c", "from narrows.cli import main; main()", "packetdrill"]
    # The process that started the tests may ignore signals (nohup does), and children would inherit that.
    command = ["env", "--default-signal", *narrows, world, str(script), "-o", str(output)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            # The check that comes first has a namespace for a moment.
            until, seen = time.monotonic() + 60, 0
            while seen < 10:
                assert time.monotonic() < until, "the script never began"
                seen = seen + 1 if has_namespace(process.pid) else 0
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            said, _ = process.communicate(timeout=60)
            took = time.monotonic() - began
        finally:
            process.kill()
    assert process.returncode == 130, said
    assert "interrupted" in said
    assert not output.exists()
    return took
