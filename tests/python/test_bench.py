"""The benchmark's own code: what it runs, summarises and keeps. These tests measure no times."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from bench import document, workloads
from bench.__main__ import keep, parse
from bench.instructions import read_callgrind
from bench.machine import Machine
from bench.measure import Effort, MeasurementError, Run, System, interleaved, measure, row
from bench.results import Results
from bench.suite import Growth, Idle, Probes
from bench.sweeps import Sweeps
from bench.systems import BuildError, htsim, ns2, ns3
from tests.python.plainly import as_json

from narrows.model.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

TRAIN = [sys.executable, str(workloads.ROOT / "tools" / "train.py")]

SMALL = workloads.growth(10, own_hosts=False)


@pytest.fixture(autouse=True)
def _build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redirect generated scenario files."""
    monkeypatch.setattr(workloads, "BUILD", tmp_path / "build")


def program(text: str) -> list[str]:
    return [sys.executable, "-c", text]


@pytest.mark.parametrize("name", ["W1", "W2", "W4"])
def test_workloads_are_scenarios_with_the_flows_and_the_tcp_that_they_claim(name: str) -> None:
    workload = workloads.WORKLOADS[name]
    resolved = as_json(Scenario.from_file(workload.scenario()))
    flows = resolved["flows"]
    assert len(flows) == workload.flows
    assert resolved["duration_ns"] == workload.seconds * 1e9
    for flow in (flows[0], flows[-1]):
        tcp = flow["tcp"]
        assert tcp["cc"] == "cubic"
        assert tcp["sack"] is True
        assert tcp["timestamps"] is True
        assert tcp["delayed_ack"] is None


def test_the_profile_of_wheels_is_of_many_kinds_of_runs_but_not_of_the_workloads(tmp_path: Path) -> None:
    subprocess.run([*TRAIN, "--write", str(tmp_path / "train")], check=True, timeout=120)
    trained = [Scenario.from_file(path) for path in sorted((tmp_path / "train").iterdir())]
    measured = [Scenario.from_file(one.scenario()) for one in workloads.WORKLOADS.values()]
    assert len(trained) >= 30
    assert max(len(as_json(one)["flows"]) for one in trained) >= 1000
    networks = {one.core.to_nameless_toml() for one in trained}
    assert networks.isdisjoint(one.core.to_nameless_toml() for one in measured)


