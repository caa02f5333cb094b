"""The engine's identity: its version, its commit and its build."""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from narrows import _core

_COMMIT: Final = re.compile(rb"NARROWS-COMMIT<[^>]{48}>")
"""The field of the extension that holds the commit; ``crates/py/build.rs`` writes it."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine that made, or would make, a run.

    Attributes
    ----------
    release : str
        Version without the commit.
    build : str
        The first 16 digits of SHA-256 over the extension's file without the commit. It tells two builds of one version
        apart; a commit that changes no code keeps the build.
    commit : str
        Commit that it was built from; engines that differ only in the commit are equal.
    """

    release: str
    build: str
    commit: str = field(compare=False)

    @property
    def version(self) -> str:
        """The version as ``narrows --version`` prints it."""
        return self.release + ("+unknown" if self.commit == "unknown" else f"+g{self.commit}")

    def __str__(self) -> str:
        """Return version and build as text."""
        return f"{self.version} (build {self.build})"


@functools.cache
def engine() -> Engine:
    """Return the engine of this process.

    Returns
    -------
    Engine
    """
    content = Path(str(_core.__file__)).read_bytes()
    # The whole file at once: it has one such field, and some ten megabytes.
    digest = hashlib.sha256(_COMMIT.sub(b"", content)).hexdigest()
    return Engine(_core.release(), digest[:16], _core.commit())


def release_of(version: str) -> str:
    """Return a version without its commit.

    Parameters
    ----------
    version : str

    Returns
    -------
    str

    Examples
    --------
    >>> release_of("0.1.0+g9094a25.dirty"), release_of("0.1.0")
    ('0.1.0', '0.1.0')
    """
    return version.partition("+")[0]


def told(version: str) -> str:
    """Return a version for display; an unknown commit is spelled out.

    Parameters
    ----------
    version : str

    Returns
    -------
    str

    Examples
    --------
    >>> told("0.1.0+g9094a25"), told("0.1.0+unknown")
    ('0.1.0+g9094a25', '0.1.0 (unknown commit)')
    """
    release, _, commit = version.partition("+")
    return f"{release} (unknown commit)" if commit == "unknown" else version
