"""The record that an evaluation keeps of a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The stored results of a run.

    Attributes
    ----------
    key : str
        Content address; see `narrows.studies.evaluate.plan.Arm.key`.
    network : str
        Name of the network.
    seed : int
    digest : str
        SHA-256 over everything that the run yielded; empty if it failed.
    values : dict
        Value by name of the measure; ``None`` for "no value".
    error : str or None
        Why the run failed.
    doubts : tuple of str
        Why a live run is not to be trusted; empty if it is, and for a simulated run.
    """

    key: str
    network: str
    seed: int
    digest: str
    values: dict[str, float | None]
    error: str | None = None
    doubts: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain values.

        Returns
        -------
        dict
        """
        return {key: value for key, value in asdict(self).items() if key != "doubts" or value}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Record:
        """Create a record from the output of `to_json`.

        Parameters
        ----------
        row : mapping

        Returns
        -------
        Record

        Raises
        ------
        KeyError, TypeError
            If the values are not those of a record.
        """
        if not isinstance(row["values"], dict) or not isinstance(row["seed"], int):
            message = "values or seed are not those of a record"
            raise TypeError(message)
        return cls(**{**row, "doubts": tuple(row.get("doubts", ()))})
