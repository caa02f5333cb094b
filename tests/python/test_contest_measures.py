"""Contests: measures of a run, behaviours, harm, means over runs, and colours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from narrows import contest
from narrows.base.errors import InputError
from narrows.contest import Criteria, Window, classify, equilibrium_s
from narrows.model.scenario import Scenario
from narrows.report import ramps
from narrows.stats import mean_ci
from narrows.studies.contest import harm, heat
from narrows.studies.contest.behaviour import smoothed
from narrows.studies.contest.measure import balance_s, grown, header_bytes, rtt_ms
from narrows.studies.contest.measures import MEASURES, Scale
from narrows.studies.contest.record import FlowRecord, Record, Series
from narrows.studies.contest.result import Contest

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

TIME = np.arange(0, 60.05, 0.1)
START = 10.0


def settled(first: NDArray[np.float64], second: NDArray[np.float64], criteria: Criteria | None = None) -> float | None:
    return equilibrium_s(TIME, first, second, START, criteria)


def after(start: float, value: float, before: float = 0.0) -> NDArray[np.float64]:
    return np.where(start - 1e-9 <= TIME, value, before)


@pytest.mark.parametrize(
    ("first", "second", "behaviour"),
    [
        (0.568, 0.084, "kept"),  # Illinois and Vegas
        (0.283, 0.345, "relegated"),  # Westwood and Hybla
        (0.318, 0.315, "shared"),  # Reno and CUBIC, Compound and CUBIC
    ],
)
def test_the_papers_examples_fall_where_the_paper_puts_them(first: float, second: float, behaviour: str) -> None:
    assert classify(second / (first + second)) == behaviour


def test_behaviours_meet_at_the_margin() -> None:
    assert [classify(share) for share in (0.469, 0.471, 0.529, 0.531)] == ["kept", "shared", "shared", "relegated"]
    assert [classify(0.45, Criteria(margin=0.1)), classify(None)] == ["shared", None]


def test_a_step_is_settled_when_it_happens() -> None:
    assert settled(after(14, 5, 10), after(14, 5)) == pytest.approx(4.0)
    assert settled(after(START, 5, 10), after(START, 5)) == 0.0


def test_a_ramp_is_settled_when_it_enters_the_band() -> None:
    # The second flow gains 0.5 Mb/s per second, of 10 in total. At share s, the difference is 1 - 2 s of the sum: 0.3
    # at s = 0.35.
    second = np.clip((TIME - START) * 0.5, 0, 5)
    assert settled(10 - second, second) == pytest.approx(7.0)
    assert settled(10 - second, second, Criteria(band=0.1)) == pytest.approx(9.0)


def test_balance_that_does_not_last_is_no_equilibrium() -> None:
    touched = np.where((TIME >= 15) & (TIME < 18), 5.0, 1.0) * (TIME >= START)
    touched = np.where(TIME >= 40, 5.0, touched)
    assert settled(10 - touched, touched) == pytest.approx(30.0)
    assert settled(10 - touched, touched, Criteria(hold_s=2.0)) == pytest.approx(5.0)


def test_oscillation_is_settled_only_within_the_band() -> None:
    wave = np.sin(2 * math.pi * TIME / 3)
    assert settled(5 + wave, 5 - wave) == 0.0  # differs by up to 0.2 of the sum
    assert settled(5 + 2 * wave, 5 - 2 * wave) is None  # by up to 0.4


def test_who_never_shares_never_settles_nor_does_who_has_no_time_left() -> None:
    assert settled(after(0, 9), after(START, 1)) is None
    assert settled(after(57, 5, 10), after(57, 5)) is None  # three seconds are left, five are required
    assert settled(after(55, 5, 10), after(55, 5)) == pytest.approx(45.0)
    assert settled(after(0, 0), after(0, 0)) is None  # two silent flows are not in balance
    assert equilibrium_s([], [], [], 0.0) is None


def test_smoothing_looks_back_only() -> None:
    total = np.where(TIME > 10, (TIME - 10) * 125_000, 0.0)  # 1 Mb/s from 10 s on
    rate = smoothed(TIME, total, np.array([10.0, 10.5, 11.0, 20.0]), 1.0)
    assert rate.tolist() == pytest.approx([0.0, 0.5, 1.0, 1.0])
    assert smoothed(np.empty(0), [], np.array([1.0]), 1.0).tolist() == [0.0]


def test_equilibrium_from_counters_counts_from_the_later_start() -> None:
    shared = np.clip(TIME - 10, 0, None) * 5 / 8 * 1e6
    alone = np.clip(TIME, None, 10) * 10 / 8 * 1e6 + shared
    flows = [{"time_s": TIME, "arrived_bytes": alone}, {"time_s": TIME, "arrived_bytes": shared}]
    told = balance_s(flows, 60.0, 10.0, Criteria())
    # Over the last second the first flow has 10 - 5 t and the second 5 t: within 0.3 of the sum of 10 from t = 0.7 s
    # on.
    assert told == pytest.approx(0.7)


def test_what_grew_in_a_window_is_exact_at_samples_and_even_between() -> None:
    columns = {"time_s": np.array([1.0, 2.0, 3.0]), "sent_packets": np.array([10.0, 20.0, 50.0])}
    assert grown(columns, "sent_packets", Window(2.0, 3.0)) == 30.0
    assert grown(columns, "sent_packets", Window(1.5, 2.5)) == 20.0
    assert grown(columns, "sent_packets", Window(0.0, 3.0)) == 50.0
    assert grown({"time_s": np.empty(0), "sent_packets": np.empty(0)}, "sent_packets", Window(0.0, 1.0)) == 0.0


def test_rtt_is_a_mean_over_time_and_a_nearest_rank() -> None:
    time = np.arange(1, 31, dtype=np.float64)
    rtt = np.where(time > 28, 200e6, 100e6)
    rtt[0] = math.nan
    mean, p95 = rtt_ms({"time_s": time, "rtt_ns": rtt}, Window(10.0, 30.0))
    assert (mean, p95) == (110.0, 200.0)
    assert rtt_ms({"time_s": time, "rtt_ns": rtt}, Window(0.0, 1.0)) == (None, None)


@pytest.mark.parametrize(("settings", "size"), [("", 52), ("[tcp]\ntimestamps = false\n", 40), ("ip = 6\n", 72)])
def test_wire_bytes_and_packets_agree_with_the_totals_of_the_run(settings: str, size: int) -> None:
    """Over the whole run, quantities derived from samples must equal the engine's counters."""
    text = (
        (settings if settings.startswith("ip") else "")
        + """duration = "20 s"
[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "5 Mb/s", delay = "10 ms", queue = { limit = "20 packets" } }
access = { rate = "100 Mb/s", delay = "1 ms" }
[[flows]]
from = "s1"
to = "d1"
[[flows]]
from = "s2"
to = "d2"
"""
        + ("" if settings.startswith("ip") else settings)
    )
    scenario = Scenario.from_text(text)
    assert header_bytes(scenario.resolved, 0) == size
    plan = contest.make(scenario, ["cubic"], runs=1, window=(0.0, 20.0), solo=False)
    (made,) = contest.execute(plan, jobs=1).records
    from narrows.runs.simulated import run

    totals = run(plan.matches[0].scenario, seed=plan.seed).flows
    for told, total in zip(made.flows, totals, strict=True):
        assert told is not None
        assert told.sent_packets == total.sent_packets
        assert told.lost_packets == total.lost_packets
        assert told.retransmitted_packets == total.retransmitted_packets
        assert told.sent_mbps == pytest.approx((total.sent_bytes + size * total.sent_packets) * 8e-6 / 20)
        assert told.throughput_mbps == pytest.approx(total.throughput_mbps, rel=1e-9)
        assert told.arrived_packets == pytest.approx(total.arrived_packets, abs=0.2)  # the handshake's bytes arrive too
        assert told.tpp_mbps == pytest.approx(told.throughput_mbps, rel=1e-9)
        assert told.rtt_mean_ms == pytest.approx(total.rtt_mean_ms, rel=0.1)
    shares = [told.share for told in made.flows if told is not None]
    assert sum(share for share in shares if share is not None) == pytest.approx(1.0)
    assert made.utilisation == pytest.approx(1.0, abs=0.05)


