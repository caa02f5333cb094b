"""The league table: evaluations of many controls beside each other, as Markdown (``docs/league.md``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from narrows.base.format import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

GROUPS: Final = (("5.1", "alone"), ("5.2", "mixed"), ("6", "general use"), ("7", "special cases"))
"""Sections whose verdicts are counted together, and their headings."""

CAVEATS: Final = (
    (
        ("swift",),
        "made for data centres. Its target delay is tens of microseconds, and the round-trip times of all "
        "other paths here are above it by a factor of a thousand, so it sends as little as it may. Its place in the "
        "table shows only that these are not its networks",
    ),
    (
        ("dctcp",),
        "made for data centres. It needs switches that mark at a low threshold, and RFC 8257 does not allow "
        "it on the public Internet without further measures. Where a queue drops, it behaves like Reno. Where "
        "one queue marks for all flows (RFC 3168), its small reduction at a mark causes the harm in the table",
    ),
    (
        ("prague",),
        "made for L4S (RFC 9330). Of the queues here only DualPI2 is made for it. In a single queue that "
        "marks for all flows (RFC 3168) it harms CUBIC, as RFC 9331, section 4.3, warns: a deployment has to "
        "detect such queues",
    ),
    (
        ("ledbat", "ledbat_pp", "lp"),
        "made for background transfers. They give way to other flows on purpose: a low rate is what they are for",
    ),
    (
        ("c2tcp", "copa", "vivace"),
        "made to trade rate for delay. Read goodput and delay together",
    ),
    (
        ("tahoe", "newreno", "sack", "fack"),
        "other loss recovery with the windows of Reno",
    ),
    (
        ("none",),
        "no congestion control. It shows what the criteria find without one",
    ),
)
"""Controls that were made for other networks or questions, and what that means for their rows."""

_INTRODUCTION: Final = """# The league table

This page shows how {count} congestion controls do by the criteria of RFC 9743. [evaluate.md](evaluate.md)
explains them, and `narrows evaluate NAME --quick -o DIR` writes the page of one control, with every row, its threshold
and its interval. RFC 9743 sets no thresholds: a low number is a question to answer, not a verdict on a control that
was made for another network.

{caveats}
Made by this command:

```console
$ {command}
```
"""


def markdown(evaluations: Iterable[Mapping[str, Any]], command: str) -> str:
    """Write the league table.

    Parameters
    ----------
    evaluations : iterable of mapping
        As `narrows.studies.evaluate.export.to_json` returns them.
    command : str
        The command that made the table.

    Returns
    -------
    str
        Markdown, which ends with a newline.
    """
    rows = sorted(evaluations, key=lambda one: (-_share(one["rows"]), one["control"]))
    parts = [_INTRODUCTION.format(count=len(rows), command=command, caveats=_caveats(rows)), _verdicts(rows)]
    classes = list(dict.fromkeys(entry["class"] for one in rows for entry in one["classes"]))
    for title, key, text in (
        ("Goodput", "use", "Goodput over CUBIC's in the same networks, geometric mean."),
        ("Delay", "delay", "Queueing delay, or 95 % of round-trip times, over CUBIC's, geometric mean."),
        ("Harm", "harm", "Largest mean harm to another flow's rate, of 1; negative where the other gains."),
    ):
        parts.append(f"## {title} by path class\n\n{text}\n\n{_by_class(rows, classes, key)}")
    identity = sorted({(one["version"], one["build"], one["quick"], one["seed"]) for one in rows})
    made = "; ".join(
        f"version {version}, {'quick' if quick else 'whole'}, seed {seed}" for version, _, quick, seed in identity
    )
    parts.append(f"## Made by\n\n{made}.\n\n{_digests(rows)}")
    return "\n".join(parts)


def _caveats(evaluations: Sequence[Mapping[str, Any]]) -> str:
    """The caveats of the controls that are in the table."""
    there = {str(one["control"]) for one in evaluations}
    lines = [
        f"- {', '.join(f'`{name}`' for name in names if name in there)}: {text}.\n"
        for names, text in CAVEATS
        if there & set(names)
    ]
    if not lines:
        return ""
    return "Some controls here were made for other networks or another question:\n\n" + "".join(lines)


def _share(rows: Sequence[Mapping[str, Any]]) -> float:
    judged = [row for row in rows if row["verdict"] != "not applicable"]
    return sum(row["verdict"] == "met" for row in judged) / len(judged) if judged else 0.0


def _verdicts(evaluations: Sequence[Mapping[str, Any]]) -> str:
    head = "| control | met | not met | undecided | not applicable | " + " | ".join(
        f"{title} ({section})" for section, title in GROUPS
    )
    lines = [f"{head} |", "|---|" + "---|" * (4 + len(GROUPS))]
    for one in evaluations:
        counts = one["verdicts"]
        cells = [f"`{one['control']}`", *(str(counts[name]) for name in ("met", "not met", "undecided"))]
        cells.append(str(counts["not applicable"]))
        for section, _ in GROUPS:
            own = [
                row
                for row in one["rows"]
                if row["section"].split(".")[: section.count(".") + 1] == section.split(".")
                and row["verdict"] != "not applicable"
            ]
            cells.append(f"{sum(row['verdict'] == 'met' for row in own)} of {len(own)}")
        lines.append(f"| {' | '.join(cells)} |")
    return "## Verdicts\n\nBy the share of criteria that are met, of those that apply.\n\n" + "\n".join(lines) + "\n"


def _by_class(evaluations: Sequence[Mapping[str, Any]], classes: Sequence[str], key: str) -> str:
    table = {one["control"]: {entry["class"]: entry[key] for entry in one["classes"]} for one in evaluations}
    shown = [name for name in classes if any(values.get(name) is not None for values in table.values())]
    lines = [f"| control | {' | '.join(shown)} |", "|---|" + "---|" * len(shown)]
    lines += [
        f"| `{control}` | {' | '.join(_number(values.get(name)) for name in shown)} |"
        for control, values in table.items()
    ]
    return "\n".join(lines) + "\n"


def _number(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}".replace("-", "−")


def _digests(evaluations: Sequence[Mapping[str, Any]]) -> str:
    lines = ["| control | runs | digest |", "|---|---|---|"]
    lines += [f"| `{one['control']}` | {one['runs']:,} | `{one['digest'][:16]}` |" for one in evaluations]
    return "\n".join(lines) + "\n"
