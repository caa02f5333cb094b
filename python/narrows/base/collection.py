"""Python's collector of cyclic garbage, and sets of many objects."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def settled() -> Iterator[None]:
    """Exempt the objects that exist now from collections for the duration of a block.

    A plan of 100,000 runs has a million objects, which live until the end. Each full collection would visit them all.
    A program that exempts objects itself is left alone.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
