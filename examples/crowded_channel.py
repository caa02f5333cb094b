"""What collisions cost: stations that always have something to send, on one 802.11b channel, with and without RTS/CTS.

Run it with ``python examples/crowded_channel.py [SECONDS]``; two simulated seconds each take a moment.
"""

from __future__ import annotations

import sys

import narrows as nw

CROWDS = (1, 2, 5, 10, 20, 50)
PROTECTION = (("basic access", "never"), ("RTS/CTS", "0 B"))


def scenario(stations: int, rts_threshold: str, seconds: float) -> nw.Scenario:
    """Write a scenario in which every station sends 1500-byte packets to its base station's neighbour without end."""
    names = [f"w{i}" for i in range(1, stations + 1)]
    lines = [
        'name = "crowd"',
        f'duration = "{seconds} s"',
        'sampling = "off"',
        'nodes = [{ name = "server" }, { name = "ap", kind = "router" }, '
        + ", ".join(f'{{ name = "{name}" }}' for name in names)
        + "]",
        'links = [{ between = ["server", "ap"], rate = "1 Gb/s", delay = "1 ms" }]',
        "[wifi]",
        'base = "ap"',
        f"stations = [{', '.join(repr(name) for name in names)}]",
        'phy = "802.11b"',
        f'rts_threshold = "{rts_threshold}"',
    ]
    for name in names:
        lines += ["[[flows]]", f'name = "{name}"', 'kind = "udp"', f'from = "{name}"', 'to = "server"']
        lines += ['rate = "10 Mb/s"', 'payload = "1472 B"']
    return nw.Scenario.from_text("\n".join(lines))


def main() -> None:
    """Print what all stations together get through, and the share of attempts that failed."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    tasks = [nw.Task(scenario(crowd, threshold, seconds), 1) for crowd in CROWDS for _, threshold in PROTECTION]
    runs = iter(nw.run_all(tasks))
    out = sys.stdout.write
    out(f"{'stations':>8}" + "".join(f"{name:>16} Mb/s {'failed':>8}" for name, _ in PROTECTION) + "\n")
    for crowd in CROWDS:
        out(f"{crowd:8d}")
        for _, run in zip(PROTECTION, runs, strict=False):
            carried = sum(flow.throughput_mbps or 0.0 for flow in run.flows)
            out(f"{carried:21.3f} {run.channels[0].failure_ratio or 0.0:8.1%}")
        out("\n")


if __name__ == "__main__":
    main()
