r"""One search for every falling curve: from delta back to epsilon.

Estimates in doubles say where to look; only proved points move an end. An upper end keeps its word:
the curve's own bound there is at most the target, rounding included.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

from flint import arb

from shuffledp.basics.arrays import usual_errors
from shuffledp.basics.balls import lower_double, precision, upper_double
from shuffledp.basics.errors import MAX_EPSILON0, MAX_TOTAL_EPSILON
from shuffledp.bounds.curve import NOTHING, Curve, Proved

#: A search ends after so many proofs, close to its target or not.
_MAX_PROOFS = 12

#: Of the relative width asked for, how far from its target a proof may end.
_CLOSE = 0.4

#: Steps of a search in doubles; it stops where log delta is this close.
_MAX_STEPS, _STILL = 60, 1e-8

#: A search that is lost starts here.
_LEAST = 1e-3

#: Slopes are taken over this share of epsilon.
_SHIFT = 1e-3


@dataclass(frozen=True)
class Root:
    """An epsilon, and what was proved there."""

    epsilon: float
    proved: Proved


def delta_above(log: float) -> float:
    """Return a double between e**log and 1, next to e**log."""
    if log == -math.inf:
        return 0.0
    with precision():
        return min(upper_double(arb(log).exp()), 1.0) if log < 0 else 1.0


def delta_below(log: float) -> float:
    """Return a double between 0 and e**log, next to e**log, and at most 1."""
    if log == -math.inf:
        return 0.0
    with precision():
        return max(min(lower_double(arb(log).exp()), 1.0), 0.0)


@usual_errors
def epsilon_above(curve: Curve, delta: float, rtol: float, most: float = MAX_EPSILON0) -> Root:
    """Return an epsilon, close to the smallest, at which the curve is proved to be at most delta.

    Args:
        curve: the curve.
        delta: between 0 and 1.
        rtol: relative distance to aim for.
        most: the largest epsilon that can be asked about. Beyond, only the curve's end is known.
    """
    if delta == 1:
        return Root(0.0, NOTHING)
    end = curve.end.upper
    if delta == 0:
        return Root(end, NOTHING)
    return _Upwards(curve, delta, rtol, min(most, end)).run()


@usual_errors
def epsilon_below(
    curve: Curve,
    delta: float,
    rtol: float,
    most: float = MAX_EPSILON0,
    upper: Root | None = None,
) -> Root:
    """Return an epsilon, close to the largest, up to which the curve is proved to be above delta.

    It is 0 if nothing is known. The upper end of the same curve, if it is known, is where to look.
    """
    if delta == 1:
        return Root(0.0, NOTHING)
    end = curve.end.lower
    if delta == 0:
        return Root(end, NOTHING)
    if delta_below(curve.floor) > delta:
        return Root(math.inf, NOTHING)
    search = _Downwards(curve, delta, rtol, min(most, end))
    if upper is not None and 0 < upper.epsilon < search.most and upper.proved.log > -math.inf:
        search.begin = upper.epsilon
        search.note(upper.epsilon, upper.proved)
    return search.run()


class _Search:
    """Proves points near the crossing of estimates, until one is close enough."""

    def __init__(self, curve: Curve, delta: float, rtol: float, most: float) -> None:
        self.curve, self.delta, self.rtol, self.most = curve, delta, rtol, most
        self.target = math.log(delta)
        #: Where something was proved, and by how much more than the estimate.
        self.shifts: list[tuple[float, float]] = []
        #: About where the crossing is, if that is known.
        self.begin: float | None = None

    def first(self) -> float:
        if self.begin is not None:
            return self.crossing(self.begin)
        return self.crossing(_first_guess(self.curve, self.delta, self.most))

    def tolerance(self, epsilon: float, like: Proved) -> float:
        """Return by how much log delta may miss its target so that epsilon is close enough."""
        here, before = (self.curve.estimate(x, like) for x in (epsilon, epsilon * (1 - _SHIFT)))
        change = before - here
        if not 0 < change < math.inf:
            return self.rtol
        return max(_CLOSE * self.rtol / _SHIFT * change, 1e-9)

    def are_close(self, low: float, high: float) -> bool:
        """Whether there is nothing left to search between two epsilons."""
        return high < math.inf and high - low <= _CLOSE * self.rtol * high

    def crossing(self, start: float, like: Proved | None = None, aside: float = 0.0) -> float:
        """Return where about a proof would miss its target by ``aside``.

        What proofs add to estimates changes slowly; the last two tell how.
        """

        def height(epsilon: float) -> float:
            estimate = self.curve.estimate(epsilon, like)
            return estimate + self._shift(epsilon) + aside - self.target

        return _solve(height, start, min(self.most, MAX_TOTAL_EPSILON))

    def note(self, epsilon: float, proved: Proved) -> None:
        """Keep by how much a proof differs from its estimate, of two that are far enough apart."""
        shift = proved.log - self.curve.estimate(epsilon, proved)
        if math.isfinite(shift):
            apart = self.rtol * epsilon if self.begin is not None else -1.0
            before = [both for both in self.shifts[-1:] if abs(both[0] - epsilon) > apart]
            self.shifts = [*before, (epsilon, shift)]

    def _shift(self, epsilon: float) -> float:
        if len(self.shifts) < 2:
            return self.shifts[0][1] if self.shifts else 0.0
        (x0, y0), (x1, y1) = self.shifts
        if x0 == x1:
            return y1
        steps = min(max((epsilon - x1) / (x1 - x0), -3.0), 3.0)
        return y1 + (y1 - y0) * steps


class _Upwards(_Search):
    """Looks for the upper end."""

    def run(self) -> Root:
        failed, best = -1.0, Root(self.curve.end.upper, NOTHING)
        if self.most == self.curve.end.upper:
            best = Root(self.most, self.curve.above(self.most))
            near = self.most * (1 - self.rtol / 2)
            if self.curve.estimate(near) > self.target and not self._meets(self.curve.above(near)):
                return best  # delta falls steeply at the end
        epsilon = self.first()
        for _ in range(_MAX_PROOFS):
            proved = self.curve.above(epsilon)
            tolerance = self.tolerance(epsilon, proved)
            if self._meets(proved):
                best = Root(epsilon, proved) if epsilon < best.epsilon else best
                if epsilon == 0 or self.target - proved.log <= tolerance:
                    break
            else:
                failed = max(failed, epsilon)
            if self.are_close(failed, best.epsilon) or failed >= self.most:
                break
            self.note(epsilon, proved)
            following = self.crossing(epsilon, proved, tolerance / 3)
            if not failed < following < best.epsilon:
                top = min(self.most, 4 * max(failed, _LEAST))
                top = min(best.epsilon, self.most) if best.epsilon < math.inf else top
                following = (max(failed, 0.0) + top) / 2
            epsilon = following
        return best

    def _meets(self, proved: Proved) -> bool:
        return delta_above(proved.log) <= self.delta


class _Downwards(_Search):
    """Looks for the lower end."""

    def run(self) -> Root:
        best, failed = Root(0.0, NOTHING), math.inf
        epsilon = self.first()
        if self.most == self.curve.end.lower:
            near = self.most * (1 - self.rtol / 2)
            epsilon = near if self.curve.estimate(near) > self.target else epsilon
        for _ in range(_MAX_PROOFS):
            proved = self.curve.below(epsilon)
            tolerance = self.tolerance(epsilon, proved)
            if delta_below(proved.log) >= self.delta:
                best = Root(epsilon, proved) if epsilon > best.epsilon else best
                if proved.log - self.target <= tolerance or epsilon >= self.most * (1 - self.rtol):
                    break
            else:
                failed = min(failed, epsilon)
            if proved.log == -math.inf or self.are_close(best.epsilon, failed):
                break
            self.note(epsilon, proved)
            following = self.crossing(epsilon, proved, -tolerance / 3)
            if not best.epsilon < following < failed:
                following = (best.epsilon + min(failed, self.most)) / 2
            if following == epsilon or following <= 0:
                break
            epsilon = following
        return best


def _solve(height: Callable[[float], float], start: float, most: float) -> float:
    """Return the root in [0, most] of a falling function, in doubles; an end if there is none."""
    low, high = 0.0, most
    x, x1, y1 = min(max(start, 0.0), most), math.nan, math.nan
    for _ in range(_MAX_STEPS):
        y = height(x)
        if abs(y) < _STILL:
            break
        low, high = (x, high) if y > 0 else (low, x)
        if high - low <= 1e-9 * high:
            break
        if math.isnan(x1):
            following = x * (1.02 if y > 0 else 0.98)
        else:
            following = x - y * (x - x1) / (y - y1) if math.isfinite(y1) and y != y1 else math.nan
        if not low < following < high:
            following = min(2 * low, (low + most) / 2) if high == most and low else (low + high) / 2
        x, x1, y1 = following, x, y
    return x


def _first_guess(curve: Curve, delta: float, most: float) -> float:
    """Return the epsilon of the Gaussian mechanism that has the curve's delta at epsilon = 0."""
    start = min(math.exp(min(curve.estimate(0.0), 0.0)), 1 - 1e-9)
    if start <= delta:
        return 0.0
    normal = NormalDist()
    mu = 2 * max(normal.inv_cdf((1 + start) / 2), start * math.sqrt(math.pi / 2))
    low, high = 0.0, min(most, mu * mu / 2 + mu * 40)
    for _ in range(50):
        middle = (low + high) / 2
        cost = math.exp(min(middle, 700.0)) * normal.cdf(-mu / 2 - middle / mu)
        found = normal.cdf(mu / 2 - middle / mu) - cost
        low, high = (middle, high) if found > delta else (low, middle)
    return (low + high) / 2
