"""``narrows packetdrill``: scripts, results, pages and bad input."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from narrows.base.errors import InputError
from narrows.cli import app
from narrows.studies.packetdrill import VERSIONS, find, run

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

HANDSHAKE = """// A passive open (RFC 9293, section 3.5).
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
   +0 bind(3, ..., ...) = 0
   +0 listen(3, 1) = 0
   +0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
   +0 > S. 0:0(0) ack 1 <...>
  +.1 < . 1:1(0) ack 1 win 257
   +0 accept(3, ..., ...) = 4
"""


def narrows(*words: str) -> Result:
    return CliRunner().invoke(app, ["packetdrill", *words], env={"COLUMNS": "200", "NO_COLOR": "1"})


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "open.pkt"
    path.write_text(HANDSHAKE + "   +0 %{ assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd }%\n")
    return path


def test_a_script_that_matches_ends_with_0(script: Path) -> None:
    made = narrows(str(script))
    assert made.exit_code == 0, made.output
    assert "simulated: 1 of 1 scripts match" in made.output


def test_a_mismatch_shows_both_packets_and_what_came_before(tmp_path: Path) -> None:
    path = tmp_path / "wrong.pkt"
    path.write_text(HANDSHAKE + "   +0 write(4, ..., 1000) = 1000\n   +0 > P. 1:901(900) ack 1\n")
    made = narrows(str(path))
    assert made.exit_code == 1
    assert "wrong.pkt:11:" in made.output
    assert "script  0.100000 > P. 1:901(900) ack 1" in made.output
    assert "actual  0.100000 > P. 1:1001(1000) ack 1" in made.output
    assert "write() = 1000" in made.output
    assert "snd_cwnd 10" in made.output


def test_a_false_assertion_is_a_mismatch_at_its_line(script: Path) -> None:
    script.write_text(script.read_text().replace("== 10", "== 11"))
    made = narrows(str(script), "--json")
    assert made.exit_code == 1
    (suite,) = json.loads(made.stdout)["suites"]
    (result,) = suite["scripts"][0]["results"]
    assert (result["ended"], result["line"]) == ("mismatch", 10)
    assert result["why"].endswith("is false (10)")
    assert result["tcp_info"]["tcpi_snd_cwnd"] == 10


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("0 nonsense\n", 1, "expected"),
        ("-1 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n", 1, "negative time"),
        ("--no_such_option=3\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n", 1, "no_such_option"),
        (HANDSHAKE + "+0 no_such_call(3) = 0\n", 10, "no_such_call"),
        (HANDSHAKE + "+0 %{ while True: pass }%\n", 10, "not allowed: While"),
        (HANDSHAKE + "+0 %{ import os }%\n", 10, "not allowed: Import"),
    ],
)
def test_what_is_no_script_ends_with_2_and_its_line(tmp_path: Path, text: str, line: int, told: str) -> None:
    path = tmp_path / "bad.pkt"
    path.write_text(text)
    made = narrows(str(path))
    assert made.exit_code == 2, made.output
    assert f"bad.pkt:{line}:" in made.output
    assert told in made.output


def test_a_million_events_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "long.pkt"
    path.write_text("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n" + "+0 close(3) = 0\n" * 50_000)
    made = narrows(str(path))
    assert made.exit_code == 2
    assert "20000" in made.output.replace(",", "")


def test_paths_without_scripts_are_refused(tmp_path: Path) -> None:
    for bad in (tmp_path, tmp_path / "nothing.pkt"):
        with pytest.raises(InputError, match=str(bad)):
            find([bad])
    (tmp_path / "bytes.pkt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        find([tmp_path])
    with pytest.raises(InputError, match="neither a regular file nor a pipe"):
        find(["/dev/zero"])


def test_directories_that_cannot_be_read_are_not_left_out(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert script.exists()
    inner = tmp_path / "inner"
    inner.mkdir()
    scan = os.scandir

    def refuse(path: str) -> object:
        """List directories as a user does who may not read the inner one; root may read every directory."""
        if str(path) == str(inner):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(InputError, match=f"{inner}: cannot be read"):
        find([tmp_path])


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every directory")
def test_scripts_and_directories_without_permission_are_named(script: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir(mode=0)
    with pytest.raises(InputError, match=f"{inner}: cannot be read"):
        find([tmp_path])
    with pytest.raises(InputError, match="cannot be read"):
        find([inner / script.name])


def test_variants_follow_name_and_option(tmp_path: Path) -> None:
    options = {"d": "--ip_version=ipv6\n", "e": "--local_ip=10.0.0.1\n", "f": "--remote_ip=fd3d::1\n"}
    for name in ("a", "b-v6", "c-v4", *options):
        (tmp_path / f"{name}.pkt").write_text(options.get(name, ""))
    (suite,) = find([tmp_path])
    four, six = ("ipv4", "ipv4-mapped-ipv6"), ("ipv6",)
    assert [one.versions(VERSIONS) for one in suite.scripts] == [VERSIONS, six, four, six, four, six]
    assert [one.versions(["ipv4"]) for one in suite.scripts] == [("ipv4",), six, ("ipv4",), six, ("ipv4",), six]


def test_a_suite_in_a_kernel_tree_has_its_release(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 2\nSUBLEVEL = 13\nEXTRAVERSION =\n")
    folder = tmp_path / "tools" / "packetdrill"
    folder.mkdir(parents=True)
    (folder / "a.pkt").write_text(HANDSHAKE)
    (suite,) = find([folder])
    assert (suite.name, suite.commit) == ("tools/packetdrill", "Linux 7.2.13")


def test_every_variant_of_a_script_matches(script: Path) -> None:
    report = run(find([script]), versions=VERSIONS)
    (outcome,) = report
    assert [(one.version, one.ended) for one in outcome.results] == [(version, "match") for version in VERSIONS]


def test_outcomes_are_equal_to_the_bit(script: Path) -> None:
    first = run(find([script])).to_json()
    packets = [one.packets for outcome in run(find([script])) for one in outcome.results]
    for _ in range(50):
        again = run(find([script]))
        assert again.to_json() == first
        assert [one.packets for outcome in again for one in outcome.results] == packets


def test_a_directory_has_summary_page_and_captures(script: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = narrows(str(script), "-o", str(out), "--pcap")
    assert made.exit_code == 0, made.output
    assert json.loads((out / "summary.json").read_text())["worlds"]["simulated"] == {"match": 1, "scripts": 1}
    assert "open.pkt" in (out / "report.md").read_text()
    (capture,) = (out / "pcap").iterdir()
    assert capture.name == "open-simulated-ipv4.pcapng"
    assert capture.stat().st_size > 300


def test_a_page_replaces_no_other_file(script: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    assert narrows(str(script), "-o", str(page)).exit_code == 0
    assert "| scripts |" in page.read_text()
    assert narrows(str(script), "-o", str(page)).exit_code == 0, "its own page"
    page.write_text("mine\n")
    refused = narrows(str(script), "-o", str(page))
    assert refused.exit_code == 2
    assert "a page of `narrows packetdrill`" in refused.output
    assert page.read_text() == "mine\n"
