"""``narrows trace``: what captures, runs and traces say of deliveries, and the files that it writes."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import narrows
from narrows.base.errors import InputError
from narrows.cli import app
from narrows.studies.trace import Deliveries, of_capture, of_run, read

TRACES = Path(__file__).parents[2] / "scenarios" / "traces"

LINK = """
name = "follows"
duration = "4 s"
nodes = [{ name = "a" }, { name = "b" }]
flows = [{ name = "fast", from = "a", to = "b", kind = "udp", rate = "50 Mb/s", payload = "1472 B" }]
links = [{ between = ["a", "b"], delay = "1 ms", forward = { rate = RATE }, reverse = { rate = "50 Mb/s" } }]
sampling = "10 ms"
"""


def call(*words: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["trace", *map(str, words)])
    return done.exit_code, done.stdout, done.stderr


def capture(path: Path, packets: list[tuple[float, bytes]]) -> Path:
    """Write a pcap file of raw IP packets."""
    content = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    for time, data in packets:
        seconds = int(time)
        content += struct.pack("<IIII", seconds, round((time - seconds) * 1e6), len(data), len(data)) + data
    path.write_bytes(content)
    return path


def ip(source: int, size: int) -> bytes:
    return struct.pack(">BBHHHBBH4B4B", 0x45, 0, size, 0, 0, 64, 17, 0, 10, 0, 0, source, 10, 0, 0, 9) + bytes(
        size - 20
    )


def test_a_capture_becomes_the_trace_that_gives_the_same_run_again(tmp_path: Path) -> None:
    rate = f'{{ trace = "{TRACES / "cellular.trace"}" }}'
    (tmp_path / "first.toml").write_text(LINK.replace("RATE", rate))
    narrows.run(str(tmp_path / "first.toml"), pcap=tmp_path / "pcap")
    made = tmp_path / "made.trace"
    code, out, err = call(tmp_path / "pcap" / "a-b.pcapng", "--src", "10.0.0.1", "-o", made)
    assert code == 0, err
    assert "mean" in out
    # The link is saturated, so it delivers at each opportunity of the original trace.
    first = [int(line) for line in (TRACES / "cellular.trace").read_text().split() if int(line) <= 4000]
    again = [int(line) for line in made.read_text().split()]
    assert abs(len(again) - len(first)) <= 3
    offset = first[0] - again[0]
    late = np.array(again[: len(first)]) + offset - np.array(first[: len(again)])
    assert np.abs(late).max() <= 10, "an opportunity of its neighbours, at most"


def test_addresses_choose_packets_and_each_counts_four_bytes_more(tmp_path: Path) -> None:
    file = capture(tmp_path / "a.pcap", [(0.0, ip(1, 1500)), (0.5, ip(2, 1500)), (1.0, ip(1, 1500)), (2.0, ip(1, 500))])
    code, out, _ = call(file, "--src", "10.0.0.1", "--bin", "1 s", "--json")
    assert code == 0
    assert json.loads(out) == {
        "source": "a.pcap",
        "duration_s": 2.0,
        "delivered_bytes": 2 * 1504 + 504,
        "mean_bps": (2 * 1504 + 504) * 4.0,
        "bin_s": 1.0,
        "min_bps": 504 * 8.0,
        "max_bps": 2 * 1504 * 8.0,
        "longest_gap_s": 1.0,
    }
    assert of_capture(file).delivered[-1] == 3 * 1504 + 504


def test_a_run_gives_the_rates_of_a_link(tmp_path: Path) -> None:
    done = narrows.run("dumbbell-cubic", overrides={"duration": "12 s"})
    done.save(tmp_path / "run")
    code, out, err = call(
        tmp_path / "run", "--link", "r1->r2", "--bin", "500 ms", "-o", tmp_path / "made.csv", "--json"
    )
    assert code == 0, err
    told = json.loads(out)
    assert told["source"] == "r1->r2 in run"
    assert told["max_bps"] == pytest.approx(10e6, rel=0.01)
    again = read(tmp_path / "made.csv")
    assert again.mean_bps == pytest.approx(told["mean_bps"], rel=1e-6)
    # A scenario takes the file.
    (tmp_path / "next.toml").write_text(LINK.replace("RATE", '{ trace = "made.csv", repeat = true }'))
    assert narrows.run(str(tmp_path / "next.toml")).queue("a->b").utilisation == pytest.approx(1, abs=0.02)
    with pytest.raises(InputError, match="is no link of the run; allowed: r1->r2"):
        of_run(done, "r9")


def test_a_csv_of_rates_becomes_opportunities_with_the_same_mean() -> None:
    rates = read(TRACES / "satellite.csv")
    lines = [int(line) for line in rates.to_mahimahi().split()]
    assert lines == sorted(lines)
    assert len(lines) * 1504 * 8 / 60 == pytest.approx(rates.mean_bps, rel=1e-4)


@given(
    st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 9000)), min_size=1, max_size=60),
    st.sampled_from([0.001, 0.037, 0.5, 2.0]),
)
def test_bins_hold_all_bytes(packets: list[tuple[int, int]], bin_s: float) -> None:
    packets.sort()
    packets.append((packets[-1][0] + 1, 1))
    made = Deliveries.of_packets([time for time, _ in packets], [size for _, size in packets])
    edges, rates = made.rates(bin_s)
    assert (rates >= 0).all()
    assert float((rates * np.diff(edges)).sum()) / 8 == pytest.approx(sum(size for _, size in packets))


def test_a_bad_line_behind_the_first_block_is_found_and_a_last_line_needs_no_end(tmp_path: Path) -> None:
    lines = [str(number) for number in range(1, 70_001)]
    (tmp_path / "long").write_text("\r\n".join(lines))
    assert read(tmp_path / "long").times_s[-1] == 70.0
    lines[69_999] = "x"
    (tmp_path / "bad").write_text("\n".join(lines))
    with pytest.raises(InputError, match="bad:70000: 'x' is not a time"):
        read(tmp_path / "bad")


def test_pictures_of_all_kinds_are_drawn(tmp_path: Path) -> None:
    for suffix, begin in ((".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
        code, _, err = call(TRACES / "wifi.trace", "--plot", tmp_path / f"plot{suffix}")
        assert code == 0, err
        assert (tmp_path / f"plot{suffix}").read_bytes().startswith(begin)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["plot.pdf", "plot.png", "plot.svg"]


def test_bad_input_is_refused_by_line_and_nothing_is_written(tmp_path: Path) -> None:
    def given_file(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    good = given_file("good.trace", "1\n2\n3\n")
    mine = given_file("mine.svg", "mine")
    packets = capture(tmp_path / "b.pcap", [(0.0, ip(1, 100)), (1.0, ip(1, 100))])
    cases: list[tuple[list[str | Path], str]] = [
        ([given_file("empty", "")], "is empty; allowed"),
        ([given_file("words", "1\n2\nthree\n")], "words:3: 'three' is not a time"),
        ([given_file("back", "1\n5\n4\n")], "back:3: the time is not at or above the one before"),
        ([given_file("large", "1\n99999999999999999999\n")], "large:2: '99999999999999999999' is not a time"),
        ([given_file("over", "1\n4294967296\n")], "over:2: '4294967296' is not a time; allowed: whole milliseconds"),
        ([given_file("under", "1\n1_000\n")], "under:2: '1_000' is not a time"),
        ([given_file("gap", "1\n\n5\n")], "gap:2: '' is not a time"),
        ([given_file("still", "0\n0\n")], "still: all times are 0 ms"),
        ([given_file("late.csv", "time_s,rate_mbps\n1,5\n2,5\n")], "late.csv:2: '1,5' does not start at time 0"),
        ([given_file("score.csv", "time_s,rate_mbps\n0,1_0\n2,5\n")], "score.csv:2: '0,1_0' is not a time and a rate"),
        ([given_file("vast.csv", "time_s,rate_gbps\n0,1e308\n2,5\n")], "vast.csv:2: '0,1e308' is out of range"),
        ([given_file("head.csv", "when,rate_mbps\n0,1\n")], "head.csv:1: 'when,rate_mbps' is not a header"),
        ([given_file("row.csv", "time_s,rate_mbps\n0,1\n1,x\n")], "row.csv:3: '1,x' is not a time and a rate"),
        ([given_file("less.csv", "time_s,rate_mbps\n0,-1\n1,2\n")], "less.csv:2: '0,-1' is out of range"),
        ([given_file("same.csv", "time_s,rate_mbps\n0,1\n0,2\n")], "same.csv:3: the time is not above the one before"),
        ([tmp_path / "none"], "none: cannot be read: No such file"),
        ([tmp_path], "is not a result directory"),
        ([packets, "--src", "10.0.0.7"], "has no IP packet from 10.0.0.7"),
        ([packets, "--src", "somewhere"], "--src somewhere: is no IP address"),
        ([packets, "-o", tmp_path / "new.trace"], "208 bytes give 0 opportunities"),
        ([good, "--src", "10.0.0.1"], "is not a capture"),
        ([good, "--link", "r1->r2"], "is not a run's directory"),
        ([good, "--bin", "fast"], "--bin fast: is no time"),
        ([good, "--bin", "0 s"], "--bin 0 s: is no time"),
        ([good, "--plot", tmp_path / "plot.gif"], "ends in '.gif'; allowed: .svg, .png, .pdf"),
        ([good, "--plot", mine], "mine.svg: exists; allowed: a new file"),
        ([good, "-o", good], "good.trace: exists; allowed: a new file"),
        ([good, "-o", tmp_path / "no" / "dir"], "is not a directory"),
    ]
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    for words, message in cases:
        code, out, err = call(*words)
        assert (code, out) == (2, ""), words
        assert message in " ".join(err.split()), (words, err)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
