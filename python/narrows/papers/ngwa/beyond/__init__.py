"""What NGWA's paper leaves to others (its section 5): other traffic, other paths, flows that come and go, 1 Gb/s."""

from __future__ import annotations

from narrows.papers.ngwa.beyond.output import reproduce

__all__ = ["reproduce"]
