"""Figures of windows over time: cwnd, the receiver's window if it is ever the smaller one, and the routers' windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from narrows.metrics import NO_CWND
from narrows.report import series, style
from narrows.report.charts import Figure, Line, Panel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from narrows.report.series import Array

MAX_TELLERS = 4
"""Most routers whose windows are drawn beside the flows': those that reported the smallest."""

GREY = "#8A8F98"

CUT = 2.0
"""Peaks above the 99th percentile are cut off if they exceed this multiple of it."""


class _Windows:
    """The windows of one flow in one run, kB; NaN if there is none."""

    def __init__(self, name: str, index: int, run: pd.DataFrame) -> None:
        cwnd, rwnd, sent = (
            np.asarray(run[column].to_numpy(dtype=np.float64, na_value=np.nan))
            for column in ("cwnd_bytes", "rwnd_bytes", "sent_bytes")
        )
        self.name = name
        self.index = index
        self.time: Array = np.asarray(run["time_s"].to_numpy(dtype=np.float64))
        # Before the handshake is complete nothing is advertised, and a sender without cwnd still has its initial one.
        early = (rwnd == 0) & (sent == 0)
        self.cwnd: Array = np.where(early | (cwnd >= NO_CWND), np.nan, cwnd) * 1e-3
        self.rwnd: Array = np.where(early, np.nan, rwnd) * 1e-3

    @property
    def allowed(self) -> Array:
        """Data that the sender may have outstanding, kB; NaN before a window has been advertised."""
        return np.where(np.isnan(self.rwnd), np.nan, np.fmin(self.cwnd, self.rwnd))

    @property
    def bounded(self) -> float:
        """Share of the samples with an rwnd in which rwnd is the smaller window; 1 without cwnd, 0 without samples."""
        known = ~np.isnan(self.rwnd)
        if not known.any():
            return 0.0
        cwnd = np.where(np.isnan(self.cwnd), np.inf, self.cwnd)
        return float(np.mean(self.rwnd[known] < cwnd[known]))

    def line(self, values: Array, *, in_legend: bool = True) -> Line:
        """Return a line in the flow's colour and dash."""
        dash = self.index // len(style.OKABE_ITO)
        return Line(self.name, self.time, values, style.colour(self.index), dash=dash, step=True, in_legend=in_legend)


def windows(
    frame: pd.DataFrame, routers: pd.DataFrame, order: Mapping[str, int], span: tuple[float, float]
) -> Figure | None:
    """Draw the windows of each TCP flow in the first run: a mean over runs would hide the sawtooth.

    Parameters
    ----------
    frame, routers : pandas.DataFrame
        Samples of flows, and of routers.
    order : mapping
        Index of each flow by name, which decides its colour.
    span : (float, float)
        Ends of the time axis, s.

    Returns
    -------
    Figure or None
        Only cwnd if it is always the smaller window. If rwnd is ever the smaller one: min(cwnd, rwnd), cwnd, and rwnd
        with the windows that routers report. ``None`` without a TCP flow.
    """
    parts = series.by_name(frame)
    flows = [
        _Windows(name, order.get(name, 0), runs[0])
        for name, runs in parts.items()
        if runs[0]["cwnd_bytes"].notna().any()
    ]
    if not flows:
        return None
    flows.sort(key=lambda flow: (flow.index, flow.name))
    first = " of the first run" if max(map(len, parts.values())) > 1 else ""
    cwnd = tuple(flow.line(flow.cwnd) for flow in flows if not np.isnan(flow.cwnd).all())
    if not any(flow.bounded for flow in flows):
        text, panels = f"cwnd{first} as sampled.", (Panel("cwnd (kB)", cwnd),)
        return Figure("cwnd", "Congestion window over time", text, "Time (s)", panels, panel_in=1.9, x_range=span)
    rwnd, beside = _rwnd_panel(flows, routers, alone=not cwnd)
    made = [rwnd]
    if cwnd:
        allowed = tuple(flow.line(flow.allowed) for flow in flows)
        made = [Panel("min(cwnd, rwnd) (kB)", allowed), Panel("cwnd (kB)", cwnd), rwnd]
    return Figure(
        "cwnd",
        "Windows over time",
        f"Windows{first} as sampled: {_what_rules(flows)}{beside}",
        "Time (s)",
        tuple(made),
        panel_in=1.5 if cwnd else 1.9,
        x_range=span,
    )


