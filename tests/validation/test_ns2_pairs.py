"""A few variants compared with ns-2.35, as `narrows validate --quick` runs them."""

import shutil
import signal
import sys
import time
from pathlib import Path

import pytest
from tests.python import held, pace

from narrows.studies.validation import Validation, validate

NS2 = shutil.which("ns") or shutil.which("ns2")

pytestmark = [
    pytest.mark.ns2,
    pytest.mark.slow,
    pytest.mark.skipif(NS2 is None, reason="ns-2 is not installed (Debian package ns2), so nothing to compare with"),
]


@pytest.fixture(scope="module")
def quick() -> Validation:
    """Return the quick validation."""
    return validate(quick=True)


def test_every_variants_median_throughput_is_within_5_percent_of_ns2(quick: Validation) -> None:
    """The issue's first target, on the networks of the quick validation."""
    assert not quick.far_in_median, [(one.variant, one.median) for one in quick.verdicts]


def test_every_difference_beyond_20_percent_is_accounted_for(quick: Validation) -> None:
    """The issue's second target, on the networks of the quick validation."""
    assert quick.unexplained == 0, [(one.variant, one.network) for one in quick.comparisons if one.unexplained]


def test_a_flow_without_random_losses_loses_what_it_loses_on_ns2(quick: Validation) -> None:
    """Reno's sawtooth is the same: the same number of packets arrive at a full queue."""
    (reno,) = (one for one in quick.comparisons if (one.variant, one.network) == ("reno", "10m-50ms"))
    assert reno.ours.lost == pytest.approx(reno.theirs.lost, rel=0.02)
    assert reno.distance < 0.03


def test_ctrl_c_ends_both_simulators_and_writes_no_page(tmp_path: Path) -> None:
    """Both simulators end at once, with the exit code that shells use; a run that had finished by then is kept."""
    pace.prompt(lambda: interrupted(tmp_path), 5)


def interrupted(tmp_path: Path) -> float:
    """Press Ctrl-C while both simulators run, and return how long it takes to end, s."""
    verb = "from narrows.cli import main; main()"
    options = ["-o", str(tmp_path / "page.md")]  # everything: some minutes of work
    with held.started([sys.executable, "-c", verb, "validate", *options]) as process:
        time.sleep(4)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        took = time.monotonic() - begin
    assert process.returncode == 130, said
    assert said.splitlines()[-1].startswith("error: interrupted")  # estimates may come before it
    assert {entry.name for entry in tmp_path.iterdir()} <= {"page.runs"}
    return took
