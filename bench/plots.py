"""The benchmark's figures: packets per CPU second, and growth with the number of flows."""

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from bench.results import Results
from bench.workloads import WORKLOADS
from narrows.report.style import PAGE_IN, colour, matplotlib_style

BARE_COLOUR = "#B8BDC6"

MARKERS = ("o", "s", "^", "D", "v", "P")


def _colours(results: Results) -> dict[str, str]:
    """A colour for each system, the same in both figures; bare loops are grey."""
    names = list(dict.fromkeys([row.system for row in results.rows] + [one.row.system for one in results.growth]))
    simulators = [name for name in names if not name.startswith("bare")]
    return {name: colour(simulators.index(name)) if name in simulators else BARE_COLOUR for name in names}


def speed(results: Results, path: Path) -> None:
    """Delivered packets per CPU second: a panel for each workload that others run too, a row for each system."""
    colours = _colours(results)
    shown = {name for name, workload in WORKLOADS.items() if not workload.ours_only}
    rows = [row for row in results.rows if row.workload in shown]
    names = [name for name in WORKLOADS if any(row.workload == name and row.rate for row in rows)]
    systems = list(dict.fromkeys(row.system for row in rows if row.rate))[::-1]
    rates = [row.rate for row in rows if row.rate]
    with mpl.rc_context(matplotlib_style()):
        size = (PAGE_IN, 1.0 + 0.2 * len(systems))
        figure, panels = plt.subplots(1, len(names), figsize=size, squeeze=False, sharex=True, sharey=True)
        for panel, name in zip(panels[0], names, strict=True):
            panel.set_title(name, loc="left")
            panel.set_xscale("log")
            panel.tick_params(axis="y", length=0)
            for row in rows:
                if row.workload == name and row.rate:
                    at = systems.index(row.system)
                    panel.plot([row.rate], [at], "o", color=colours[row.system], ms=5)
                    panel.annotate(
                        _short(row.rate), (row.rate, at), (5, 0), textcoords="offset points", va="center", fontsize=6
                    )
        panels[0][0].set_yticks(range(len(systems)), systems)
        panels[0][0].set_ylim(-0.6, len(systems) - 0.4)
        panels[0][0].set_xlim(min(rates) / 2, max(rates) * 12)
        figure.suptitle("Delivered data packets per second of CPU time", x=0.01, ha="left", fontsize=8)
        _finish(figure, results, path)


def growth(results: Results, path: Path) -> None:
    """Time per delivered packet and peak memory over the number of flows (W5)."""
    colours = _colours(results)
    series: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    for one in results.growth:
        if one.row.rate is not None and one.row.peak_rss_bytes is not None:
            point = (one.flows, 1e6 / one.row.rate, one.row.peak_rss_bytes / 1024**2)
            series.setdefault((one.row.system, one.hosts), []).append(point)
    with mpl.rc_context(matplotlib_style()):
        figure, panels = plt.subplots(1, 2, figsize=(PAGE_IN, 2.9))
        for index, ((system, hosts), points) in enumerate(series.items()):
            flows, cost, memory = zip(*sorted(points), strict=True)
            label = system if hosts == "shared" else f"{system}, a pair of hosts for each flow"
            style = {"color": colours[system], "marker": MARKERS[index % len(MARKERS)], "ms": 3.5, "lw": 1.2}
            if hosts == "own":
                style["ls"] = "--"
            panels[0].plot(flows, cost, label=label, **style)
            panels[1].plot(flows, memory, **style)
        for panel, title in zip(panels, ("µs of CPU per delivered packet", "peak memory, MiB"), strict=True):
            panel.set_xscale("log")
            panel.set_yscale("log")
            for axis in (panel.xaxis, panel.yaxis):
                axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
                axis.set_minor_locator(NullLocator())
            panel.xaxis.set_major_locator(LogLocator())
            panel.set_xlabel("flows (1 Gb/s in all)")
            panel.set_title(title, loc="left")
        figure.legend(frameon=False, fontsize=6, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 0.03))
        _finish(figure, results, path, below=0.1)


def _short(rate: float) -> str:
    """A rate with its magnitude: 2.35 M, 423 k."""
    for unit, factor in (("M", 1e6), ("k", 1e3)):
        if rate >= factor:
            return f"{rate / factor:.3g} {unit}"
    return f"{rate:.0f}"


def _finish(figure: Any, results: Results, path: Path, below: float = 0.04) -> None:
    figure.text(0.01, 0.01, results.machine.line(), fontsize=5, color="#5A606B")
    figure.tight_layout(rect=(0, below, 1, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(path.with_suffix(".png"), dpi=150)
    plt.close(figure)
