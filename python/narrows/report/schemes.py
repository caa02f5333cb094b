"""Settings of a network-assisted scheme in words, for the page's section about the scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows.model.schemes import NgwaMode, running
from narrows.report import style

if TYPE_CHECKING:
    from narrows.model.resolved import Resolved, Settings


def setting_rows(resolved: Resolved) -> tuple[str, list[tuple[str, str]]]:
    """Return the settings of the scheme that runs, in words.

    Parameters
    ----------
    resolved : Resolved

    Returns
    -------
    (str, list of (str, str))
        The scheme's name, or empty without a scheme; a label and a text for each setting.
    """
    found = running(resolved)
    if found is None:
        return "", []
    name, settings = found
    rows = _ngwa(settings) if name == "ngwa" else _acns(settings)
    idle = style.duration(settings["idle_timeout_ns"] / 1e9)
    rows += [
        ("Flow tables", f"flows without a segment for {idle} leave; at most {settings['max_flows']:,} flows"),
        ("Routers", ", ".join(settings["routers"])),
    ]
    return name.upper(), rows


def _ngwa(settings: Settings) -> list[tuple[str, str]]:
    mode = NgwaMode.of(settings["mode"])
    alpha, factor = settings["alpha"], settings["flow_factor"]
    if mode.congestion_window:
        sender = "on: senders keep their congestion control"
    else:
        recovery = "as the flow's recovery says" if settings["fast_retransmit"] else "by the timer alone"
        sender = (
            f"off (RFC 793): senders may have as much outstanding as is advertised; losses are recovered {recovery}"
        )
    smoothing = (
        f"S ← {1 - alpha:.10g} S + {alpha:.10g} W at the receiver" if mode.smoothing else "off: the latest value"
    )
    value = (
        f"on: {factor:.10g} × the queue's limit / its flows" if mode.flow_division else "off: the queue's free bytes"
    )
    largest = settings["max_window_bytes"]
    return [
        ("Mode", str(mode).split(": ", 1)[0].removeprefix("mode ")),
        ("Congestion window", sender),
        ("Smoothing", f"on: {smoothing}" if mode.smoothing else smoothing),
        ("Flow division", value),
        ("Written", "as a packet leaves the queue" if settings["stamp"] == "departure" else "before a packet enters"),
        ("Largest window", "that of the receive buffer" if largest is None else f"{largest:,} bytes"),
        ("Right edge", "may move left" if settings["shrink"] else "never moves left"),
    ]


def _acns(settings: Settings) -> list[tuple[str, str]]:
    def number(key: str) -> str:
        return f"{settings[key]:.10g}"

    formula = {"dcnet2013": "DCNET 2013", "thesis2013": "thesis"}.get(settings["formula"], settings["formula"])
    return [
        ("Weight", f"{formula}: priority {number('priority_weight')}, age {number('age_weight')}"),
        ("Freeze, fallback", f"from weights of {number('freeze_threshold')} and {number('fallback_threshold')}"),
        (
            "Losses",
            f"by the trend of the latest {settings['trend_count']} commands: fallback from "
            f"{number('loss_fallback_threshold')} on, the base algorithm's reduction from "
            f"{number('loss_decrease_threshold')} on",
        ),
        ("Commands", "obeyed by the senders" if settings["obey"] else "only counted by the senders"),
    ]
