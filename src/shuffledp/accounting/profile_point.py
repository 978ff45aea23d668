r"""One point of the certified curve on which all answers lie.

Every upper end that an accountant reports is a point of one curve,
:math:`U(\varepsilon)\ge\delta(\varepsilon)`: the upper end of the enclosure that is computed for
this decomposition, n, epsilon and rtol. It is a function of these alone, so what a search has shown
is what the next question finds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from shuffledp.accounting.proposals import steepest_slope
from shuffledp.decomposition import Decomposition
from shuffledp.divergence import (
    LogEnclosure,
    Point,
    accepted_width,
    estimate_log_delta,
    largest_log_mean,
    log_delta_at,
    log_deltas_at,
)
from shuffledp.interval import Interval, exp_down, exp_up

_FLAT = 0.02  # of delta at epsilon = 0, about; below, log delta falls quickly with log epsilon
_SMALLEST_RTOL = 1e-9
_NEAR = 0.5  # neighbours on a curve, relatively


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
    point = Point(decomposition, n, epsilon)
    needed = _closer(point, _slope(point), value, rtol) if _is_flat(point, value, rtol) else None
    if needed is None:
        return value
    return value.intersect(log_delta_at(decomposition, n, epsilon, rtol=needed))


def enclose_log_deltas(points: Sequence[Point], rtols: Sequence[float]) -> list[LogEnclosure]:
    """Do as :func:`enclose_log_delta` at several points at once."""
    values = log_deltas_at(points, rtols)
    flat = {i: point for i, point in enumerate(points) if _is_flat(point, values[i], rtols[i])}
    slopes = _slopes(flat, points, values)
    closer = {
        i: needed
        for i, point in flat.items()
        if (needed := _closer(point, slopes[i], values[i], rtols[i])) is not None
    }
    again = log_deltas_at([points[i] for i in closer], list(closer.values()))
    for i, value in zip(closer, again, strict=True):
        values[i] = values[i].intersect(value)
    return values


def _is_flat(point: Point, value: LogEnclosure, rtol: float) -> bool:
    """Whether delta may hardly depend on epsilon, and the first look has not failed."""
    if point.epsilon == 0 or value.width > accepted_width(point.decomposition, rtol):
        return False
    most = largest_log_mean(point.decomposition.start, point.n) - math.log(point.n)
    return value.upper > math.log(_FLAT) + most > -math.inf


def _closer(point: Point, slope: float, value: LogEnclosure, rtol: float) -> float | None:
    """Return how closely to look again for epsilon to be known to ``rtol``; None if that is so."""
    slope = max(slope, steepest_slope(point.epsilon, value.upper))
    needed = max(-slope * point.epsilon * rtol, _SMALLEST_RTOL)
    return needed if accepted_width(point.decomposition, needed) < value.width else None


def _slope(point: Point) -> float:
    return estimate_log_delta(point.decomposition, point.n, point.epsilon)[1]


def _slopes(
    flat: Mapping[int, Point], points: Sequence[Point], values: Sequence[LogEnclosure]
) -> dict[int, float]:
    """Estimate the derivatives of log delta at some points, from neighbours if there are any.

    Of the slopes to both sides the one that is nearer to 0, which asks for a closer look.
    """
    found = {}
    for i, point in flat.items():
        beside = [
            (values[j].upper - values[i].upper) / (points[j].epsilon - point.epsilon)
            for j in (i - 1, i + 1)
            if 0 <= j < len(points) and _are_neighbours(points[j], point)
        ]
        found[i] = max(beside) if beside else _slope(point)
    return found


def _are_neighbours(one: Point, other: Point) -> bool:
    """Whether they lie on one curve, and close enough for its slope to be seen between them."""
    if one.decomposition is not other.decomposition or one.n != other.n:
        return False
    return 0 < abs(one.epsilon - other.epsilon) <= _NEAR * max(one.epsilon, other.epsilon)


def delta_range(value: LogEnclosure) -> Interval:
    """Return delta from its logarithm; it is never above 1."""
    return Interval(min(exp_down(value.lower), 1.0), min(exp_up(value.upper), 1.0))


def log_delta_range(value: LogEnclosure) -> Interval:
    """Return the logarithm of delta; it is never above 0."""
    return Interval(min(value.lower, 0.0), min(value.upper, 0.0))
