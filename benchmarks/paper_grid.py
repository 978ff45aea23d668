r"""The grid algorithm of the paper: round G, convolve by FFT, take the positive part.

It is kept as the reference that the certified engine is compared with. Its cost grows with n and
its answer holds in exact arithmetic only (see :func:`grid_delta`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.balls import lower_double, precision, upper_double
from shuffledp.basics.errors import (
    MAX_EPSILON0,
    check_delta,
    check_epsilon0,
    check_positive,
    check_rtol,
    check_users,
)
from shuffledp.decomposition import Decomposition, Gains

Rounding: TypeAlias = Literal["up", "down"]

#: Largest number of grid points; each takes about 50 bytes of memory.
MAX_POINTS = 2**28

#: Below this epsilon the tolerance of :func:`grid_epsilon` is absolute.
EPSILON_FLOOR = 1e-6


def paper_interval_length(epsilon0: float) -> float:
    r"""Return the grid step of the paper's experiments, :math:`(e^{\varepsilon_0}-1)/1200`.

    Section 6 of the paper uses it at :math:`\varepsilon_0 = 0.1`; at
    :math:`\varepsilon_0 = 4` the divisor is 1000 there.

    >>> f"{paper_interval_length(0.1):.4g}"
    '8.764e-05'
    """
    return math.expm1(check_epsilon0(epsilon0)) / 1200


def grid_delta(gains: Gains, n: int, *, interval_length: float, rounding: Rounding = "up") -> float:
    r"""Return the bound on delta that the paper's FFT algorithm gives (section 5.2).

    With the grid step :math:`l`, every value of G is rounded to a multiple of it,

    .. math:: \bar G = l\lceil G/l\rceil \quad\text{or}\quad \bar G = l\lfloor G/l\rfloor,

    (a value that is no double counts as the next double up or down), the law of the sum of n copies
    is :math:`\mathrm{FFT}^{-1}(\mathrm{FFT}(\bar G)^n)`, and the answer is

    .. math:: \delta = \frac1n \sum_{x > 0} x\,\Pr[\bar G_1+\dots+\bar G_n = x]
              + \sum_{c_j=0} (a_j-e^\varepsilon b_j)_+ .

    The transform is long enough for the whole range of the sum, so nothing wraps around.
    Probabilities are used as the inverse transform returns them, tiny negative ones included.

    The paper calls the value rounded up a guaranteed upper bound (and, in section 5.3, the one
    rounded down a lower bound), off by at most :math:`l`. That is true in exact arithmetic. The
    round-off of the transforms, about 1e-16 times the range of G and growing with n, is not part
    of the bound: below a delta of about 1e-12 the answer is noise and may be negative.
    Time is :math:`O(N\log N)` for :math:`N = n\,(\max G-\min G)/l` points, so it grows with n.

    Args:
        gains: the law of G; ``upper`` is rounded up, ``lower`` is rounded down.
        n: number of users, the victim included.
        interval_length: grid step l, see :func:`paper_interval_length`.
        rounding: "up" for an upper bound, "down" for a lower bound.

    Raises:
        ValueError: if an argument is out of range or the grid would exceed 2**28 points.

    >>> binary = Decomposition.from_coefficients([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
    >>> print(round(grid_delta(binary.at(0.0), 2, interval_length=0.3), 12))
    0.4125
    """
    n = check_users(n)
    step = check_positive("interval_length", interval_length)
    up = _rounds_up(rounding)
    law, bound = (gains.upper, upper_double) if up else (gains.lower, lower_double)
    with precision():
        values = np.array([bound(atom.value) for atom in law.atoms])
        singular = bound(gains.exposed[up])
    with np.errstate(over="ignore", invalid="ignore"):
        ticks = np.ceil(values / step) if up else np.floor(values / step)
        span = float(ticks.max() - ticks.min())
    if not n * span < MAX_POINTS:
        raise ValueError(
            f"interval_length {interval_length!r} needs a grid of {n * span:.3g} points at n = {n},"
            f" more than {MAX_POINTS}; use a larger step or fewer users"
        )
    return _mean_positive_part(ticks, law.masses, n) * step + singular


def _mean_positive_part(ticks: FloatArray, weights: FloatArray, n: int) -> float:
    """Return (1/n) E[(sum of n draws)_+] for a law on the integers."""
    from scipy import fft

    bottom = int(ticks.min())
    mass = np.bincount((ticks - bottom).astype(np.int64), weights)
    points = n * (mass.size - 1) + 1
    length = fft.next_fast_len(points, real=True)
    spectrum = fft.rfft(mass, length)
    np.power(spectrum, n, out=spectrum)
    total = fft.irfft(spectrum, length, overwrite_x=True)
    # Entry k is the probability of the sum n * bottom + k; only positive sums count.
    first = max(0, 1 - n * bottom)
    sums = np.arange(first, points, dtype=np.float64)
    sums += n * bottom
    return float(sums @ total[first:points]) / n


def grid_epsilon(
    decomposition: Decomposition,
    n: int,
    *,
    target_delta: float,
    interval_length: float,
    rounding: Rounding = "up",
    tolerance: float = 1e-4,
) -> float:
    r"""Return the epsilon at which :func:`grid_delta` crosses ``target_delta``.

    Bisection over [0, ``decomposition.max_epsilon``]. Rounded values of G fall as epsilon grows,
    so :func:`grid_delta` does not increase. The safe end of the last bracket is returned: for
    "up" the upper end, where the bound is at most the target; for "down" the lower end, where it
    is still above the target (0 if it never is). The reservations of :func:`grid_delta` apply:
    targets below about 1e-12 meet noise.

    Args:
        decomposition: the mechanism at a pair of inputs.
        n: number of users, the victim included.
        target_delta: delta to reach.
        interval_length: grid step l, see :func:`paper_interval_length`.
        rounding: "up" for a guarantee, "down" for a lower bound on what leaks.
        tolerance: width of the last bracket relative to epsilon (to 1e-6 if epsilon is smaller).

    Raises:
        ValueError: if an argument is out of range or a grid would exceed 2**28 points.

    >>> binary = Decomposition.from_coefficients([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
    >>> epsilon = grid_epsilon(binary, 100, target_delta=1e-6, interval_length=0.03)
    >>> grid_delta(binary.at(epsilon), 100, interval_length=0.03) <= 1e-6
    True
    >>> f"{epsilon:.3f}"
    '0.590'
    """
    target = check_delta(target_delta)
    tolerance = check_rtol(tolerance, "tolerance")
    up = _rounds_up(rounding)

    def exceeds(epsilon: float) -> bool:
        delta = grid_delta(
            decomposition.at(epsilon), n, interval_length=interval_length, rounding=rounding
        )
        return delta > target

    if not exceeds(0.0):
        return 0.0
    lower, upper = 0.0, decomposition.max_epsilon
    if not upper <= MAX_EPSILON0:
        lower, upper = _bracket(exceeds)
    while upper - lower > tolerance * max(upper, EPSILON_FLOOR):
        middle = (lower + upper) / 2
        if exceeds(middle):
            lower = middle
        else:
            upper = middle
    return upper if up else lower


def _rounds_up(rounding: str) -> bool:
    if rounding not in ("up", "down"):
        raise ValueError(f'rounding must be "up" or "down", got {rounding!r}')
    return rounding == "up"


def _bracket(exceeds: Callable[[float], bool]) -> tuple[float, float]:
    """Return where delta crosses the target when no finite epsilon is known to be enough."""
    lower, upper = 0.0, 1.0
    while exceeds(upper):
        lower, upper = upper, 2 * upper
        if upper > MAX_EPSILON0:
            return lower, math.inf
    return lower, upper
