"""Runs whose links the kernel's own queue disciplines carry, in a virtual machine."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from narrows import kernels
from narrows.base.errors import LiveError
from narrows.model.scenario import Scenario
from narrows.outcome import Run
from narrows.runs import vm
from narrows.runs.vm import guest

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.kernels import Kernel

NARROWS = [sys.executable, "-c", "from narrows.cli import main; main()"]

SCENARIO = """
format = 1
name = "path"
duration = "3 s"
sampling = "100 ms"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mb/s", delay = "18 ms", queue = { kind = "codel", limit = "1000 packets" } }
access = { rate = "100 Mb/s", delay = "1 ms" }
[tcp]
stack = "linux"
cc = "cubic"
[[flows]]
name = "f"
from = "s1"
to = "d1"
"""


def scenario(text: str = SCENARIO) -> Scenario:
    return Scenario.from_text(text, "path.toml")


@pytest.fixture
def dualpi2(kernel: Kernel) -> Kernel:
    """The newest kernel at hand with DualPI2, which Debian leaves out; skips the test where there is none."""
    del kernel  # skips where virtual machines cannot be started
    found = next((one for one in kernels.at_hand() if "dualpi2" in one.qdiscs), None)
    if found is None:
        pytest.skip("no kernel at hand has dualpi2; `narrows kernels build sch_dualpi2` builds it")
    return found


def run(kernel: Kernel, *, kernel_qdisc: bool, text: str = SCENARIO) -> Run:
    made = vm.run(scenario(text), kernel, kernel_qdisc=kernel_qdisc)
    assert isinstance(made, Run)
    assert made.conditions is not None
    return made


def test_the_kernel_s_codel_serves_tcp_as_ours_does(kernel: Kernel) -> None:
    ours, linux = (run(kernel, kernel_qdisc=which) for which in (False, True))
    assert linux.conditions is not None
    told = linux.conditions["kernel_qdiscs"]
    assert [line.partition(":")[0] for line in told] == ["r1->r2", "r2->r1"]
    assert told[0].endswith("htb rate 10000000bit, codel limit 1000 target 5000us interval 100000us noecn")
    assert ours.conditions is not None
    assert "kernel_qdiscs" not in ours.conditions
    assert not ours.doubts
    assert not linux.doubts
    here, there = ours.flows[0], linux.flows[0]
    assert there.goodput_mbps == pytest.approx(here.goodput_mbps, rel=0.01)
    assert there.rtt_mean_ms == pytest.approx(here.rtt_mean_ms, rel=0.02)
    assert here.lost_packets
    assert there.lost_packets == pytest.approx(here.lost_packets, abs=2)


L4S = (
    SCENARIO.replace('kind = "dumbbell"', 'kind = "dumbbell"\npairs = 2')
    .replace('kind = "codel"', 'kind = "dualpi2", profile = "linux"')
    .partition("[[flows]]")[0]
    + """
[[flows]]
name = "l4s"
from = "s1"
to = "d1"
tcp = { cc = "dctcp", ecn = true, ect1 = true }
[[flows]]
name = "classic"
from = "s2"
to = "d2"
"""
)


def test_the_kernel_s_dualpi2_has_a_queue_for_each_class(dualpi2: Kernel) -> None:
    ours, linux = (run(dualpi2, kernel_qdisc=which, text=L4S) for which in (False, True))
    assert linux.conditions is not None
    assert "dualpi2 limit 1000 memlimit 4294967295 target 15000us" in linux.conditions["kernel_qdiscs"][0]
    assert not ours.doubts
    assert not linux.doubts
    for made in (ours, linux):
        (fast, slow), rates = (flow.rtt_mean_ms for flow in made.flows), [flow.goodput_mbps for flow in made.flows]
        assert fast is not None
        assert slow is not None
        # The path takes 40 ms, a packet 1.2 ms; PI2 aims at 15 ms. So each class is on its own side of the middle.
        assert fast < 40 + 15 / 2 < slow
        assert slow - fast > 10
        assert sum(rate or 0 for rate in rates) > 8
        assert made.flows[0].lost_packets == 0


def test_a_kernel_without_dualpi2_says_how_to_build_it() -> None:
    without = next((one for one in kernels.at_hand() if "dualpi2" not in one.qdiscs), None)
    if without is None:
        pytest.skip("no kernel at hand lacks dualpi2")
    with pytest.raises(LiveError, match=r"has no module sch_dualpi2, .* `narrows kernels build sch_dualpi2`"):
        without.modules(guest.module_names(scenario(L4S), without, kernel_qdisc=True))


def test_runs_are_equal(kernel: Kernel) -> None:
    one, other = (run(kernel, kernel_qdisc=True, text=SCENARIO.replace("3 s", "1 s")) for _ in range(2))
    assert one.digest == other.digest


def test_what_linux_cannot_be_given_is_refused(kernel: Kernel) -> None:
    text = SCENARIO.replace('limit = "1000 packets"', 'limit = "60 kB"')
    with pytest.raises(LiveError, match=r"links\.r1->r2\.queue\.limit: .* Linux counts packets here"):
        vm.run(scenario(text), kernel, kernel_qdisc=True)


def test_modules_are_those_of_the_disciplines(kernel: Kernel) -> None:
    names = guest.module_names(scenario(), kernel, kernel_qdisc=True)
    assert {"sch_htb", "sch_codel"} <= set(names)
    assert not {"sch_htb", "sch_codel"} & set(guest.module_names(scenario(), kernel))


def test_the_option_is_for_virtual_machines(tmp_path: Path) -> None:
    file = tmp_path / "path.toml"
    file.write_text(SCENARIO)
    ended = subprocess.run(
        [*NARROWS, "live", str(file), "--kernel-qdisc"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert ended.returncode == 2
    assert "--kernel-qdisc: is for virtual machines; add --vm" in ended.stderr
