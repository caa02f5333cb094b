"""Text of exports: into a file that appears whole or not at all, or into a stream of the caller's."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike


@contextmanager
def opened(out: str | PathLike[str] | TextIO) -> Iterator[TextIO]:
    """Open a file for writing, or use a stream.

    Parameters
    ----------
    out : path or text stream
        A file is written under a temporary name, and replaced when the block ends without an error.

    Yields
    ------
    text stream

    Raises
    ------
    OSError
        If the file cannot be written; nothing is left behind then.
    """
    if not isinstance(out, str | os.PathLike):
        yield out
        return
    import tempfile

    path = Path(out)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            yield file
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
