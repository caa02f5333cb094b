"""What is run: the papers' evaluation as far as Linux's TCP can be asked for it, and a demonstration on one flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from narrows.papers.acns import evaluation
from narrows.scenario import Scenario

if TYPE_CHECKING:
    from narrows.scenario import Override

RUNS: Final = 1
"""Live runs per arm: each takes as long as it lasts."""

SIMULATED_RUNS: Final = 20
QUICK_SIMULATED_RUNS: Final = 4
"""Simulated runs per arm of the evaluation, in full and for a first look."""

LINUX: Final[dict[str, Override]] = {
    "tcp.stack": "linux",
    "tcp.sack": True,
    "tcp.recovery": "sack",
    "tcp.initial_ssthresh": "unlimited",
    "tcp.max_cwnd": "unlimited",
    "tcp.autotuning": False,
}
"""What Linux has in its own way: nothing sets it for a connection, but for SACK and a constant receive buffer.

Without SACK Linux repairs one segment a round trip and hardly ever times out, which is not what ns-2 does either. A
sender then sends nothing new for many round trips, so that it asks for nothing and hears no command.
"""

SHORTER: Final = 5
"""A first look takes one of so many parts of the time: starts and end of the evaluation come so much sooner."""

QUICK_DEMONSTRATION: Final = "5 s"

SETUP_S: Final = 1.0
"""What making hosts, and letting go of them, takes with each live run; a guess for the estimate, s."""

NS_PER_S: Final = 1e9


def evaluated(*, quick: bool) -> Scenario:
    """The evaluation, with ACNS.

    Parameters
    ----------
    quick : bool
        Whether time passes `SHORTER` times as fast: all flows start and the run ends so many times sooner.

    Returns
    -------
    Scenario
    """
    calibrated = evaluation.scenario()
    # The bound of cwnd stands for the receiver's window there; here the receiver's window is the bound.
    window = next(flow["tcp"]["max_cwnd_bytes"] for flow in calibrated.resolved["flows"] if flow["tcp"])
    whole = calibrated.with_overrides({**LINUX, "tcp.recv_buffer": f"{window} B"})
    if not quick:
        return whole
    starts = [flow["start_ns"] / NS_PER_S for flow in whole.resolved["flows"]]
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
    """The same without ACNS.

    Parameters
    ----------
    treated : Scenario

    Returns
    -------
    Scenario
    """
    return treated.with_overrides({"acns.enabled": False})


def live_seconds(*, quick: bool, runs: int) -> float:
    """How long the live runs take.

    Parameters
    ----------
    quick : bool
    runs : int
        Per arm.

    Returns
    -------
    float
        Seconds of real time, simulations not counted.
    """
    each = evaluated(quick=quick).duration_s + demonstrated(quick=quick).duration_s + 2 * SETUP_S
    return 2 * runs * each


def estimate(*, quick: bool, runs: int) -> str:
    """Say how long it will take, and what a first look leaves out.

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
