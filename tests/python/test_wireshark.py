"""Output of tools/wireshark/narrows.lua for captured runs, compared with the engine's counters."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import narrows
from narrows.model.scenario import Scenario
from narrows.outcome import Run

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark (Debian package tshark) is not installed: nothing to read captures"
)

LUA = Path(__file__).parents[2] / "tools" / "wireshark" / "narrows.lua"
DURATION_NS = 12_000_000_000
DELAY_NS, NS_PER_BYTE = 2_000_000, 80  # of the first and the last link
TWO_FLOWS = """
name = "two-flows"
duration = "12 s"
nodes = [{ name = "s" }, { name = "r1", kind = "router" }, { name = "r2", kind = "router" }, { name = "d" }]

[tcp]
cc = "reno"
mss = "1000 B"

[[links]]
between = ["s", "r1"]
rate = "100 Mb/s"
delay = "2 ms"

[[links]]
between = ["r1", "r2"]
rate = "2 Mb/s"
delay = "20 ms"
queue = { limit = "40 packets" }

[[links]]
between = ["r2", "d"]
rate = "100 Mb/s"
delay = "2 ms"

[[flows]]
name = "first"
from = "s"
to = "d"

[[flows]]
name = "second"
from = "s"
to = "d"
start = "2 s"
dscp = 46
"""
# The freeze range is wider than published, so that a short run contains some.
ACNS: dict[str, str | int | float | bool] = {"acns.enabled": True, "acns.th_A1": 0.5, "acns.command_scope": "ack"}
CASES = [(4, "extension"), (6, "extension"), (6, "flow_label")]
PORTS = ("dstport", "srcport")
COMPLAINTS = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || _ws.expert.severity >= 8388608"


def tshark(capture: Path, *arguments: str) -> list[tuple[str, ...]]:
    """Return fields of a capture's packets, with the script loaded."""
    command = ["tshark", "-r", str(capture), "-X", f"lua_script:{LUA}", "-T", "fields", *arguments]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert shown.returncode == 0, shown.stderr
    assert "Lua" not in shown.stderr, shown.stderr
    return [tuple(line.split("\t")) for line in shown.stdout.splitlines()]


def run(source: str, folder: Path, overrides: Mapping[str, str | int | float | bool]) -> Run:
    """Run once with captures."""
    made = narrows.run(Scenario.from_text(source, overrides=overrides), seed=1, pcap=folder)
    assert isinstance(made, Run)
    return made


def arrives(size: str, at: str) -> bool:
    """Whether a packet that was captured on the first or last link arrives before the run ends."""
    return int(at.replace(".", "")) + int(size) * NS_PER_BYTE + DELAY_NS <= DURATION_NS


