"""The page of an evaluation: verdicts by section, what was found by path class, and how to repeat each row."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from narrows import _core, ownership
from narrows.base.format import number
from narrows.report import render
from narrows.studies.evaluate import export, figures
from narrows.studies.evaluate.criteria import SECTIONS, catalogue, order
from narrows.studies.evaluate.decide import ERROR, LEAST, signs
from narrows.studies.evaluate.live import NOT_LIVE
from narrows.studies.evaluate.measures import MEASURES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.ownership import Target
    from narrows.studies.evaluate.result import Evaluation

PAGE: Final = "report.html"
ROWS: Final = "rows.csv"
SCENARIOS: Final = "scenarios"

_STYLES: Final = {"met": "holds", "not met": "fails", "undecided": "undecided", "not applicable": "undecided"}


def write(made: Evaluation, directory: Target) -> Path:
    """Write page, figure, numbers and the scenarios with the control atomically; they replace existing ones.

    Parameters
    ----------
    made : Evaluation
    directory : path or Claim
        Created if missing.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    InputError
        If the directory cannot be made, or holds something else.
    RunError
        If writing failed.
    """
    held = ownership.claim(directory, kind=ownership.EVALUATION)
    with ownership.staged(held, part="page", alone=False) as folder:
        content = export.to_json(made)
        svg = figures.write(content["rows"], folder / "figures")
        for arm in {one.row.test.identity: one.row.test for one in made.judged}.values():
            render.write_text(folder / SCENARIOS / f"{arm.label}.toml", arm.scenario.to_file())
        render.write_text(folder / ROWS, export.csv(made))
        render.write_text(folder / export.SUMMARY, export.dumps(made))
        render.write_text(folder / PAGE, page(made, svg))
    return Path(held.named) / PAGE


def page(made: Evaluation, svg: bytes | None = None) -> str:
    """Render the page.

    Parameters
    ----------
    made : Evaluation
    svg : bytes, optional
        The figure; ``None`` shows none.

    Returns
    -------
    str
        HTML without external files.
    """
    content = export.to_json(made)
    files = {one.row.name: one.row.test.label for one in made.judged}
    verb = "live" if made.plan.world else "run"
    return render.page(
        "evaluate.html.j2",
        title=f"{made.plan.control} evaluated by RFC 9743 – Narrows",
        version=_core.version(),
        control=made.plan.control,
        quick=made.plan.quick,
        world=made.plan.world,
        lead=lead(content),
        counts=made.counts,
        note=made.note,
        figure=None if svg is None else base64.b64encode(svg).decode(),
        failed=[_shown(row, files, verb) for row in content["rows"] if row["verdict"] == "not met"],
        sections=_sections(content["rows"], files, verb),
        classes=[_class(row) for row in content["classes"]],
        missing=sorted(catalogue().not_evaluated, key=lambda one: order(one.section)),
        titles=SECTIONS,
        looks=made.plan.looks,
        confidence=f"{100 * (1 - ERROR / len(made.plan.looks)):.2f}",
        command=export.command(made.plan),
        equal=signs(len(made.plan.looks)),
        least=LEAST,
        identity=[
            ("World", content["world"]),
            ("Runs", f"{made.runs:,} that the verdicts rest on"),
            ("Seeds", f"from {made.plan.seed}, at most {made.plan.looks[-1]} for a row"),
            ("Digest", made.digest),
            ("Version", f"{_core.version()}, build {made.build}"),
        ],
    )


def lead(content: Mapping[str, Any]) -> list[str]:
    """Summarise an evaluation in sentences.

    Parameters
    ----------
    content : mapping
        As `narrows.studies.evaluate.export.to_json` returns it.

    Returns
    -------
    list of str
    """
    counts, where = content["verdicts"], content.get("world", export.SIMULATED)
    judged = sum(counts.values()) - counts["not applicable"]
    live = "" if where == export.SIMULATED else f" ({where})"
    said = [f"{content['control']}{live} meets {counts['met']} of {judged} criteria that apply to it."]
    failed = [row for row in content["rows"] if row["verdict"] == "not met"]
    sections = sorted({row["section"] for row in failed}, key=order)
    if failed:
        word = "section" if len(sections) == 1 else "sections"
        said.append(f"It does not meet {len(failed)}, of {word} {', '.join(sections)}.")
    if counts["undecided"]:
        said.append(f"{_are(counts['undecided'])} undecided: the runs so far do not decide what the criteria ask.")
    if refused := sum(row["reason"].startswith(NOT_LIVE) for row in content["rows"]):
        said.append(f"{_are(refused)} not evaluated live, with the reason in the row.")
    return said


def _are(count: int) -> str:
    return f"{count} {'row is' if count == 1 else 'rows are'}"


def left_out(row: Mapping[str, Any]) -> str:
    """Say how many seeds of a row are left out.

    Parameters
    ----------
    row : mapping
        A row of the JSON, also of an earlier version.

    Returns
    -------
    str
        Empty if none are.

    Examples
    --------
    >>> left_out({"without_value": 2, "doubtful": [5]})
    '2 without a value, 1 doubtful'
    """
    without, doubtful = row.get("without_value", 0), len(row.get("doubtful", ()))
    counted = ((without, "without a value"), (doubtful, "doubtful"))
    return ", ".join(f"{count} {what}" for count, what in counted if count)


def value_of(row: Mapping[str, Any], key: str) -> str:
    """Format the mean of a value of a row in the unit of the page.

    Parameters
    ----------
    row : mapping
        A row of the JSON.
    key : str
        ``value`` or ``threshold``.

    Returns
    -------
    str
        With its unit; a dash for no value.
    """
    measure = MEASURES[row["measure"]]
    mean = row[key]["mean"]
    return _number(None if mean is None else mean * measure.factor) + (f" {measure.unit}" if measure.unit else "")


def difference_of(row: Mapping[str, Any]) -> str:
    """Format the interval of a row's difference from the threshold.

    Parameters
    ----------
    row : mapping

    Returns
    -------
    str
        Empty if there is none.
    """
    measure = MEASURES[row["measure"]]
    ends = row["difference"]["low"], row["difference"]["high"]
    if None in ends:
        return ""
    return f"{_number(ends[0] * measure.factor)} to {_number(ends[1] * measure.factor)}"


def _number(value: float | None) -> str:
    return ("−" + number(-value)) if value is not None and value < 0 else number(value)


def _sections(rows: Sequence[Mapping[str, Any]], files: Mapping[str, str], verb: str) -> list[dict[str, Any]]:
    return [
        {
            "section": section,
            "title": SECTIONS[section],
            "rows": [_shown(row, files, verb) for row in rows if row["section"] == section],
        }
        for section in sorted({row["section"] for row in rows}, key=order)
    ]


def _shown(row: Mapping[str, Any], files: Mapping[str, str], verb: str) -> dict[str, Any]:
    seeds = row["seeds"]
    return {
        **row,
        "style": _STYLES[row["verdict"]],
        "what": MEASURES[row["measure"]].title,
        "shown": value_of(row, "value"),
        "limit": value_of(row, "threshold"),
        "sign": "at most" if row["side"] == "at_most" else "at least",
        "interval": difference_of(row),
        "span": f"{seeds[0]} to {seeds[-1]}" if seeds else "–",
        "left": left_out(row),
        "run": None
        if row["failing_seed"] is None
        else f"narrows {verb} {SCENARIOS}/{files[row['row']]}.toml --seed {row['failing_seed']}",
    }


def _class(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "name": row["class"],
        "met": f"{row['met']} of {row['judged']}",
        "use": _number(row["use"]),
        "delay": _number(row["delay"]),
        "harm": _number(None if row["harm"] is None else 100 * row["harm"]),
    }
