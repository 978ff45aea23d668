r"""How far a normal law moves the scales: :math:`D_{e^\varepsilon}(N(1,s^2)\|N(0,s^2))`.

With :math:`u=\varepsilon s`, :math:`d=1/(2s)`, the normal density f and Mills' ratio R,
:math:`\delta=f(u-d)\,(R(u-d)-R(u+d))`, because :math:`e^\varepsilon f(u+d)=f(u-d)`. R is completely
monotone and :math:`-R'(x)=1-xR(x)`, so for small d, where the difference cancels,

.. math:: 2d\,|R'(u)|\le R(u-d)-R(u+d)\le d\,(|R'(u-d)|+|R'(u+d)|).
"""

from __future__ import annotations

import math

from shuffledp.arrays import UNIT
from shuffledp.divergence.enclosure import LogEnclosure

_LOG_ROOT_2_PI = 0.5 * math.log(2 * math.pi)
_MILLS_ERROR = 1e-13  # relative, of scipy's erfcx; a test measures it
_NARROW = 1e-3  # of d: below, derivatives serve
_FAR = 200.0  # beyond, 1 - x R(x) is between 1/(x^2+3) and 1/(x^2+1)


def normal_log_shift(deviation: float, error: float, epsilon: float) -> LogEnclosure:
    """Enclose log delta of two normal laws one apart.

    Args:
        deviation: their standard deviation.
        error: bound on its relative error.
        epsilon: at least 0.

    >>> one = normal_log_shift(1.0, 0.0, 1.0)
    >>> one.lower <= math.log(0.126936737506644) <= one.upper, one.width < 1e-10
    (True, True)
    """
    u, d = epsilon * deviation, 0.5 / deviation
    first, second = u - d, u + d
    # How far the rounded arguments are from those of the exact deviation.
    moved = (error + 4 * UNIT) * (u + d)
    if d < _NARROW:
        middle, ends = _slope(u, moved), (_slope(first, moved), _slope(second, moved))
        lower = 2 * d * middle[0] * (1 - error - 8 * UNIT)
        upper = d * (ends[0][1] + ends[1][1]) * (1 + error + 8 * UNIT)
    else:
        near, far = _mills(first, moved), _mills(second, moved)
        lower, upper = near[0] - far[1], near[1] - far[0]
    exponent = -0.5 * first * first - _LOG_ROOT_2_PI
    slack = abs(first) * moved + moved**2 + 8 * UNIT * (1 + abs(exponent))
    least = math.log(lower) + exponent if lower > 0 else -math.inf
    return LogEnclosure.rounded(least, math.log(upper) + exponent, slack)


def _mills(x: float, moved: float) -> tuple[float, float]:
    """Enclose R(y) for all y within ``moved`` of x."""
    from scipy.special import erfcx

    value = math.sqrt(math.pi / 2) * float(erfcx(x / math.sqrt(2)))
    # A rounding of the argument moves it by a unit more.
    slope = 1 / (x * x + 1) if x > 0 else 1 + abs(x) * value
    error = value * (_MILLS_ERROR + 8 * UNIT) + 2 * slope * (moved + 4 * UNIT * abs(x))
    return max(value - error, 0.0), value + error


def _slope(x: float, moved: float) -> tuple[float, float]:
    """Enclose 1 - y R(y) for all y within ``moved`` of x; it falls with y."""
    if x > _FAR:
        low, high = x + moved, x - moved
        return (1 - 8 * UNIT) / (low * low + 3), (1 + 8 * UNIT) / (high * high + 1)
    low, high = _mills(x, moved)
    ends = sorted((1 - y * r) for y in (x - moved, x + moved) for r in (low, high))
    slack = 4 * UNIT * (1 + abs(x) * high)
    return max(ends[0] - slack, 0.0), ends[-1] + slack
