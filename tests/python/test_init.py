"""``narrows init``: what it writes runs, says what is wrong, asks in a terminal, and replaces nothing."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
import tomllib
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import narrows as nw
from narrows.cli import app
from narrows.model.first import First, written

if TYPE_CHECKING:
    from pathlib import Path

NARROWS = [sys.executable, "-c", "from narrows.cli import main; main()"]


def narrows(*arguments: str | Path) -> str:
    """Run a command that succeeds, and return what it printed."""
    shown = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert shown.exit_code == 0, shown.stderr
    return shown.stdout


def refusal(*arguments: str | Path) -> str:
    """Run a command that is refused, and return the message."""
    shown = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert shown.stderr.startswith("error: ")
    return shown.stderr


def test_the_first_scenario_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without options and without a terminal, the proposals are taken; the file has comments and its schema."""
    monkeypatch.chdir(tmp_path)
    assert narrows("init") == ""
    text = (tmp_path / "first.toml").read_text(encoding="utf-8")
    assert text.startswith("#:schema https://")
    assert sum("#" in line for line in text.splitlines()) > 12
    scenario = nw.Scenario.load("first.toml")
    assert scenario.warnings == ()
    run = nw.run(scenario, overrides={"duration": "12 s"})
    assert run.flow("cubic1").throughput_mbps == pytest.approx(10, abs=5)
    assert run.plot().axes, "it samples, so that there is something to plot"
    for line in text.splitlines():
        if line.startswith("#   narrows run") and "-o" not in line:
            command = line.removeprefix("#   narrows ").split("  ")[0].replace("'", "").split()
            narrows(*command, "-q", "--set", "duration=12 s")


def test_options_are_in_the_file(tmp_path: Path) -> None:
    """Rate, round-trip time, buffer, queue, flows, duration and name are those that were given."""
    file = tmp_path / "mine.toml"
    options = ["--rate", "50 Mb/s", "--rtt", "25 ms", "--buffer", "2 bdp", "--queue", "fq_codel", "--cc", "bbr,cubic"]
    narrows("init", *options, "--flows", "3", "--duration", "9 s", "--name", "trial", "-o", file)
    made = nw.Scenario.load(file)
    assert (made.name, made.duration_s) == ("trial", 9)
    assert list(made.congestion_controls().items()) == [("bbr1", "bbr"), ("cubic2", "cubic"), ("bbr3", "bbr")]
    links = made.resolved.links
    bottleneck = next(link.forward for link in links if link.forward.rate_bps == 50_000_000)
    assert bottleneck.queue.kind == "fq_codel"
    assert tomllib.loads(file.read_text())["topology"]["bottleneck"]["queue"]["limit"] == "50 ms"
    access = next(link.forward for link in links if link.forward.rate_bps != 50_000_000)
    assert 2 * (bottleneck.delay_ns + 2 * access.delay_ns) == 25_000_000


@pytest.mark.parametrize("cc", ["dctcp", "prague", "agile_sd", "none", "yeah"])
@pytest.mark.parametrize("queue", ["droptail", "dualpi2", "red", "cake", "tbf"])
def test_every_control_and_queue_gives_a_valid_file(cc: str, queue: str) -> None:
    """Controls that need ECN get it, and disciplines their defaults."""
    assert nw.Scenario.from_text(written(First(cc=cc, queue=queue))).resolved.flows


@pytest.mark.parametrize(("rtt", "rate"), [("1 us", "10 Gb/s"), ("3 s", "1 Mb/s"), ("0.7 ms", "9.6 kb/s")])
def test_short_and_long_paths_are_possible(rtt: str, rate: str) -> None:
    """Delays add up to the round-trip time, and a buffer of packets fits any rate."""
    text = written(First(rtt=rtt, rate=rate, buffer="20 packets", duration="1 h"))
    assert nw.Scenario.from_text(text).resolved.links


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--rate", "10mbit", '--rate 10mbit: is not a rate, did you mean "10 Mb/s"?'),
        ("--rate", "10 MB/s", 'did you mean "10 Mb/s", or "80 Mb/s" for bytes?'),
        ("--rtt", "5msec", '--rtt 5msec: is not a time, did you mean "5 ms"?'),
        ("--rtt", "0 s", "--rtt 0 s: is zero; allowed: a time above zero"),
        ("--cc", "cubic,bbrr", "--cc bbrr: is not a congestion control, did you mean `bbr`?"),
        ("--cc", ",", "--cc ,: names no congestion control"),
        ("--queue", "codle", "--queue codle: is not one of the allowed words, did you mean `codel`?"),
        ("--buffer", "0 packets", "--buffer 0 packets: is zero"),
        ("--buffer", "100 B", "--buffer 100 B: is less than one packet"),
        ("--buffer", "0 bdp", "--buffer 0 bdp: allowed before bdp: a number above 0"),
        ("--flows", "0", "--flows 0: allowed: 1 to 100"),
        ("--duration", "soon", "--duration soon: is not a time"),
        ("--name", "a b", "--name a b: is not a name; allowed: 1 to 64 letters"),
    ],
)
def test_a_wrong_answer_is_told_what_is_allowed(option: str, value: str, told: str, tmp_path: Path) -> None:
    """The message has the option, its value and what is meant or allowed; nothing is written."""
    assert told in refusal("init", option, value, "-o", tmp_path / "x.toml")
    assert list(tmp_path.iterdir()) == []


def test_answers_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    """A buffer of one bandwidth-delay product can be less than a packet."""
    told = refusal("init", "--rate", "100 kb/s", "--rtt", "1 ms", "-o", tmp_path / "x.toml")
    assert "these settings do not fit together: topology.bottleneck.queue.limit" in told
    assert list(tmp_path.iterdir()) == []


def test_no_file_is_replaced(tmp_path: Path) -> None:
    """A file, a link and a missing folder are refused; standard output is not a file."""
    file = tmp_path / "mine.toml"
    file.write_text("mine")
    assert f"{file}: exists, and is left unchanged; allowed: a new file" in refusal("init", "-o", file)
    assert file.read_text() == "mine"
    (tmp_path / "link.toml").symlink_to(tmp_path / "nowhere")
    assert "exists, and is left unchanged" in refusal("init", "-o", tmp_path / "link.toml")
    assert "cannot be written: No such file or directory" in refusal("init", "-o", tmp_path / "no" / "x.toml")
    assert nw.Scenario.from_text(narrows("init", "-o", "-")).name == "first"


def test_a_file_names_its_scenario(tmp_path: Path) -> None:
    """The name follows from the file's where none is given."""
    narrows("init", "--cc", "bbr", "-o", tmp_path / "my trial.toml")
    assert nw.Scenario.load(tmp_path / "my trial.toml").name == "my-trial"


def test_in_a_terminal_it_asks_until_the_answers_fit(tmp_path: Path) -> None:
    """A wrong answer is explained and asked again; Enter takes the proposal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([*NARROWS, "init"], stdin=theirs, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        for answer in ("trial", "10mbit", "20 Mb/s", "", "", "codel", "bbr", ""):
            os.write(ours, f"{answer}\n".encode())
            time.sleep(0.05)
        _, told = process.communicate(timeout=120)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0, told
    assert b'error: 10mbit: is not a rate, did you mean "10 Mb/s"?' in told
    assert told.count(b"Rate of the bottleneck [10 Mb/s]:") == 2
    made = nw.Scenario.load(tmp_path / "trial.toml")
    assert made.congestion_controls() == {"bbr1": "bbr"}
    assert any(
        link.forward.rate_bps == 20_000_000 and link.forward.queue.kind == "codel" for link in made.resolved.links
    )
