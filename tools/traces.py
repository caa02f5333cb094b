"""Traces of deliveries that travel with Narrows, made from a seed.

    python tools/traces.py            # checks; exits with 1 if a file is not what its seed gives
    python tools/traces.py --write    # writes the files again

Rates change by comparisons with uniform random numbers, sums and products alone, so every machine makes the same files.
None is a measurement: each has one feature of its kind of link, in round numbers.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER: Final = Path(__file__).resolve().parents[1] / "scenarios" / "traces"

OPPORTUNITY_BITS: Final = 1504 * 8


def cellular(random_: random.Random) -> str:
    """Return 15 s of a cellular-like link: 0.5 to 12 Mb/s, a new level every 100 ms on average, and a fade of 400 ms.

    Opportunities come with the scheduler's turns, every 1 to 8 ms, several at once.
    """
    levels = [0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12]
    level, credit, turn = 6, 0.0, 1
    lines = []
    for ms in range(1, 15_001):
        if random_.random() < 0.01:
            level += 1 if random_.random() < 0.5 else -1
            level = min(max(level, 0), len(levels) - 1)
        rate = 0.0 if 9_000 <= ms < 9_400 else levels[level]
        credit += rate * 1000 / OPPORTUNITY_BITS
        turn -= 1
        if turn == 0:
            turn = random_.randrange(1, 9)
            while credit >= 1:
                credit -= 1
                lines.append(ms)
    return _opportunities(lines, 15_000)


def wifi(random_: random.Random) -> str:
    """Return 5 s of a Wi-Fi-like link: every 2 to 12 ms the medium is won, and a burst of 1 to 16 packets is sent."""
    lines, ms = [], 0
    while ms < 5_000:
        ms += random_.randrange(2, 13)
        if ms <= 5_000:
            lines += [ms] * random_.randrange(1, 17)
    return _opportunities(lines, 5_000)


def satellite(random_: random.Random) -> str:
    """Return 60 s of a satellite-like link: a new allocation every 15 s, and a break of 80 ms at each."""
    rows = ["time_s,rate_mbps"]
    for slot in range(4):
        base = random_.randrange(40, 160)
        rows.append(f"{15 * slot},0")
        for tenth in range(1, 150):
            time = f"{15 * slot + tenth // 10}.{tenth % 10}" if tenth > 1 else f"{15 * slot}.08"
            rows.append(f"{time},{base + random_.randrange(-8, 9)}")
    rows.append("60,0")
    return "\n".join(rows) + "\n"


def _opportunities(lines: list[int], end: int) -> str:
    """Return lines that end at the end of the period, which is the last line's time."""
    if lines[-1] != end:
        lines.append(end)
    return "".join(f"{ms}\n" for ms in lines)


MAKERS: Final[dict[str, Callable[[random.Random], str]]] = {
    "cellular.trace": cellular,
    "wifi.trace": wifi,
    "satellite.csv": satellite,
}


def main() -> int:
    """Check or write the files; return the exit status."""
    parser = argparse.ArgumentParser(description="Traces that travel with Narrows.")
    parser.add_argument("--write", action="store_true", help="write the files")
    write = parser.parse_args().write
    wrong = 0
    for name, make in MAKERS.items():
        path = FOLDER / name
        text = make(random.Random(name))  # noqa: S311 - nothing secret
        if write:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(text, encoding="ascii")
        elif not path.is_file() or path.read_text(encoding="ascii") != text:
            sys.stderr.write(f"{path}: is not what its seed gives; run: python tools/traces.py --write\n")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
