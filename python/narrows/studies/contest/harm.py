"""Harm: how much worse a flow fares because of its competitor.

Ware, Mukerjee, Seshan and Sherry, "Beyond Jain's Fairness Index: Setting the Bar for the Deployment of Congestion
Control Algorithms", HotNets 2019: let x be what a flow gets alone, and y what it gets beside a competitor. Harm is
(x - y) / x if more is better, and (y - x) / y if less is better. Their bar is the harm that the existing algorithms do
to their own kind. So the same fraction is also computed with another x: what the flow gets beside its own kind. It is
0 if the competitor does no more harm than the flow's own kind, and negative if it does less.
"""

from __future__ import annotations


def more_is_better(reference: float | None, value: float | None) -> float | None:
    """Harm to a metric where more is better, such as throughput: (x - y) / x.

    Parameters
    ----------
    reference : float or None
        x, alone or with a competitor of its own kind.
    value : float or None
        y, with the competitor, in the same unit.

    Returns
    -------
    float or None
        1 if nothing is left; ``None`` if there was nothing to lose.

    Examples
    --------
    >>> more_is_better(10.0, 2.5), more_is_better(5.0, 6.0), more_is_better(0.0, 1.0)
    (0.75, -0.2, None)
    """
    if reference is None or value is None or reference <= 0:
        return None
    return (reference - value) / reference


def less_is_better(reference: float | None, value: float | None) -> float | None:
    """Harm to a metric where less is better, such as round-trip time: (y - x) / y.

    Parameters
    ----------
    reference : float or None
        x, alone or with a competitor of its own kind.
    value : float or None
        y, with the competitor, in the same unit.

    Returns
    -------
    float or None
        Approaches 1 as y grows; ``None`` if y is 0.

    Examples
    --------
    >>> less_is_better(40.0, 80.0), less_is_better(80.0, 40.0), less_is_better(None, 3.0)
    (0.5, -1.0, None)
    """
    if reference is None or value is None or value <= 0:
        return None
    return (value - reference) / value
