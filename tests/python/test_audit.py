"""``narrows audit``: commands of ACNS and values of NGWA, computed again from captures alone."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import narrows
from narrows.base.errors import InputError
from narrows.cli import app
from narrows.model.resolved import Direction, Loss, Queue
from narrows.studies.audit import audit
from narrows.studies.audit.acns import Acns
from narrows.studies.audit.flows import Flows
from narrows.studies.audit.ngwa import Ngwa, value
from narrows.studies.audit.packets import FIN, RST, SYN, Packet, parse
from narrows.studies.audit.router import Visit, Waiting, arrivals, visits

if TYPE_CHECKING:
    from pathlib import Path

    from narrows import Scenario

OUT = ("r", "b")
A, B = b"\x0a\0\0\1", b"\x0a\0\0\2"
PORTS = b"\x00\x01\x00\x02"


def segment(time_ns: int = 0, length: int = 1000, **other: Any) -> Packet:
    fields: dict[str, Any] = {
        "dscp": 0,
        "ecn": 2,
        "reserved": True,
        "options": b"",
        "label": 0,
        "version": 4,
        "flow": (A, B, PORTS),
        "flags": 0x10,
        "payload": length - 40,
        "identity": (A, B, b"", 6, b"", length - 40),
    }
    return Packet(time_ns, length, **{**fields, **other})


def direction(rate_bps: int, delay_ns: int = 0) -> Direction:
    queue = Queue("droptail", "100 packets", 100, None)
    return Direction(rate_bps, delay_ns, queue, Loss("none"), ())


# ----------------------------------------------------------------------------------------------------------- rebuilding


def test_arrivals_are_after_transmission_and_delay_and_fractions_add_up() -> None:
    # 1000 bytes at 3 Mb/s are 2666666 and two thirds of a nanosecond.
    sent = [segment(0), segment(2_666_666), segment(5_333_333), segment(9_000_000)]
    times = [time for time, _ in arrivals(sent, direction(3_000_000, 10))]
    assert times == [2_666_676, 5_333_343, 8_000_010, 11_666_676]


def test_a_packet_is_matched_with_its_own_departure_or_drop() -> None:
    first, second = segment(0), segment(0)
    other = segment(0, identity=(A, "other"))
    came = [(10, first), (20, second), (30, other), (40, segment(0, identity=(A, "lost")))]
    made = visits(came, {OUT: [segment(15), segment(35, identity=(A, "other"))]}, {OUT: [segment(20)]}, 100)
    assert [(one.came_ns, one.left_ns, one.dropped, one.waited) for one in made] == [
        (10, 15, False, True),
        (20, 20, True, False),
        (30, 35, False, True),
    ]


def test_what_waits_at_the_end_waits() -> None:
    late = segment(0)
    came = [(10, segment(0)), (60, late), (200, segment(0))]
    made = visits(came, {OUT: [segment(50)]}, {}, 100)
    assert [(one.came_ns, one.pending) for one in made] == [(10, False), (60, True)]
    another = Visit(70, segment(), segment(), OUT, 80, dropped=False)
    assert Waiting([*made, another]).possible(75, another) == [(1, 1000)]


def test_events_of_one_instant_give_every_order() -> None:
    leaving = Visit(10, segment(), segment(), OUT, 50, dropped=False)
    beside = Visit(50, segment(length=500), segment(length=500), OUT, 90, dropped=False)
    own = Visit(50, segment(), segment(), OUT, 80, dropped=False)
    waiting = Waiting([leaving, beside, own])
    assert waiting.possible(50, own) == [(0, 0), (1, 500), (1, 1000), (2, 1500)]
    assert waiting.possible(80, own) == [(1, 500)], "it does not count itself"


def test_flows_enter_end_and_are_forgotten() -> None:
    table = Flows(1000, 3)
    assert table.observe(segment(flow=None), 0) is None
    first = table.observe(segment(dscp=8), 5)
    assert first is not None
    assert (len(table), table.oldest_ns(25), table.largest_priority) == (1, 20, 8)
    assert table.observe(segment(flags=FIN), 30) is None
    assert table.observe(segment(), 40) is None, "a late segment does not bring it back"
    assert len(table) == 0
    assert table.observe(segment(flags=SYN), 50) is not None
    back = (B, A, PORTS[2:] + PORTS[:2])
    assert table.observe(segment(flow=back), 60) is not None
    assert table.observe(segment(flags=RST), 70) is None
    assert len(table) == 0, "a reset ends both directions"
    assert table.observe(segment(), 1100) is not None, "forgotten after its idle time"
    for number in range(5):
        table.observe(segment(flow=(A, B, bytes([number] * 4))), 1200 + number)
    assert len(table) == 3


# ------------------------------------------------------------------------------------------------------------ decisions


ACNS = {
    "formula": "dcnet2013",
    "priority_weight": 0.8,
    "age_weight": 0.2,
    "freeze_threshold": 0.95,
    "fallback_threshold": 1.0,
    "p_max": 63,
    "idle_timeout_ns": 60 * 10**9,
    "max_flows": 65536,
    "ipv6": "extension",
}


@pytest.mark.parametrize(("queued", "told"), [(18, "normal"), (19, "freeze"), (20, "fallback")])
def test_the_oldest_flow_without_priority_is_held_from_19_percent(queued: int, told: str) -> None:
    """The specification's vector: with ``a = 1`` and ``p = 0`` the weight is five times the occupancy."""
    scheme, queue = Acns(ACNS), direction(3_000_000).queue
    entering = Visit(0, segment(ecn=0), segment(ecn=0), OUT, 1, dropped=False)
    assert scheme.decide(entering, Waiting([entering]), queue) is None, "it does not ask"
    others = [Visit(10, segment(), segment(), OUT, 10**10, dropped=False) for _ in range(queued)]
    own = Visit(10**9, segment(), segment(ecn=3), OUT, 10**10, dropped=False)
    found = scheme.decide(own, Waiting([*others, own]), queue)
    assert found is not None
    assert found[:2] == ("freeze", [told])


