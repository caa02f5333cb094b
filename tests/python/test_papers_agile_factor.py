"""The agility factor in runs of the algorithm: equations 1 and 6, the figures, and the paper's worked example."""

from __future__ import annotations

import numpy as np
import pytest
from tests.python.plainly import as_json

from narrows_papers.agile_sd import factor
from narrows_papers.agile_sd.arms import scenario


@pytest.fixture(scope="module")
def found() -> dict[int, factor.Trace]:
    return factor.traces()


def test_the_worked_example_is_the_papers() -> None:
    """4 segments, 20 ms: 80 ms as the standard TCP, 41.66 ms with a lambda_max of 4, 48 % less."""
    assert [factor.epoch_ms(one, 4, 20.0) for one in factor.FACTORS] == pytest.approx([80, 63.3333, 48.8889, 41.6667])
    assert 1 - factor.epoch_ms(4, 4, 20.0) / factor.epoch_ms(1, 4, 20.0) == pytest.approx(0.48, abs=0.002)


def test_lambda_follows_the_gap(found: dict[int, factor.Trace]) -> None:
    """Equation 1, at every sample of the drawn epochs."""
    for most, one in found.items():
        part = one.epoch()
        total = one.loss[part] - one.degraded[part]
        expected = np.maximum(most * one.gap[part] / total, 1)
        # Lambda is that of the last ACK, cwnd what it then became: at most a segment's growth per ACK apart.
        assert np.abs(one.factor[part] - expected).max() <= most / total.min() * 0.05, most


def test_epochs_are_complete_and_shorter_with_a_larger_factor(found: dict[int, factor.Trace]) -> None:
    lengths = []
    for most, one in found.items():
        part = one.epoch()
        times = one.time_s[part]
        assert one.gap[part][0] == pytest.approx(one.loss[part][0] - one.degraded[part][0], rel=0.02)
        assert one.gap[part][-1] < 0.1
        assert one.factor[part][0] == pytest.approx(most, rel=0.02)
        assert one.avoids[part].all()
        lengths.append(times[-1] - times[0])
    assert lengths == sorted(lengths, reverse=True)
    # Twelve and a half segments, one per round trip of about 20 ms.
    assert lengths[0] == pytest.approx(0.25, rel=0.05)


def test_the_figures_and_the_table_have_every_factor(found: dict[int, factor.Trace]) -> None:
    drawn = {figure.name: figure for figure in factor.figures(found)}
    assert set(drawn) == {"factor-epochs", "factor-gap", "factor-course"}
    assert len(drawn["factor-gap"].panels[0].lines) == len(factor.FACTORS)
    assert all(np.isfinite(line.y).any() for one in drawn.values() for panel in one.panels for line in panel.lines)
    shown = factor.context(found)
    assert [row[:2] for row in shown["epochs"]] == [("1", "80.0"), ("2", "63.3"), ("3", "48.9"), ("4", "41.7")]
    assert shown["epoch_gap"] == "12.6"


def test_what_the_figures_reckon_with_is_the_scenarios() -> None:
    base = scenario("one-flow").with_overrides(factor.OVERRIDES)
    resolved = as_json(base)
    (flow,) = resolved["flows"]
    assert flow["tcp"]["mss_bytes"] == factor.MSS_BYTES
    assert flow["tcp"]["cc_params"]["lambda_max"] == factor.DEFAULT
