"""All claims of the paper, by the runs that decide them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows.studies.reproduction.result import on_runs
from narrows_papers.agile_sd import claims, fairness

if TYPE_CHECKING:
    import pandas as pd

    from narrows.studies.reproduction.result import Claim
    from narrows_papers.agile_sd.data import Data


@dataclass(frozen=True)
class Found:
    """All claims, grouped by the runs that decide them.

    Attributes
    ----------
    printed : tuple of Claim
        Claims about windows, throughput, losses and intra-fairness, with the parameters as printed.
    inter, round_trips : tuple of Claim
        Claims about fairness between congestion controls, and between round-trip times.
    sack : tuple of Claim
        The claims of `printed`, evaluated with SACK.
    """

    printed: tuple[Claim, ...]
    inter: tuple[Claim, ...]
    round_trips: tuple[Claim, ...]
    sack: tuple[Claim, ...]

    @property
    def all(self) -> tuple[Claim, ...]:
        """The claims that count; those with SACK are shown only for comparison."""
        return (*self.printed, *self.inter, *self.round_trips)


def decide(data: Data) -> Found:
    """Evaluate all claims that these runs cover."""
    return Found(
        printed=tuple(on_runs(claims.claims(data.printed), fewest(data.printed.frame))),
        inter=tuple(on_runs(fairness.claims(data.pairs), fewest(data.pairs))),
        round_trips=()
        if data.round_trips is None
        else tuple(on_runs(fairness.between_round_trips(data.round_trips), fewest(data.round_trips))),
        sack=() if data.sack is None else tuple(on_runs(claims.claims(data.sack), fewest(data.sack.frame))),
    )


def fewest(runs: pd.DataFrame) -> int:
    """Return the number of runs at the point that has fewest: runs differ by point (all else) and seed."""
    keys = [name for name in ("scenario", "buffer", "per", "arm", "pair") if name in runs.columns]
    return int(runs.groupby(keys, dropna=False)["seed"].nunique().min())
