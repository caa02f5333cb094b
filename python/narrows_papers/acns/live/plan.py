"""The scenarios to run: the papers' evaluation as far as Linux TCP supports it, and a demonstration on one flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows.model.scenario import Scenario
from narrows_papers.acns import evaluation

if TYPE_CHECKING:
    from narrows.model.scenario import Override

RUNS: Final = 1
"""Live runs per arm; few, because they take real time."""

SIMULATED_RUNS: Final = 20
QUICK_SIMULATED_RUNS: Final = 4
"""Simulated runs per arm of the evaluation, in the full and in the quick experiment."""

LINUX: Final[dict[str, Override]] = {
    "tcp.stack": "linux",
    "tcp.sack": True,
    "tcp.recovery": "sack",
    "tcp.initial_ssthresh": "unlimited",
    "tcp.max_cwnd": "unlimited",
    "tcp.autotuning": False,
}
"""Linux's own behaviour, which cannot be set per connection, except for SACK and a constant receive buffer.

Without SACK, Linux repairs one segment per round trip and hardly ever times out, which also differs from ns-2. The
sender then sends no new data for many round trips, so it makes no requests and receives no commands.
"""

SHORTER: Final = 5
"""A quick experiment divides the starts of flows and the end of the evaluation by this factor."""

QUICK_DEMONSTRATION: Final = "5 s"

SETUP_S: Final = 1.0
"""Estimated time to create and remove the hosts of a live run, s."""

NS_PER_S: Final = 1e9


def evaluated(*, quick: bool) -> Scenario:
    """The evaluation, with ACNS.

    Parameters
    ----------
    quick : bool
        Whether to start all flows and end the run `SHORTER` times sooner.

    Returns
    -------
    Scenario
    """
    calibrated = evaluation.scenario()
    # The calibrated scenario bounds cwnd in place of the receiver's window; here the receiver's window is the bound.
    window = calibrated.resolved.first_tcp.settings["max_cwnd_bytes"]
    whole = calibrated.with_overrides({**LINUX, "tcp.recv_buffer": f"{window} B"})
    if not quick:
        return whole
    starts = [flow.start_ns / NS_PER_S for flow in whole.resolved.flows]
    first = min(starts)
    sooner: dict[str, Override] = {
        f"flows[{index}].start": f"{first + (start - first) / SHORTER:g} s" for index, start in enumerate(starts)
    }
    return whole.with_overrides({"duration": f"{whole.duration_s / SHORTER:g} s", **sooner})


def demonstrated(*, quick: bool) -> Scenario:
    """The demonstration, with ACNS.

    Parameters
    ----------
    quick : bool
        Whether to make it shorter.

    Returns
    -------
    Scenario
    """
    whole = Scenario.from_file(evaluation.folder() / "demonstration.toml")
    return whole.with_overrides({"duration": QUICK_DEMONSTRATION}) if quick else whole


def without(treated: Scenario) -> Scenario:
    """Return the same scenario without ACNS.

    Parameters
    ----------
    treated : Scenario

    Returns
    -------
    Scenario
    """
    return treated.with_overrides({"acns.enabled": False})


def live_seconds(*, quick: bool, runs: int) -> float:
    """Return how long the live runs take.

    Parameters
    ----------
    quick : bool
    runs : int
        Live runs per arm.

    Returns
    -------
    float
        Seconds of real time, without simulations.
    """
    each = evaluated(quick=quick).duration_s + demonstrated(quick=quick).duration_s + 2 * SETUP_S
    return 2 * runs * each


def estimate(*, quick: bool, runs: int) -> str:
    """Describe how long it will take, and what a quick experiment leaves out.

    Parameters
    ----------
    quick : bool
    runs : int
        Live runs per arm.

    Returns
    -------
    str
    """
    long, short = (one(quick=quick).duration_s for one in (evaluated, demonstrated))
    minutes = live_seconds(quick=quick, runs=runs) / 60
    each = "a run" if runs == 1 else f"{runs} runs"
    told = (
        f"in real time, {each} per arm: 2 x {long:g} s of the evaluation and 2 x {short:g} s of a demonstration"
        f"{'' if runs == 1 else ' each'}, about {minutes:.0f} minute{'' if round(minutes) == 1 else 's'} in all"
    )
    if not quick:
        return told
    return (
        f"{told}; shortened from {evaluated(quick=False).duration_s:g} s and "
        f"{demonstrated(quick=False).duration_s:g} s, so that amounts are not those of the paper"
    )
