"""The page of scripts: counts per suite and directory, and each script with its outcome and the reason for it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from narrows import _core
from narrows.report import markdown
from narrows.report.render import write_text
from narrows.studies.packetdrill.reasons import reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from narrows.studies.packetdrill.outcome import Outcome, Report, World
    from narrows.studies.packetdrill.scripts import Suite

TITLE: Final = "# Packetdrill scripts, simulated and on Linux"
"""The first line of every page."""

_WORDS: Final = {
    "match": "yes",
    "mismatch": "no",
    "refused": "refused",
    "invalid": "no script",
    "late": "too late",
    None: "",
}


def write(report: Report, target: Path, command: str) -> Path:
    """Write the page.

    Parameters
    ----------
    report : Report
    target : pathlib.Path
    command : str
        The command that writes it, for its reader.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    return write_text(target, text(report, command))


def text(report: Report, command: str) -> str:
    """Return the page.

    Parameters
    ----------
    report : Report
    command : str

    Returns
    -------
    str
        Markdown.
    """
    parts = [TITLE, _made(report, command), "## Results", _counts(report)]
    unclaimed = _unclaimed(report)
    if unclaimed:
        parts.append(unclaimed)
    for suite, outcomes in report.suites:
        parts += [f"## {suite.name}", _source(suite), _directories(report, outcomes), _scripts(report, outcomes)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _made(report: Report, command: str) -> str:
    worlds = []
    if "simulated" in report.worlds:
        worlds.append(f'in virtual time on Narrows\' own TCP (`stack = "{report.stack}"`)')
    if "live" in report.worlds:
        worlds.append(f"in real time on the TCP of Linux {report.kernel}")
    return (
        f"Each script runs {' and '.join(worlds)}. A script matches if each packet, each result of a system call and"
        f" each assertion is as written, within the script's tolerance. `{command}` writes this page, with Narrows"
        f" {_core.version()}. The suites are not part of Narrows: the command takes their directories."
    )


def _counts(report: Report) -> str:
    heads = ["suite", "scripts"]
    for world in report.worlds:
        heads += [f"match, {world}", "of those claimed" if world == "simulated" else "of those meant for this kernel"]
    rows = [_count(report, suite.name, outcomes) for suite, outcomes in report.suites]
    if len(rows) > 1:
        rows.append(_count(report, "together", list(report)))
    return markdown.table(heads, rows).rstrip()


def _count(report: Report, name: str, outcomes: Sequence[Outcome]) -> list[str]:
    row = [name, str(len(outcomes))]
    for world in report.worlds:
        claimed = [one for one in outcomes if _feature(report, one, world) is None]
        matching = sum(one.ended(world) == "match" for one in claimed)
        share = f" ({100 * matching / len(claimed):.1f} %)" if claimed else ""
        row += [str(sum(one.ended(world) == "match" for one in outcomes)), f"{matching} of {len(claimed)}{share}"]
    return row


def _feature(report: Report, outcome: Outcome, world: World) -> str | None:
    """Return the feature that a script needs, and that Narrows does not claim or the kernel does not have."""
    if outcome.ended(world) in {None, "match"}:
        return None
    known = reason(outcome.script.name, world, report.kernel if world == "live" else None)
    return None if known is None else known.feature


def _unclaimed(report: Report) -> str:
    told = []
    for world in report.worlds:
        features = Counter(feature for one in report if (feature := _feature(report, one, world)) is not None)
        if features:
            named = ", ".join(f"{name} ({count})" for name, count in sorted(features.items()))
            who = "Narrows does not claim" if world == "simulated" else f"Linux {report.kernel} does not have"
            told.append(f"Features that {who}, with the number of scripts that need them: {named}.")
    return "\n\n".join(told)


def _source(suite: Suite) -> str:
    if suite.path is None:
        return ""
    if suite.commit is None:
        return "The directory is not in a git checkout."
    return f"From {suite.commit}." if suite.commit.startswith("Linux") else f"Commit {suite.commit}."


def _directories(report: Report, outcomes: Sequence[Outcome]) -> str:
    groups: dict[str, list[Outcome]] = {}
    for one in outcomes:
        groups.setdefault(_group(one.script.name), []).append(one)
    if len(groups) < 2:
        return ""
    rows = [
        [name, str(len(group)), *(str(sum(one.ended(world) == "match" for one in group)) for world in report.worlds)]
        for name, group in groups.items()
    ]
    return markdown.table(["group", "scripts", *(f"match, {world}" for world in report.worlds)], rows).rstrip()


def _group(name: str) -> str:
    """Return the group of a script: its directory, or where there is none the first two words of its name."""
    folder, slash, _ = name.rpartition("/")
    return folder if slash else "_".join(name.removesuffix(".pkt").split("_")[:2])


def _scripts(report: Report, outcomes: Iterable[Outcome]) -> str:
    rows = [
        [one.script.name, *(_word(one, world) for world in report.worlds), " ".join(_reasons(report, one))]
        for one in outcomes
    ]
    return markdown.table(["script", *report.worlds, "reason"], rows).rstrip()


def _word(outcome: Outcome, world: World) -> str:
    word = _WORDS[outcome.ended(world)]
    first = outcome.first(world)
    if first is not None and len({one.version for one in outcome.of(world)}) > 1:
        failed = [one.version for one in outcome.of(world) if one.ended != "match"]
        word += f" ({', '.join(failed)})"
    return word


def _reasons(report: Report, outcome: Outcome) -> list[str]:
    told = []
    for world in report.worlds:
        first = outcome.first(world)
        if first is None:
            continue
        known = reason(outcome.script.name, world, report.kernel if world == "live" else None)
        line = "" if first.line is None else f"line {first.line}: "
        sentence = known.reason if known is not None else f"{line}{first.why}"
        label = f"{world.capitalize()}: " if len(report.worlds) > 1 else ""
        told.append(f"{label}{sentence}" + ("" if sentence.endswith(".") else "."))
    return told
