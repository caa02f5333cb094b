"""802.11 stations and channels: manually calculated metrics, stored, read back and shown."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import narrows as nw
from narrows import metrics
from narrows.base.errors import InputError
from narrows.cli.tables import print_result
from narrows.metrics.stations import BASE, STATION, all_stations, channel_metrics, station_metrics
from narrows.model.scenario import Scenario
from narrows.store import results

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.metrics.stations import StationMetrics
    from narrows.outcome import Batch, Outcome, Run

S = 1_000_000_000

# Transmissions took 2 of 10 s. Of 100 attempts, 20 failed at the RTS and 80 sent a data frame, 5 of them without ACK.
TOTALS: dict[str, int | None] = {
    "channel": 0,
    "data_frames": 80,
    "mpdus": 400,
    "rts_frames": 100,
    "cts_frames": 7,
    "ack_frames": 9,
    "rts_failures": 20,
    "data_failures": 5,
    "retried_mpdus": 30,
    "given_up_packets": 1,
    "received_packets": 350,
    "duplicates": 2,
    "collisions": 11,
    "corrupted": 3,
    "airtime_ns": 2 * S,
}
SILENT: dict[str, int | None] = dict.fromkeys(TOTALS, 0)


def printed(result: Outcome) -> str:
    out = io.StringIO()
    print_result(result, 1.0, Console(file=out, width=100, highlight=False))
    return out.getvalue()


def test_station_metrics_are_those_worked_out_by_hand() -> None:
    station = station_metrics("w1", "wlan", STATION, TOTALS, 10 * S)
    assert station.airtime_ratio == pytest.approx(0.2)
    assert station.failure_ratio == pytest.approx(0.25)  # (20 + 5) / (80 + 20)
    assert station.retry_ratio == pytest.approx(0.075)
    assert station.mpdus_per_frame == pytest.approx(5.0)
    assert (station.rts_failures, station.data_failures, station.given_up_packets) == (20, 5, 1)
    assert (station.name, station.channel, station.role) == ("w1", "wlan", "station")


def test_a_station_that_never_sent_has_no_ratios() -> None:
    station = station_metrics("w1", "wlan", STATION, SILENT, 10 * S)
    assert (station.failure_ratio, station.retry_ratio, station.mpdus_per_frame) == (None, None, None)
    assert station.airtime_ratio == 0
    assert station_metrics("w1", "wlan", STATION, SILENT, 0).airtime_ratio is None


def test_the_first_station_of_each_channel_is_its_base_station() -> None:
    rows = [TOTALS | {"channel": channel} for channel in (0, 0, 0, 1, 1)]
    made = all_stations(["ap1", "a", "b", "ap2", "c"], ["one", "two"], rows, 10 * S)
    assert [station.role for station in made] == [BASE, STATION, STATION, BASE, STATION]
    assert [station.channel for station in made] == ["one", "one", "one", "two", "two"]


def test_a_channel_sums_its_stations_up_and_takes_ratios_of_the_sums() -> None:
    rows = [TOTALS, TOTALS | {"data_frames": 20, "mpdus": 20, "rts_failures": 0, "data_failures": 0}, SILENT]
    (channel,) = channel_metrics(all_stations(["ap", "w1", "w2"], ["wlan"], rows, 10 * S))
    assert channel.name == "wlan"
    assert channel.airtime_ratio == pytest.approx(0.4)
    assert channel.mpdus_per_frame == pytest.approx(4.2)  # 420 / 100
    assert channel.failure_ratio == pytest.approx(25 / 120)
    assert channel.collisions == 22
    assert channel_metrics([]) == ()


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_ratio_of_failures_lies_between_zero_and_one(sent: int, unanswered: int, unheard: int) -> None:
    share = metrics.failure_ratio(sent, unheard, min(unanswered, sent))
    if sent + unheard == 0:
        assert share is None
    else:
        assert share is not None
        assert 0 <= share <= 1


def test_a_run_has_its_stations_and_channel(cell: Run) -> None:
    assert [(station.name, station.role) for station in cell.stations] == [
        ("ap", "base"),
        ("w1", "station"),
        ("w2", "station"),
    ]
    channel = cell.channel("wlan")
    assert channel.airtime_ratio == pytest.approx(sum(station.airtime_ratio or 0 for station in cell.stations))
    assert 0.3 < (channel.airtime_ratio or 0) < 1  # two bulk transfers load the channel
    assert cell.station("w2").corrupted + cell.station("ap").corrupted > 0  # the frame error rate of w2
    assert cell.station("w1").mpdus_per_frame == 1
    for name, allowed in (("w9", "ap, w1, w2"), ("wlan", "ap, w1, w2")):
        with pytest.raises(InputError, match=allowed):
            cell.station(name)


def test_what_stations_receive_is_what_flows_and_their_acks_sent(cell: Run) -> None:
    """Every packet of the downlink crosses the channel once, and so do the ACKs of the uplink."""
    down = cell.flow("down")
    assert cell.station("w1").received_packets >= down.arrived_packets
    assert cell.station("ap").received_packets >= cell.flow("up").arrived_packets


def test_interface_queues_are_told_from_those_of_links(wireless: Scenario, cell: Run) -> None:
    assert wireless.interface_queues() == dict.fromkeys(["ap->wlan", "w1->ap", "w2->ap"], "wlan")
    assert {queue.name: queue.channel for queue in cell.queues} == {
        "server->ap": None,
        "ap->server": None,
        "ap->wlan": "wlan",
        "w1->ap": "wlan",
        "w2->ap": "wlan",
    }
    share = cell.queue("ap->wlan").utilisation
    assert share is not None
    assert 0 < share < 0.7  # of 11 Mb/s: preambles, contention and ACKs take the rest


def test_a_base_station_may_have_a_queue_for_each_station(wireless: Scenario) -> None:
    apart = wireless.with_overrides({"wifi.queues": "per_station"})
    assert list(apart.interface_queues()) == ["ap->w1", "ap->w2", "w1->ap", "w2->ap"]
    names = [queue.name for queue in nw.run(apart, seed=1, overrides={"duration": "1 s"}).queues]
    assert names == ["server->ap", "ap->server", *apart.interface_queues()]


def test_a_batch_has_means_and_intervals_of_stations_and_channels(cells: Batch) -> None:
    values = [run.station("w1").airtime_ratio or 0 for run in cells.runs]
    assert cells.station("w1").airtime_ratio == pytest.approx(sum(values) / 3)
    assert cells.values("station", "w1", "airtime_ratio") == values
    estimate = cells.estimate("channel", "wlan", "failure_ratio")
    assert estimate.low <= (cells.channel("wlan").failure_ratio or 0) <= estimate.high
    with pytest.raises(InputError, match="airtime_ratio"):
        cells.values("station", "w1", "role")


def test_results_come_back_with_their_stations(cell: Run, cells: Batch, tmp_path: Path) -> None:
    for name, result in (("one", cell), ("three", cells)):
        result.save(tmp_path / name)
        again = results.load(tmp_path / name)
        assert again.stations == result.stations
        assert again.channels == result.channels
        assert again.queues == result.queues


def test_results_of_before_there_were_channels_still_load(one: Run, tmp_path: Path) -> None:
    one.save(tmp_path / "old")
    path = tmp_path / "old" / "summary.json"
    summary = json.loads(path.read_text())
    for key in ("stations", "channels"):
        del summary[key]
    for queue in summary["queues"]:
        del queue["channel"]
    path.write_text(json.dumps(summary))
    again = results.load(tmp_path / "old")
    assert again.stations == ()
    assert again.queues == one.queues


def test_the_terminal_shows_stations_and_what_interface_queues_mean(cell: Run, cells: Batch, one: Run) -> None:
    for result in (cell, cells):
        shown = printed(result)
        assert "802.11" in shown
        assert "wlan " in shown
        assert "of PHY rate" in shown
        assert "collided" in shown
        assert "A-MPDU" not in shown  # every frame holds one MPDU
    assert "802.11" not in printed(one)
    assert "PHY" not in printed(one)


def test_the_terminal_shows_the_busiest_of_many_stations(cell: Run) -> None:
    shown = printed(crowd(cell, 50))
    assert "stations that sent less not shown" in shown
    assert "w50 " in shown
    assert "w1 " not in shown.split("802.11")[1]


def crowd(run: Run, count: int) -> Run:
    """Return the run with many stations instead of two, each sending more than the one before."""
    from dataclasses import replace

    stations: list[StationMetrics] = [run.station("ap")]
    stations += [
        replace(run.station("w1"), name=f"w{i}", airtime_ratio=i / 10_000, mpdus=i) for i in range(1, count + 1)
    ]
    return replace(run, stations=tuple(stations))


def test_a_notebook_shows_stations_and_settings(cell: Run, wireless: Scenario) -> None:
    shown = cell._repr_html_()
    assert "interface queue" in shown
    assert "802.11 wlan" in shown
    settings = wireless._repr_html_()
    assert "slot 20 µs, SIFS 10 µs, CW 31 to 1023" in settings
    assert "rate adaptation" in settings
    assert "rate adaptation" not in Scenario.from_file("dumbbell-cubic")._repr_html_()
