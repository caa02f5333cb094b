"""Runs from which the compiler learns which ways through the engine are taken often: `maturin build --pgo` calls this.

    python tools/train.py            # makes the runs with the installed Narrows
    python tools/train.py --write D  # writes the scenarios into the directory D instead, without those that read traces

The runs are the bundled scenarios, a sweep of short runs, and networks of many flows and of one flow. The workloads of
the benchmark are not among them, so that `bench/` measures what the compiler has not seen.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import narrows as nw
from narrows.base import bundled
from narrows.sweep import Sweep, execute

if TYPE_CHECKING:
    from collections.abc import Iterator

HELD_OUT: Final = {"speed-w1", "hybrid-contest"}
"""Bundled scenarios that the benchmark measures."""

CHAIN: Final = """
title = "One flow over three lines of 300 Mb/s"
duration = "20 s"
sampling = "off"
[topology]
kind = "chain"
routers = 2
link = { rate = "300 Mb/s", delay = "3 ms", queue = { limit = "80 packets" } }
[tcp]
cc = "cubic"
delayed_ack = false
[[flows]]
from = "h1"
to = "h2"
"""

DUMBBELL: Final = """
title = "{flows} flows between {pairs} pairs of hosts"
duration = "{seconds} s"
sampling = "off"
[topology]
kind = "dumbbell"
pairs = {pairs}
bottleneck = {{ rate = "{rate} Mb/s", delay = "8 ms", queue = {{ limit = "{queue} packets" }} }}
access = [{access}]
[tcp]
cc = "{cc}"
delayed_ack = false
"""

FLOWS: Final = """
[[flows]]
from = "s{pair}"
to = "d{pair}"
copies = {copies}
start = "{pair}00 us"
stagger = "5 ms"
"""

SWEEP: Final = """
name = "short-runs"
scenario = "dumbbell-cubic"
seeds = 40
[set]
duration = "20 ms"
start_jitter = "1 ms"
"flows.second.start" = "2 ms"
[[axes]]
name = "cc"
path = "tcp.cc"
values = ["reno", "cubic"]
"""


def dumbbell(flows: int, pairs: int, rate: int, queue: int, seconds: float, cc: str = "cubic") -> str:
    """Return a dumbbell whose access lines differ in delay; rate in Mb/s, queue in packets."""
    access = ", ".join(f'{{ rate = "10 Gb/s", delay = "{1000 + pair * 20_000 // pairs} us" }}' for pair in range(pairs))
    text = DUMBBELL.format(flows=flows, pairs=pairs, rate=rate, queue=queue, seconds=seconds, cc=cc, access=access)
    return text + "".join(FLOWS.format(pair=1 + pair, copies=flows // pairs) for pair in range(pairs))


def scenarios() -> Iterator[nw.Scenario]:
    """Yield the scenarios, each to be run once."""
    for name in bundled.scenarios():
        if name not in HELD_OUT:
            yield nw.Scenario.load(name)
    for text in (
        CHAIN,
        CHAIN.replace("delayed_ack = false", "delayed_ack = {}"),
        dumbbell(40, 40, rate=400, queue=1500, seconds=8),
        dumbbell(20, 20, rate=400, queue=1500, seconds=4, cc="bbr"),
        dumbbell(2500, 50, rate=3000, queue=14_000, seconds=1.5),
        dumbbell(2500, 2500, rate=3000, queue=14_000, seconds=1.5),
    ):
        yield nw.Scenario.from_text(text, "train.toml")


def main() -> int:
    """Make the runs, or write their scenarios."""
    parser = argparse.ArgumentParser(prog="tools/train.py", description=str(__doc__).splitlines()[0])
    parser.add_argument("--write", type=Path, metavar="D", help="a directory for the scenarios; nothing is run")
    folder: Path | None = parser.parse_args().write
    for number, scenario in enumerate(scenarios()):
        if folder is None:
            nw.run(scenario)
        elif "trace = " not in (text := scenario.to_toml()):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number:02}.toml").write_text(text)
    if folder is None:
        execute(Sweep.parse(SWEEP), jobs=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
