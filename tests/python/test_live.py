"""Live runs on this machine's own TCP stack: rates, round-trip times, samples, conditions, and refusals."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import narrows as nw
from narrows.base.errors import InputError, LiveError
from narrows.cli.live import ExecCommand, programs
from narrows.model.scenario import Scenario
from narrows.outcome import Batch, Run
from narrows.runs import live
from narrows.studies.comparison import gauge

if TYPE_CHECKING:
    from pathlib import Path

    from tests.python.conftest import LiveRun, Trusted

NARROWS = [sys.executable, "-c", "from narrows.cli import main; main()"]

SCENARIO = """
format = 1
name = "path"
duration = "3 s"
nodes = [{ name = "h1" }, { name = "r1", kind = "router" }, { name = "r2", kind = "router" }, { name = "h2" }]
links = [
  { between = ["h1", "r1"], rate = "1 Gb/s", delay = "0 s", queue = { kind = "droptail", limit = "1 MB" } },
  { between = ["r1", "r2"], rate = "10 Mb/s", delay = "6 ms", queue = { kind = "droptail", limit = "75 kB" } },
  { between = ["r2", "h2"], rate = "1 Gb/s", delay = "0 s", queue = { kind = "droptail", limit = "1 MB" } },
]
flows = [{ name = "f", from = "h1", to = "h2" }]
[tcp]
stack = "linux"
cc = "cubic"
"""


def scenario(**overrides: Any) -> Scenario:
    return Scenario.from_text(SCENARIO, "path.toml", {k.replace("__", "."): str(v) for k, v in overrides.items()})


def test_the_kernel_fills_the_link_as_the_simulator_does(live_run: LiveRun) -> None:
    measured = live_run(scenario())
    simulated = nw.run(scenario())
    assert isinstance(simulated, Run)
    for one in (measured, simulated):
        assert one.flow("f").throughput_mbps == pytest.approx(10, rel=0.03)
    flow, peer = measured.flow("f"), simulated.flow("f")
    # The handshake meets an idle network; each later sample includes 1.2 ms of the segment's own transmission.
    assert within_lateness(flow.rtt_min_ms, peer.rtt_min_ms, measured)
    assert flow.rtt_mean_ms == pytest.approx(peer.rtt_mean_ms, rel=0.3)
    assert flow.delivered_bytes <= flow.sent_bytes
    queue = measured.queue("r1->r2")
    assert queue.dropped_packets == flow.lost_packets
    assert queue.forwarded_packets + queue.dropped_packets + queue.waiting_packets == queue.arrived_packets


def test_the_kernel_tells_what_bbr_and_red_keep(live_run: LiveRun) -> None:
    queue = 'delay = "6 ms", queue = { kind = "'
    text = SCENARIO.replace(queue + 'droptail", limit = "75 kB"', queue + 'red", limit = "75 kB"')
    overrides = {"tcp.cc": "bbr", "sampling.interval": "20 ms", "sampling.state": "true"}
    asked = Scenario.from_text(text, "path.toml", overrides)
    measured = live_run(asked)
    simulated = nw.run(asked)
    assert isinstance(simulated, Run)
    state, peer = measured.samples.state, simulated.samples.state
    wide, as_simulated = state.wide("f"), peer.wide("f")
    assert set(wide) < set(as_simulated), "the kernel reports part of what our algorithm keeps"
    assert {v.name: v.unit for v in state.variables}.items() <= {v.name: v.unit for v in peer.variables}.items()
    for one in (wide, as_simulated):
        assert one["bbr.phase"].dropna().iloc[0] == 0, "STARTUP"
        assert one["bbr.phase"].iloc[-1] == 2, "PROBE_BW"
        assert one["bbr.bw_bps"].iloc[-1] == pytest.approx(9.65e6, rel=0.05), "payload of 10 Mb/s"
        assert set(one["bbr.pacing_gain"].iloc[-50:]) <= {0.75, 1, 1.25}
    assert wide["tcp.pacing_rate"].iloc[-1] == pytest.approx(as_simulated["tcp.pacing_rate"].iloc[-1], rel=0.6)
    smallest = wide["bbr.min_rtt_s"].iloc[-1] * 1000
    assert within_lateness(smallest, as_simulated["bbr.min_rtt_s"].iloc[-1] * 1000, measured)
    average = state.wide("r1->r2")["red.avg"]
    assert len(average) == 3000 / 20 + 1
    assert average.max() > 1


def within_lateness(live_ms: float | None, simulated_ms: float | None, run: Run) -> bool:
    """Whether a live round-trip time equals the simulated one, except for two wake-ups and two largest latenesses."""
    assert live_ms is not None
    assert simulated_ms is not None
    assert run.conditions is not None
    late_ms: float = 2 * run.conditions["lateness"]["max_us"] / 1000
    return simulated_ms - 0.01 <= live_ms <= simulated_ms + 0.6 + late_ms


def test_the_first_round_trip_time_is_the_path_s(live_run: LiveRun) -> None:
    """A flow that starts at 0 s connects only when the network runs, so its handshake does not include the start-up."""
    short = scenario(duration="1 s", sampling="5 ms")
    measured = live_run(short, latest_ms=10)
    simulated = nw.run(short)
    assert isinstance(simulated, Run)
    first = {}
    for name, one in (("live", measured), ("simulated", simulated)):
        table = one.samples.to_pandas()
        first[name] = table[table.kind == "flow"].srtt_s.dropna().iloc[0] * 1e3
    assert first["simulated"] == pytest.approx(12.1, abs=0.1)
    assert within_lateness(first["live"], first["simulated"], measured)


def test_a_flow_that_is_done_counts_no_more_round_trip_times(live_run: LiveRun) -> None:
    text = SCENARIO.replace('to = "h2" }', 'to = "h2", size = "4 kB" }')
    flow = live_run(Scenario.from_text(text, "small.toml")).flow("f")
    assert flow.sent_packets == 3
    # Samples: the handshake, an ACK for each segment or two, and one for the FIN if it arrives separately.
    assert 2 <= (flow.rtt_samples or 0) <= 5
    assert (flow.rtt_max_ms or 0) < 60, "no sample has the wait for the network in it"


def test_samples_have_the_columns_of_a_simulation(live_run: LiveRun) -> None:
    measured = live_run(scenario(duration="1.2 s"))
    table = measured.samples.to_pandas()
    simulated = nw.run(scenario(duration="1.2 s"))
    assert list(table.columns) == list(simulated.samples.to_pandas().columns)
    flow = table[table.kind == "flow"].set_index("time_s")
    assert len(flow) >= 10
    assert flow.index.is_monotonic_increasing
    assert (flow.cwnd_bytes.dropna() > 0).all()
    for counter in ("sent_bytes", "delivered_bytes", "arrived_bytes", "retransmitted_packets"):
        assert flow[counter].dropna().is_monotonic_increasing, counter
    assert flow.arrived_bytes.iloc[-1] > 0
    assert table[table.kind == "queue"].packets.max() <= 51


def test_conditions_say_what_had_a_say(live_run: LiveRun) -> None:
    told = live_run(scenario(duration="700 ms")).conditions
    assert told is not None
    assert told["kernel"] == os.uname().release
    assert told["cc"] == {"cubic": "kernel, as cubic"}
    assert told["lateness"]["packets"] > 100
    assert told["lateness"]["p99_us"] >= told["lateness"]["p50_us"] > 0
    assert told["sysctls"]["net.ipv4.tcp_no_metrics_save"] == "1"
    assert told["trusted"] == (not told["doubts"])


@pytest.mark.parametrize("cc", ["agile_sd", "compound"])
def test_congestion_controls_that_no_kernel_has_come_as_ebpf(live_run: LiveRun, cc: str) -> None:
    measured = live_run(scenario(tcp__cc=cc))
    assert measured.conditions is not None
    assert measured.conditions["cc"][cc].startswith("eBPF, as ")
    assert (measured.flow("f").throughput_mbps or 0) > 7, "slow start without HyStart costs a burst of losses"


def test_ngwa_keeps_the_queue_from_overflowing(live_run: LiveRun) -> None:
    text = SCENARIO + 'assist = "ngwa"\n[ngwa]\nmode = 1\n'
    measured = live_run(Scenario.from_text(text, "ngwa.toml"))
    assert (measured.flow("f").window_options or 0) > 100
    assert measured.queue("r1->r2").dropped_packets == 0
    assert (measured.flow("f").throughput_mbps or 0) > 7
    assert (measured.router("r1").inserted or 0) > 100


def test_acns_is_obeyed(live_run: LiveRun) -> None:
    text = SCENARIO.replace('"75 kB"', '"50 packets"') + 'assist = "acns"\n[acns]\n'
    measured = live_run(Scenario.from_text(text, "acns.toml"))
    flow = measured.flow("f")
    assert (flow.commands_normal or 0) > 0
    assert (flow.commands_freeze or 0) + (flow.commands_fallback or 0) > 0
    assert measured.queue("r1->r2").dropped_packets == 0
    assert (flow.throughput_mbps or 0) > 7


def test_udp_arrives_at_its_rate(live_run: LiveRun) -> None:
    text = SCENARIO.replace('to = "h2" }', 'to = "h2", kind = "udp", rate = "2 Mb/s" }')
    measured = live_run(Scenario.from_text(text, "udp.toml"))
    assert measured.flow("f").throughput_mbps == pytest.approx(2, rel=0.1)
    assert measured.flow("f").lost_packets == 0


PARKING_LOT = """
format = 1
name = "lot"
duration = "4 s"
[topology]
kind = "parking_lot"
hops = 2
bottleneck = [
  { rate = "8 Mb/s", delay = "4 ms", queue = { limit = "40 packets" } },
  { rate = "12 Mb/s", delay = "4 ms", queue = { limit = "40 packets" } },
]
access = { rate = "1 Gb/s", delay = "0.5 ms", queue = { limit = "1000 packets" } }
[tcp]
stack = "linux"
cc = "cubic"
[[flows]]
name = "long"
from = "s0"
to = "d0"
[[flows]]
name = "first"
from = "s1"
to = "d1"
[[flows]]
name = "second"
from = "s2"
to = "d2"
dscp = 10
"""


def test_several_bottlenecks_are_each_shared_by_those_that_pass_them(live_run: LiveRun) -> None:
    measured = live_run(Scenario.from_text(PARKING_LOT, "lot.toml"))
    rates = {name: measured.flow(name).throughput_mbps or 0 for name in ("long", "first", "second")}
    assert min(rates.values()) > 0.5
    # The bounds leave room for a start-up of one second.
    assert 0.75 * 8 < rates["long"] + rates["first"] < 8.1
    assert 0.75 * 12 < rates["long"] + rates["second"] < 12.1
    assert (measured.flow("long").rtt_min_ms or 0) > (measured.flow("first").rtt_min_ms or 1e9)


def test_a_slow_way_back_holds_the_data_up(live_run: LiveRun) -> None:
    # ACKs have 52 bytes and acknowledge two segments: 16 kb/s carry 38 per second, so at most about 0.9 Mb/s of data.
    wide = 'between = ["r1", "r2"], rate = "10 Mb/s", delay = "6 ms",'
    text = SCENARIO.replace(wide, f'{wide} reverse = {{ rate = "16 kb/s", delay = "20 ms" }},')
    assert text != SCENARIO
    measured = live_run(Scenario.from_text(text, "asymmetric.toml"))
    flow = measured.flow("f")
    assert (flow.rtt_min_ms or 0) > 6 + 20
    assert 0.1 < (flow.throughput_mbps or 0) < 2.5
    assert (measured.queue("r2->r1").utilisation or 0) > 0.7


def test_a_rate_that_the_machine_cannot_hold_is_given_up(trusted: Trusted) -> None:
    wide = {"topology.bottleneck.rate": "400 Gb/s", "topology.access.rate": "400 Gb/s", "duration": "10 s"}
    # Sixteen flows over a short path: a quick machine carries the window of one flow over 12 ms, 2 Gb/s, with pauses.
    deep = {"topology.bottleneck.queue.limit": "100000 packets", "topology.bottleneck.delay": "100 us"}
    many = {"flows.bulk.copies": "16"}

    def once() -> tuple[LiveError | None, tuple[str, ...]]:
        try:
            made = live.run(Scenario.from_file(gauge.networks()["rate-1g"], wide | deep | many))
        except LiveError as error:
            return error, ()
        # If other programs use the processors too, the thread that carries packets pauses, and the run is not trusted.
        assert isinstance(made, Run)
        return None, made.doubts

    error = trusted(once)
    assert error is not None
    assert error.kind == "unavailable"
    assert "this machine is too slow for this rate" in str(error)
    assert "lower the bottleneck's rate" in str(error)


def test_random_losses_are_those_of_the_link(live_run: LiveRun) -> None:
    text = SCENARIO.replace('delay = "6 ms",', 'delay = "6 ms", per = 0.02,')
    measured = live_run(Scenario.from_text(text, "lossy.toml"))
    assert (measured.queue("r1->r2").corrupted_packets or 0) > 0
    assert (measured.flow("f").retransmitted_packets or 0) >= 1


def test_several_runs_are_a_batch(live_run: LiveRun) -> None:
    live_run(scenario(duration="200 ms"))
    made = live.run(scenario(duration="300 ms"), runs=2)
    assert isinstance(made, Batch)
    assert [one.index for one in made.runs] == [0, 1]


def test_captures_are_those_of_a_simulation(live_run: LiveRun, tmp_path: Path) -> None:
    live_run(scenario(duration="500 ms"), pcap=tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*[0-9].pcapng")) == [
        "h1-r1.pcapng",
        "r1-r2.pcapng",
        "r2-h2.pcapng",
    ]
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed: what is in the files was not looked at")
    fields = ["-T", "fields", "-e", "ip.checksum.status", "-e", "tcp.checksum.status"]
    checks = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    shown = subprocess.run(
        ["tshark", "-r", str(tmp_path / "r1-r2.pcapng"), *checks, *fields], capture_output=True, text=True, check=True
    )
    lines = shown.stdout.split("\n")[:-1]
    assert len(lines) > 100
    assert set(lines) == {"1\t1"}, "every checksum on the wire is right"


def test_what_linux_cannot_be_asked_for_is_refused_before_anything_is_made() -> None:
    with pytest.raises(LiveError) as caught:
        live.check(scenario(tcp__recovery="tahoe"))
    if caught.value.kind == "unavailable":
        pytest.skip(str(caught.value))
    assert caught.value.exit_code == 2
    assert "tahoe" in str(caught.value)
    assert "allowed" in str(caught.value)


def test_refusals_come_all_at_once_and_name_the_variant() -> None:
    with pytest.raises(LiveError) as caught:
        live.check(Scenario.from_file("acns"))
    if caught.value.kind == "unavailable":
        pytest.skip(str(caught.value))
    said = str(caught.value).splitlines()
    assert said[0] == "the scenario cannot run live: 3 refusals"
    fields = [line.split(":")[0].strip() for line in said[1:4]]
    assert fields == [f"flows.tcp1.tcp.{name}" for name in ("recovery", "initial_ssthresh", "max_cwnd")]
    assert said[4:] == ["  scenario acns-live is its variant for live runs"]


def test_the_variant_of_the_bundled_acns_runs_live(live_run: LiveRun) -> None:
    starts = {f"flows[{index}].start": f"{0.1 * index:g} s" for index in range(6)}
    shorter = {"duration": "4 s", **starts}
    measured = live_run(Scenario.from_file("acns-live", shorter))
    assert all((measured.flow(name).throughput_mbps or 0) > 0 for name in ("tcp1", "tcp2", "tcp3", "udp1"))
    assert (measured.conditions or {})["left_to_the_kernel"] == []


def test_another_stack_is_told_first_among_the_differences(live_run: LiveRun) -> None:
    told = live_run(scenario(duration="300 ms", tcp__stack="ns2")).conditions
    assert told is not None
    assert told["left_to_the_kernel"][0] == "stack: ns2 there, linux here"


def test_programs_need_a_host_and_a_command() -> None:
    with pytest.raises(InputError, match="--exec r1: path has no host of this name; allowed: h1, h2"):
        live.run(scenario(), programs=[live.Program("r1", "true")])
    with pytest.raises(InputError, match="--exec h1: has no command"):
        programs(["h1"])
    assert programs(["h1\x1fping h2"]) == [live.Program("h1", "ping h2")]
    assert ExecCommand.__mro__[1].__name__ == "TyperCommand"


def test_without_rights_it_says_so_and_leaves_with_3(tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("takes root and setpriv, to give the rights up")
    file = tmp_path / "path.toml"
    file.write_text(SCENARIO)
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        if parent.stat().st_mode & 0o005 != 0o005:
            parent.chmod(parent.stat().st_mode | 0o055)
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *NARROWS, "live", str(file)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert "live runs: not available here" in done.stderr
    assert "root" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_line_tells_what_a_script_needs(live_run: LiveRun, trusted: Trusted, tmp_path: Path) -> None:
    live_run(scenario(duration="200 ms"))
    file = tmp_path / "path.toml"
    file.write_text(SCENARIO)
    command = [*NARROWS, "live", str(file), "--set", "duration=600 ms", "--json", "-o", str(tmp_path / "out")]

    def once() -> tuple[dict[str, Any], list[str]]:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        told = json.loads(done.stdout)
        return told, told["conditions"]["doubts"]

    told = trusted(once)
    assert told["conditions"]["kernel"] == os.uname().release
    assert told["flows"][0]["throughput_mbps"] > 5
    kept = nw.load(tmp_path / "out")
    assert kept.runs[0].conditions == told["conditions"]
