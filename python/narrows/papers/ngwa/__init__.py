"""NGWA (Talau and Wille): its simulations and its Linux section, repeated; what is beyond the paper is in `beyond`."""

from __future__ import annotations

from narrows.papers.ngwa.output import reproduce

__all__ = ["reproduce"]