@pytest.fixture(autouse=True, scope="module")
def _runs_lua(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip if tshark cannot run any script, which says nothing about ours."""
    script = tmp_path_factory.mktemp("lua") / "probe.lua"
    script.write_text("print('runs')\n", encoding="utf-8")
    command = ["tshark", "-G", "fieldcount", "-X", f"lua_script:{script}"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if "runs" not in shown.stdout:
        pytest.skip("this tshark runs no Lua scripts: it was built without Lua, or refuses them to root")


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"ipv{case[0]}-{case[1]}")
def acns(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Run, Path]:
    """IPv6 encoding of CMI, a run of ACNS's scenario in which every ACK is obeyed, and its captures."""
    version, encoding = request.param
    folder = tmp_path_factory.mktemp("pcap")
    made = run(TWO_FLOWS, folder, ACNS | {"ip": version, "acns.ipv6": encoding})
    return f"-oacns.ipv6:{encoding}", made, folder


@pytest.mark.parametrize("passes", [[], ["-2"]], ids=["one-pass", "two-pass"])
def test_echoed_commands_are_those_that_the_senders_counted(acns: tuple[str, Run, Path], passes: list[str]) -> None:
    encoding, made, folder = acns
    wanted = ("-e", "tcp.dstport", "-e", "acns.command", "-e", "frame.len", "-e", "frame.time_epoch")
    shown = tshark(folder / "s-r1.pcapng", *passes, encoding, "-Y", "acns.command && tcp.srcport == 1000", *wanted)
    arrived = Counter((port, word) for port, word, size, at in shown if arrives(size, at))
    for flow, port in zip(made.flows, ("10000", "10001"), strict=True):
        counted = (flow.commands_normal, flow.commands_freeze, flow.commands_fallback)
        assert tuple(arrived[port, word] for word in ("normal", "freeze", "fallback")) == counted
    assert all(sum(arrived[port, word] for port in ("10000", "10001")) > 3 for word in ("freeze", "fallback"))


def test_routers_write_commands_into_questions_and_receivers_echo_each_once(acns: tuple[str, Run, Path]) -> None:
    encoding, made, folder = acns
    data = (encoding, "-Y", "acns.ip && tcp.dstport == 1000 && tcp.len > 0", "-e", "acns.ip")
    sent, left = (Counter(tshark(folder / name, *data)) for name in ("s-r1.pcapng", "r1-r2.pcapng"))
    assert set(sent) <= {("I1",), ("I2",), ("I3",), ("I4",), ("I5",)}
    assert sent["I4",] + sent["I5",] > left["I4",] + left["I5",] > 0
    router = made.router("r1")
    # Commands are written on arrival; packets that the queue drops, or holds when the run ends, do not leave.
    lost = router.asked - sum(left[name,] for name in ("I4", "I5", "I6", "I7"))
    for name, wrote in (("I6", router.wrote_freeze), ("I7", router.wrote_fallback)):
        assert 3 < left[name,] <= wrote <= left[name,] + lost
    # The receiver echoes each arriving command in an ACK, except for one that is in flight when the run ends.
    commands = tshark(folder / "r2-d.pcapng", encoding, "-Y", "acns.command", "-e", "tcp.len", "-e", "acns.command")
    words = Counter((size == "0", word) for size, word in commands)
    for word in ("freeze", "fallback"):
        assert 0 <= words[False, word] - words[True, word] <= 1


def test_setup_is_shown_and_nothing_that_did_not_agree(acns: tuple[str, Run, Path], tmp_path: Path) -> None:
    encoding, _, folder = acns
    setup = tshark(folder / "r1-r2.pcapng", encoding, "-Y", "acns.setup", "-e", "acns.setup")
    assert Counter(setup) == {("offered",): 2, ("agreed",): 2}
    # Without the handshake nothing is shown, unless the reader requests it.
    cut = tmp_path / "cut.pcapng"
    command = ["tshark", "-r", str(folder / "s-r1.pcapng"), "-Y", "!tcp.flags.syn == 1", "-w", str(cut)]
    subprocess.run(command, capture_output=True, check=True, timeout=120)
    shown = ("-Y", "acns", "-e", "acns.ip", "-e", "acns.tcp", "-e", "acns.command")
    assert tshark(cut, encoding, *shown) == []
    whole = tshark(folder / "s-r1.pcapng", encoding, "-Y", "acns && !acns.setup", *shown[2:])
    assert tshark(cut, encoding, "-oacns.assume:TRUE", *shown) == whole


def test_plain_ecn_is_not_taken_for_acns(tmp_path: Path) -> None:
    red = '{ kind = "red", limit = "40 packets", ecn = true }'
    run(TWO_FLOWS, tmp_path, {"tcp.ecn": True, "links[1].queue": red})
    for options in ([], ["-oacns.assume:TRUE"]):
        assert tshark(tmp_path / "r1-r2.pcapng", *options, "-Y", "acns || ngwa", "-e", "frame.number") == []
    assert tshark(tmp_path / "r1-r2.pcapng", "-Y", "ip.dsfield.ecn == 3", "-e", "frame.number")


@pytest.fixture(scope="module")
def ngwa(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    """Run and capture two flows, each with a window that is its share of a queue of 97 kB."""
    folder = tmp_path_factory.mktemp("pcap")
    queues = {f"links[{number}].queue": '{ limit = "97 kB" }' for number in range(3)}
    return run(TWO_FLOWS, folder, queues | {"ngwa.mode": 7}), folder


def test_ngwa_is_on_every_segment_behind_a_router_and_on_nothing_else(ngwa: tuple[Run, Path]) -> None:
    made, folder = ngwa
    for name in ("r1-r2.pcapng", "r2-d.pcapng"):
        shape = tshark(
            folder / name,
            "-e",
            "tcp.len",
            "-e",
            "ngwa.option_len",
            "-e",
            "ip.hdr_len",
            "-e",
            "ip.len",
            "-e",
            "tcp.hdr_len",
            "-e",
            "tcp.dstport",
        )
        # Between the routers both directions are behind one; what the receiver sends is behind none yet.
        behind = {"1000", "10000", "10001"} if name == "r1-r2.pcapng" else {"1000"}
        for size, length, ip_head, total, tcp_head, port in shape:
            assert (length, ip_head) == (("6", "28") if port in behind else ("", "20"))
            assert int(total) == int(ip_head) + int(tcp_head) + int(size)
    assert tshark(folder / "s-r1.pcapng", "-Y", "ngwa.window && tcp.dstport == 1000", "-e", "frame.number") == []
    for file in folder.glob("*.pcapng"):
        checked = ("-oip.check_checksum:TRUE", "-otcp.check_checksum:TRUE")
        assert tshark(file, *checked, "-Y", f"{COMPLAINTS} || ngwa.malformed", "-e", "frame.number") == []
        assert tshark(file, *checked, "-Y", "ip.checksum.status == 1 && tcp.checksum.status == 1", "-e", "frame.number")
    wanted = ("-e", "frame.len", "-e", "frame.time_epoch")
    options = tshark(folder / "r2-d.pcapng", "-Y", "ngwa.window", *wanted)
    way = {port: tshark(folder / "r1-r2.pcapng", "-Y", f"tcp.{port} == 1000", "-e", "ngwa.window") for port in PORTS}
    first, second = made.router("r1"), made.router("r2")
    # The other router divides an equally large queue by the same number of flows, so it keeps the values.
    assert (first.inserted, first.lowered) == (len(way["dstport"]), 0)
    assert (second.inserted, second.lowered, second.kept) == (len(way["srcport"]), 0, len(options))
    assert sum(arrives(size, at) for size, at in options) == sum(flow.window_options or 0 for flow in made.flows) > 1000


def test_ngwa_values_are_the_queue_divided_by_its_flows(ngwa: tuple[Run, Path]) -> None:
    _, folder = ngwa
    shown = tshark(folder / "r1-r2.pcapng", "-Y", "tcp.dstport == 1000", "-e", "tcp.srcport", "-e", "ngwa.window")
    begins = next(i for i, (port, _) in enumerate(shown) if port == "10001")  # the SYN of the second flow
    one, two = round(0.98 * 97_000), round(0.98 * 97_000 / 2)
    assert (one, two) == (95_060, 47_530)
    assert {window for _, window in shown[begins:]} == {str(two)}
    # The second flow counts from when its SYN enters the queue; earlier departures have the value of one or two flows.
    before = [int(window) for _, window in shown[:begins]]
    assert before == sorted(before, reverse=True)
    assert set(before) <= {one, two}
    assert before[0] == one


@pytest.mark.parametrize("passes", [[], ["-2"]], ids=["one-pass", "two-pass"])
def test_ngwa_caps_the_windows_that_receivers_advertise(ngwa: tuple[Run, Path], passes: list[str]) -> None:
    _, folder = ngwa
    wanted = ("-e", "ngwa.last_window", "-e", "ngwa.capped", "-e", "tcp.window_size")
    shown = tshark(folder / "r2-d.pcapng", *passes, "-Y", "ngwa.last_window && tcp.srcport == 1000", *wanted)
    assert all((capped in ("1", "True")) == (int(window) <= int(last)) for last, capped, window in shown)
    # The right edge must not move left, so the first windows of two flows are still those of one.
    late = shown[len(shown) // 2 :]
    assert {last for last, _, _ in late} == {"47530"}
    assert all(47_530 - 1000 < int(window) <= 47_530 for _, _, window in late)


WIRELESS = """
name = "wireless"
duration = "2 s"
nodes = [{ name = "server" }, { name = "ap", kind = "router" }, { name = "w1" }]

[queue]
limit = "50 kB"

[[links]]
between = ["server", "ap"]
rate = "100 Mb/s"
delay = "2 ms"

[wifi]
name = "wlan"
base = "ap"
stations = ["w1"]
phy = "802.11b"

[[flows]]
from = "server"
to = "w1"
"""


@pytest.mark.parametrize("passes", [[], ["-2"]], ids=["one-pass", "two-pass"])
def test_frames_of_a_channel_are_read_too(tmp_path: Path, passes: list[str]) -> None:
    run(WIRELESS, tmp_path, {"ngwa.mode": 7})
    data = tshark(tmp_path / "wlan.pcapng", *passes, "-Y", "tcp.len > 0", "-e", "ngwa.window")
    assert len(data) > 100
    assert set(data) == {("49000",)}
    run(WIRELESS, tmp_path, {"acns.enabled": True})
    shown = Counter(
        tshark(tmp_path / "wlan.pcapng", *passes, "-Y", "acns", "-e", "acns.setup", "-e", "acns.ip", "-e", "acns.tcp")
    )
    assert (shown["offered", "", ""], shown["agreed", "", ""]) == (1, 1)
    assert shown["", "I7", "T1"] + shown["", "I7", "T3"] > 0
    assert shown["", "I1", "T6"] > 0
