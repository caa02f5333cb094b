"""Fifteen variants in pairs on a wired and wireless network (Rodríguez Herlein et al.): published and our matrices."""

from __future__ import annotations

from narrows_papers.contest.output import KIND, estimate, reproduce, reproduce_pair

__all__ = ["KIND", "estimate", "reproduce", "reproduce_pair"]
