"""The input of each simulator for a pair: a scenario for Narrows, arguments of ``pair.tcl`` for ns-2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tomlkit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tomlkit.items import InlineTable

    from narrows.studies.validation.description import Network, Variant

SAMPLE_S = 0.1
"""Sampling interval of cwnd in both simulators, s."""

START_S = 0.1
"""When the first flow starts in Narrows, s."""

JITTER_S = 0.2
"""Largest random start delay of each flow on chaotic networks, s."""

ACCESS_MS = 1.0
"""Delay of each access link, one way, ms; the bottleneck link has the rest."""

TIMESTAMP_BYTES = 12
"""Bytes that the timestamps option takes in a segment (RFC 7323, appendix A)."""

NEVER_FULL = "100000 packets"
"""Limit of the queues that are not under study."""


def scenario(variant: Variant, network: Network, rival: Variant | None = None) -> str:
    """Write the scenario of a pair.

    In Narrows, the limit of a queue does not count the packet in transmission.

    Parameters
    ----------
    variant : Variant
    network : Network
    rival : Variant, optional
        The variant of the second flow, if it differs from the first.

    Returns
    -------
    str
        TOML text.
    """
    links: list[dict[str, Any]] = [
        {
            "between": ["r1", "r2"],
            "rate": f"{network.rate:g} Mb/s",
            "delay": f"{network.rtt / 2 - 2 * ACCESS_MS:g} ms",
            "forward": {"queue": {"limit": f"{network.buffer_packets} packets"}},
        }
    ]
    nodes: list[dict[str, Any]] = [{"name": "r1", "kind": "router"}, {"name": "r2", "kind": "router"}]
    flows: list[dict[str, Any]] = []
    access = {"rate": "1 Gb/s", "delay": f"{ACCESS_MS:g} ms"}
    for i in range(network.flows):
        s, d = f"s{i + 1}", f"d{i + 1}"
        nodes += [{"name": s}, {"name": d}]
        links.append({"between": [s, "r1"], **access})
        links.append({"between": ["r2", d], **access, "forward": {"per": round(network.per, 10)}})
        flow = {"name": f"f{i + 1}", "from": s, "to": d, "start": f"{START_S + i * network.stagger:g} s"}
        flows.append(flow | {"tcp": dict(rival.tcp)} if i == 1 and rival is not None else flow)
    return tomlkit.dumps(
        {
            "format": 1,
            "name": f"{variant.name}-{network.name}",
            "title": f"{variant.title} on {network.name}",
            "duration": f"{network.duration:g} s",
            "start_jitter": f"{JITTER_S * 1e3 if network.chaotic else 0:g} ms",
            "sampling": f"{SAMPLE_S * 1e3:g} ms",
            "tcp": dict(variant.tcp),
            "queue": {"limit": NEVER_FULL},
            "nodes": nodes,
            "links": links,
            "flows": flows,
        }
    )


def arguments(variant: Variant, network: Network, seed: int) -> list[str]:
    """Write the arguments of a pair for ``pair.tcl``.

    In ns-2, the limit of a queue counts the packet in transmission. Variants that open no connection in ns-2 start one
    round-trip time later, so that the first segment leaves at the same time in both simulators.

    Parameters
    ----------
    variant : Variant
    network : Network
    seed : int
        Seed of the start jitter and of the losses.

    Returns
    -------
    list of str
        Arguments of the form ``key=value``.
    """
    linux = variant.agent == "linux"
    chosen: dict[str, str | int | float] = {
        "agent": "Linux" if linux else variant.ns2,
        "rate": network.rate,
        "rtt": network.rtt,
        "limit": network.buffer_packets + 1,
        "per": network.per,
        "flows": network.flows,
        "stagger": network.stagger,
        "start": round(START_S + (0.0 if variant.handshake else network.rtt / 1e3), 9),
        "jitter": JITTER_S if network.chaotic else 0.0,
        "duration": network.duration,
        "seed": seed,
        "sample": SAMPLE_S,
    }
    if linux:
        chosen["module"] = variant.ns2
        chosen["options"] = TIMESTAMP_BYTES if variant.tcp.get("timestamps") else 0
    return [f"{key}={value}" for key, value in chosen.items()]


def as_toml(table: Mapping[str, Any]) -> str:
    """Format settings as an inline table of TOML.

    Parameters
    ----------
    table : mapping

    Returns
    -------
    str

    Examples
    --------
    >>> as_toml({"cc": "reno", "cc_params": {"beta": 0.5}, "sack": False})
    '{cc = "reno", cc_params = {beta = 0.5}, sack = false}'
    """
    return _inline(table).as_string()


def _inline(table: Mapping[str, Any]) -> InlineTable:
    made = tomlkit.inline_table()
    for key, value in table.items():
        made.append(key, _inline(value) if isinstance(value, dict) else value)
    return made
