"""The page of a validation: what was run, the differences and their causes, in Markdown with figures."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from narrows import _core, ownership
from narrows.report import markdown, style
from narrows.report.render import write_text
from narrows.studies.validation import figures
from narrows.studies.validation.compare import AVERAGED_S
from narrows.studies.validation.inputs import JITTER_S

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from narrows.studies.validation.compare import Comparison, Side, Verdict
    from narrows.studies.validation.description import Explanation, Network, Variant
    from narrows.studies.validation.experiments import Measured
    from narrows.studies.validation.validate import Validation

TITLE: Final = "# Narrows beside ns-2.35"
"""The first line of every page."""

VERDICT_HEADS: Final = (
    "variant",
    "flows",
    "median difference",
    "worst",
    "on",
    "lost packets, median",
    "distance of windows, median",
)
"""Heads of the table of variants."""


def write(validation: Validation, target: Path) -> list[Path]:
    """Write the page and its figures.

    Parameters
    ----------
    validation : Validation
    target : Path
        Path of the page; its figures go into a folder of the same name beside it.

    Returns
    -------
    list of pathlib.Path
        The page first.

    Raises
    ------
    InputError
        If a file that Narrows did not write has the name of a figure.
    OSError, RunError
        If a file cannot be written.
    """
    folder = target.with_suffix("")
    with ownership.adding(folder, part="figures") as staging:
        drawn = figures.draw(
            [
                figures.figure(validation.description, variant.name, validation.comparisons)
                for variant in validation.description.variants
            ],
            staging,
        )
    return [write_text(target, text(validation, folder.name)), *(folder / path.name for path in drawn)]


def check_figures(target: Path) -> None:
    """Reject existing figures that Narrows did not write or that were changed since, before new ones are made.

    Parameters
    ----------
    target : Path
        Path of the page; the figures lie in the folder beside it.

    Raises
    ------
    InputError
        If there is such a figure.
    """
    for path in sorted(target.with_suffix("").glob(f"{figures.PREFIX}*.png")):
        ownership.page(path)


def text(validation: Validation, folder: str) -> str:
    """Return the text of the page.

    Parameters
    ----------
    validation : Validation
    folder : str
        Folder of the figures, relative to the page.

    Returns
    -------
    str
        Markdown.
    """
    description = validation.description
    parts = [
        TITLE,
        _made(validation),
        "## What comes out",
        _headline(validation),
        _verdicts(validation),
        "Throughput is the payload delivered per time. Its difference is ours against ns-2's, relative to ns-2's, for"
        f" each flow of each network; the targets are {_percent(description.median_within)} for the median and"
        f" {_percent(description.worst_within)} for the worst. Networks that are held out do not count in this table."
        " The distance of two windows is the mean absolute"
        f" difference of their moving averages over {AVERAGED_S:g} s, relative to ns-2's mean window: 0 is the same"
        " window at all times. Where losses fall at random or flows compete, a start a moment later gives other"
        f" numbers; there both run under several seeds, each flow starts later by up to {JITTER_S:g} s, means are"
        " compared, and the standard deviation over the seeds follows the ±.",
        "## The networks",
        _networks(description.networks),
    ]
    if validation.held_out:
        parts += ["## Networks that no range was fitted to", *_held_out(validation)]
    if validation.far_in_median or validation.beyond:
        parts += ["## Differences beyond the target", *_beyond(validation)]
    if validation.experiments:
        parts += ["## Experiments", *_experiments(validation.experiments)]
    parts += ["## What ns-2.35 reads before it writes", *_memory(validation)]
    if description.faults:
        parts += ["## What ns-2.35 does that Narrows does not imitate", markdown.bullets(description.faults)]
    parts.append("## The variants")
    for variant in description.variants:
        own = [one for one in validation.comparisons if one.variant == variant.name]
        parts += [
            f"### {variant.name}",
            _setting(variant),
            _pairs(validation, own),
            f"![Windows of {variant.name} over time]({folder}/cwnd-{variant.name}.png)",
        ]
    return "\n\n".join(parts) + "\n"


def _made(validation: Validation) -> str:
    command = "narrows validate --against ns2" + (" --quick" if validation.quick else "")
    return (
        f"Each variant of TCP runs on each network on Narrows {_core.version()} and on ns-2.35; throughput, losses and"
        f" windows are compared. `{command}` writes this page; `validation/README.md` explains what is run and how to"
        " add to it."
    )


def _headline(validation: Validation) -> str:
    verdicts, description = validation.verdicts, validation.description
    near = len(verdicts) - len(validation.far_in_median)
    fitted = [one for one in validation.comparisons if not one.held_out]
    beyond = validation.beyond
    isolated = sum(validation.isolated(one.explanation) for one in beyond)
    new = sum(one.unexplained for one in beyond)
    limit = _percent(description.worst_within)
    parts = [f"Of {len(fitted)} flows compared, {len(beyond)} differ by more than {limit}."]
    if description.judged:
        within = _percent(description.median_within)
        parts.insert(
            0, f"{near} of {len(verdicts)} variants are within {within} of ns-2 in the median over the networks. "
        )
    if beyond:
        parts.append(
            f" For {isolated} of them an experiment isolates the cause; for {len(beyond) - isolated - new} the cause is"
            f" not known, and the difference is as large as it was when it was recorded; {new} are"
            f" {'**UNEXPLAINED**' if new else 'unexplained'}: no recorded range has them."
        )
    if validation.held_out:
        far = sum(one.beyond for one in validation.held_out)
        parts.append(
            f" The recorded ranges were fitted to these networks. On others, that no range was fitted to, {far} of"
            f" {len(validation.held_out)} flows differ by more than {limit}."
        )
    return "".join(parts)


def _mark(validation: Validation, explanation: Explanation | None) -> str:
    if explanation is None:
        return "**UNEXPLAINED**"
    return "isolated" if validation.isolated(explanation) else "cause not known"


def _flow(one: Comparison) -> str:
    return one.network + (f" (flow {one.flow})" if one.flow > 1 else "")


def _held_out(validation: Validation) -> list[str]:
    rows = []
    for variant in validation.description.variants:
        own = [one for one in validation.held_out if one.variant == variant.name]
        worst = max(own, key=lambda one: abs(one.difference))
        far = [f"{_flow(one)} {_signed(one.difference)}" for one in own if one.beyond]
        rows.append(
            [
                variant.name,
                str(len(own)),
                _percent(median(abs(one.difference) for one in own)),
                f"{_signed(worst.difference)} on {worst.network}",
                str(len(far)),
                ", ".join(far) or "none",
            ]
        )
    names = ", ".join(network.name for network in validation.description.networks if network.held_out)
    limit = _percent(validation.description.worst_within)
    return [
        f"No range was fitted to {names}. Differences there are counted, never explained.",
        markdown.table(["variant", "flows", "median difference", "worst", f"beyond {limit}", "which"], rows),
    ]


def _experiments(measured: Iterable[Measured]) -> list[str]:
    """Write a table of experiments: each pair without and with the changed switch."""
    rows, told = [], {}
    for one in measured:
        told[one.experiment.name] = one.experiment.switch
        for was, now in zip(one.before, one.after, strict=True):
            flow = f", flow {was.flow}" if len(one.before) > 1 else ""
            who = one.experiment.rival if was.flow == 2 and one.experiment.rival else one.experiment.variant
            rows.append(
                [
                    one.experiment.name,
                    f"{who} on {one.network}{flow}",
                    f"{_mbps(was.ours)} / {_mbps(was.theirs)}",
                    _signed(was.difference),
                    f"{_mbps(now.ours)} / {_mbps(now.theirs)}",
                    _signed(now.difference),
                    "yes" if one.isolates else "no" if any(flow.beyond for flow in one.before) else "-",
                ]
            )
    heads = ["experiment", "flow", "Mb/s, ours / ns-2's", "difference", "switch turned", "difference", "isolates"]
    return [
        "Each runs a pair as it is, and again with one switch turned in one or both simulators. It isolates a cause if"
        " every difference beyond the target is within it, and at most half, once the switch is turned. One whose"
        " difference is within the target from the start shows an effect, and isolates nothing.",
        markdown.bullets(f"{name}: {switch}" for name, switch in told.items()),
        markdown.table(heads, rows),
    ]


def _memory(validation: Validation) -> list[str]:
    """Write which memory fill ns-2 ran with, and how another fill affects the variants that depend on it."""
    fill = validation.description.fill
    parts = [
        f"ns-2.35 reads members of its agents before it writes them. Here it runs with each byte of fresh memory set to"
        f" {fill} (`MALLOC_PERTURB_={fill ^ 0xFF} GLIBC_TUNABLES=glibc.malloc.tcache_count=0`), so that its numbers"
        " are the same each time. Valgrind finds such reads in the modules vegas, compound, veno and yeah, and in the"
        " agent Fack (`fastrecov_`, which no constructor sets)."
    ]
    for variant in validation.description.variants:
        other = [one for one in validation.branches if one.variant == variant.name]
        if variant.also_fill is None or not other:
            continue
        first = {(one.network, one.flow): one for one in validation.comparisons if one.variant == variant.name}
        parts += [
            f"{variant.name}: `tcp_vegas_cong_avoid` (`tcp/linux/src/tcp_vegas.c`, line 208) computes"
            " `old_wnd = (vegas->beg_snd_nxt - vegas->beg_snd_una) / tp->mss_cache` when the first round ends; nothing"
            " has set `beg_snd_una` by then, and `LinuxTcpAgent`'s constructor does not clear it. Line 272"
            f" compares what follows from it with gamma: memory of zeros goes on with slow start, memory of"
            f" {variant.also_fill} leaves it after four segments.",
            markdown.table(
                [
                    "network",
                    "Narrows, Mb/s",
                    f"ns-2 on {fill}",
                    "difference",
                    f"ns-2 on {variant.also_fill}",
                    "difference",
                ],
                [
                    [
                        one.network + (f", flow {one.flow}" if one.flow > 1 else ""),
                        _mbps(one.ours),
                        _mbps(first[one.network, one.flow].theirs),
                        _signed(first[one.network, one.flow].difference),
                        _mbps(one.theirs),
                        _signed(one.difference),
                    ]
                    for one in other
                ],
            ),
            "In the median over the networks without losses at random and with one flow the difference is"
            f" {_percent(_calm(validation, first.values()))} on memory of {fill}, and"
            f" {_percent(_calm(validation, other))} on memory of {variant.also_fill}.",
        ]
    return parts


def _calm(validation: Validation, comparisons: Iterable[Comparison]) -> float:
    """Return the median difference on networks that are not chaotic."""
    calm = {network.name for network in validation.description.networks if not network.chaotic}
    return median([abs(one.difference) for one in comparisons if one.network in calm] or [0.0])


def _worst(validation: Validation, verdict: Verdict) -> str:
    found = (one for one in validation.beyond if one.variant == verdict.variant and one.network == verdict.where)
    return _mark(validation, max(found, key=lambda one: abs(one.difference)).explanation)


def _verdicts(validation: Validation) -> str:
    return markdown.table(
        VERDICT_HEADS,
        [
            [
                one.variant,
                str(one.compared),
                _percent(one.median) + (f" ({_mark(validation, one.explanation)})" if one.far else ""),
                _percent(one.worst) + (f" ({_worst(validation, one)})" if one.beyond else ""),
                one.where,
                _percent(one.losses),
                f"{one.distance:.3f}",
            ]
            for one in validation.verdicts
        ],
    )


def _networks(networks: Iterable[Network]) -> str:
    return markdown.table(
        ["network", "rate", "RTT", "buffer", "packet errors", "flows", "time", "seeds"],
        [
            [
                one.name + (" (held out)" if one.held_out else ""),
                f"{one.rate:g} Mb/s",
                f"{one.rtt:g} ms",
                f"{one.buffer_packets} packets ({one.buffer_packets / one.bdp_packets:.2g} BDP)",
                f"{one.per:g}" if one.per else "none",
                str(one.flows) + (f", the second {one.stagger:g} s later" if one.flows > 1 else ""),
                f"{one.duration:g} s",
                str(one.runs),
            ]
            for one in networks
        ],
    )


def _beyond(validation: Validation) -> list[str]:
    """Write a sentence per variant and reason that lists its flows; those with an isolated cause come first."""
    reasons: dict[tuple[str, Explanation | None], list[str]] = {}
    for far in validation.far_in_median:
        reasons.setdefault((far.variant, far.explanation), []).append(f"the median {_percent(far.median)}")
    for one in validation.beyond:
        reasons.setdefault((one.variant, one.explanation), []).append(f"{_flow(one)} {_signed(one.difference)}")
    isolated: list[str] = []
    unknown: list[str] = []
    for (variant, explanation), places in reasons.items():
        flows = f"{variant}, {', '.join(places)}"
        if explanation is None:
            unknown.insert(0, f"{flows}: **UNEXPLAINED**")
        elif validation.isolated(explanation):
            isolated.append(f"{flows}: {explanation.why} (Experiment `{explanation.experiment}`.)")
        else:
            unknown.append(f"{flows}: {explanation.why}")
    parts = []
    if isolated:
        parts += ["### An experiment isolates the cause", markdown.bullets(isolated)]
    if unknown:
        parts += ["### Cause not known", markdown.bullets(unknown)]
    return parts


def _setting(variant: Variant) -> str:
    from narrows.studies.validation.inputs import as_toml

    return f"On ns-2 {variant.title}; on Narrows `{as_toml(variant.tcp)}`."


def _pairs(validation: Validation, comparisons: Iterable[Comparison]) -> str:
    rows = []
    for one in comparisons:
        note = "" if not one.beyond else "held out" if one.held_out else _mark(validation, one.explanation)
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
    heads = ["network", "Narrows, Mb/s", "ns-2, Mb/s", "difference", "lost", "lost on ns-2", "timeouts", "distance"]
    heads.append(f"beyond {_percent(validation.description.worst_within)}")
    if not any(row[-1] for row in rows):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return markdown.table(heads, rows)


def _mbps(side: Side) -> str:
    return style.number(side.mbps, 4) + (f" ± {style.number(side.mbps_sd, 2)}" if side.mbps_sd > 0 else "")


def _lost(side: Side) -> str:
    return style.count(round(side.lost, 1)) + (f" ± {style.number(side.lost_sd, 2)}" if side.lost_sd > 0 else "")


def _percent(share: float) -> str:
    """Format a share as a percentage.

    >>> _percent(0.05), _percent(0.0123), _percent(float("inf"))
    ('5 %', '1.2 %', '∞')
    """
    return "∞" if share == float("inf") else f"{round(share * 100, 1):g} %"


def _signed(share: float) -> str:
    """Format a signed difference.

    >>> _signed(-0.0123), _signed(0.2)
    ('−1.2 %', '+20.0 %')
    """
    return "∞" if share == float("inf") else f"{share * 100:+.1f} %".replace("-", "−")
