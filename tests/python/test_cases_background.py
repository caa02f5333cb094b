"""The bundled test cases of LEDBAT, LEDBAT++ and rLEDBAT end as their files say: all are met."""

from __future__ import annotations

from pathlib import Path

import pytest

import narrows as nw

CASES = Path(__file__).resolve().parents[2] / "scenarios" / "cases"


@pytest.mark.parametrize("name", ["ledbat", "ledbat_pp", "rledbat"])
def test_bundled_cases_are_met(name: str) -> None:
    files = sorted((CASES / name).glob("*.toml"))
    assert len(files) >= 6
    done = nw.check([str(CASES / name)])
    assert len(done.cases) >= len(files)
    verdicts = {f"{one.name} {one.cell}": one.verdict for one in done.cases if one.verdict != "passed"}
    assert verdicts == {}


def test_every_case_cites_its_section() -> None:
    for name in ("ledbat", "ledbat_pp", "rledbat"):
        for path in (CASES / name).glob("*.toml"):
            text = path.read_text(encoding="utf-8")
            assert 'source = "RFC' in text or 'source = "draft-irtf-iccrg-ledbat-plus-plus-06, ' in text, path


def test_a_case_of_ledbat_pp_fails_for_cubic(tmp_path: Path) -> None:
    """A control that fills the queue does not meet the expectation on the queuing delay."""
    text = (CASES / "rledbat" / "08-target.toml").read_text(encoding="utf-8")
    text = text[: text.index("[[steps]]")].replace(', receiver_cc = "rledbat"', "")
    path = tmp_path / "target.toml"
    path.write_text(text + '\n[[expect]]\nnever = "bottleneck.queue_delay > 66 ms"\n', encoding="utf-8")
    assert [one.verdict for one in nw.check([str(path)]).cases] == ["failed"]
