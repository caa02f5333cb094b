"""A fat tree as a scenario file: ``python -m bench.fattree 16`` writes one of 1,024 hosts.

The topology is that of Al-Fares, Loukissas and Vahdat, "A Scalable, Commodity Data Center Network Architecture"
(SIGCOMM 2008), section 2.2: K pods of K/2 edge and K/2 aggregation switches, (K/2)² core switches, K³/4 hosts. Each
host sends a bulk flow to the host with the same place in the pod half the tree away. Routes are static shortest paths.
"""

import argparse
from pathlib import Path

from bench.workloads import BUILD, TCP

#: Every link, in both directions.
LINK = 'rate = "10 Gb/s", delay = "1 us", queue = { limit = "100 packets" }'


def links(k: int) -> list[tuple[str, str]]:
    """The ends of all links of a fat tree of K-port switches: of hosts, then edge switches, then aggregation."""
    half = k // 2
    pods = range(k)
    hosts = [
        (f"h{(pod * half + edge) * half + host + 1}", f"edge{pod}-{edge}")
        for pod in pods
        for edge in range(half)
        for host in range(half)
    ]
    edges = [(f"edge{pod}-{edge}", f"agg{pod}-{agg}") for pod in pods for edge in range(half) for agg in range(half)]
    cores = [
        (f"agg{pod}-{agg}", f"core{agg * half + core}") for pod in pods for agg in range(half) for core in range(half)
    ]
    return hosts + edges + cores


def scenario(k: int, seconds: float) -> str:
    """The scenario file."""
    ends = links(k)
    nodes = sorted({node for pair in ends for node in pair})
    hosts = k**3 // 4
    lines = [
        f"# A fat tree of {hosts} hosts, written by bench/fattree.py.",
        "format = 1",
        f'name = "fat-tree-{hosts}"',
        f'duration = "{seconds:g} s"',
        'sampling = "off"',
        "nodes = [",
    ]
    for node in nodes:
        kind = "host" if node.startswith("h") else "router"
        lines.append(f'  {{ name = "{node}", kind = "{kind}" }},')
    lines += ["]", "links = ["]
    lines += [f'  {{ between = ["{a}", "{b}"], {LINK} }},' for a, b in ends]
    lines += ["]", "", TCP]
    for host in range(hosts):
        lines += [
            "[[flows]]",
            f'name = "f{host + 1}"',
            f'from = "h{host + 1}"',
            f'to = "h{(host + hosts // 2) % hosts + 1}"',
            f'start = "{host} us"',
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write a file from the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.fattree", description=__doc__.splitlines()[0])
    parser.add_argument("ports", nargs="?", type=int, default=16, help="ports of a switch, even (default: 16)")
    parser.add_argument("--seconds", type=float, default=0.02, help="simulated time (default: 0.02)")
    parser.add_argument("--output", type=Path, help="the file (default: in bench/build)")
    chosen = parser.parse_args()
    if chosen.ports < 2 or chosen.ports % 2:
        parser.error(f"{chosen.ports} ports: allowed are even numbers from 2")
    path = chosen.output or BUILD / f"fat-tree-{chosen.ports**3 // 4}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(scenario(chosen.ports, chosen.seconds))
    print(path)


if __name__ == "__main__":
    main()
