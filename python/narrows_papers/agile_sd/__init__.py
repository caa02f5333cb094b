"""Agile-SD (Alrshah, Othman, Ali, Hanapi 2015): three scenarios over buffers and packet error rates."""

from __future__ import annotations

from narrows_papers.agile_sd.output import KIND, estimate, reproduce

__all__ = ["KIND", "estimate", "reproduce"]
