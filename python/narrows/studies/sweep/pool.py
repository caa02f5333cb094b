"""Where Arrow takes memory from while a sweep is executed."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHOICE: Final = "ARROW_DEFAULT_MEMORY_POOL"
"""The environment variable by which a user chooses Arrow's allocator."""


@contextmanager
def small_pages() -> Iterator[None]:
    """Let Arrow take memory in small pages for the duration of a block.

    A commit of short runs has some hundred columns of a few kilobytes. Arrow's allocator, mimalloc, spreads them over
    huge pages, where Linux has these, and the kernel clears 2 MB for each. An allocator that the user has chosen stays.
    """
    import pyarrow as pa

    before = pa.default_memory_pool()
    if before.backend_name != "mimalloc" or os.environ.get(_CHOICE):
        yield
        return
    there = "jemalloc" in pa.supported_memory_backends()
    pa.set_memory_pool(pa.jemalloc_memory_pool() if there else pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)
