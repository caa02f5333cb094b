r"""Text for LaTeX: escaped, so that any name of a flow, queue or axis compiles, with pdfLaTeX too.

Letters of Latin scripts stay as they are, for LaTeX reads UTF-8. Signs become commands, and what has none becomes its
code point, as in ``U+1F600``.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_SIGNS: Final = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\ensuremath{<}",
    ">": r"\ensuremath{>}",
    "|": r"\ensuremath{|}",
    '"': r"''",
    "→": r"\ensuremath{\rightarrow}",
    "←": r"\ensuremath{\leftarrow}",
    "↔": r"\ensuremath{\leftrightarrow}",
    "−": r"\ensuremath{-}",
    "±": r"\ensuremath{\pm}",
    "×": r"\ensuremath{\times}",
    "·": r"\ensuremath{\cdot}",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    "≈": r"\ensuremath{\approx}",
    "≠": r"\ensuremath{\neq}",
    "∞": r"\ensuremath{\infty}",
    "√": r"\ensuremath{\surd}",
    "∑": r"\ensuremath{\sum}",
    "°": r"\ensuremath{^{\circ}}",
    "µ": r"\ensuremath{\mu}",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "\N{NO-BREAK SPACE}": "~",
    "\N{NARROW NO-BREAK SPACE}": r"\,",
    "\N{THIN SPACE}": r"\,",
}

_GREEK: Final = re.compile(r"GREEK (SMALL|CAPITAL) LETTER (\w+)")
_LATIN_LIKE: Final = frozenset({"ALPHA", "BETA", "EPSILON", "ZETA", "ETA", "IOTA", "KAPPA", "MU", "NU", "OMICRON"}) | {
    "RHO",
    "TAU",
    "CHI",
}
"""Greek letters whose capitals are Latin letters, for which LaTeX has no command."""


def escape(text: str) -> str:
    r"""Return text as LaTeX prints it.

    Parameters
    ----------
    text : str

    Returns
    -------
    str

    Examples
    --------
    >>> escape("r1->r2, 5 % of α²")
    'r1-\\ensuremath{>}r2, 5 \\% of \\ensuremath{\\alpha}\\textsuperscript{2}'
    """
    return "".join(map(_letter, unicodedata.normalize("NFC", text)))


def _letter(one: str) -> str:
    if one in _SIGNS:
        return _SIGNS[one]
    if one.isspace():
        return " "
    if " " < one <= "\N{LATIN SMALL LETTER Z WITH CARON}":
        return one if one.isascii() or one.isalpha() else _other(one)
    return _other(one)


def _other(one: str) -> str:
    kind, _, plain = unicodedata.decomposition(one).partition("> ")
    if plain and kind in ("<super", "<sub"):
        return rf"\text{kind[1:]}script{{{escape(chr(int(plain.split()[0], 16)))}}}"
    greek = _GREEK.fullmatch(unicodedata.name(one, ""))
    if greek is not None:
        size, name = greek.groups()
        name = {"LAMDA": "LAMBDA", "FINAL SIGMA": "SIGMA"}.get(name, name)
        if name == "OMICRON" or (size == "CAPITAL" and name in _LATIN_LIKE):
            return rf"\ensuremath{{\mathrm{{{name[0] if size == 'CAPITAL' else 'o'}}}}}"
        return rf"\ensuremath{{\{name.title() if size == 'CAPITAL' else name.lower()}}}"
    if not unicodedata.combining(one) and unicodedata.category(one) not in ("Cc", "Cf"):
        return f"U+{ord(one):04X}"
    return ""


def label(*parts: str) -> str:
    """Return a label of parts: letters, digits, and hyphens in place of everything else.

    Parameters
    ----------
    *parts : str

    Returns
    -------
    str

    Examples
    --------
    >>> label("tab", "dumbbell-cubic", "r1->r2/flows")
    'tab:dumbbell-cubic:r1-r2-flows'
    """
    return ":".join(re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-") for part in parts if part)


def comment(text: str) -> str:
    """Return text as a comment, which cannot end before its line does."""
    return "% " + " ".join(text.split())
