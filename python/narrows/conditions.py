"""Conditions of a run on a real machine: what had a say in its numbers, and whether they are to be trusted.

They are a plain dictionary, so that they stand in JSON as they are. Two of its keys mean something everywhere:
``trusted`` (whether the numbers may be taken as they are) and ``doubts`` (why not, a sentence each). All others are
shown as they are named; a name's last part may be a unit (``_us``, ``_ms``, ``_bytes``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from narrows.format import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Conditions = dict[str, Any]
"""Kernel, settings and lateness of a run, by name; may be nested."""

TRUSTED: Final = "trusted"
DOUBTS: Final = "doubts"

UNSAID: Final = "its conditions say that it is not to be trusted, and not why"
"""Told where a run is not to be trusted and no reason stands there."""

_OF_NAMES: Final = ("cc", "congestion_control", "congestion_controls")
"""Under these stand names that people gave, which stay as they are."""

_SHOWN: Final = 3
"""Values in words that are listed; of more, the first ones."""

_UNITS: Final = {"us": "µs", "ms": "ms", "ns": "ns", "s": "s", "bytes": "B", "packets": "packets", "percent": "%"}
_ABBREVIATIONS: Final = {
    "cpu": "CPU",
    "cpus": "CPUs",
    "tcp": "TCP",
    "cc": "congestion control",
    "ip": "IP",
    "bpf": "BPF",
    "rtt": "RTT",
}


def doubts(conditions: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Why a run is not to be trusted.

    Parameters
    ----------
    conditions : mapping or None
        Of the run; ``None`` where no machine had a say in it.

    Returns
    -------
    tuple of str
        A sentence each; empty if it is to be trusted.

    Examples
    --------
    >>> doubts(None), doubts({"trusted": True, "doubts": []})
    ((), ())
    >>> doubts({"trusted": False, "doubts": ["the bottleneck was late"]})
    ('the bottleneck was late',)
    """
    if conditions is None:
        return ()
    told = tuple(str(one) for one in conditions.get(DOUBTS) or ())
    return told if told or conditions.get(TRUSTED, True) else (UNSAID,)


def table(conditions: Iterable[Mapping[str, Any] | None]) -> list[tuple[str, str]]:
    """Conditions of several runs as rows for people: a value where all agree, from least to greatest where they differ.

    Parameters
    ----------
    conditions : iterable of mapping
        A run each; those without are left out.

    Returns
    -------
    list of (str, str)
        Name and value, in the order in which they were told. Trust and doubts are left out: they are told apart.

    Examples
    --------
    >>> table([{"kernel": "6.18", "lateness": {"mean_us": 20.0}}, {"kernel": "6.18", "lateness": {"mean_us": 30.5}}])
    [('Kernel', '6.18'), ('Lateness, mean', '20 to 30.5 µs')]
    """
    flat = [dict(_flat(one)) for one in conditions if one is not None]
    names = dict.fromkeys(name for one in flat for name in one)
    rows = []
    for path in names:
        label, unit = _label(path)
        value = _together([one[path] for one in flat if path in one])
        rows.append((label, f"{value} {unit}".rstrip() if value else "none"))
    return rows


def _flat(conditions: Mapping[str, Any], before: tuple[str, ...] = ()) -> Iterable[tuple[tuple[str, ...], Any]]:
    for name, value in conditions.items():
        if not before and name in (TRUSTED, DOUBTS):
            continue
        if isinstance(value, dict):
            yield from _flat(value, (*before, str(name)))
        else:
            yield (*before, str(name)), value


def _label(path: Sequence[str]) -> tuple[str, str]:
    """A name in words, and its unit; names with dots or slashes are the system's own and stay.

    >>> _label(["lateness", "p99_us"]), _label(["kernel_release"]), _label(["sysctls", "net.ipv4.tcp_ecn"])
    (('Lateness, p99', 'µs'), ('Kernel release', ''), ('Sysctls, net.ipv4.tcp_ecn', ''))
    >>> _label(["congestion_control", "agile_sd"])
    ('Congestion control, agile_sd', '')
    """
    unit, parts = "", []
    for place, name in enumerate(path):
        words = [name]
        named = place > 0 and path[place - 1] in _OF_NAMES
        if "." not in name and "/" not in name and not named:
            words = name.split("_")
            if len(words) > 1 and name == path[-1] and words[-1] in _UNITS:
                unit = _UNITS[words.pop()]
        parts.append(" ".join(_ABBREVIATIONS.get(word, word) for word in words))
    text = ", ".join(parts)
    return text[:1].upper() + text[1:], unit


def _together(values: Sequence[Any]) -> str:
    """Values of several runs in one cell."""
    told = list(dict.fromkeys(map(_text, values)))
    if len(told) == 1:
        return told[0]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return f"{number(min(values))} to {number(max(values))}"
    if len(told) > _SHOWN:
        return f"{'; '.join(told[: _SHOWN - 1])}; and {len(told) - _SHOWN + 1} more"
    return "; ".join(told)


def _text(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return str(value)
