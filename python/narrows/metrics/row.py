"""What all rows of metrics share: a row is a frozen dataclass with slots, whose fields are its metrics."""

from __future__ import annotations

from typing import Any


class MetricsRow:
    """A row of metrics that has all its fields in its own slots."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics by name, in declared order."""
        names: tuple[str, ...] = self.__slots__
        return {name: getattr(self, name) for name in names}