def test_the_share_of_a_flow_is_the_vector_of_the_paper() -> None:
    settings = {
        "mode": 5,
        "flow_factor": 0.98,
        "stamp": "departure",
        "marks": "all",
        "packet_size_bytes": 1500,
        "idle_timeout_ns": 60 * 10**9,
        "max_flows": 65536,
    }
    scheme, queue = Ngwa(settings), Queue("droptail", "97 kB", None, 97_000)
    found = []
    for number in range(4):
        own = Visit(number, segment(flow=(A, B, bytes([number] * 4))), segment(), OUT, number, dropped=False)
        decided = scheme.decide(own, Waiting([own]), queue)
        assert decided is not None
        found.append(decided[1])
    assert found == [["95060"], ["47530"], ["31686"], ["23765"]]


def test_values_are_read_from_options() -> None:
    assert value(segment(options=b"")) is None
    assert value(segment(options=bytes([1, 33, 6, 0, 0, 185, 170, 0]))) == 47_530
    assert value(segment(options=bytes([7, 4, 0, 0, 0, 0, 0, 0]))) is None
    for broken in (bytes([33, 5, 0, 0]), bytes([7, 9, 0, 0]), bytes([7])):
        with pytest.raises(ValueError, match="malformed"):
            value(segment(options=broken))


def test_a_broken_header_is_refused() -> None:
    for data in (b"", b"\x45\0", b"\x60", b"\x10" * 40):
        with pytest.raises(ValueError, match="whole IP header"):
            parse(data, 0)


# ----------------------------------------------------------------------------------------------------------------- runs


def captured(folder: Path, scenario: str | Scenario, **overrides: Any) -> Path:
    """Run with captures; the folder has them, and the settings beside."""
    named = {key.replace("__", "."): one for key, one in overrides.items()}
    made = narrows.run(scenario, seed=1, overrides=named, pcap=folder / "pcap")
    (folder / "scenario.toml").write_text(made.scenario.to_toml(), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def acns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return captured(tmp_path_factory.mktemp("acns"), "acns", duration="45 s")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"acns__formula": "thesis2013"},
        {"acns__p_max": "observed"},
        {"ip": 6},
        {"ip": 6, "acns__ipv6": "flow_label"},
        {"acns__idle_timeout": "1 s", "acns__max_flows": 5},
    ],
    ids=["default", "thesis2013", "observed", "ipv6", "flow_label", "small-table"],
)
def test_every_command_is_as_the_packets_say(tmp_path: Path, settings: dict[str, Any]) -> None:
    made = audit(captured(tmp_path, "acns", duration="45 s", **settings), "acns")
    assert [one.different for one in made.routers] == [0] * len(made.routers)
    written = sum((one.written for one in made.routers), start=type(made.routers[0].written)())
    assert sum(written.values()) > 500
    assert made.passed


