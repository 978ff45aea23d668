r"""One point of the certified curve on which all answers lie.

Every upper end that an accountant reports is a point of one curve,
:math:`U(\varepsilon)\ge\delta(\varepsilon)`: the upper end of the enclosure that is computed for
this decomposition, n, epsilon and rtol. It is a function of these alone, so what a search has shown
is what the next question finds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shuffledp.decomposition import Decomposition, Law
from shuffledp.divergence import (
    LogEnclosure,
    Point,
    estimate_log_delta,
    log_delta_at,
    log_deltas_at,
)
from shuffledp.interval import Interval, exp_down, exp_up

_FLAT = 0.02  # of delta at epsilon = 0, about; below, log delta falls quickly with log epsilon
_SMALLEST_RTOL = 1e-9


def enclose_log_delta(
    decomposition: Decomposition, n: int, epsilon: float, rtol: float
) -> LogEnclosure:
    """Enclose log delta closely enough for delta *and* for epsilon to be known up to ``rtol``.

    Where epsilon is so small that delta hardly depends on it, a relative error of epsilon is a much
    smaller one of delta: there, a second and closer look is taken, unless the first one has failed.

    >>> from shuffledp.randomizers import KRR, Pair
    >>> decomposition = KRR(k=3, epsilon0=1.0).blanket(Pair(0, 1))
    >>> enclose_log_delta(decomposition, 100, 1e-3, 1e-4).width < 1e-6
    True
    """
    value = log_delta_at(decomposition, n, epsilon, rtol=rtol)
    needed = _closer(Point(decomposition, n, epsilon), value, rtol)
    if needed is None:
        return value
    return value.intersect(log_delta_at(decomposition, n, epsilon, rtol=needed))


def enclose_log_deltas(points: Sequence[Point], rtols: Sequence[float]) -> list[LogEnclosure]:
    """Do as :func:`enclose_log_delta` at several points at once."""
    values = log_deltas_at(points, rtols)
    asked = zip(points, values, rtols, strict=True)
    closer = {
        i: needed
        for i, (point, value, rtol) in enumerate(asked)
        if (needed := _closer(point, value, rtol)) is not None
    }
    again = log_deltas_at([points[i] for i in closer], list(closer.values()))
    for i, value in zip(closer, again, strict=True):
        values[i] = values[i].intersect(value)
    return values


def _closer(point: Point, value: LogEnclosure, rtol: float) -> float | None:
    """Return how closely to look again where delta hardly depends on epsilon, else None.

    There is no point in it where the first look has failed.
    """
    if point.epsilon == 0 or value.width > rtol:
        return None
    if not _may_be_flat(point.decomposition.start, point.n, value):
        return None
    _, slope = estimate_log_delta(point.decomposition, point.n, point.epsilon)
    needed = max(-slope * point.epsilon * rtol, _SMALLEST_RTOL)
    return needed if needed < min(value.width, rtol) else None


def _may_be_flat(law: Law, n: int, value: LogEnclosure) -> bool:
    r"""Whether delta is near that at epsilon = 0, at most E[G_+] and std(G)/(2 sqrt(n))."""
    with np.errstate(over="ignore"):
        spread = math.sqrt(float(law.weights @ law.values**2) / n) / 2
    largest = min(spread, float(law.weights @ np.maximum(law.values, 0.0)))
    return largest > 0 and value.upper > math.log(_FLAT) + math.log(largest)


def delta_range(value: LogEnclosure) -> Interval:
    """Return delta from its logarithm; it is never above 1."""
    return Interval(min(exp_down(value.lower), 1.0), min(exp_up(value.upper), 1.0))


def log_delta_range(value: LogEnclosure) -> Interval:
    """Return the logarithm of delta; it is never above 0."""
    return Interval(min(value.lower, 0.0), min(value.upper, 0.0))
