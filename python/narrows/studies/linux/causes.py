"""The page's sections on causes: of differences from Linux, and of changes from kernel to kernel."""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from narrows.report import markdown, style
from narrows.studies.linux.changes import why
from narrows.studies.linux.description import JUDGED
from narrows.studies.linux.experiments import SPREAD_RUNS
from narrows.studies.linux.words import TITLES, percent, share

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from narrows.stats.runs import Estimate
    from narrows.studies.linux.changes import Change, Shift
    from narrows.studies.linux.experiments import Cell, Measured
    from narrows.studies.linux.validate import LinuxValidation


def sections(validation: LinuxValidation) -> list[str]:
    """Return the sections.

    Parameters
    ----------
    validation : LinuxValidation

    Returns
    -------
    list of str
        Headings, paragraphs and tables; empty if nothing is beyond a limit and there is one kernel.
    """
    parts = _cells(validation) if validation.cells else []
    if len(validation.kernels) > 1:
        parts += ["## From kernel to kernel", *_kernels(validation)]
    return parts


def _cells(validation: LinuxValidation) -> list[str]:
    cells = validation.cells
    parts = [f"## Differences beyond {percent(validation.description.cell)}"]
    isolated = [one for one in cells if one.isolated]
    inside = [one for one in cells if not one.isolated and one.in_spread]
    gone = [one for one in cells if one.vanishes]
    rest = [one for one in cells if one.unexplained]
    if isolated:
        parts += ["### An experiment isolates the cause", *_isolated(isolated)]
    if inside:
        rows = [[*_where(one), share(one.difference), share(one.off), f"± {percent(one.spread)}"] for one in inside]
        heads = [
            "variant",
            "flow",
            "Linux",
            "measure",
            "difference",
            f"of {SPREAD_RUNS} runs' mean",
            "small changes give",
        ]
        parts += ["### Within what small changes give", markdown.table(heads, rows)]
    if gone:
        rows = [[*_where(one), share(one.difference), str(one.pair.starts), *_anew(one)] for one in gone]
        heads = ["variant", "flow", "Linux", "measure", "difference", "seeds", "under further seeds", "these"]
        told = "Under other seeds than those that showed the difference it is within the limit, and at most half."
        parts += ["### Not under further seeds", told, markdown.table(heads, rows)]
    if rest:
        rows = [
            [
                *_where(one),
                share(one.difference),
                style.number(None) if one.spread is None else f"± {percent(one.spread)}",
                _tried(one),
            ]
            for one in rest
        ]
        heads = ["variant", "flow", "Linux", "measure", "difference", "small changes give", "tried"]
        parts += ["### Unexplained", markdown.table(heads, rows)]
    return parts


def _where(cell: Cell) -> list[str]:
    return [cell.pair.variant, cell.pair.where, cell.pair.kernel, TITLES[cell.key]]


def _tried(cell: Cell) -> str:
    """Return what was tried without success."""
    made, further = cell.measured, cell.further
    tried = [] if made is None else [f"{made.experiment.name}: {share(made.after.difference(cell.key))}"]
    if further is not None:
        tried.append(f"{further.starts} further seeds: {share(further.difference(cell.key))}")
    return "; ".join(tried)


def _anew(cell: Cell) -> list[str]:
    """Return the difference under further seeds, and their number."""
    return ["", ""] if cell.further is None else [share(cell.further.difference(cell.key)), str(cell.further.starts)]


def _isolated(cells: Sequence[Cell]) -> list[str]:
    """Return a sentence for each cause, and a table of the cells without and with the experiment."""
    told: dict[str, str] = {}
    rows = []
    for one in cells:
        made: Measured | None = one.measured
        if made is None:
            continue
        name = made.experiment.name
        told.setdefault(name, f"`{name}`: {made.cause.why} The experiment: {made.experiment.switch}.")
        rows.append([name, *_where(one), share(one.difference), share(made.after.difference(one.key))])
    heads = ["experiment", "variant", "flow", "Linux", "measure", "difference", "with the experiment"]
    return [markdown.bullets(told.values()), markdown.table(heads, rows)]


def _kernels(validation: LinuxValidation) -> list[str]:
    names = list(validation.kernels)
    limit = percent(validation.description.change)
    parts = [
        "Linux against Linux: the later kernel relative to the earlier one, for each flow. The columns have the median"
        f" of the absolute change, and how many of the cells changed by more than {limit}: as in Narrows, where the"
        " profile of the later version (`tcp.kernel`) makes at least half of the change; by a cause that an experiment"
        " isolates; by small changes alone, or only under the seeds that were compared (under others at most half, and"
        f" either within {limit} or no more than chance, by Welch's interval of 95 %); and unexplained.",
    ]
    rows = []
    for variant in validation.description.variants:
        for earlier, later in pairwise(names):
            own = [
                one
                for one in validation.changes
                if (one.before.variant, one.before.kernel, one.after.kernel) == (variant.name, earlier, later)
            ]
            if own:
                rows.append([variant.name, f"{earlier} to {later}", *_step(own, validation.shifts)])
    heads = ["variant", "kernels", "throughput", "RTT", "cwnd", "as in Narrows", "isolated", "chance"]
    heads.append("unexplained")
    parts.append(markdown.table(heads, rows))
    if validation.shifts:
        parts += _shifts(validation.shifts)
    return parts


def _step(own: Sequence[Change], shifts: Iterable[Shift]) -> list[str]:
    medians = []
    for key in JUDGED:
        found = [abs(value) for one in own if (value := one.share(key)) is not None]
        medians.append(percent(median(found) if found else None))
    far = [one for one in shifts if any(one.change is change for change in own)]
    return [
        *medians,
        str(sum(one.modelled for one in far)),
        str(sum(one.isolated and not one.modelled for one in far)),
        str(sum(not (one.modelled or one.isolated or one.unexplained) for one in far)),
        str(sum(one.unexplained for one in far)),
    ]


def _shifts(shifts: Sequence[Shift]) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for one in shifts:
        reason = why(one)
        if reason is not None:
            names = reasons.setdefault(reason, [])
            if one.change.after.variant not in names:
                names.append(one.change.after.variant)
    rows = [
        [
            one.change.after.variant,
            one.change.after.where,
            f"{one.change.before.kernel} to {one.change.after.kernel}",
            TITLES[one.key],
            share(one.share),
            share(one.change.simulated(one.key)),
            _cause(one),
        ]
        for one in shifts
    ]
    heads = ["variant", "flow", "kernels", "measure", "change", "in Narrows", "cause"]
    told = [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
    return [*([markdown.bullets(told)] if told else []), markdown.table(heads, rows)]


def _cause(shift: Shift) -> str:
    if shift.modelled:
        return "as in Narrows"
    if shift.isolated:
        return "isolated" if shift.without is None else f"isolated ({share(shift.without)} with the experiment)"
    if shift.in_spread:
        return "small changes"
    told = "" if shift.further is None else f" ({_interval(shift.further)} under further seeds)"
    return f"the seeds{told}" if shift.vanishes else f"**unexplained**{told}"


def _interval(found: Estimate) -> str:
    """Return a change with half of its interval."""
    return f"{share(found.mean / 100)} ± {percent(found.half_width / 100)}"
