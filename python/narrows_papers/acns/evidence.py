"""Evidence for the calibration: the baseline on ns-2.35 over the same network, the effect of each setting, other seeds.

All were measured once and are stored as tables next to the scenario, each with the script that writes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows_papers.acns.evaluation import FLOWS, folder
from narrows_papers.frame import tables

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Variation:
    """One setting changed in both arms: changes in per cent with their 95 % intervals, and whether flow orders hold.

    Attributes
    ----------
    reading : bool
        Whether ACNS itself is read in another way, rather than the network or TCP.
    """

    name: str
    data: tuple[float, float, float]
    rtt: tuple[float, float, float]
    lost: tuple[float, float, float]
    order_without: bool
    order_acns: bool
    reading: bool = False

    @property
    def claims(self) -> int:
        """Number of the evaluation's five claims that hold."""
        data, rtt, lost = self.data[0] >= 30, self.rtt[0] < 0, self.lost[0] <= -90
        return sum((self.order_without, self.order_acns, data, rtt, lost))


@dataclass(frozen=True)
class Baseline:
    """The arm without ACNS on ns-2.35 with one kind of sink: mean and deviation over start jitters, by flow."""

    sink: str
    sent: tuple[tuple[float, float], ...]
    lost: tuple[tuple[float, float], ...]
    timeouts: tuple[tuple[float, float], ...]

    @property
    def total(self) -> float:
        """Data sent by the three flows, MB."""
        return sum(mean for mean, _ in self.sent)


def variations(path: Path | None = None) -> list[Variation]:
    """Rows of `search-variations.csv`, the calibration itself first."""
    made = []
    for row in tables.rows(folder() / "search-variations.csv" if path is None else path):

        def three(what: str, row: dict[str, str] = row) -> tuple[float, float, float]:
            return (float(row[f"{what}_percent"]), max(-100.0, float(row[f"{what}_low"])), float(row[f"{what}_high"]))

        made.append(
            Variation(
                row["name"],
                three("data"),
                three("rtt"),
                three("lost"),
                row["order_without"] == "True",
                row["order_acns"] == "True",
                bool(row["acns"]),
            )
        )
    return made


def seeds() -> list[Variation]:
    """Rows of `search-seeds.csv`: the calibration with seeds that had no part in its selection."""
    return variations(folder() / "search-seeds.csv")


def ns2(path: Path | None = None) -> list[Baseline]:
    """Rows of `ns2/two-sites.csv`, by kind of sink."""
    rows = tables.rows(folder() / "ns2" / "two-sites.csv" if path is None else path)
    made = []
    for sink in dict.fromkeys(row["sink"] for row in rows):
        flows = {row["flow"]: row for row in rows if row["sink"] == sink}

        def pairs(column: str, flows: dict[str, dict[str, str]] = flows) -> tuple[tuple[float, float], ...]:
            return tuple((float(flows[flow][column]), float(flows[flow][f"{column}_sd"])) for flow in FLOWS)

        made.append(Baseline(sink, pairs("sent_mb"), pairs("lost_packets"), pairs("timeouts")))
    return made