def test_harm_is_the_part_lost() -> None:
    assert harm.more_is_better(8.0, 2.0) == 0.75
    assert harm.more_is_better(8.0, 10.0) == -0.25
    assert harm.less_is_better(40.0, 80.0) == 0.5
    assert harm.less_is_better(80.0, 80.0) == 0.0
    assert harm.more_is_better(None, 1.0) is harm.less_is_better(1.0, 0.0) is None


def flow(mbps: float, rtt: float) -> FlowRecord:
    return FlowRecord(
        throughput_mbps=mbps,
        sent_mbps=mbps,
        sent_packets=100.0,
        arrived_packets=100.0,
        pdr=1.0,
        tpp_mbps=mbps,
        lost_packets=0.0,
        loss_ratio=0.0,
        retransmitted_packets=0.0,
        timeouts=0.0,
        rtt_mean_ms=rtt,
        rtt_p95_ms=rtt,
        rtt_min_ms=20.0,
        share=None,
    )


@pytest.fixture
def synthetic() -> Contest:
    """Return a contest with known numbers: one takes 2 of 10 beside the other; runs differ by a common factor only."""
    plan = contest.make("dumbbell-cubic", ["reno", "cubic"], runs=3)
    got = {
        ("reno", "reno"): (5.0, 5.0, 40.0),
        ("reno", "cubic"): (2.0, 8.0, 80.0),
        ("cubic", "reno"): (9.0, 1.0, 80.0),
        ("cubic", "cubic"): (6.0, 4.0, 60.0),
        ("reno", None): (10.0, 0.0, 30.0),
        ("cubic", None): (10.0, 0.0, 50.0),
        (None, "reno"): (0.0, 10.0, 30.0),
        (None, "cubic"): (0.0, 10.0, 50.0),
    }

    def record(first: str | None, second: str | None, run: int) -> Record:
        one, two, rtt = got[first, second]
        factor = 1 + 0.1 * run  # common to all matches of a run: harm does not depend on it
        flows = (flow(one * factor, rtt) if first else None, flow(two * factor, rtt) if second else None)
        return Record(
            key=f"{first}{second}{run}",
            first=first,
            second=second,
            order="as_is",
            seed=1,
            run=run,
            digest=f"{first}{second}{run}",
            flows=flows,
            jain=0.5,
            total_mbps=10.0 * factor,
            utilisation=None,
            behaviour="shared",
            equilibrium_s=None if run else 3.0,
            series=Series(bin_s=1.0, first=(one,), second=(two,)),
        )

    return Contest(plan, tuple(record(a, b, run) for a, b in got for run in range(3)))


