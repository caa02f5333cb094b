"""ACNS (Hruby, Olsovsky and Kotocova, DCNET 2013; Olsovsky 2013): its evaluation and the verification of its model."""

from __future__ import annotations

from narrows_papers.acns.output import estimate, reproduce

__all__ = ["estimate", "reproduce"]
