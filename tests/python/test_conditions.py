"""Conditions of live runs: they are kept and shown, and never make an untrusted run trusted."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from narrows.outcome import Batch, conditions
from narrows.store import results

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.outcome import Run

LATE = "the bottleneck was late by more than 1 ms for 3 % of the packets"
GOOD = {"kernel_release": "6.18.0", "lateness": {"mean_us": 20.5, "late_packets": 0}, "trusted": True, "doubts": []}
BAD = GOOD | {"trusted": False, "doubts": [LATE]}


def test_a_run_that_no_machine_had_a_say_in_is_trusted_and_has_no_conditions(one: Run, three: Batch) -> None:
    assert (one.conditions, one.doubts, one.trusted) == (None, (), True)
    assert (three.doubts, three.trusted) == ((), True)
    assert {"conditions", "trusted", "doubts"}.isdisjoint(one.summary)


def test_one_doubted_run_makes_the_batch_doubted_and_is_named(three: Batch) -> None:
    runs = [replace(run, conditions=BAD if run.index == 1 else GOOD) for run in three.runs]
    batch = replace(three, runs=tuple(runs))
    assert not batch.trusted
    assert batch.doubts == (f"run 1: {LATE}",)
    assert [detail["trusted"] for detail in batch.summary["runs_detail"]] == [True, False, True]
    assert batch.summary["doubts"] == list(batch.doubts)


def test_a_run_said_to_be_untrusted_without_a_reason_is_doubted_all_the_same() -> None:
    assert conditions.doubts({"trusted": False, "doubts": []}) == (conditions.UNSAID,)


def test_conditions_travel_through_a_result_directory(one: Run, three: Batch, tmp_path: Path) -> None:
    alone = replace(one, conditions=BAD)
    alone.save(tmp_path / "one")
    back = results.load(tmp_path / "one")
    assert back.runs[0].conditions == BAD
    assert back.doubts == alone.doubts
    assert json.loads((tmp_path / "one" / "summary.json").read_text())["conditions"]["kernel_release"] == "6.18.0"
    batch = replace(three, runs=tuple(replace(run, conditions=GOOD) for run in three.runs))
    batch.save(tmp_path / "three")
    many = results.load(tmp_path / "three")
    assert isinstance(many, Batch)
    assert [run.conditions for run in many.runs] == [GOOD] * 3
    assert many.trusted


def test_the_table_tells_units_ranges_and_what_is_unknown() -> None:
    first = {"cpu_count": 2, "steps": {"late_us": 10}, "sysctls": {"net.ipv4.tcp_ecn": 0}, "offloads": [], "swap": None}
    second = {
        "cpu_count": 2,
        "steps": {"late_us": 1500},
        "sysctls": {"net.ipv4.tcp_ecn": 0},
        "offloads": [],
        "nice": True,
    }
    assert conditions.table([first, None, second]) == [
        ("CPU count", "2"),
        ("Steps, late", "10 to 1,500 µs"),
        ("Sysctls, net.ipv4.tcp_ecn", "0"),
        ("Offloads", "none"),
        ("Swap", "unknown"),
        ("Nice", "yes"),
    ]


def test_trust_is_told_apart_from_the_table() -> None:
    assert conditions.table([BAD]) == [
        ("Kernel release", "6.18.0"),
        ("Lateness, mean", "20.5 µs"),
        ("Lateness, late", "0 packets"),
    ]


def test_of_many_words_the_first_are_told() -> None:
    runs = [{"congestion_control": {"agile_sd": f"eBPF, as agile_sd_{n}"}} for n in range(5)]
    (row,) = conditions.table(runs)
    assert row == ("Congestion control, agile_sd", "eBPF, as agile_sd_0; eBPF, as agile_sd_1; and 3 more")
    assert conditions.table(runs[:3])[0][1].count(";") == 2