@pytest.mark.parametrize("mode", range(1, 9))
def test_every_value_is_as_the_packets_say(tmp_path: Path, mode: int) -> None:
    made = audit(captured(tmp_path, "ngwa", duration="20 s", ngwa__mode=mode))
    assert made.scheme == "ngwa"
    assert made.passed
    assert sum(one.equal for one in made.routers) > 1000


@pytest.mark.parametrize(
    "settings", [{"ngwa__stamp": "arrival"}, {"ngwa__marks": "data"}, {"ngwa__packet_size": "1700 B"}]
)
def test_every_value_is_so_with_other_readings(tmp_path: Path, settings: dict[str, Any]) -> None:
    overrides = {"ngwa__mode": 3, "topology__bottleneck__queue__limit": "60 packets", **settings}
    made = audit(captured(tmp_path, "ngwa", duration="20 s", **overrides), "ngwa")
    assert made.passed


def test_other_settings_than_the_runs_differ(acns: Path, tmp_path: Path) -> None:
    text = (acns / "scenario.toml").read_text(encoding="utf-8")
    assert "fallback_threshold = 1.0" in text
    other = tmp_path / "other.toml"
    other.write_text(text.replace("fallback_threshold = 1.0", "fallback_threshold = 2.0"), encoding="utf-8")
    made = audit(acns, "acns", scenario=other)
    assert not made.passed
    named = [one for router in made.routers for one in router.differences]
    assert {one.written for one in named} == {"fallback"}
    assert {one.expected for one in named} == {("freeze",)}


def test_the_command_names_a_command_that_was_changed(acns: Path, tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    (folder / "pcap").mkdir(parents=True)
    for file in (acns / "pcap").iterdir():
        (folder / "pcap" / file.name).write_bytes(file.read_bytes())
    (folder / "scenario.toml").write_bytes((acns / "scenario.toml").read_bytes())
    runner = CliRunner()
    good = runner.invoke(app, ["audit", str(folder)])
    assert good.exit_code == 0, good.output
    assert "are as the packets say" in good.stdout
    file = folder / "pcap" / "P2-R3.pcapng"
    content = bytearray(file.read_bytes())
    # A segment of P2 -> R3 that asks (ECT(0), reserved flag) becomes one that a router told to freeze (CE).
    asking = next(
        one for one in re.finditer(rb"\x45(.)....[\x80\xc0]\x00.\x06", content, re.DOTALL) if one[1][0] & 3 in (1, 2)
    )
    content[asking.start() + 1] |= 3
    file.write_bytes(content)
    bad = runner.invoke(app, ["audit", str(folder), "--json"])
    assert bad.exit_code == 1
    told = json.loads(bad.stdout)
    assert told["passed"] is False
    differences = [one for router in told["routers"] for one in router["differences"]]
    assert len(differences) == 1 + sum(router["name"] == "R3" and router["different"] for router in told["routers"])
    assert differences[0]["written"] == "freeze"
    assert differences[0]["expected"] == ["normal"]


@pytest.mark.parametrize(
    ("source", "scheme", "said"),
    [("nothing", None, "is no directory"), (".", "red", "allowed: acns, ngwa"), (".", "ngwa", "its scenario has acns")],
)
def test_what_cannot_be_audited_is_said(acns: Path, source: str, scheme: str | None, said: str) -> None:
    with pytest.raises(InputError, match=said):
        audit(acns / source, scheme)


def test_a_missing_capture_and_a_link_that_changes_are_named(acns: Path, tmp_path: Path) -> None:
    (tmp_path / "pcap").mkdir()
    text = (acns / "scenario.toml").read_text(encoding="utf-8")
    (tmp_path / "scenario.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="no capture of the link"):
        audit(tmp_path)
    (tmp_path / "pcap" / "N0-R0.pcapng").write_bytes(b"no capture at all, but of some length")
    with pytest.raises(InputError, match=r"N0-R0\.pcapng: is no capture"):
        audit(tmp_path)
