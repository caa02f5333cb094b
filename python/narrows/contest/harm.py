"""Harm: how much worse a flow fares for whom it is paired with.

Ware, Mukerjee, Seshan and Sherry, "Beyond Jain's Fairness Index: Setting the Bar for the Deployment of Congestion
Control Algorithms", HotNets 2019: with x what a flow gets by itself and y what it gets beside a competitor, harm is
(x - y) / x where more is better and (y - x) / y where less is better. The bar that they set is
the harm that the others do to their own kind. So the same fraction is given against another x too: what the flow gets
beside its own kind. It is 0 where the competitor is no worse than that, and negative where it is milder.
"""

from __future__ import annotations


def more_is_better(reference: float | None, value: float | None) -> float | None:
    """Harm to a metric of which more is better, such as throughput: (x - y) / x.

    Parameters
    ----------
    reference : float or None
        x, without the competitor, or with one of its own kind.
    value : float or None
        y, with the competitor, in the same unit.

    Returns
    -------
    float or None
        1 where nothing is left; ``None`` where there was nothing to lose.

    Examples
    --------
    >>> more_is_better(10.0, 2.5), more_is_better(5.0, 6.0), more_is_better(0.0, 1.0)
    (0.75, -0.2, None)
    """
    if reference is None or value is None or reference <= 0:
        return None
    return (reference - value) / reference


def less_is_better(reference: float | None, value: float | None) -> float | None:
    """Harm to a metric of which less is better, such as round-trip time: (y - x) / y.

    Parameters
    ----------
    reference : float or None
        x, without the competitor, or with one of its own kind.
    value : float or None
        y, with the competitor, in the same unit.

    Returns
    -------
    float or None
        Towards 1 as y grows; ``None`` where y is 0.

    Examples
    --------
    >>> less_is_better(40.0, 80.0), less_is_better(80.0, 40.0), less_is_better(None, 3.0)
    (0.5, -1.0, None)
    """
    if reference is None or value is None or value <= 0:
        return None
    return (value - reference) / value
