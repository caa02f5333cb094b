"""The page: what was run, how it compares, and why, in Markdown with figures beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from narrows import _core
from narrows.report import style
from narrows.report.render import write_text
from narrows.validation import figures
from narrows.validation.compare import AVERAGED_S
from narrows.validation.inputs import JITTER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from narrows.validation.compare import Comparison, Side, Verdict
    from narrows.validation.description import Network, Variant
    from narrows.validation.validate import Validation


def write(validation: Validation, target: Path) -> list[Path]:
    """Write the page and its figures.

    Parameters
    ----------
    validation : Validation
    target : Path
        The page; its figures go into a folder of its name beside it.

    Returns
    -------
    list of pathlib.Path
        The page first.

    Raises
    ------
    OSError
        If something cannot be written.
    """
    folder = target.with_suffix("")
    drawn = figures.draw(
        [
            figures.figure(validation.description, variant.name, validation.comparisons)
            for variant in validation.description.variants
        ],
        folder,
    )
    return [write_text(target, text(validation, folder.name)), *drawn]


def text(validation: Validation, folder: str) -> str:
    """Write the page's text.

    Parameters
    ----------
    validation : Validation
    folder : str
        Where the figures lie, as seen from the page.

    Returns
    -------
    str
        Markdown.
    """
    description = validation.description
    command = "narrows validate --against ns2" + (" --quick" if validation.quick else "")
    parts = [
        "# Narrows beside ns-2.35",
        f"Each variant of TCP runs on each network on Narrows {_core.version()} and on ns-2.35; what either delivers,"
        f" loses and does with its window is compared. `{command}` makes this page anew; `validation/README.md` tells"
        " how to read and extend what is run.",
        "## What comes out",
        _headline(validation),
        _verdicts(validation.verdicts),
        "Throughput is the payload delivered per time. Its difference is ours against ns-2's, relative to ns-2's, for"
        f" each flow of each network; the targets are {_percent(description.median_within)} for the median and"
        f" {_percent(description.worst_within)} for the worst. The distance of two windows is the mean absolute"
        f" difference of their moving averages over {AVERAGED_S:g} s, relative to ns-2's mean window: 0 is the same"
        " window at all times. Where losses fall at random or flows compete, a start a moment later gives other"
        f" numbers; there both run under several seeds, each flow starts later by up to {JITTER_S:g} s, means are"
        " compared, and the standard deviation over the seeds follows the ±.",
        "## The networks",
        _networks(description.networks),
    ]
    if description.faults:
        parts += ["## What ns-2.35 does that Narrows does not imitate", _list(description.faults)]
    if validation.far_in_median or any(one.beyond for one in validation.comparisons):
        parts += ["## Differences beyond the target", _list(_beyond(validation))]
    parts.append("## The variants")
    for variant in description.variants:
        own = [one for one in validation.comparisons if one.variant == variant.name]
        parts += [
            f"### {variant.name}",
            _setting(variant),
            _pairs(own),
            f"![Windows of {variant.name} over time]({folder}/cwnd-{variant.name}.png)",
        ]
    return "\n\n".join(parts) + "\n"


def _headline(validation: Validation) -> str:
    verdicts, description = validation.verdicts, validation.description
    near = len(verdicts) - len(validation.far_in_median)
    flows, beyond = len(validation.comparisons), sum(one.beyond for one in validation.comparisons)
    unexplained = sum(one.unexplained for one in validation.comparisons)
    rest = "none of them is unexplained" if not unexplained else f"**{unexplained} of them UNEXPLAINED**"
    return (
        f"{near} of {len(verdicts)} variants are within {_percent(description.median_within)} of ns-2 in the median"
        f" over the networks. Of {flows} flows compared, {beyond} differ by more than"
        f" {_percent(description.worst_within)}; {rest if beyond else 'so there is nothing to explain'}."
    )


def _verdicts(verdicts: Iterable[Verdict]) -> str:
    return _table(
        ["variant", "flows", "median difference", "worst", "on", "lost packets, median", "distance of windows, median"],
        [
            [
                one.variant,
                str(one.compared),
                _percent(one.median) + ("" if not one.far else " (explained)" if one.why else " **UNEXPLAINED**"),
                _percent(one.worst) + (" **UNEXPLAINED**" if one.unexplained else " (explained)" if one.beyond else ""),
                one.where,
                _percent(one.losses),
                f"{one.distance:.3f}",
            ]
            for one in verdicts
        ],
    )


def _networks(networks: Iterable[Network]) -> str:
    return _table(
        ["network", "rate", "RTT", "buffer", "packet errors", "flows", "time", "seeds"],
        [
            [
                one.name,
                f"{one.rate:g} Mb/s",
                f"{one.rtt:g} ms",
                f"{one.buffer_packets} packets ({one.buffer:g} BDP)",
                f"{one.per:g}" if one.per else "none",
                str(one.flows) + (f", the second {one.stagger:g} s later" if one.flows > 1 else ""),
                f"{one.duration:g} s",
                str(one.runs),
            ]
            for one in networks
        ],
    )


def _beyond(validation: Validation) -> list[str]:
    """Write a sentence per variant and reason, with the flows that it accounts for."""
    told = [
        f"{one.variant}, median: {_percent(one.median)}. {one.why or '**UNEXPLAINED**'}"
        for one in validation.far_in_median
    ]
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in validation.comparisons:
        if one.beyond:
            where = f"{one.network}{f' (flow {one.flow})' if one.flow > 1 else ''} {_signed(one.difference)}"
            reasons.setdefault((one.variant, one.why or "**UNEXPLAINED**"), []).append(where)
    return told + [f"{variant}, {', '.join(where)}: {why}" for (variant, why), where in reasons.items()]


def _setting(variant: Variant) -> str:
    from narrows.validation.inputs import as_toml

    return f"On ns-2 {variant.title}; on Narrows `{as_toml(variant.tcp)}`."


def _pairs(comparisons: Iterable[Comparison]) -> str:
    rows = []
    for one in comparisons:
        note = "" if not one.beyond else one.why or "**UNEXPLAINED**"
        rows.append(
            [
                one.network + (f", flow {one.flow}" if one.flow > 1 else ""),
                _mbps(one.ours),
                _mbps(one.theirs),
                _signed(one.difference),
                _lost(one.ours),
                _lost(one.theirs),
                f"{style.count(round(one.ours.timeouts, 1))} / {style.count(round(one.theirs.timeouts, 1))}",
                f"{one.distance:.3f}",
                note,
            ]
        )
    heads = [
        "network",
        "Narrows, Mb/s",
        "ns-2, Mb/s",
        "difference",
        "lost",
        "lost on ns-2",
        "timeouts",
        "distance",
        "why",
    ]
    if not any(row[-1] for row in rows):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return _table(heads, rows)


def _mbps(side: Side) -> str:
    return style.number(side.mbps, 4) + (f" ± {style.number(side.mbps_sd, 2)}" if side.mbps_sd > 0 else "")


def _lost(side: Side) -> str:
    return style.count(round(side.lost, 1)) + (f" ± {style.number(side.lost_sd, 2)}" if side.lost_sd > 0 else "")


def _percent(share: float) -> str:
    """Write a share as a percentage.

    >>> _percent(0.05), _percent(0.0123), _percent(float("inf"))
    ('5 %', '1.2 %', '∞')
    """
    return "∞" if share == float("inf") else f"{round(share * 100, 1):g} %"


def _signed(share: float) -> str:
    """Write a difference.

    >>> _signed(-0.0123), _signed(0.2)
    ('−1.2 %', '+20.0 %')
    """
    return "∞" if share == float("inf") else f"{share * 100:+.1f} %".replace("-", "−")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _list(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)
