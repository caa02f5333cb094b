"""Pages of congestion controls and queues, each made from its source file's header, its registry row and a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from narrows import ownership
from narrows.base.errors import InputError
from narrows.metrics.stations import NOT_MODELLED
from narrows.model.catalogue import engine_catalogue
from narrows.model.phys import settings

if TYPE_CHECKING:
    from pathlib import Path

    from narrows.outcome import Run

__all__ = ["entry_of", "page", "plot", "run_standard", "write_all"]

STANDARD = "standard"
"""The bundled scenario of the plots."""

_ECN_QUEUE = {
    "topology.bottleneck.queue": (
        '{ kind = "red", limit = "67 packets", min_threshold = "12 packets", max_threshold = "13 packets",'
        ' max_p = "100 %", weight = 1.0, gentle = true, wait = false, ecn = true, mean_packet = "1500 B" }'
    ),
}
"""A queue that marks above 12 packets, for algorithms that need every mark (RFC 8257: K above C * RTT / 7).

Gentle, because RED without it drops everything above the upper threshold, and so would mark nothing here.
"""

_QUEUE_LIMIT = 268
"""Packets that a queue of a page's plot holds: 4 BDP, which drop-tail fills."""

_RESPONSES = {
    "nothing": "Congestion does not reduce its window: unfit for a shared network.",
    "reduces": "Losses, timeouts and ECN echoes reduce its window.",
    "models": "Its window follows a model of the path, in which losses are one input of several.",
}

_NS2 = {
    "own": "ns-2.35 has it as one of its own agents",
    "tcp_linux": "ns-2.35 has it as a module of its TCP/Linux agent",
}


