"""ns-2.35 on memory with a fixed fill: its uninitialised reads do not change its numbers from run to run."""

from __future__ import annotations

import shutil

import pytest

from narrows.base.errors import RunError
from narrows.execution.means import Means
from narrows.studies.validation import description, execute
from narrows.studies.validation.description import Network, Variant

pytestmark = [
    pytest.mark.ns2,
    pytest.mark.skipif(
        (shutil.which("ns") or shutil.which("ns2")) is None,
        reason="ns-2 is not installed (Debian package ns2), so nothing to compare with",
    ),
]

NETWORK = Network("100m-100ms", rate=100, rtt=100, buffer=0.5, duration=10)


def variant(name: str) -> Variant:
    return next(one for one in description.load().variants if one.name == name)


def mbps(name: str, fill: int, *further: str) -> float:
    ((flow,),) = execute.run_ns2([execute.Job(variant(name), NETWORK, 1, fill, None, further)], Means(1))
    return flow.mbps


def test_vegas_takes_one_branch_on_zeros_and_another_on_the_fill_that_the_page_shows() -> None:
    other = variant("vegas").also_fill
    assert other is not None
    zeros = mbps("vegas", 0)
    assert zeros == mbps("vegas", 0)
    assert mbps("vegas", other) < zeros / 2, "it leaves slow start after four segments"


def test_the_fill_of_the_description_is_what_pairs_run_on() -> None:
    assert description.load().fill == 0
    ((ours,),) = execute.run_ours([execute.Job(variant("vegas"), NETWORK, 1)], Means(1))
    assert mbps("vegas", description.load().fill) == pytest.approx(ours.mbps, rel=0.03)


def test_a_switch_of_an_experiment_reaches_ns2() -> None:
    assert mbps("Reno", 0, "bind=Agent/TCP.bugFix_:false") < 0.8 * mbps("Reno", 0)
    assert mbps("cubic", 0, "param=cubic.initial_ssthresh:1500") > 1.2 * mbps("cubic", 0), "no overshoot"


@pytest.mark.parametrize("bad", ["bind=nonsense", "param=cubic:5", "param=cubic.beta:x"])
def test_a_switch_that_is_none_fails_the_run(bad: str) -> None:
    with pytest.raises(RunError, match="allowed: "):
        mbps("Reno", 0, bad)
