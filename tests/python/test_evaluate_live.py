"""Evaluations on this machine's own TCP stack: which rows can be run, doubtful runs, and what the page says."""

from __future__ import annotations

import json
import platform
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from narrows.base.errors import InputError, LiveError
from narrows.cli import app
from narrows.runs import live
from narrows.store.journal import RUNS
from narrows.studies import evaluate
from narrows.studies.evaluate import criteria, export, page, plan

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.live


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the runs, and skip the tests where there are no live runs."""
    known = criteria.catalogue()
    wired = known.networks["wired"]
    # Half of the duration, in a network of the same name.
    quick = {**wired.settings, "duration": "3 s"}
    networks = {**known.networks, "wired": _with(wired, quick, from_s=1.0)}
    whole = criteria.Catalogue(known.criteria, networks, known.not_evaluated)
    monkeypatch.setattr(plan, "catalogue", lambda: whole)
    monkeypatch.setattr(plan, "LIVE_QUICK_LOOKS", (3,))
    try:
        live.check(evaluate.make("cubic", quick=True, only=["use-tail-drop.wired"]).rows[0].test.scenario)
    except LiveError as error:
        pytest.skip(str(error))


def _with(network: criteria.Network, settings: dict[str, object], from_s: float) -> criteria.Network:
    from dataclasses import replace

    return replace(network, settings=settings, from_s=from_s)


def test_rows_are_judged_by_live_runs_that_are_not_repeated(tmp_path: Path) -> None:
    only = ["queueing-delay.wired", "use-wireless.wifi", "fabric-use", "ecn-refused"]
    made = evaluate.run("cubic", quick=True, only=only, live=True, out=tmp_path)
    row = made.of_row("queueing-delay.wired").decision
    assert row.verdict in ("met", "undecided")
    assert row.verdict == "met" or row.doubtful
    assert len(row.seeds) == 3
    reasons = {one.row.name: one.decision.reason for one in made.judged if one.decision.verdict == "not applicable"}
    assert set(reasons) == {"use-wireless.wifi", "fabric-use", "ecn-refused"}
    assert all(reason.startswith("not evaluated live: ") for reason in reasons.values())
    assert "802.11" in reasons["use-wireless.wifi"]
    content = export.to_json(made)
    assert content["world"] == f"live, kernel {platform.release()}"
    assert "--live" in content["rows"][0]["command"]
    assert "3 rows are not evaluated live" in " ".join(page.lead(content))
    text = page.page(made)
    assert f"live, kernel {platform.release()}" in text
    kept = [json.loads(line) for line in (tmp_path / RUNS).read_text().splitlines()]
    trusted = {one["seed"] for one in kept if not one.get("doubts")}
    again = evaluate.run("cubic", quick=True, only=only, live=True, out=tmp_path)
    assert again.made == 0 or len(trusted) < 3, "only doubtful runs are made again"


def test_a_run_in_which_the_machine_was_late_is_made_again_and_then_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def doubted(*given: object) -> object:
        calls.append(int(str(given[1])))
        raise LiveError("the machine cannot carry the rate", "failed")

    monkeypatch.setattr(live, "make", doubted)
    made = evaluate.run("cubic", quick=True, only=["use-tail-drop.wired"], live=True)
    decision = made.of_row("use-tail-drop.wired").decision
    assert decision.verdict == "undecided"
    assert decision.doubtful == (1, 2, 3)
    assert "all 3 runs are doubtful: the machine cannot carry the rate" in decision.reason
    assert sorted(calls) == sorted([1, 2, 3] * 3)
    assert "3 of 3 live runs are doubtful and left out" in made.note


def test_quick_makes_a_choice_of_rows_that_takes_minutes() -> None:
    made = evaluate.make("reno", quick=True, live=True)
    assert {row.criterion.name for row in made.rows} >= {"full-backoff", "harm-cubic", "call-delay", "aqm-delay"}
    arms = {arm.identity: arm for row in made.rows if not row.inapplicable for arm in row.arms}
    assert sum(arm.scenario.duration_s for arm in arms.values()) * 3 / 6 < 300, "six at a time, 3 seeds, s"


def test_simulated_and_live_runs_have_other_addresses() -> None:
    only = ["use-tail-drop.wired"]
    ours, live_ = (evaluate.make("cubic", quick=True, only=only, live=way).rows[0].test for way in (False, True))
    assert ours.identity == live_.identity
    assert ours.key(1) != live_.key(1)


def test_what_cannot_run_live_is_refused_in_words() -> None:
    with pytest.raises(LiveError, match="bbr3"):
        evaluate.make("bbr3", quick=True, live=True)
    with pytest.raises(InputError, match="without --dask"):
        evaluate.execute(evaluate.make("cubic", quick=True, live=True), dask="tcp://localhost:1")
    done = CliRunner().invoke(app, ["evaluate", "bbr3", "--live", "--quick"])
    assert done.exit_code == 2
    assert "neither Linux nor Narrows' eBPF programs" in " ".join(done.stderr.split())