@pytest.mark.slow
def test_the_runs_of_the_profile_end_well() -> None:
    ended = subprocess.run(TRAIN, capture_output=True, text=True, timeout=300, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.parametrize("workload", workloads.MANAGED, ids=lambda workload: workload.name)
def test_managed_queues_are_at_the_bottleneck_alone_and_no_other_simulator_runs_them(
    workload: workloads.Workload, tmp_path: Path
) -> None:
    resolved = as_json(Scenario.from_file(workload.scenario()))
    kinds = Counter(side["queue"]["kind"] for link in resolved["links"] for side in (link["forward"], link["reverse"]))
    assert kinds == {workload.discipline: 2, "droptail": 4 * workload.pairs}
    script = tmp_path / "ns"
    script.write_text("#!/bin/sh\necho 2.35\n")
    script.chmod(0o755)
    assert all(system.command(workload) is None for system in ns2(str(script)))


def test_flows_start_when_the_other_simulators_start_them() -> None:
    resolved = as_json(Scenario.from_file(SMALL.scenario()))
    starts = sorted(flow["start_ns"] for flow in resolved["flows"])
    assert starts == [round(i * SMALL.spread_s * 1e9 / SMALL.flows) for i in range(SMALL.flows)]


def test_base_round_trip_times_are_those_that_were_asked_for() -> None:
    assert SMALL.rtt_ms(0) == 20
    assert SMALL.rtt_ms(9) == 120
    text = SMALL.scenario().read_text()
    assert text.count('delay = "4500 us"') == 1, "four access delays and twice 1 ms: 20 ms"
    assert text.count('delay = "29500 us"') == 1


def test_a_run_is_measured_from_outside() -> None:
    said = 'print(\'chat\'); print(\'{"delivered_packets": 7, "sent_packets": null, "peak_rss_bytes": 4096}\')'
    run = measure(program(said), limit_s=60)
    assert run is not None
    assert (run.delivered, run.sent, run.peak_rss_bytes) == (7, None, 4096)
    assert run.cpu_s > 0


def test_a_program_that_fails_is_named_with_what_it_said() -> None:
    with pytest.raises(MeasurementError, match=r"status 3(.|\n)*out of luck"):
        measure(program("print('out of luck'); raise SystemExit(3)"), limit_s=60)


def test_what_runs_past_the_limit_is_ended_and_has_no_figures() -> None:
    endless = program("while True: pass")
    runs = interleaved({"endless": endless}, Effort(3, 10, 1), lambda _: None)
    assert runs == {"endless": []}
    system = System("endless", "1", "", lambda _: endless)
    assert row("W1", system, runs["endless"]).rate is None


def test_what_takes_longer_than_patience_runs_once_and_the_rest_take_turns() -> None:
    said = 'print(\'{"delivered_packets": 1, "peak_rss_bytes": 1}\')'
    slow = program(f"while __import__('time').process_time() < 1: pass\n{said}")
    told: list[str] = []
    runs = interleaved({"slow": slow, "quick": program(said)}, Effort(3, 0.7, 60), told.append)
    assert [len(runs["slow"]), len(runs["quick"])] == [1, 3]
    assert told[:2] == ["slow, 1 of 3", "quick, 1 of 3"]


def test_a_row_is_the_run_of_median_cpu_time() -> None:
    runs = [Run(cpu, 100, delivered, None) for cpu, delivered in ((3.0, 30), (1.0, 10), (2.0, 40))]
    one = row("W1", System("s", "1", "", lambda _: []), runs)
    assert (one.cpu_s, one.delivered_packets, one.rate) == (2.0, 40, 20)


def test_memory_of_an_idle_flow_is_the_slope() -> None:
    assert Idle((1_000, 11_000), (5_000_000, 45_000_000)).bytes_per_flow == 4_000


def results() -> Results:
    runs = [Run(0.5, 4 << 20, 1_000_000, 1_000_100)]
    ours, other = (System(name, "1", "", lambda _: []) for name in ("Narrows", "other"))
    machine = Machine("2026-11-21 20:00 UTC", "abc1234+", "a CPU", 2, 8.0, "6.1", 0.1)
    rows = [row("W1", ours, runs), row("W1", other, [Run(2.0, 1 << 20, 1_000_000, None)]), row("W2", other, [])]
    grown = [Growth(flows, "shared", row(f"W5-{flows}", ours, runs)) for flows in (10, 100)]
    return Results(
        machine,
        {"Narrows": "CUBIC"},
        rows,
        grown,
        Idle((1, 2), (10, 30)),
        [Probes("W1", "10 ms", 1.0, 1.05, 1.2)],
        0.3,
        Sweeps((1_000, 11_000), (2.0, 5.0)),
    )


def test_results_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "latest.json"
    results().write(path)
    assert Results.read(path) == results()


def test_tables_say_rates_ratios_and_what_was_too_slow() -> None:
    text = results().markdown()
    assert "abc1234+" in text
    assert "| Narrows 1 | 1 | 0.50 | 1,000,000 | 1,000,100 | **2,000,000** | 1.00 x | 4.0 |" in text
    assert "| other 1 | 1 | 2.00 | 1,000,000 |  | **500,000** | 4.00 x | 1.0 |" in text
    assert "over the limit" in text
    assert "| W1 | 1.000 | 1.050 | +5.0% | 1.200 | +20.0% |" in text
    assert "0.30 ms of CPU for each run" in text


def test_a_build_with_a_profile_has_ratios_of_its_own() -> None:
    both = results()
    wheel = System("Narrows, as in wheels", "1", "", lambda _: [])
    rows = [both.rows[0], row("W1", wheel, [Run(0.4, 4 << 20, 1_000_000, 1_000_100)]), both.rows[1]]
    text = replace(both, rows=rows).markdown()
    assert "| Narrows' is | Narrows, as in wheels, is | peak MiB |" in text
    assert "| Narrows, as in wheels 1 | 1 | 0.40 | 1,000,000 | 1,000,100 | **2,500,000** | 0.80 x | 1.00 x |" in text
    assert "| other 1 | 1 | 2.00 | 1,000,000 |  | **500,000** | 4.00 x | 5.00 x |" in text


def test_each_run_keeps_a_file_of_its_own_and_the_latest(tmp_path: Path) -> None:
    keep(results(), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"2026-11-21-2000-abc1234.json", "latest.json", "latest.md", "speed.svg", "growth.svg"} <= names


def test_parts_of_the_page_are_replaced_and_the_rest_stays() -> None:
    page = "a\n<!-- bench:results -->\nold\n<!-- /bench:results -->\nb\n"
    new = document.replace_part(page, "results", "| 1 \\g<0> |")
    assert new == "a\n<!-- bench:results -->\n\n| 1 \\g<0> |\n\n<!-- /bench:results -->\nb\n"
    with pytest.raises(ValueError, match="no part between"):
        document.replace_part(page, "other", "")
    for name in ("results", "instructions"):
        document.replace_part(document.PAGE.read_text(), name, "")


def test_instructions_count_where_they_are_and_calls_where_they_lead() -> None:
    lines = """events: Ir
fl=(1) /x/crates/tcp/src/ack.rs
fn=(1) handle
10 5
fi=(2) /rustc/1/library/core/src/option.rs
20 3
cfi=(3) /x/crates/cc/src/cubic.rs
cfn=(2) on_ack
calls=2 7
21 100
+1 4
fl=(3)
fn=(2)
7 100
fl=(4) ./malloc/malloc.c
fn=(3) malloc
1 9
""".splitlines()
    expected = Counter({"tcp/ack.rs": 12, "cc/cubic.rs": 100, "C library: memory": 9})
    assert read_callgrind(lines) == expected


def test_a_place_without_the_simulator_is_an_error_that_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"libhtsim\.a"):
        htsim(str(tmp_path))
    with pytest.raises(BuildError, match=r"core-module\.h"):
        ns3(str(tmp_path))
    assert htsim(None) == []


def test_unknown_parts_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--only", "W1,W9"])
    assert (
        "W9: allowed are W1, W2, W2-codel, W2-fq_codel, W2-pie, W2-dualpi2, W3, W4, W5, idle, probes"
        in capsys.readouterr().err
    )
