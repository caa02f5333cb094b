"""NGWA (Talau and Wille): its simulations and its Linux section; `beyond` has experiments beyond the paper."""

from __future__ import annotations

from narrows_papers.ngwa.output import estimate, reproduce

__all__ = ["estimate", "reproduce"]
