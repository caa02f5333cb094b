"""Cost of setting up a run with very many flows, from the text to the engine's first event."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys, time
from narrows import _core
from narrows.model.scenario import Scenario

flows = int(sys.argv[1])
text = f'''
duration = "1 s"
sampling = "off"
[topology]
kind = "dumbbell"
pairs = 1
bottleneck = {{ rate = "10 Gb/s", delay = "10 ms" }}
access = {{ rate = "100 Gb/s", delay = "1 ms" }}
[[flows]]
from = "s1"
to = "d1"
copies = {flows}
size = "1 kB"
stagger = "2500 ns"
'''
begin = time.process_time()
scenario = Scenario.from_text(text)
assert len(scenario.resolved.flows) == flows
made = _core.run(scenario.core, 1, 0, _core.Progress(), None, {})
spent = time.process_time() - begin
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, spent)
"""
"""Sets up flows that send one segment each and then idle; prints peak memory in bytes and processor time in seconds."""


def cost(flows: int) -> tuple[float, float]:
    """Return peak memory and processor time."""
    shown = subprocess.run([sys.executable, "-c", PROGRAM, str(flows)], capture_output=True, text=True, check=True)
    memory, spent = shown.stdout.split()
    return float(memory), float(spent)


@pytest.mark.slow
def test_a_flow_costs_four_kilobytes_and_little_time_to_set_up() -> None:
    """Memory must meet the promise, time only five times the promised 20 us, because a busy machine takes longer."""
    (small, quick), (large, slow) = cost(20_000), cost(120_000)
    assert (large - small) / 100_000 <= 4_096
    assert (slow - quick) / 100_000 <= 5 * 20e-6