def entry_of(name: str) -> dict[str, Any]:
    """Return the registry entry of a congestion control, queue, scheme or 802.11 PHY.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    dict
        The entry; a congestion control wins over others of that name.

    Raises
    ------
    InputError
        If nothing has this name.

    Examples
    --------
    >>> entry_of("cubic")["title"]
    'CUBIC'
    """
    import difflib

    from narrows.model.catalogue import catalogue

    entries = {entry["name"]: entry for rows in reversed(list(catalogue().values())) for entry in rows}
    if name in entries:
        return dict(entries[name])
    close = difflib.get_close_matches(name.lower(), entries, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else "see `narrows list cc`, `queues`, `schemes` or `phys`"
    message = f"{name}: no congestion control, queue, scheme or 802.11 PHY of this name; {hint}"
    raise InputError(message)


def page(entry: dict[str, Any]) -> str:
    """Write the page of an entry.

    Parameters
    ----------
    entry : dict
        An entry of the catalogue.

    Returns
    -------
    str
        Markdown. Congestion controls and queues refer to a plot ``NAME.svg`` beside the page.
    """
    name = entry["name"]
    lead, _, body = _plain(entry.get("page") or "").partition("\n\n")
    parts = [f"# `{name}`: {entry['title']}"]
    if lead.strip():
        parts.append(" ".join(lead.split()))
    if "response" in entry:
        parts.append(f"![cwnd of {name} alone on 20 Mb/s, 40 ms, with a queue of 1 BDP]({name}.svg)")
    if _is_queue(name):
        alt = f"cwnd of CUBIC, and its queue in {name}, on 20 Mb/s, 40 ms, with room for 4 BDP"
        parts.append(f"![{alt}]({name}.svg)")
    parts.append(_use(entry))
    parts.append("Sources: " + "; ".join(entry["sources"]) + ".")
    if "slot_ns" in entry:
        keys = [f"| `{one.key}` | {one.default} | {one.allowed} |" for one in settings(entry)]
        parts.append("| key | default | allowed |\n|---|---|---|\n" + "\n".join(keys))
        parts.append(NOT_MODELLED)
    elif entry["parameters"]:
        rows = [f"| `{p['name']}` | {_default(p)} | {_allowed(p)} | {_cell(p['doc'])} |" for p in entry["parameters"]]
        parts.append(
            "## Parameters\n\n| parameter | default | allowed | what it does |\n|---|---|---|---|\n" + "\n".join(rows)
        )
    if entry.get("variables"):
        rows = [f"| `{v['name']}` | {v['unit'] or '-'} | {_cell(v['doc'])} |" for v in entry["variables"]]
        parts.append("## Variables\n\n| variable | unit | what it is |\n|---|---|---|\n" + "\n".join(rows))
    if body.strip():
        parts.append(re.sub(r"^# ", "## ", body.strip(), flags=re.MULTILINE))
    return "\n\n".join(part for part in parts if part) + "\n"


def run_standard(name: str) -> Run:
    """Run the standard scenario with one congestion control, or with CUBIC over one queue discipline.

    Parameters
    ----------
    name : str
        Its name. An algorithm that needs ECN gets ECN and a queue that marks. A queue has room for 4 BDP.

    Returns
    -------
    Run
    """
    from narrows.runs.simulated import run

    if _is_queue(name):
        queue = f'{{ kind = "{name}", limit = "{_QUEUE_LIMIT} packets" }}'
        return run(STANDARD, seed=1, overrides={"topology.bottleneck.queue": queue})
    overrides: dict[str, Any] = {"tcp.cc": name}
    if entry_of(name).get("needs_ecn"):
        overrides |= _ECN_QUEUE | {"tcp.ecn": True}
    if entry_of(name).get("l4s"):
        overrides |= _ECN_QUEUE
    return run(STANDARD, seed=1, overrides=overrides)


def plot(result: Run, path: Path) -> None:
    """Plot cwnd, the data in flight and the queue of a run of the standard scenario.

    Parameters
    ----------
    result : Run
        A run from `run_standard`.
    path : Path
        An SVG file; its metadata contain the digest of the run.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from narrows.report.style import OKABE_ITO, PAGE_IN, matplotlib_style

    flows = result.samples.frame("flow")
    queues = result.samples.frame("queue")
    queue = queues[queues["name"] == _bottleneck(result)]
    smss = 1448.0  # 1460 bytes less the timestamps
    with mpl.rc_context({**matplotlib_style(), "svg.hashsalt": "narrows", "svg.fonttype": "none"}):
        figure = Figure(figsize=(PAGE_IN, 3.2), layout="constrained")
        window, backlog = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
        cwnd = flows["cwnd_bytes"] / smss
        window.plot(
            flows["time_s"], flows["inflight_bytes"] / smss, color=OKABE_ITO[5], linewidth=0.7, label="in flight"
        )
        window.plot(flows["time_s"], cwnd, color=OKABE_ITO[0], linewidth=1.1, label="cwnd")
        top = min(max(150.0, float(cwnd.quantile(0.995)) * 1.08), 420.0)
        for level, label in ((67, "BDP"), (67 + _limit(result), "BDP and queue")):
            if level > top:
                continue
            window.axhline(level, color="#8A8F98", linewidth=0.7, linestyle=":")
            note = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 0.5}
            window.text(39.8, level - 4, label, color="#6B7078", ha="right", va="top", fontsize=6.5, bbox=note)
        window.set_ylim(0, top)
        window.set_ylabel("segments")
        window.legend(loc="lower right", bbox_to_anchor=(1, 0.98), ncols=2, frameon=False)
        backlog.plot(queue["time_s"], queue["packets"], color=OKABE_ITO[1], linewidth=0.8)
        backlog.set_ylim(0, max(70.0, float(queue["packets"].max()) * 1.05))
        backlog.set_ylabel("queue, packets")
        backlog.set_xlabel("time, s")
        backlog.set_xlim(0, result.scenario.duration_s)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None, "Creator": None, "Description": f"digest {result.digest}"})


def write_all(directory: Path, names: list[str] | None = None) -> list[Path]:
    """Write the pages and plots of congestion controls or queues.

    Parameters
    ----------
    directory : Path
        Output directory.
    names : list of str, optional
        Their names; all congestion controls of the engine by default.

    Returns
    -------
    list of Path
        The pages.

    Raises
    ------
    InputError
        If a file to be replaced is not a page or plot written by Narrows.
    """
    known = engine_catalogue()
    wanted = known["cc"] if names is None else [e for e in known["cc"] + known["queues"] if e["name"] in names]
    for entry in wanted:
        ownership.page(directory / f"{entry['name']}.md", f"# `{entry['name']}`")
        ownership.page(directory / f"{entry['name']}.svg", ">digest ")
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for entry in wanted:
        plot(run_standard(entry["name"]), directory / f"{entry['name']}.svg")
        target = directory / f"{entry['name']}.md"
        target.write_text(page(entry), encoding="utf-8")
        written.append(target)
    return written


def _is_queue(name: str) -> bool:
    """Whether a queue discipline has this name. No congestion control has the name of one."""
    return any(queue["name"] == name for queue in engine_catalogue()["queues"])


def _limit(result: Run) -> int:
    """Return the packets that the bottleneck's queue holds."""
    return int(result.scenario.resolved.links[0].forward.queue.limit_packets or 0)


def _bottleneck(result: Run) -> str:
    return max(result.queues, key=lambda queue: queue.utilisation or 0.0).name


def _use(entry: dict[str, Any]) -> str:
    if "slot_ns" in entry:
        return f'In a scenario: `phy = "{entry["name"]}"` in `[wifi]`.'
    name = entry["name"]
    if _is_queue(name):
        return f'In a scenario: `queue = {{ kind = "{name}", limit = "1000 packets" }}` of a link, and its parameters.'
    if any(scheme["name"] == name for scheme in engine_catalogue()["schemes"]):
        return (
            f"In a scenario: a table `[{name}]`; its `routers` run it, by default all. TCP flows use it, except "
            'those with `tcp = { assist = "none" }`.'
        )
    if "response" not in entry:
        return ""
    words = [
        f'In a scenario: `cc = "{name}"`, and `cc_params = {{ .. }}` for parameters.',
        _RESPONSES[entry["response"]],
    ]
    if entry.get("needs_ecn"):
        words.append("It needs `ecn = true` and a queue that marks (in the plot above 12 packets).")
    if entry.get("l4s"):
        words.append(
            'It implies `ecn = "accurate"` and `ect1 = true`, and needs a queue that marks '
            "(in the plot above 12 packets)."
        )
    if entry.get("recovery"):
        words.append(f'Its name implies `recovery = "{entry["recovery"]}"`.')
    if entry.get("ns2"):
        words.append(_NS2[entry["ns2"]] + ".")
    return " ".join(words)


def _plain(text: str) -> str:
    """Remove links to Rust items, which lead nowhere here, and keep their text."""
    return re.sub(r"\[(`[^`]+`)\](?:\([^)]*\))?", r"\1", text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _default(parameter: dict[str, Any]) -> str:
    default = parameter["default"]
    match parameter["kind"]:
        case "number":
            return f"{default:g} {parameter['unit']}".rstrip()
        case "switch":
            return "`true`" if default else "`false`"
        case "choice":
            return f"`{default}`"
    return "-"


def _allowed(parameter: dict[str, Any]) -> str:
    match parameter["kind"]:
        case "number" if "min" in parameter:
            return f"{_bound(parameter['min'])} to {_bound(parameter['max'])}"
        case "number":
            return "a number"
        case "switch":
            return "`true`, `false`"
        case "choice":
            return ", ".join(f"`{word}`" for word in parameter["allowed"])
    return str(parameter.get("unit", ""))


def _bound(value: float) -> str:
    """Write a bound in few digits unless that changes its value: 0.999999999 is not 1.

    >>> _bound(0.999999999), _bound(1e-9), _bound(4294967296.0), _bound(1000.0)
    ('0.999999999', '1e-09', '4294967296', '1000')
    """
    short = f"{value:g}"
    return short if float(short) == value else f"{value:.12g}"
