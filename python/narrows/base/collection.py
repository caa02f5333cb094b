"""Python's collector of cyclic garbage, and sets of many objects."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_RARELY: Final = 100_000
"""New objects after which a collection is due while many runs are made."""


@contextmanager
def settled() -> Iterator[None]:
    """Exempt the objects that exist now from collections for the duration of a block.

    A plan of 100,000 runs has a million objects, which live until the end. Each full collection would visit them all.
    Collections are also rarer during the block: a short run creates hundreds of objects, none of them cyclic. A program
    that exempts objects itself is left alone.
    """
    if gc.get_freeze_count():
        yield
        return
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(max(before[0], _RARELY) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect no cyclic garbage for the duration of a block, which creates many objects that all stay.

    Each collection would visit the objects of the block again, and free none.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
