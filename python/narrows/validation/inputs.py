"""The input of each simulator for a pair: a scenario for Narrows, arguments of ``pair.tcl`` for ns-2."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.validation.description import Network, Variant

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
    tcp = "\n".join(f"{key} = {as_toml(value)}" for key, value in variant.tcp.items())
    parts = [
        f"""\
format = 1
name = {as_toml(f"{variant.name}-{network.name}")}
title = {as_toml(f"{variant.title} on {network.name}")}
duration = "{network.duration:g} s"
start_jitter = "{JITTER_S * 1e3 if network.chaotic else 0:g} ms"
sampling = "{SAMPLE_S * 1e3:g} ms"

[tcp]
{tcp}

[queue]
limit = "{NEVER_FULL}"

[[nodes]]
name = "r1"
kind = "router"

[[nodes]]
name = "r2"
kind = "router"

[[links]]
between = ["r1", "r2"]
rate = "{network.rate:g} Mb/s"
delay = "{network.rtt / 2 - 2 * ACCESS_MS:g} ms"
forward = {{ queue = {{ limit = "{network.buffer_packets} packets" }} }}
"""
    ]
    for i in range(network.flows):
        s, d, flow = f"s{i + 1}", f"d{i + 1}", f"f{i + 1}"
        parts.append(f"""
[[nodes]]
name = "{s}"

[[nodes]]
name = "{d}"

[[links]]
between = ["{s}", "r1"]
rate = "1 Gb/s"
delay = "{ACCESS_MS:g} ms"

[[links]]
between = ["r2", "{d}"]
rate = "1 Gb/s"
delay = "{ACCESS_MS:g} ms"
forward = {{ per = {network.per:.10f} }}

[[flows]]
name = "{flow}"
from = "{s}"
to = "{d}"
start = "{START_S + i * network.stagger:g} s"
""")
        if i == 1 and rival is not None:
            parts.append(f"tcp = {as_toml(dict(rival.tcp))}\n")
    return "".join(parts)


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


def as_toml(value: Any) -> str:
    """Format a value as TOML, with inline tables.

    Parameters
    ----------
    value : str, bool, int, float or mapping

    Returns
    -------
    str

    Examples
    --------
    >>> as_toml({"cc": "reno", "cc_params": {"beta": 0.5}, "sack": False})
    '{ cc = "reno", cc_params = { beta = 0.5 }, sack = false }'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return _table(value)
    return repr(value)


def _table(table: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{key} = {as_toml(value)}" for key, value in table.items()) + " }"