def test_harm_is_paired_by_run(synthetic: Contest) -> None:
    told = synthetic.estimate("harm", "reno", "cubic", "first")
    assert told.mean == pytest.approx(0.6)
    assert told.n == 3
    assert told.half_width == pytest.approx(0.0, abs=1e-12)  # the factor of each run cancels
    assert synthetic.estimate("throughput_mbps", "reno", "cubic").half_width > 0.1
    assert synthetic.estimate("harm", "cubic", "reno", "second").mean == pytest.approx(0.8)
    assert synthetic.estimate("harm", "cubic", "cubic", "second").mean == 0.0
    assert synthetic.estimate("harm", "reno", "cubic", "second").mean == pytest.approx(-1.0)  # 8 against 4
    assert synthetic.estimate("harm_rtt", "reno", "cubic", "first").mean == pytest.approx(0.5)
    assert synthetic.estimate("harm_solo", "reno", "reno", "first").mean == pytest.approx(0.5)
    assert synthetic.estimate("harm_rtt_solo", "reno", "cubic", "first").mean == pytest.approx(50 / 80)


def test_standings_weigh_every_other_alike_in_both_slots(synthetic: Contest) -> None:
    shy, bold = synthetic.standings()
    assert (shy.label, bold.label) == ("reno", "cubic")
    assert bold.harm_done.mean == pytest.approx((0.6 + 0.8) / 2)
    assert shy.harm_suffered.mean == pytest.approx((0.6 + 0.8) / 2)
    assert shy.harm_done.mean == pytest.approx((-1.0 - 0.5) / 2)
    assert shy.rtt_inflation.mean == pytest.approx(2.0)


def test_one_extreme_pair_does_not_decide_the_harm_of_standings() -> None:
    """Vegas gets little beside its own kind in the first slot, and so gains ten times as much beside the others."""
    plan = contest.make("dumbbell-cubic", ["reno", "cubic", "vegas"], runs=2, solo=False)
    labels = ("reno", "cubic", "vegas")

    def record(first: str, second: str, run: int) -> Record:
        one, two = (0.5, 9.5) if first == second == "vegas" else (5.0, 5.0)
        return Record(
            key=f"{first}{second}{run}",
            first=first,
            second=second,
            order="as_is",
            seed=1,
            run=run,
            digest="",
            flows=(flow(one, 40.0), flow(two, 40.0)),
            jain=0.5,
            total_mbps=10.0,
            utilisation=None,
            behaviour="shared",
            equilibrium_s=None,
            series=Series(bin_s=1.0, first=(one,), second=(two,)),
        )

    made = Contest(plan, tuple(record(a, b, run) for a in labels for b in labels for run in range(2)))
    assert made.estimate("harm", "vegas", "reno", "first").mean == pytest.approx(-9.0)
    for one in made.standings():
        # Four pairs each. The mean harm that Reno and CUBIC do would be -2.1; vegas suffers -9 twice and 0.47 twice.
        wanted = 0.0 if one.label == "vegas" else pytest.approx(0.0)
        assert one.harm_done.mean == wanted
    vegas = next(one for one in made.standings() if one.label == "vegas")
    assert vegas.harm_suffered.mean == pytest.approx((-9.0 + (9.5 - 5.0) / 9.5) / 2)


