"""Units and meanings of the columns of metrics: from the docstrings that also document the Python attributes."""

from __future__ import annotations

import inspect
import re
import sys
from typing import TYPE_CHECKING, Any, Final

from narrows import metrics

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

UNITS: Final = {
    "mbps": "Mb/s",
    "bps": "b/s",
    "bytes": "bytes",
    "packets": "packets",
    "percent": "%",
    "s": "s",
    "ms": "ms",
    "us": "us",
    "ns": "ns",
    "ratio": "1",
    "utilisation": "1",
}
"""Unit by the last word of a column's name."""

IDENTITY: Final = {
    "run": "Index of the run, from 0.",
    "arm": "The outcome that the row is of.",
    "seed": "Seed of the run.",
    "address": "Content address of the run: SHA-256 of scenario, seed and engine.",
    "digest": "SHA-256 over all samples of the run.",
    "status": "ok or failed.",
    "error": "Why a failed run failed.",
    "cpu_s": "Processor time of the run.",
    "wall_s": "Wall-clock time of the run.",
    "events": "Events that the engine handled.",
    "packets": "Packets that arrived at a node, counted at every hop.",
    "jain": "Jain's index over the throughput of the TCP flows: 1 if all have the same.",
    "flow_cc": "Congestion control of the flow; empty for UDP.",
}
"""Meaning of columns that identify a row, or that belong to a run."""

_ATTRIBUTES: Final = re.compile(r"^Attributes\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", re.MULTILINE | re.DOTALL)
_AS_FOR: Final = re.compile(r"As for `(\w+)`\.")
_UNIT: Final = re.compile(r", (?:exact, )?(?:ms|s|Mb/s|of 1)(?=[.;])")
_REFERENCES: Final = re.compile(r"(`\w+`(, | and )?)+\.?")


def unit(name: str) -> str:
    """Return the unit of a column by its name; empty without one.

    Parameters
    ----------
    name : str

    Returns
    -------
    str

    Examples
    --------
    >>> unit("throughput_mbps"), unit("rtt_mean_s"), unit("name")
    ('Mb/s', 's', '')
    """
    return UNITS.get(name.rpartition("_")[2], "")


def meanings(kind: type[Any]) -> Mapping[str, str]:
    """Return the meaning of each attribute of a class, from its docstring.

    Parameters
    ----------
    kind : type
        Class with an ``Attributes`` section.

    Returns
    -------
    mapping
        By name; those of its base classes included.

    Examples
    --------
    >>> from narrows.metrics.flows import FlowMetrics
    >>> meanings(FlowMetrics)["transactions"]
    'Requests answered in full.'
    """
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        section = _ATTRIBUTES.search(inspect.cleandoc(base.__doc__ or "") + "\n")
        entries = re.split(r"^(?=\S)", section[1], flags=re.MULTILINE) if section else []
        for entry in filter(str.strip, entries):
            names, _, text = entry.partition("\n")
            for name in names.partition(" : ")[0].split(","):
                found[name.strip()] = _told(base, name.strip(), " ".join(text.split()))
    return found


def _told(base: type, name: str, text: str) -> str:
    """Return the text of an attribute for readers of a file: empty instead of None, and the unit in its own column."""
    other = _AS_FOR.fullmatch(text)
    if other is not None:
        return meanings(vars(sys.modules[base.__module__])[other[1]])[name]
    if _REFERENCES.fullmatch(text):
        formula = getattr(metrics, name, None)
        text = " ".join(inspect.cleandoc(formula.__doc__ or "").partition("\n\n")[0].split()) if formula else ""
    text = _UNIT.sub("", text.replace("``None``", "empty").replace("`", "")).replace(". empty", ". Empty")
    return text.rstrip(".") + "." if text else ""


def documented(table: pa.Table, docs: Mapping[str, str]) -> pa.Table:
    """Return a table whose columns have units and meanings in their metadata.

    Parameters
    ----------
    table : pyarrow.Table
    docs : mapping
        Meanings by name. A column of a time may have been renamed to another unit since.

    Returns
    -------
    pyarrow.Table
    """
    import pyarrow as pa

    plain = {_stem(name): text for name, text in {**IDENTITY, **docs}.items()}
    fields = []
    for field in table.schema:
        told = docs.get(field.name) or IDENTITY.get(field.name) or plain.get(_stem(field.name), "")
        fields.append(field.with_metadata({b"unit": unit(field.name).encode(), b"doc": told.encode()}))
    return table.cast(pa.schema(fields))


def _stem(name: str) -> str:
    stem, _, last = name.rpartition("_")
    return stem if stem and last in ("s", "ms", "us", "ns") else name
