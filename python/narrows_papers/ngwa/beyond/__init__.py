"""Questions that NGWA's paper leaves open (section 5): other traffic and paths, flows that join and leave, 1 Gb/s."""

from __future__ import annotations

from narrows_papers.ngwa.beyond.output import estimate, reproduce

__all__ = ["estimate", "reproduce"]
