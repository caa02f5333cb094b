"""Forecasts of a sweep's duration from its first runs."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import pytest

from narrows.execution import forecast
from narrows.studies.sweep.scale import scales
from narrows.sweep import Sweep

if TYPE_CHECKING:
    from narrows.outcome import Run
    from narrows.sweep import SweepRun

AGILE = """
name = "agile"
scenario = "speed-w1"
seeds = 5
[set]
duration = "1 s"
[[axes]]
name = "delay"
path = "topology.link.delay"
values = [2, 3, 4]
unit = "ms"
[[axes]]
name = "cc"
path = "tcp.cc"
values = ["agile_sd", "cubic", "compound", "reno", "bbr3"]
[[axes]]
name = "buffer"
path = "topology.link.queue.limit"
values = [5, 10, 20, 50, 100, 200, 350, 500]
unit = "packets"
[[axes]]
name = "per"
path = "topology.link.per"
values = [0, 1e-6, 1e-5, 1e-4]
"""


def cost(run: SweepRun) -> float:
    """Seconds of a run that is limited by link, losses (Mathis et al. 1997) or buffer, whichever is smallest.

    So times are not a product of factors here, as the forecast assumes.
    """
    labels = run.point.labels
    vigour = {"agile_sd": 3.0, "cubic": 1.6, "compound": 1.2, "reno": 1.0, "bbr3": 20.0}[str(labels["cc"])]
    buffer, per = float(labels["buffer"]), float(labels["per"])
    by_loss = vigour * math.sqrt(1.5 / (per * 6)) / 1000 if per else math.inf
    by_buffer = min(1.0, 0.25 + 0.12 * vigour * math.log10(buffer))
    noise = 1 + 0.1 * math.sin(run.index * 12.9898)
    return 2.5 * min(1.0, by_loss, by_buffer) * noise


@pytest.mark.parametrize("known", [32, 64])
def test_a_big_sweep_of_unequal_points_is_told_within_a_quarter(known: int) -> None:
    sweep = Sweep.parse(AGILE)
    runs = list(sweep.runs)
    costs = {run.address: cost(run) for run in runs}
    assert max(costs.values()) > 8 * min(costs.values())
    order = forecast.in_order(runs)
    made = forecast.Forecast(scales(sweep), runs, workers=2)
    for run in order[:known]:
        made.took(run.address, costs[run.address])
    seconds = sum(costs[run.address] for run in order[:known]) / 2
    told = made.estimate({}, seconds, 0)
    assert told is not None
    true = sum(costs.values()) / 2
    assert told.seconds == pytest.approx(true, rel=0.25)
    assert told.low < told.seconds < told.high
    assert made.enough(seconds, told.seconds - seconds)
    assert told.runs == 2400


def test_the_estimate_gets_exact_as_runs_end() -> None:
    sweep = Sweep.parse(AGILE)
    runs = list(sweep.runs)
    made = forecast.Forecast(scales(sweep), runs, workers=1)
    order = forecast.in_order(runs)
    for run in order[:480]:
        made.took(run.address, cost(run))
    rest = made.left({})
    assert rest is not None
    assert rest[0] == pytest.approx(sum(cost(run) for run in order[480:]), rel=0.03)
    assert rest[1] < 0.01
    for run in order[480:]:
        made.took(run.address, cost(run))
    rest = made.left({})
    assert rest is not None
    assert rest[0] == 0


def test_runs_under_way_tell_too() -> None:
    sweep = Sweep.parse(AGILE)
    runs = list(sweep.runs)
    made = forecast.Forecast(scales(sweep), runs, workers=2)
    assert made.left({}) is None
    assert made.left({runs[0].address: (0.001, 10.0)}) is None, "a thousandth tells nothing"
    rest = made.left({runs[0].address: (0.5, 10.0)})
    assert rest is not None
    assert rest[0] == pytest.approx(20 * 2400 - 10)


def test_runs_that_were_made_before_tell_at_once() -> None:
    sweep = Sweep.parse(AGILE)
    runs = list(sweep.runs)
    before, rest = runs[: len(runs) // 2], runs[len(runs) // 2 :]
    made = forecast.Forecast(scales(sweep), rest, 2, [(run.steps, cost(run)) for run in before])
    told = made.estimate({}, 0.0, 0)
    assert told is not None
    assert made.enough(0.0, told.seconds)
    assert told.seconds == pytest.approx(sum(map(cost, rest)) / 2, rel=0.3)
    assert told.runs == 1200


def test_failed_runs_are_no_guide() -> None:
    sweep = Sweep.parse(AGILE)
    runs = list(sweep.runs)
    made = forecast.Forecast(scales(sweep), runs, workers=1)
    made.took(runs[0].address, None)
    assert made.left({}) is None
    made.took(runs[1].address, 2.0)
    rest = made.left({})
    assert rest is not None
    assert rest[0] == pytest.approx(2 * 2398)


def test_the_order_meets_all_values_early_and_is_always_the_same() -> None:
    sweep = Sweep.parse(AGILE)
    order = forecast.in_order(list(sweep.runs))
    assert sorted(run.index for run in order) == list(range(2400))
    assert [run.index for run in order] == [run.index for run in forecast.in_order(list(sweep.runs))]
    for column, count in (("delay", 3), ("cc", 5), ("buffer", 8), ("per", 4)):
        met = [run.point.labels[column] for run in order[:32]]
        counts = [met.count(value) for value in dict.fromkeys(met)]
        assert len(counts) == count
        assert max(counts) <= 2 * min(counts)
    assert {run.seed for run in order[:480]} == {1}
    assert len({run.point.index for run in order[:480]}) == 480


def test_a_real_sweep_is_told_before_it_is_over() -> None:
    text = AGILE.replace('"1 s"', '"100 ms"').replace("seeds = 5", "seeds = 1")
    begin = time.monotonic()
    told = Sweep.parse(text).estimate(jobs=2)
    took_s = time.monotonic() - begin
    assert told.runs == 480
    assert 0 < told.low <= told.seconds <= told.high
    # On a slow machine fewer are enough, but not before five seconds.
    assert told.probes >= 32 or (told.probes >= 12 and took_s >= 5)
    assert told.nbytes > 100_000


def test_an_estimate_takes_no_longer_than_it_may_where_every_run_fails() -> None:
    asked: list[int] = []

    def fails(run: Run) -> dict[str, float | None]:
        asked.append(run.seed)
        raise ValueError(run.seed)

    told = Sweep.parse(AGILE.replace('"1 s"', '"100 ms"')).with_measure(fails).estimate(jobs=2, budget_s=0.2)
    assert told.runs == 2400
    # Failed runs do not count as probes: an estimate uses at most the two runs in progress.
    assert told.probes <= 2
    assert len(asked) < 2400
