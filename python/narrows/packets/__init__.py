"""Packets of a run, read from its captures: by link, and by flow as its sender saw them."""

from __future__ import annotations

from narrows.packets.capture import Capture
from narrows.packets.flow import of_flow, tcp_flows
from narrows.packets.links import NEEDED, Links
from narrows.packets.tables import Acks, FlowPackets, Losses, Sacks, Segments

__all__ = ["NEEDED", "Acks", "Capture", "FlowPackets", "Links", "Losses", "Sacks", "Segments", "of_flow", "tcp_flows"]
