"""The page of a validation against Linux in virtual time: results, causes, kernels and variants, in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows import _core, ownership
from narrows.base.format import clock
from narrows.outcome.conditions import table as conditions_table
from narrows.report import markdown, style
from narrows.report.render import write_text
from narrows.studies.linux import causes, figures
from narrows.studies.linux.description import JUDGED, load
from narrows.studies.linux.experiments import FEWEST, FURTHER, SPREAD_RUNS
from narrows.studies.linux.words import TITLES, percent, share
from narrows.studies.validation.compare import AVERAGED_S
from narrows.studies.validation.figures import draw

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from narrows.studies.linux.compare import Pair, Side
    from narrows.studies.linux.validate import LinuxValidation

TITLE: Final = "# Narrows beside Linux in virtual time"
"""The first line of every page."""

HEADS: Final = (
    "variant",
    "flows",
    "throughput",
    "RTT",
    "cwnd",
    "RTT, 95 %",
    "distance of windows",
    "beyond the limit",
    "unexplained",
)
"""Heads of the table of variants, of which there is one per kernel."""


def write(validation: LinuxValidation, target: Path) -> list[Path]:
    """Write the page and its figures.

    Parameters
    ----------
    validation : LinuxValidation
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
    shown = [figures.figure(validation, one.name) for one in validation.description.variants]
    with ownership.adding(folder, part="figures") as staging:
        drawn = draw([one for one in shown if one.panels], staging)
    names = {path.stem for path in drawn}
    return [write_text(target, text(validation, folder.name, names)), *(folder / path.name for path in drawn)]


def text(validation: LinuxValidation, folder: str, drawn: set[str]) -> str:
    """Return the page.

    Parameters
    ----------
    validation : LinuxValidation
    folder : str
        Folder of the figures, relative to the page.
    drawn : set of str
        Names of the figures.

    Returns
    -------
    str
        Markdown.
    """
    parts = [TITLE, _made(validation), "## Results", _headline(validation)]
    for name, release in validation.kernels.items():
        parts += [f"### Linux {name}", f"Release {release}.", _verdicts(validation, name)]
    parts += [_explained(validation), "## Scenarios", _scenes(validation)]
    parts += causes.sections(validation)
    parts.append("## Variants")
    for variant in validation.description.variants:
        own = [one for one in validation.pairs if one.variant == variant.name]
        parts += [f"### {variant.name}", _pairs(validation, own)]
        if f"cwnd-{variant.name}" in drawn:
            parts.append(f"![Windows of {variant.name} over time]({folder}/cwnd-{variant.name}.png)")
    parts += _rest(validation)
    return "\n\n".join(parts) + "\n"


def _made(validation: LinuxValidation) -> str:
    return (
        f"Each variant of TCP runs in each scenario in Narrows {_core.version()} and on Linux in a virtual machine"
        " whose clock counts instructions. So the load of the computer does not affect the results, and a repeated run"
        " gives the same numbers. Narrows follows each kernel's version (`tcp.kernel`)."
        f" `{_command(validation)}` writes this page;"
        " `validation/README.md` explains how to add scenarios and causes."
        f" The {validation.runs:,} runs on Linux, by Narrows {', '.join(validation.versions)}, took"
        f" {clock(validation.seconds)} in all, each on one processor."
    )


def _command(validation: LinuxValidation) -> str:
    """Return the command that writes the page, without its name."""
    known, chosen = load(), validation.description
    words = ["narrows validate --against linux"]
    if validation.quick:
        words.append("--quick")
    elif len(chosen.variants) < len(known.variants):
        words.append(f"--cc {','.join(one.name for one in chosen.variants)}")
    if not validation.quick and [one.name for one in chosen.scenes] != [one.name for one in known.scenes]:
        words += [f"--scenario {one.name}" for one in chosen.scenes]
    own = {one.name: one.starts for one in known.scenes}
    if not validation.quick and any(one.starts != own.get(one.name, one.starts) for one in chosen.scenes):
        words.append(f"--runs {chosen.scenes[0].starts}")
    return " ".join([*words, f"--kernel {','.join(validation.kernels)}"])


def _headline(validation: LinuxValidation) -> str:
    description = validation.description
    told = []
    if description.judged:
        targets = ", ".join(f"{TITLES[key]} {percent(description.targets[key])}" for key in JUDGED)
        told.append(f"The targets of the medians over all flows of a variant are: {targets}.")
        for name in validation.kernels:
            own = [one for one in validation.verdicts if one.kernel == name]
            near = [one for one in own if not one.missed(description.targets)]
            told.append(f"On Linux {name}, {len(near)} of {len(own)} variants are within all three.")
    count = len(validation.pairs) * len(JUDGED)
    limit = percent(description.cell)
    told.append(f"Of {count:,} cells (a measure of a flow), {len(validation.cells)} differ by more than {limit}.")
    if validation.cells:
        isolated = sum(one.isolated for one in validation.cells)
        inside = sum(one.in_spread and not one.isolated for one in validation.cells)
        gone = sum(one.vanishes for one in validation.cells)
        rest = f"{validation.unexplained} are **unexplained**" if validation.unexplained else "none is unexplained"
        told.append(
            f"For {isolated} an experiment isolates the cause, {inside} are within what small changes give, {gone} are"
            f" not there under further seeds, and {rest}."
        )
    return " ".join(told)


