"""Line numbers of keys in a TOML file, which the standard library's parser does not provide."""

from __future__ import annotations

import re
from collections import Counter

Place = tuple[str | int, ...]
"""Tables, indexes in arrays of tables, and keys, from the top: ``("axes", 1, "path")``."""

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+))*)\s*=""")
_PART = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*\.?""")


def index(text: str) -> dict[Place, int]:
    r"""Find the lines of tables and keys.

    This reads lines, not TOML: a line inside a multi-line string that looks like a key is taken for one. Then only the
    line number in a message is wrong.

    Parameters
    ----------
    text : str
        A TOML file.

    Returns
    -------
    dict
        Line number by place, from 1; the first one if a place occurs more than once.

    Examples
    --------
    >>> places = index('name = "a"\n[[axes]]\npath = "x"\n[[axes]]\npath = "y"\n')
    >>> places["axes", 1], places["axes", 1, "path"]
    (4, 5)
    """
    places: dict[Place, int] = {}
    counts: Counter[Place] = Counter()
    table: Place = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header:
            table = _parts(header[2])
            if header[1] == "[[":
                counts[table] += 1
                table = (*table, counts[table] - 1)
            places.setdefault(table, number)
            continue
        key = _KEY.match(line)
        if key:
            places.setdefault((*table, *_parts(key[1])), number)
    return places


def find(places: dict[Place, int], place: Place) -> int | None:
    """Find the line of a place, or of the nearest enclosing place.

    Parameters
    ----------
    places : dict
        Result of `index`.
    place : tuple

    Returns
    -------
    int or None
        ``None`` if neither the place nor any enclosing place has a line.
    """
    while place:
        if place in places:
            return places[place]
        place = place[:-1]
    return None


def _parts(dotted: str) -> Place:
    return tuple(next(group for group in match.groups() if group is not None) for match in _PART.finditer(dotted))
