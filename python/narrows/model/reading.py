"""The engine's JSON of a scenario, read as `narrows.model.resolved`."""

from __future__ import annotations

import functools
import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from narrows.model.catalogue import scheme_names
from narrows.model.resolved import (
    Aggregation,
    Change,
    Channel,
    Direction,
    Flow,
    FrameErrors,
    Link,
    Loss,
    Mode,
    Node,
    Queue,
    Resolved,
    Sampling,
    Station,
    Tcp,
    Trace,
    Traffic,
    Workload,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")


def parse(text: str) -> Resolved:
    """Read the engine's JSON of a scenario; values that several flows or links share become one object.

    Parameters
    ----------
    text : str
        Output of ``narrows._core.Scenario.to_json``.

    Returns
    -------
    Resolved
    """
    data: dict[str, Any] = json.loads(text)
    nodes = tuple(_made(Node, node) for node in data["nodes"])
    directions = [_direction(one) for one in data["directions"]]
    traffics = [_made(Traffic, one) for one in data["traffics"]]
    tcps = [Tcp(one["cc"], one["stack"], one["assist"], one) for one in data["tcps"]]
    stops: list[int] = data["stops"]
    return Resolved(
        name=data["name"],
        title=data["title"],
        description=data["description"],
        duration_ns=data["duration_ns"],
        seed=data["seed"],
        start_jitter_ns=data["start_jitter_ns"],
        ip=data["ip"],
        sampling=_made(Sampling, data["sampling"]),
        nodes=nodes,
        links=tuple(
            Link(
                nodes[link["a"]].name,
                nodes[link["b"]].name,
                directions[link["forward"]],
                directions[link["reverse"]],
            )
            for link in data["links"]
        ),
        wifi=tuple(_channel(one) for one in data["wifi"] or ()),
        flows=tuple(
            Flow(
                name=flow["name"],
                source=nodes[flow["from"]].name,
                sink=nodes[flow["to"]].name,
                start_ns=flow["start_ns"],
                stop_ns=stops[flow["stop_ns"]],
                dscp=flow["dscp"],
                jitter=flow["jitter"],
                traffic=traffics[flow["traffic"]],
                tcp=None if flow["tcp"] is None else tcps[flow["tcp"]],
            )
            for flow in data["flows"]
        ),
        workloads=tuple(_made(Workload, one) for one in data["workloads"]),
        schemes={name: data[name] for name in scheme_names() if data.get(name)},
    )


def _made(kind: type[T], row: Mapping[str, Any]) -> T:
    """Make a dataclass of a row; values that are no fields go into its settings, if it has any."""
    known = _fields(kind)  # type: ignore[arg-type]
    values = {name: value for name, value in row.items() if name in known}
    if "settings" in known:
        values["settings"] = {name: value for name, value in row.items() if name not in known}
    return kind(**values)


@functools.cache
def _fields(kind: type[Any]) -> frozenset[str]:
    return frozenset(one.name for one in fields(kind))


def _direction(row: Mapping[str, Any]) -> Direction:
    return Direction(
        rate_bps=row["rate_bps"],
        delay_ns=row["delay_ns"],
        queue=_made(Queue, row["queue"]),
        loss=_made(Loss, row["loss"]),
        changes=tuple(_made(Change, one) for one in row["changes"]),
        impairments=row["impairments"],
        trace=Trace(**row["trace"]) if "trace" in row else None,
    )


def _station(row: Mapping[str, Any]) -> Station:
    return Station(**{**row, "queue": _made(Queue, row["queue"])})


def _channel(row: Mapping[str, Any]) -> Channel:
    values = dict(row)
    values["base"] = _station(row["base"])
    values["stations"] = tuple(_station(one) for one in row["stations"])
    values["mode"] = _made(Mode, row["mode"])
    values["aggregation"] = None if row["aggregation"] is None else _made(Aggregation, row["aggregation"])
    values["hidden"] = tuple((str(a), str(b)) for a, b in row["hidden"])
    values["errors"] = tuple(_made(FrameErrors, one) for one in row["errors"])
    return _made(Channel, values)
