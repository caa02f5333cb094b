"""Scenario files that a sweep is based on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Base:
    """A scenario file that points are based on.

    Attributes
    ----------
    name : str
        Name in the sweep file.
    path : str
        Path of the file.
    text : str
        Contents of the file.
    """

    name: str
    path: str
    text: str