def _what_rules(flows: Sequence[_Windows]) -> str:
    """Describe which window is the smaller one."""
    if all(np.isnan(flow.cwnd).all() for flow in flows):
        return "without a congestion window a sender may have up to the advertised window, rwnd, outstanding (RFC 793)."
    with_cwnd = [flow for flow in flows if not np.isnan(flow.cwnd).all()]
    low, high = (100 * pick(flow.bounded for flow in with_cwnd) for pick in (min, max))
    share = f"{high:.0f} %" if round(low) == round(high) else f"{low:.0f} to {high:.0f} %"
    text = (
        "a sender may have up to the smaller of cwnd and rwnd, the receiver's window, outstanding (RFC 5681). "
        f"rwnd was the smaller one in {share} of {'a' if len(with_cwnd) > 1 else 'the'} flow's samples."
    )
    without = len(flows) - len(with_cwnd)
    return f"{text} Flows without a congestion window (RFC 793) have no cwnd." if without else text


def _rwnd_panel(flows: Sequence[_Windows], routers: pd.DataFrame, *, alone: bool) -> tuple[Panel, str]:
    """Return the panel of receivers' windows with routers' windows of similar size, and more text for the caption."""
    # A receiver's buffer of megabytes that never limits its flow would flatten all other lines.
    bounding = [flow for flow in flows if flow.bounded]
    lines = tuple(flow.line(flow.rwnd, in_legend=alone) for flow in bounding)
    top = max((float(np.nanmax(one.y)) for one in lines if not np.isnan(one.y).all()), default=0.0)
    tellers = _tellers(routers)
    least = {name: float(np.nanmin(told)) for name, (_, told) in tellers.items()}
    near = [name for name in sorted(least, key=lambda name: (least[name], name)) if least[name] <= top][:MAX_TELLERS]
    told = tuple(
        Line(f"{name} tells", *tellers[name], GREY, dash=2 - place % 2, step=True, width=0.8)
        for place, name in enumerate(sorted(near))
    )
    beside = "" if len(bounding) == len(flows) else " rwnd is drawn only for flows that it limits at some time."
    if told:
        beside += (
            " Grey: the window that a router would tell a flow through its fullest queue; it applies once the data has "
            "reached the receiver, and the ACK the sender."
        )
        far = len(tellers) - len(told)
        drawn = (
            "one that told the smallest windows is"
            if len(told) == 1
            else f"{len(told)} that told the smallest windows are"
        )
        beside += f" Of {len(tellers)} routers the {drawn} drawn." if far else ""
    return Panel("rwnd (kB)", (*told, *lines), y_top=top if told else None), beside


def _tellers(routers: pd.DataFrame) -> dict[str, tuple[Array, Array]]:
    """Times and windows, kB, of the routers that report windows in the first run; NaN while they have no flow."""
    if "window_bytes" not in routers:  # results of older versions have no such windows
        return {}
    found = {}
    for name, runs in series.by_name(routers).items():
        told = np.asarray(runs[0]["window_bytes"].to_numpy(dtype=np.float64, na_value=np.nan)) * 1e-3
        told = np.where(runs[0]["flows"].to_numpy(dtype=np.float64) > 0, told, np.nan)
        if not np.isnan(told).all():
            found[name] = (np.asarray(runs[0]["time_s"].to_numpy(dtype=np.float64)), told)
    return found


def router_windows(routers: pd.DataFrame, span: tuple[float, float]) -> Figure | None:
    """Draw the window that each router would report, and its number of flows, in the first run.

    Parameters
    ----------
    routers : pandas.DataFrame
        Samples of routers.
    span : (float, float)
        Ends of the time axis, s.

    Returns
    -------
    Figure or None
        ``None`` if no router reports windows.
    """
    tellers = _tellers(routers)
    if not tellers:
        return None
    parts = series.by_name(routers)
    told, counted = [], []
    for index, (name, (time, window)) in enumerate(sorted(tellers.items())):
        flows = np.asarray(parts[name][0]["flows"].to_numpy(dtype=np.float64))
        colour, dash = style.colour(index), index // len(style.OKABE_ITO)
        told.append(Line(name, time, window, colour, dash, step=True))
        counted.append(Line(name, time, flows, colour, dash, step=True, in_legend=False))
    first = " in the first run" if max(map(len, parts.values())) > 1 else ""
    # Sometimes another queue is the fullest for a moment, and its window may be many times as large.
    usual = max(float(np.nanpercentile(window, 99)) for _, window in tellers.values())
    peak = max(float(np.nanmax(window)) for _, window in tellers.values())
    cut = f" Short peaks, up to {style.number(peak)} kB, are cut off." if peak > CUT * usual else ""
    return Figure(
        "router-windows",
        "Windows that the routers tell",
        f"The window that a flow would be told, and the flows counted, at each router's fullest queue{first}. A queue "
        f"that carries the ACKs counts their flows too.{cut}",
        "Time (s)",
        (Panel("Told (kB)", tuple(told), y_top=usual if cut else None), Panel("Flows", tuple(counted))),
        panel_in=1.3,
        x_range=span,
    )
