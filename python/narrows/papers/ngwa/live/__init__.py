"""The Linux section of NGWA on this machine's own TCP stack, in real time, beside the simulator."""

from __future__ import annotations

from narrows.papers.ngwa.live.output import KIND, reproduce

__all__ = ["KIND", "reproduce"]
