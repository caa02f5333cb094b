"""The result as JUnit XML, in the form that pytest writes and CI services read."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree

if TYPE_CHECKING:
    from narrows.studies.check.result import CaseResult, Check

_FORBIDDEN: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow."""


def text(check: Check) -> str:
    """Return the result as JUnit XML: a test case per run.

    Parameters
    ----------
    check : Check

    Returns
    -------
    str
        Ends with a newline. Its times are those of the clock.
    """
    counts = {
        "errors": check.count("error"),
        "failures": check.count("failed"),
        "skipped": check.count("not applicable"),
        "tests": len(check.cases),
    }
    seconds = f"{sum(one.seconds for one in check.cases):.3f}"
    root = ElementTree.Element("testsuites", name="narrows check")
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        {
            "name": "narrows check",
            **{name: str(number) for name, number in counts.items()},
            "time": seconds,
            "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    )
    for one in check.cases:
        _add(suite, one)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add(suite: ElementTree.Element, one: CaseResult) -> None:
    folder, _, last = one.name.rpartition("/")
    made = ElementTree.SubElement(
        suite,
        "testcase",
        classname=_clean((folder or "cases").strip("/").replace("/", ".")),
        name=_clean(last + one.item.id.removeprefix(one.name)),
        time=f"{one.seconds:.3f}",
    )
    told = {"source": one.item.about.source, "cc": one.item.cc, "cell": one.cell}
    properties = ElementTree.SubElement(made, "properties")
    for name, value in [*told.items(), *(("doubt", doubt) for doubt in one.doubts)]:
        if value is not None:
            ElementTree.SubElement(properties, "property", name=name, value=_clean(value))
    reason = _clean(one.reason or "")
    if one.verdict == "failed" and one.outcome is not None:
        failed = ElementTree.SubElement(made, "failure", message=reason)
        failed.text = _clean("\n".join(one.outcome.failures))
    elif one.verdict == "error":
        ElementTree.SubElement(made, "error", message=reason).text = reason
    elif one.verdict == "not applicable":
        ElementTree.SubElement(made, "skipped", type="narrows.not_applicable", message=reason).text = reason


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
