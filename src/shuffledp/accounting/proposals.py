r"""Where to look for an epsilon.

Nothing in this module is trusted. :mod:`shuffledp.accounting.inversion` moves the ends of its
bracket by certified comparisons only, wherever it is told to evaluate, so a mistake here can cost
time or make an enclosure wide, never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from shuffledp.decomposition import Decomposition
from shuffledp.divergence import LogEnclosure, estimate_log_delta
from shuffledp.errors import MAX_EPSILON0
from shuffledp.interval import Interval

#: The relative distance of doubles.
ULP = 2.0**-52

_MAX_NEWTON_STEPS = 30
_NORMAL_STEPS = 4
_MAX_LOG = 700.0
_SMALLEST_RTOL = 1e-9
_SMALLEST_STEP = 2.0**-60  # where epsilon is 0
_MAX_U = 35.0  # epsilon_max (1 - e^-35) is the last double or so below epsilon_max
_NEAR = 0.5  # of log delta: close enough for a line
_WIDER = 8.0  # times as wide as one enclosure, what others next to it may be
_ABOVE = 1.2  # of the width of an enclosure: where one does not reach up to the target
_DOUBT = 0.03  # of the distance from the target: how far a line through two points may miss it
_DOUBT_OF_BEND = 0.15  # of the distance between such a line and a parabola
_EVEN = 0.02  # the least of three distances over the largest, for a parabola
_ENOUGH = 4  # points close to each other tell the slope better than the estimate
_NEAR_A_HINT = 0.5  # of log delta: its slope holds here
_RETRIES = (0.95, 0.5)  # where in the bracket to try again after failed evaluations
_NEAR_THE_END = (1e-13, 1e-11, 1e-8, 1e-5)


def raise_epsilon(epsilon: float, excess: float, slope: float, attempt: int) -> float:
    """Return a larger epsilon at which log delta should be smaller by ``excess``.

    Args:
        epsilon: where it is too large.
        excess: by how much.
        slope: an estimate of the derivative of log delta; it may be anything.
        attempt: how often this was tried before; every time the step is four times as large.
    """
    step = 1.5 * excess / -slope if -math.inf < slope < 0 and excess < math.inf else 0.0
    return epsilon + (max(step, 4 * ULP * epsilon) + _SMALLEST_STEP) * 4.0**attempt


def steepest_slope(epsilon: float, log_delta: float) -> float:
    r"""Return what no derivative of log delta is below: :math:`\delta'\ge-e^\varepsilon`.

    Delta is a mean of :math:`(a-e^\varepsilon b)/c` where the sum is positive, and that of b/c is
    at most 1. Where single large values rule, estimates are much below.
    """
    exponent = epsilon - log_delta
    return -math.exp(exponent) if exponent < _MAX_LOG else -math.inf


@dataclass(frozen=True)
class Hint:
    """Where a root may be, and how log delta falls there with epsilon."""

    epsilon: float
    slope: float


@dataclass(frozen=True)
class _Point:
    """An evaluated epsilon: its coordinate u, log delta minus target, width of both."""

    u: float
    miss: float
    width: float

    def is_apart(self, other: _Point) -> bool:
        """Whether the two tell a slope: further apart than they are wide, but not far."""
        return 10 * (other.width + self.width) < abs(other.miss - self.miss) < 1


class Guide:
    r"""Proposes where to evaluate log delta, and how closely, from what was seen so far.

    Steps are taken in :math:`u=-\log(1-\varepsilon/\varepsilon_{max})`, in which log delta is
    nearly linear both for small epsilon and close to :math:`\varepsilon_{max}`, where delta
    vanishes.

    Attributes:
        rtol: the width of delta to ask for.
    """

    def __init__(
        self,
        decomposition: Decomposition,
        n: int,
        log_target: Interval,
        rtol: float,
        hint: Hint | None = None,
    ) -> None:
        self.decomposition, self.n, self.log_target = decomposition, n, log_target
        self.rtol, self.hint = rtol, hint
        self.end = max(decomposition.max_epsilon, 0.0)  # delta is 0 from here on
        self.ceiling = min(self.end, MAX_EPSILON0)
        self.points: list[_Point] = []

    def see(self, epsilon: float, value: LogEnclosure) -> None:
        """Remember an evaluation."""
        target = 0.5 * (self.log_target.lower + self.log_target.upper)
        miss = 0.5 * (value.lower + value.upper) - target
        if abs(miss) < math.inf:
            width = value.width + self.log_target.width
            self.points.append(_Point(self._to_u(epsilon), miss, width))

    @property
    def has_seen_0(self) -> bool:
        """Whether epsilon = 0 was evaluated."""
        return any(point.u == 0 for point in self.points)

    def again(self, low: float, high: float, failures: int) -> float | None:
        """Return where in a bracket to try again after so many evaluations that said little.

        None if there is no point in it; the second time that is if the lower end is known.
        """
        if failures > len(_RETRIES) or (failures > 1 and low > 0):
            return None
        return low + _RETRIES[failures - 1] * (high - low)

    def near_the_end(self, failed: float) -> list[float]:
        """Return where to look if rounding, close to the largest epsilon, made a probe fail."""
        if not 0.9 * self.end < failed < math.inf:
            return []
        return [self.end * (1 - distance) for distance in _NEAR_THE_END]

    def next(self, low: float, high: float, margin: float) -> float | None:
        """Return where in a bracket to evaluate next, None if nothing is left to gain.

        Args:
            low: delta is above the target here.
            high: delta is not above the target here.
            margin: how far beside the predicted root to look, larger after each miss.
        """
        if low == self.ceiling:
            return None  # not even the largest epsilon meets the target
        ranked = sorted(self.points, key=lambda point: abs(point.miss))
        slope = self._slope(ranked) if ranked else math.nan
        if not -math.inf < slope < 0:
            return self.middle(low, high)
        best = ranked[0]
        root, doubt = best.u - best.miss / slope, _DOUBT * abs(best.miss)
        bent = _bent_root(ranked)
        if low < self._to_epsilon(bent) < high:
            root, doubt = bent, min(_DOUBT_OF_BEND * abs((bent - root) * slope), doubt)
        if abs(best.miss) > _NEAR:
            return self._inside(low, high, root)
        reach = margin * (0.55 * self._width(best) + doubt + 1e-13) / -slope
        return self._beside(low, high, root, max(reach, 2 * ULP * root), best)

    def root(self) -> Hint | None:
        """Return a point just above where those so far say that the root is; None if they do not.

        An enclosure there is just below the target.
        """
        ranked = sorted(self.points, key=lambda point: abs(point.miss))
        slope = self._slope(ranked) if ranked else math.nan
        if not -math.inf < slope < 0:
            return None
        beside = ranked[0].miss + _ABOVE * ranked[0].width
        epsilon = self._to_epsilon(ranked[0].u - beside / slope)
        left = self.end - epsilon if self.end < math.inf else 1.0
        return Hint(epsilon, slope / left) if 0 < epsilon < self.ceiling and left > 0 else None

    def _width(self, best: _Point) -> float:
        """Return how wide an enclosure next to the best point may be, where some miss ``rtol``."""
        if best.width <= self.rtol:
            return best.width
        widest = max(point.width for point in self.points if abs(point.miss) <= _NEAR)
        return min(widest, _WIDER * best.width)

    def _beside(
        self, low: float, high: float, root: float, reach: float, best: _Point
    ) -> float | None:
        """Return a point on the side of the predicted root that the bracket leaves open."""
        open_above = self._to_epsilon(root + 1.5 * reach) < high
        open_below = self._to_epsilon(root - 1.5 * reach) > low
        if open_above and (best.miss > 0 or not open_below):
            return self._inside(low, high, root + reach)
        if open_below:
            return self._inside(low, high, root - reach)
        if best.width > 2 * self.rtol or self.rtol <= _SMALLEST_RTOL:
            return None  # a narrower enclosure of delta is not to be had
        self.rtol /= 10
        return self._inside(low, high, root)

    def _slope(self, ranked: list[_Point]) -> float:
        """Return d(log delta)/du from the two best points, or from the estimate."""
        best = ranked[0]
        for other in ranked[1:]:
            if best.is_apart(other):
                return (other.miss - best.miss) / (other.u - best.u)
        close = sorted((p for p in ranked if abs(p.miss - best.miss) < 1), key=lambda p: p.u)
        if len(close) >= _ENOUGH and (fall := close[-1].miss - close[0].miss) < 0:
            return fall / (close[-1].u - close[0].u)  # delta is flatter than estimated
        epsilon = self._to_epsilon(best.u)
        if self.hint is not None and abs(best.miss) < _NEAR_A_HINT:
            slope = self.hint.slope
        else:
            _, slope = estimate_log_delta(self.decomposition, self.n, epsilon)
            slope = max(slope, steepest_slope(epsilon, best.miss + self.log_target.upper))
        return slope * (self.end - epsilon) if self.end < math.inf else slope

    def first(self) -> float:
        """Return the root that is hinted at, or that of the estimate.

        It is found by Newton steps in u, or halves of a bracket.
        """
        if self.hint is not None:
            return min(self.hint.epsilon, self.ceiling)
        u = self._to_u(min(self._gaussian_guess(), 0.9 * self.ceiling))
        low, high = 0.0, _MAX_U
        for _ in range(_MAX_NEWTON_STEPS):
            epsilon = self._to_epsilon(u)
            value, slope = estimate_log_delta(self.decomposition, self.n, epsilon)
            if self.end < math.inf:
                slope *= self.end - epsilon
            miss = value - self.log_target.upper
            if not (abs(miss) < math.inf and -math.inf < slope < 0):
                break
            moved = min(max(u - miss / slope, 0.0), u + 6.0, _MAX_U)
            if abs(miss) <= 0.2 or moved == u:
                return min(self._to_epsilon(moved), self.ceiling)
            low, high = (u, high) if miss > 0 else (low, u)
            u = moved if low <= moved <= high else 0.5 * (low + high)
        return min(self._to_epsilon(u), self.ceiling)

    def _gaussian_guess(self) -> float:
        r"""Return epsilon as if the sum were normal.

        With s its deviation, over n, and :math:`e^\varepsilon-1=sz`, delta is then s times
        :math:`\varphi(z)-z\Phi(-z)`, about :math:`\varphi(z)/(1+5z/4+z^2)`.
        """
        law = self.decomposition.start
        top = float(np.abs(law.values).max())
        if top == 0:
            return 0.0
        deviation = top * math.sqrt(float(law.weights @ (law.values / top) ** 2) / self.n)
        most = math.log(deviation / math.sqrt(2 * math.pi)) - self.log_target.upper
        z = math.sqrt(2 * max(most, 0.0))
        for _ in range(_NORMAL_STEPS):
            z = math.sqrt(2 * max(most - math.log1p(z * (1.25 + z)), 0.0))
        return math.log1p(deviation * z)

    def _inside(self, low: float, high: float, u: float) -> float:
        """Return the epsilon of u if the bracket does not decide it yet, else its middle."""
        epsilon = self._to_epsilon(u)
        if epsilon <= 0 and low == 0 and not self.has_seen_0:
            return 0.0
        return epsilon if low < epsilon < high else self.middle(low, high)

    def middle(self, low: float, high: float) -> float:
        """Return the middle of a bracket, in u."""
        if high == math.inf:
            return self.ceiling
        return self._to_epsilon(0.5 * (self._to_u(low) + min(self._to_u(high), _MAX_U)))

    def _to_u(self, epsilon: float) -> float:
        if self.end == math.inf:
            return epsilon
        return -math.log1p(-epsilon / self.end) if epsilon < self.end else math.inf

    def _to_epsilon(self, u: float) -> float:
        return u if self.end == math.inf else -self.end * math.expm1(-max(u, -1.0))


def _bent_root(ranked: Sequence[_Point]) -> float:
    """Return the root of a parabola of u through the best three points; NaN without them.

    They lie on both sides of the target, none of them very close to another.
    """
    best, *others = ranked
    for second, third in combinations(others, 2):
        points = best, second, third
        pairs = list(combinations(points, 2))
        gaps = sorted(abs(a.miss - b.miss) for a, b in pairs)
        around = min(point.miss for point in points) < 0 < max(point.miss for point in points)
        if around and gaps[0] > _EVEN * gaps[2] and all(a.is_apart(b) for a, b in pairs):
            return parabola_root([(point.u, point.miss) for point in points], 0.0)
    return math.nan


def parabola_root(points: Sequence[tuple[float, float]], target: float) -> float:
    """Return where a parabola through points with different values takes the target.

    It gives the argument for every value.

    >>> parabola_root([(0.0, 0.0), (1.0, 1.0), (9.0, 3.0)], 2.0)
    4.0
    """
    return sum(
        x * math.prod((target - other) / (value - other) for _, other in points if other != value)
        for x, value in points
    )
