"""Conditions of a live run: which properties of the machine affected the results, and whether to trust them.

They are a plain dictionary and go into JSON unchanged. Two keys have a fixed meaning: ``trusted`` (whether the results
can be used as they are) and ``doubts`` (why not, one sentence each). All others are shown under their own name; the
last part of a name may be a unit (``_us``, ``_ms``, ``_bytes``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from narrows.base.format import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Conditions = dict[str, Any]
"""Kernel, settings and lateness of a run, by name; may be nested."""

TRUSTED: Final = "trusted"
DOUBTS: Final = "doubts"

UNSAID: Final = "its conditions say that it is not to be trusted, but give no reason"
"""Reported for an untrusted run whose conditions give no reason."""

_OF_NAMES: Final = ("cc", "congestion_control", "congestion_controls")
"""Keys whose entries are named by users; these names are shown unchanged."""

_SHOWN: Final = 3
"""Most distinct text values to list; if there are more, only the first ones are shown."""

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
    """Return the reasons not to trust a run.

    Parameters
    ----------
    conditions : mapping or None
        Of the run; ``None`` for a simulated run.

    Returns
    -------
    tuple of str
        One sentence each; empty if the run is trusted.

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
    """Conditions of several runs as rows for people: one value where all agree, else the range from least to greatest.

    Parameters
    ----------
    conditions : iterable of mapping
        One per run; runs without conditions are left out.

    Returns
    -------
    list of (str, str)
        Name and value, in the order of the conditions. Trust and doubts are left out: they are reported separately.

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
    """Return a name in words, and its unit; names with dots or slashes are the system's own and stay.

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
    """Combine the values of several runs into one cell."""
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
