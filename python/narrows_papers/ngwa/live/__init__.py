"""The Linux section of NGWA on this machine's own TCP stack: live results next to simulated ones."""

from __future__ import annotations

from narrows_papers.ngwa.live.output import KIND, reproduce

__all__ = ["KIND", "reproduce"]