def test_pairs_measures_ignore_the_slot_and_missing_values(synthetic: Contest) -> None:
    told = synthetic.estimate("equilibrium_s", "reno", "cubic")
    assert (told.mean, told.n) == (3.0, 1)
    assert synthetic.values("jain", "reno", "cubic", "second") == [0.5] * 3
    with pytest.raises(InputError, match="measure is 'beauty'; allowed: share"):
        synthetic.values("beauty", "reno", "cubic")
    with pytest.raises(InputError, match="match is bbr against reno"):
        synthetic.values("share", "bbr", "reno")
    with pytest.raises(InputError, match="slot is 'third'; allowed: first, second"):
        synthetic.values("share", "reno", "cubic", "third")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="order is 'swapped'; allowed: as_is"):
        synthetic.values("share", "reno", "cubic", order="swapped")


def test_matrix_and_table_have_rows_in_the_first_slot(synthetic: Contest) -> None:
    matrix = synthetic.matrix("throughput_mbps")
    assert matrix.loc["reno", "cubic"] == pytest.approx(2.0 * 1.1)
    assert matrix.loc["cubic", "reno"] == pytest.approx(9.0 * 1.1)
    assert synthetic.matrix("throughput_mbps", "second").loc["cubic", "reno"] == pytest.approx(1.1)
    table = synthetic.table()
    assert len(table) == 4 * sum(2 if one.of == "flow" else 1 for one in MEASURES.values())
    row = table[(table["first"] == "reno") & (table["second"] == "cubic") & (table["measure"] == "harm")]
    assert row["slot"].tolist() == ["first", "second"]
    assert row["mean"].tolist() == pytest.approx([0.6, -1.0])


def test_a_record_survives_its_json(synthetic: Contest) -> None:
    import json

    for record in synthetic.records:
        assert Record.from_json(json.loads(json.dumps(record.to_json()))) == record


@pytest.mark.parametrize("scale", ["share", "harm", "ratio", "loss", "fairness", "rate"])
def test_text_is_legible_on_every_colour_of_a_scale(scale: Scale) -> None:
    ramp = heat.ramp(scale, [1.0, 2.5])
    for value in np.linspace(ramp.low - 1, ramp.high + 1, 101):
        background = ramp.colour(float(value))
        assert ramps.contrast(background, ramps.ink(background)) >= 4.5
    assert ramp.colour(math.nan) == ramps.MISSING


def test_diverging_scales_are_neutral_in_the_middle_and_the_colour_blind_see_their_ends() -> None:
    for scale, middle in (("share", 0.5), ("harm", 0.0)):
        ramp = heat.ramp(scale, [])  # type: ignore[arg-type]
        assert ramp.colour(middle) == ramps.PAPER
        assert {ramp.colour(-9.0), ramp.colour(9.0)} == {ramps.BLUE, ramps.VERMILLION}
    # The even value is light and both ends are darker, so the scale is readable without colours.
    assert ramps.luminance(ramps.PAPER) > 2 * ramps.luminance(ramps.VERMILLION) > 1.2 * ramps.luminance(ramps.BLUE)


def test_cells_are_sure_only_if_their_interval_leaves_the_neutral_value_out(synthetic: Contest) -> None:
    made = heat.make(synthetic, "harm", "Harm", "")
    assert [[cell.text for cell in row] for row in made.rows] == [["0", "60"], ["−50", "0"]]
    assert [[cell.sure for cell in row] for row in made.rows] == [[False, True], [True, False]]
    assert "reno, then cubic: 60 %" in made.rows[0][1].title


def test_intervals_of_a_wide_spread_make_a_behaviour_unsure(
    synthetic: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spread(*values: float) -> Callable[..., object]:
        return lambda *_: mean_ci(values)

    monkeypatch.setattr(Contest, "estimate", spread(0.2, 0.5, 0.6))
    assert not synthetic.is_sure("reno", "cubic")
    monkeypatch.setattr(Contest, "estimate", spread(0.20, 0.21, 0.22))
    assert synthetic.is_sure("reno", "cubic")


def test_a_legend_says_nothing_twice(synthetic: Contest) -> None:
    assert [text for _, text in heat.make(synthetic, "loss_ratio", "Loss", "").legend] == ["0.0"]
    assert [text for _, text in heat.make(synthetic, "share", "Share", "").legend] == ["0", "25", "50", "75", "100"]
