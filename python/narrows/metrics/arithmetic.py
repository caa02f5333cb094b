"""Arithmetic of the formulas: the same for one number and for a column of them.

A number without a value is ``None``, and NaN in a column. A column is a NumPy array, so that the metrics of many runs
are computed at once. Division is the one operation of IEEE 754 in both. A column of integers is divided exactly as
Python's integers are, as long as they are below 2^53; `narrows.metrics.columns` ensures that.
"""

from __future__ import annotations

from typing import Any


def quotient(numerator: float | None, denominator: float) -> float | None:
    """Divide; the quotient has no value if the numerator has none or the denominator is 0.

    Parameters
    ----------
    numerator : float, None or array
    denominator : float or array

    Returns
    -------
    float, None or array
        An array if one of them is.

    Examples
    --------
    >>> import numpy as np
    >>> quotient(1, 4), quotient(1, 0), quotient(None, 4)
    (0.25, None, None)
    >>> quotient(np.array([1, 3, 5]), np.array([4, 0, 2])).tolist()
    [0.25, nan, 2.5]
    >>> quotient(None, np.array([4, 0])).tolist(), quotient(3, np.array([4, 0])).tolist()
    ([nan, nan], [0.75, nan])
    """
    if getattr(numerator, "shape", ()) or getattr(denominator, "shape", ()):
        import numpy as np

        above, below = np.asarray(np.nan if numerator is None else numerator), np.asarray(denominator)
        shape = np.broadcast_shapes(above.shape, below.shape)
        divided: Any = np.divide(above, below, out=np.full(shape, np.nan), where=below != 0)
        return divided  # type: ignore[no-any-return]
    return None if numerator is None or denominator == 0 else numerator / denominator


def otherwise(value: float | None, default: float) -> float:
    """Return a value, or a default where there is none.

    Parameters
    ----------
    value : float, None or array
    default : float or array

    Returns
    -------
    float or array

    Examples
    --------
    >>> import numpy as np
    >>> otherwise(None, 7), otherwise(0, 7), otherwise(np.array([np.nan, 3.0]), np.array([7, 8])).tolist()
    (7, 0, [7.0, 3.0])
    """
    if getattr(value, "shape", ()):
        import numpy as np

        return np.where(np.isnan(value), default, value)  # type: ignore[arg-type, return-value]
    return default if value is None else value


def nonnegative(value: float) -> float:
    """Return a value, or 0 where it is negative.

    Parameters
    ----------
    value : float or array

    Returns
    -------
    float or array

    Examples
    --------
    >>> import numpy as np
    >>> nonnegative(-2), nonnegative(3), nonnegative(np.array([-2, 3])).tolist()
    (0, 3, [0, 3])
    """
    if getattr(value, "shape", ()):
        import numpy as np

        return np.maximum(value, 0)  # type: ignore[no-any-return]
    return max(0, value)
