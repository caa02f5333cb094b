"""Line numbers of keys in a TOML file, which the standard library's parser does not provide."""

from __future__ import annotations

from narrows import _core

Place = tuple[str | int, ...]
"""Tables, indexes in arrays of tables, and keys, from the top: ``("axes", 1, "path")``."""


def index(text: str) -> dict[Place, int]:
    r"""Find the lines of tables, keys and elements of arrays.

    Parameters
    ----------
    text : str
        A TOML file; of a broken one, what can be read is found.

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
    for path, line in _core.places(text):
        places.setdefault(tuple(path), line)
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
