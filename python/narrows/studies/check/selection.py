"""The expression of ``-k``: which runs are selected by parts of their names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from narrows.base.errors import InputError

_TOKEN: Final = re.compile(r"\s*(\(|\)|[^\s()]+)")
_WORDS: Final = ("and", "or", "not", "(", ")")

Node = tuple[str, "tuple[Node, ...]"]
"""An operator (``and``, ``or``, ``not``) or a part of a name, and its operands."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Parts of names with ``and``, ``or``, ``not`` and parentheses, as pytest's ``-k``; case does not matter.

    Attributes
    ----------
    node : tuple
        The parsed expression.

    Examples
    --------
    >>> chosen = Selection.parse("startup and not (loss or 64kb)")
    >>> [chosen.takes(name) for name in ("bbr/Startup", "bbr/startup-loss", "bbr/drain")]
    [True, False, False]
    """

    node: Node

    @classmethod
    def parse(cls, text: str) -> Selection:
        """Parse an expression.

        Parameters
        ----------
        text : str

        Returns
        -------
        Selection

        Raises
        ------
        InputError
            If it is not an expression.
        """
        tokens = _TOKEN.findall(text)
        try:
            node, rest = _either(tokens)
        except (IndexError, RecursionError):
            node, rest = ("", ()), ["?"]
        if rest or not tokens:
            message = (
                f"-k {text!r}: is not an expression; allowed: parts of names with and, or, not and parentheses, such "
                "as 'startup and not loss'"
            )
            raise InputError(message)
        return cls(node)

    def takes(self, name: str) -> bool:
        """Return whether a name is selected.

        Parameters
        ----------
        name : str

        Returns
        -------
        bool
        """
        return _takes(self.node, name.lower())


def _takes(node: Node, name: str) -> bool:
    word, operands = node
    if not operands:
        return word in name
    found = [_takes(one, name) for one in operands]
    return not found[0] if word == "not" else all(found) if word == "and" else any(found)


def _either(tokens: list[str]) -> tuple[Node, list[str]]:
    left, rest = _both(tokens)
    while rest and rest[0] == "or":
        right, rest = _both(rest[1:])
        left = ("or", (left, right))
    return left, rest


def _both(tokens: list[str]) -> tuple[Node, list[str]]:
    left, rest = _one(tokens)
    while rest and rest[0] == "and":
        right, rest = _one(rest[1:])
        left = ("and", (left, right))
    return left, rest


def _one(tokens: list[str]) -> tuple[Node, list[str]]:
    first, rest = tokens[0], tokens[1:]
    if first == "not":
        inside, rest = _one(rest)
        return ("not", (inside,)), rest
    if first == "(":
        inside, rest = _either(rest)
        if rest[0] != ")":
            raise IndexError
        return inside, rest[1:]
    if first in _WORDS:
        raise IndexError
    return (first.lower(), ()), rest
