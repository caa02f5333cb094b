"""``narrows doctor``: with and without root, as text and as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from narrows.cli import app
from narrows.runs import doctor as doctors

NARROWS = [sys.executable, "-c", "from narrows.cli import main; main()", "doctor", "--json"]
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def checks(*before: str) -> dict[str, dict[str, Any]]:
    done = subprocess.run([*before, *NARROWS], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    content = json.loads(done.stdout)
    assert content["format"] == 1
    return {check["name"]: check for check in content["checks"]}


def test_every_check_says_what_for_and_what_is_not_ok_why_not() -> None:
    for check in checks().values():
        assert check["purpose"]
        assert check["status"] in {"ok", "partly", "missing", "unknown"}
        assert bool(check["why"]) == bool(check["remedy"]) == (check["status"] != "ok")


def test_what_the_issue_names_is_looked_for() -> None:
    found = checks()
    wanted = {"simulator", "rights", "kernel", "BTF", "struct_ops", "links", "tcx", "TUN", "namespaces", "SCHED_FIFO"}
    wanted |= {"congestion controls", "clang", "qemu", "tshark", "iperf3", "ns-2", "ns-3"}
    assert wanted <= found.keys()
    assert found["simulator"]["status"] == "ok"


def test_as_root_everything_is_known() -> None:
    if os.geteuid() != 0:
        pytest.skip("it takes root to know everything")
    before = AVAILABLE.read_text()
    found = checks()
    assert all(check["status"] != "unknown" for check in found.values())
    assert AVAILABLE.read_text() == before


def test_without_root_it_says_what_it_cannot_know(as_nobody: list[str]) -> None:
    found = checks(*as_nobody)
    assert found["simulator"]["status"] == "ok"
    assert found["rights"]["status"] == "missing"
    assert found["live runs"]["status"] == "missing"
    assert "rights" in found["live runs"]["why"]
    for name in ("struct_ops", "links", "tcx"):
        assert found[name]["status"] == "unknown"
        assert found[name]["found"] == ""
        assert found[name]["remedy"] == "run it as root"


def test_people_get_tables_with_what_would_change_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("PATH", "")
    shown = CliRunner().invoke(app, ["doctor"])
    assert shown.exit_code == 0
    for heading in ("Backends", "This kernel", "Programs"):
        assert heading in shown.stdout
    assert "no tshark in the PATH" in shown.stdout
    assert "install it (Debian's package tshark)" in shown.stdout


def test_a_program_that_fails_or_hangs_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, body in {"clang": "exit 3", "iperf3": "exec sleep 20", "tshark": "echo TShark 9.8.7"}.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(doctors, "PATIENCE_S", 0.5)
    began = time.monotonic()
    found = {check.name: check for check in doctors.doctor()}
    assert time.monotonic() - began < 10
    assert found["clang"].status == "partly"
    assert "exit code 3" in found["clang"].why
    assert found["iperf3"].status == "partly"
    assert "timed out" in found["iperf3"].why
    assert found["tshark"].found.startswith("9.8.7 ")
