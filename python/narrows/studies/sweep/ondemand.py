"""A sequence whose items are created on first access."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")


class OnDemand(Sequence[T]):
    """Items that are created on demand and cached, because a sweep may have far more items than are used.

    Parameters
    ----------
    length : int
        Number of items.
    make : callable
        Creates the item of an index, from 0.

    Examples
    --------
    >>> squares = OnDemand(1_000_000, lambda i: i * i)
    >>> len(squares), squares[-1], squares[2:4]
    (1000000, 999998000001, [4, 9])
    """

    def __init__(self, length: int, make: Callable[[int], T]) -> None:
        self._length = length
        self._make = make
        self._made: dict[int, T] = {}

    def __len__(self) -> int:
        """Return the number of items."""
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        """Return an item, or a list of the items of a slice."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._length))]
        number = index + self._length if index < 0 else index
        if not 0 <= number < self._length:
            raise IndexError(index)
        if number not in self._made:
            self._made[number] = self._make(number)
        return self._made[number]

    def __iter__(self) -> Iterator[T]:
        """Iterate over the items, creating each on demand."""
        return (self[i] for i in range(self._length))
