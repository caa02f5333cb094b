"""Settings of a channel for each 802.11 PHY, from the engine's catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Setting", "settings"]


class Setting(NamedTuple):
    """A key of a channel's table, or several keys that belong together."""

    key: str
    default: str
    allowed: str
    """Empty if every value within the bounds of the format is allowed."""


def settings(entry: dict[str, Any]) -> list[Setting]:
    """Return the keys of a channel's table whose defaults or bounds depend on its PHY.

    Parameters
    ----------
    entry : dict
        Entry of a PHY, as `narrows.model.catalogue.list_algorithms` returns it.

    Returns
    -------
    list of Setting
    """
    told = []
    if entry["max_mcs"] is None:
        told.append(Setting("rate", _mbps(entry["rates_bps"][-1:]), _mbps(entry["rates_bps"])))
    else:
        left_out = ", ".join(f"{mcs} at {width} MHz x {streams}" for mcs, width, streams in entry["left_out"])
        told.append(Setting("mcs", "7", f"0 to {entry['max_mcs']}" + (f", but not {left_out}" if left_out else "")))
        told.append(Setting("channel_width", "20 MHz", ", ".join(map(str, entry["widths_mhz"])) + " MHz"))
        told.append(Setting("streams", "1", f"1 to {entry['max_streams']}"))
        told.append(Setting("guard_interval", "800 ns", "400 ns, 800 ns"))
    told.append(Setting("basic_rate", _mbps([entry["basic_rate_bps"]]), _mbps(entry["basic_rates_bps"])))
    if entry["short_preamble"]:
        told.append(Setting("preamble", "long", "long, short"))
    told.append(Setting("slot", f"{entry['slot_ns'] / 1e3:g} us", ""))
    told.append(Setting("sifs", f"{entry['sifs_ns'] / 1e3:g} us", ""))
    told.append(Setting("cw_min, cw_max", f"{entry['cw_min']}, {entry['cw_max']}", ""))
    if entry["max_ampdu_bytes"] is not None:
        most = entry["max_ampdu_bytes"]
        told.append(Setting("aggregation.max_bytes", f"{min(most, 65_535):,} B", f"up to {most:,} B"))
    return told


def _mbps(rates_bps: Sequence[int]) -> str:
    return ", ".join(f"{rate / 1e6:g}" for rate in rates_bps) + " Mb/s"
