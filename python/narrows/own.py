"""Congestion controls written in Python: public names of `narrows.model.own`."""

from __future__ import annotations

from narrows.model.own import (
    Ack,
    Congestion,
    CongestionControl,
    Path,
    Window,
    congestion_control,
    controls,
    load,
    register,
    unregister,
)

__all__ = [
    "Ack",
    "Congestion",
    "CongestionControl",
    "Path",
    "Window",
    "congestion_control",
    "controls",
    "load",
    "register",
    "unregister",
]
