"""802.11 channels in drawings and on pages."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import pytest

import narrows as nw
from narrows.model.resolved import Mode
from narrows.model.scenario import Scenario
from narrows.report import channels, network, radio, topology, write_report
from narrows.report.layout import arrange, bottlenecks, box_width
from narrows.report.shapes import text_box

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.outcome import Batch, Run
    from narrows.report.layout import Network

SVG = "{http://www.w3.org/2000/svg}"


def text_of(
    stations: int = 2,
    *,
    wired: bool = True,
    between: int = 0,
    up: bool = False,
    cells: int = 1,
    wifi: str = 'phy = "802.11b"',
    rate: str = "100 Mb/s",
) -> str:
    """Write a scenario: a server, routers, and base stations with their stations; a flow to or from each station."""
    lines = ['duration = "1 s"']
    routers = [f"r{i}" for i in range(between)] + [f"ap{c}" for c in range(cells)]
    names = [[f"w{c}x{i}" for i in range(stations)] for c in range(cells)]
    for name in routers:
        lines += ["[[nodes]]", f'name = "{name}"', 'kind = "router"']
    for name in (["server"] if wired else []) + [name for cell in names for name in cell]:
        lines += ["[[nodes]]", f'name = "{name}"']
    chain = (["server"] if wired else []) + routers
    for a, b in pairwise(chain):
        lines += ["[[links]]", f'between = ["{a}", "{b}"]', f'rate = "{rate}"', 'delay = "1 ms"']
    for c, cell in enumerate(names):
        listed = ", ".join(f'"{name}"' for name in cell)
        lines += ["[[wifi]]", f'name = "cell{c}"', f'base = "ap{c}"', f"stations = [{listed}]", wifi]
    for cell in names:
        for i, name in enumerate(cell):
            other = "server" if wired else cell[(i + 1) % len(cell)]
            a, b = (name, other) if up or not wired else (other, name)
            lines += ["[[flows]]", f'from = "{a}"', f'to = "{b}"', 'cc = "reno"']
    return "\n".join(lines)


NETWORKS = {
    "a pair": text_of(),
    "only wireless": text_of(4, wired=False),
    "two channels": text_of(3, cells=2),
    "two channels only": text_of(2, wired=False, cells=2),
    "behind a router": text_of(3, between=2),
    "uplinks": text_of(5, up=True),
    "fifty": text_of(50),
    "fifty uplinks": text_of(50, up=True),
    "fifty between routers": text_of(50, cells=3, between=1),
    "fifty only": text_of(50, wired=False),
    "thirteen": text_of(13),
}


def drawn(text: str) -> Network:
    return network.of(Scenario.from_text(text))


@pytest.mark.parametrize("name", NETWORKS)
def test_no_two_nodes_overlap_and_all_stand_inside(name: str) -> None:
    net = drawn(NETWORKS[name])
    layout = arrange(net)
    for (i, one), (j, other) in combinations(enumerate(layout.places), 2):
        apart = (box_width(net.names[i]) + box_width(net.names[j])) / 2
        assert abs(one.x - other.x) >= apart or abs(one.y - other.y) >= 34, (net.names[i], net.names[j])
    assert all(0 < place.x < layout.width and 0 < place.y < layout.height for place in layout.places)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_drawing_names_every_node_and_captions_every_channel(name: str, tmp_path: Path) -> None:
    net = drawn(NETWORKS[name])
    texts = {element.text for element in ET.fromstring(topology.to_svg(net)).iter(f"{SVG}text")}  # noqa: S314 - our own
    assert set(net.names) <= texts
    for channel in net.channels:
        assert set(channel.caption) <= texts
    png, svg = topology.write_figures(net, tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert svg.stat().st_size > 1000


@pytest.mark.parametrize("name", NETWORKS)
def test_captions_stand_where_nothing_else_does(name: str) -> None:
    items, _ = topology.shapes(drawn(NETWORKS[name]))
    captions = [s for s in items if s.kind == "text" and ("802.11" in s.text or "RTS" in s.text)]
    boxes = [s for s in items if s.kind == "box" and s.fill]
    assert captions
    for text in captions:
        left, top, right, bottom = text_box(text)
        for box in boxes:
            clear = (
                right <= box.x - box.x2 / 2
                or left >= box.x + box.x2 / 2
                or bottom <= box.y - box.y2 / 2
                or top >= box.y + box.y2 / 2
            )
            assert clear, (text.text, box.title)


def test_fifty_stations_stay_on_a_page() -> None:
    layout = arrange(drawn(NETWORKS["fifty"]))
    assert layout.height < 700
    assert layout.width < 1200


def test_a_base_station_has_a_mast_and_each_station_a_road_of_dashes() -> None:
    net = drawn(text_of(3))
    items, _ = topology.shapes(net)
    assert sum(item.kind == "arc" for item in items) == 4
    roads = [item for item in items if item.kind == "line" and item.dash == radio.DASH]
    assert len(roads) == 3
    assert not any(item.kind == "arc" for item in topology.shapes(drawn_wired())[0])


def test_many_stations_stand_in_a_frame_with_one_road_to_it() -> None:
    items, _ = topology.shapes(drawn(NETWORKS["fifty"]))
    assert len([item for item in items if item.kind == "line" and item.dash == radio.DASH]) == 1
    frames = [item for item in items if item.kind == "box" and not item.fill]
    assert [frame.title for frame in frames] == ["50 stations of cell0"]


def drawn_wired() -> Network:
    return network.of(Scenario.from_file("dumbbell-cubic"))


def limits(text: str) -> set[tuple[str, str]]:
    net = drawn(text)
    return {(net.names[a], net.names[b]) for a, b in bottlenecks(net)}


def test_a_channel_limits_flows_by_what_it_carries_and_not_by_its_rate() -> None:
    """802.11b at 11 Mb/s carries about 6 Mb/s, so behind a link of 10 Mb/s it is the bottleneck."""
    assert limits(text_of(1, rate="10 Mb/s")) == {("ap0", "w0x0")}
    assert limits(text_of(1, rate="5 Mb/s")) == {("server", "ap0")}


def test_the_roads_of_a_channel_share_what_it_carries() -> None:
    """Four flows over one channel leave each flow less than its own link of 20 Mb/s."""
    assert limits(text_of(4, rate="20 Mb/s")) == {("ap0", f"w0x{i}") for i in range(4)}


@pytest.mark.parametrize(
    ("wifi", "caption"),
    [
        ('phy = "802.11b"', ("cell0: 802.11b · 11 Mb/s", "no RTS/CTS")),
        ('phy = "802.11g"\nrate = "24 Mb/s"\nrts_threshold = "0 B"', ("cell0: 802.11g · 24 Mb/s", "RTS/CTS")),
        (
            'phy = "802.11n"\nmcs = 7\nrts_threshold = "500 B"\nhidden = [{ between = ["w0x0", "w0x1"] }]',
            ("cell0: 802.11n · MCS 7, 20 MHz, 65 Mb/s", "RTS/CTS above 500 bytes · A-MPDU · hidden stations"),
        ),
    ],
)
def test_captions_say_standard_rate_and_protection(wifi: str, caption: tuple[str, str]) -> None:
    (channel,) = drawn(text_of(wifi=wifi)).channels
    assert channel.caption == caption


def settings(wifi: str, stations: int = 2) -> dict[str, str]:
    rows = channels.setting_rows(Scenario.from_text(text_of(stations, wifi=wifi)).channels)
    return {label: texts[0] for label, texts in rows}


def test_the_table_of_settings_says_what_was_set() -> None:
    told = settings(
        'phy = "802.11b"\nrate = "5.5 Mb/s"\npreamble = "short"\nbasic_rate = "2 Mb/s"\ncapture = 10\n'
        'queue = { limit = "30 packets" }\nstation_queue = { kind = "red", limit = "40 packets" }\n'
        'station_overhead = "20 B"\n'
        'hidden = [{ between = ["w0x0", "w0x1"], one_way = true }]\nsignals = [{ station = "w0x1", signal = -10 }]\n'
        'errors = [{ station = "w0x0", fer = "1 %" }, { station = "w0x1", rate = "2 Mb/s", fer = 0.2 }]'
    )
    assert told["Data rate"] == "5.5 Mb/s"
    assert told["Control rate"] == "2 Mb/s, short preamble"
    assert told["Hidden from each other"] == "w0x0 from w0x1"
    assert told["Signal"] == "w0x1 -10 dB"
    assert told["Capture"] == "above 10 dB"
    assert told["Frame errors"] == "w0x0 1 %; w0x1 20 % at 2 Mb/s"
    assert told["Queues of the base station"] == "one for all stations: 30 packets"
    assert told["Queue of a station"] == "RED, 40 packets"
    assert told["Between MAC header and IP packet"] == "8 bytes; of stations 20 bytes"
    assert "Aggregation" not in told


def test_the_table_of_settings_counts_many_stations() -> None:
    told = settings('phy = "802.11n"\nmcs = 7\naggregation = { max_mpdus = 16, max_time = "3 ms" }', stations=50)
    assert told["Stations"] == "w0x0, w0x1, w0x2 … w0x49 (50)"
    assert told["Aggregation"] == "A-MPDU of up to 16 MPDUs, 65,535 bytes, 3 ms; block ACK"
    assert told["Queues of the base station"].startswith("one for each station")


@pytest.mark.parametrize(
    ("phy", "mode", "mbps"),
    # MCS, width in MHz, streams, guard interval in ns: IEEE 802.11-2016, sections 19.5 and 21.5.
    [
        ("802.11n", (0, 20, 1, 800), 6.5),
        ("802.11n", (7, 40, 2, 400), 300.0),
        ("802.11ac", (9, 80, 1, 400), 433.3),
        ("802.11ac", (8, 160, 2, 800), 1404.0),
    ],
)
def test_rates_of_mcs_are_those_of_the_standard(phy: str, mode: tuple[int, int, int, int], mbps: float) -> None:
    keys = ("mcs", "width_mhz", "streams", "guard_interval_ns")
    modulated = Mode("mcs", **dict(zip(keys, mode, strict=True)))
    channel = replace(Scenario.from_file("hybrid-contest").channels[0], phy=phy, mode=modulated)
    assert channels.data_rate_bps(channel) / 1e6 == pytest.approx(mbps, abs=0.05)


PHYS = {
    "dsss": 'phy = "802.11"\nrate = "1 Mb/s"',
    "long preamble": 'phy = "802.11b"',
    "short preamble": 'phy = "802.11b"\nrate = "5.5 Mb/s"\npreamble = "short"\nbasic_rate = "2 Mb/s"',
    "a": 'phy = "802.11a"\nrate = "36 Mb/s"',
    "g": 'phy = "802.11g"',
    "g with RTS": 'phy = "802.11g"\nrate = "6 Mb/s"\nrts_threshold = "0 B"',
    "n alone": 'phy = "802.11n"\nmcs = 4\naggregation = false',
    "n": 'phy = "802.11n"\nmcs = 7',
    "ac": 'phy = "802.11ac"\nmcs = 7\nchannel_width = "80 MHz"',
}


@pytest.mark.parametrize("name", PHYS)
def test_a_channels_ceiling_is_what_one_saturated_station_gets(name: str) -> None:
    text = text_of(1, wifi=PHYS[name], rate="10 Gb/s")
    head = text.split("[[flows]]")[0]
    flow = '[[flows]]\nname = "f"\nkind = "udp"\nfrom = "server"\nto = "w0x0"\nrate = "600 Mb/s"\npayload = "1472 B"'
    scenario = Scenario.from_text(head + flow, overrides={"duration": "2 s", "sampling": "off"})
    measured = nw.run(scenario, seed=1).flow("f").throughput_mbps
    assert measured == pytest.approx(channels.ceiling_bps(scenario.channels[0]) / 1e6, rel=0.02)


def test_the_page_shows_settings_stations_and_what_is_not_modelled(cells: Batch, tmp_path: Path) -> None:
    page = write_report(cells, tmp_path).read_text()
    text = re.sub(r"<[^>]+>", "|", page)
    assert "802.11 channels" in text
    assert "slot 20 µs, SIFS 10 µs, CW 31 to 1023" in text
    assert "Not modelled: rate adaptation" in text
    assert "docs/wifi.md" in text
    assert "802.11 channel wlan" in text
    assert "ap (base)" in text
    assert "Interface queues of the 802.11 channels" in text
    assert "Of the PHY&#39;s rate" in text or "Of the PHY's rate" in text
    wired = page.split("Queues that packets passed")[1].split("</table>")[0]
    assert "server → ap" in wired
    assert "wlan" not in wired


def test_interface_queues_are_among_the_queues_over_time(cell: Run, tmp_path: Path) -> None:
    page = write_report(cell, tmp_path).read_text()
    found = re.search(r'id="plot-queue-data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    named = {line["name"] for panel in json.loads(found[1])["panels"] for line in panel["lines"]}
    assert {"ap → wlan", "w2 → ap"} <= named


def test_a_page_without_channels_says_nothing_of_them(one: Run, tmp_path: Path) -> None:
    page = write_report(one, tmp_path).read_text()
    assert "802.11" not in page.split("<script")[0].split("<details>")[0]
    assert "Not modelled" not in page


@pytest.mark.parametrize("name", ["only wireless", "two channels", "fifty uplinks"])
def test_every_kind_of_network_has_a_page(name: str, tmp_path: Path) -> None:
    scenario = Scenario.from_text(NETWORKS[name], overrides={"sampling": "50 ms"})
    page = write_report(nw.run(scenario, seed=1), tmp_path).read_text()
    for station in scenario.channels[0].stations:
        assert station.node in page