def _verdicts(validation: LinuxValidation, kernel: str) -> str:
    rows = []
    targets = validation.description.targets if validation.description.judged else {}
    for one in (one for one in validation.verdicts if one.kernel == kernel):
        own = [cell for cell in validation.cells if (cell.pair.variant, cell.pair.kernel) == (one.variant, kernel)]
        missed = one.missed(targets)
        shown = [(key, percent(one.medians[key])) for key in (*JUDGED, "rtt_p95_ms")]
        rows.append(
            [
                one.variant,
                str(one.flows),
                *(f"**{told}**" if key in missed else told for key, told in shown),
                f"{one.distance:.3f}",
                str(len(own)),
                str(sum(cell.unexplained for cell in own)),
            ]
        )
    return markdown.table(HEADS, rows)


def _explained(validation: LinuxValidation) -> str:
    return (
        "Differences are simulated against Linux, relative to Linux, of means over the same seeds on both sides: a seed"
        " gives both the same start times and the same random losses. The tables of variants have medians of their"
        " absolute values; a median beyond its target is in bold. Throughput counts IP bytes that arrived, from the"
        " flow's start to the end of the run. RTT is the mean of the sender's samples, cwnd the mean over time. The"
        " distance of two windows is the mean absolute difference of their moving averages over"
        f" {AVERAGED_S:g} s, relative to Linux's mean window. Counts (lost, sent again, spurious) are shown and have no"
        f" target. A cell beyond {percent(validation.description.cell)} is explained by an experiment that changes one"
        " thing and at least halves the difference, to within that limit; or by small changes, if Linux lies within"
        f" the 95 % prediction interval of {SPREAD_RUNS} simulated runs whose starts differ by up to 20 ms and whose"
        f" ACKs are up to 20 µs early or late; or by the choice of seeds, if under others ({FURTHER} times as many,"
        f" {FEWEST} at least) the difference is at most half, and within that limit. Hosts take no time in a"
        " simulation. Where packets meet a queue that is full but for one place, microseconds decide which of them is"
        " lost."
    )


def _scenes(validation: LinuxValidation) -> str:
    rows = []
    variant = validation.description.variants[0]
    for one in validation.description.scenes:
        scenario = one.scenario(variant)
        rows.append([one.name, scenario.title, f"{scenario.duration_s:g} s", str(one.starts)])
    return markdown.table(["scenario", "", "time", "seeds"], rows)


def _pairs(validation: LinuxValidation, own: Sequence[Pair]) -> str:
    if not own:
        return "No kernel could run it."
    first, *others = validation.kernels
    limit = validation.description.cell
    at = {(one.kernel, one.scenario, one.flow): one for one in own}
    rows = []
    for one in (one for one in own if one.kernel == first):
        later = [at.get((name, one.scenario, one.flow)) for name in others]
        rows.append(
            [
                one.where,
                _mean(one.ours, "throughput_mbps"),
                _mean(one.theirs, "throughput_mbps"),
                *(share(one.difference(key), limit if key in JUDGED else None) for key in (*JUDGED, "rtt_p95_ms")),
                *(_counts(one, key) for key in ("lost_packets", "retransmitted_packets", "spurious")),
                f"{one.distance:.3f}",
                *(_three(pair, limit) for pair in later),
            ]
        )
    heads = ["scenario", "Narrows, Mb/s", f"Linux {first}, Mb/s", "throughput", "RTT", "cwnd", "RTT, 95 %"]
    heads += ["lost", "sent again", "spurious", "distance", *(f"on {name}: throughput, RTT, cwnd" for name in others)]
    return markdown.table(heads, rows)


def _mean(side: Side, key: str) -> str:
    return style.number(side.means[key], 4)


def _counts(pair: Pair, key: str) -> str:
    """Return Narrows' and Linux's mean number."""
    values = (pair.ours.means[key], pair.theirs.means[key])
    return " / ".join(style.count(None if value is None else round(value, 1)) for value in values)


def _three(pair: Pair | None, limit: float) -> str:
    return style.number(None) if pair is None else ", ".join(share(pair.difference(key), limit) for key in JUDGED)


def _rest(validation: LinuxValidation) -> list[str]:
    """Return runs that are not to be trusted, those that failed, and the conditions."""
    parts = []
    if validation.doubts:
        parts += ["## Runs that are not to be trusted", markdown.bullets(validation.doubts)]
    if validation.failures:
        failures = dict.fromkeys((one.variant, one.kernel, one.why) for one in validation.failures)
        told = (f"{variant} on Linux {kernel}: {why}" for variant, kernel, why in failures)
        parts += ["## Not run", markdown.bullets(told)]
    rows = conditions_table(validation.conditions)
    if rows:
        parts += [
            "## Conditions of the runs on Linux",
            "Where runs differ, from the smallest to the largest value.",
            markdown.table(("", ""), [[name, value] for name, value in rows]),
        ]
    return parts
