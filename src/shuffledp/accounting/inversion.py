r"""From delta to epsilon: a certified root of a decreasing function.

One evaluation of :math:`\delta(\varepsilon)` on each side of the root, both certified, encloses
it. Newton steps on a cheap estimate say where to evaluate; only certified comparisons move the
bracket. The upper end keeps its word: whoever evaluates delta there, with the width that was asked
for, finds no more than the target.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.accounting.profile_point import enclose_log_delta
from shuffledp.arrays import UNIT
from shuffledp.decomposition import Decomposition
from shuffledp.divergence import LogEnclosure, estimate_log_delta, log_delta, log_delta_bound
from shuffledp.errors import MAX_EPSILON0, ContradictionError
from shuffledp.interval import Interval, exp_up

#: How often to raise an epsilon: from the last digit to far beyond the largest one.
MAX_RAISES = 40

_MAX_EVALUATIONS = 40
_MAX_BISECTIONS = 20
_RETRY = 0.95  # where in the bracket to try again after a failed evaluation
_MAX_NEWTON_STEPS = 30
_VAGUE = 2.0  # an enclosure of log delta this wide says little about where the root is
_SMALLEST_RTOL = 1e-9
_ULP = 2.0**-52
_SMALLEST_STEP = 2.0**-60  # where epsilon is 0
_MAX_U = 35.0  # epsilon_max (1 - e^-35) is the last double or so below epsilon_max


def enclose_epsilon(
    decomposition: Decomposition, n: int, log_target: Interval, rtol: float
) -> Interval:
    """Enclose the smallest epsilon >= 0 with delta(epsilon) <= target.

    Args:
        decomposition: the decomposition whose bound is inverted.
        n: number of users.
        log_target: enclosure of the logarithm of the target, a point up to rounding.
        rtol: relative width of epsilon to aim for.
    """
    return find_root(decomposition, n, log_target, rtol).epsilon


@dataclass(frozen=True)
class Root:
    """The enclosure of an epsilon, and that of log delta at its upper end.

    ``at_upper`` is what ``enclose_log_delta`` answers there, with the ``rtol`` of the search; None
    if that is beyond the largest epsilon one can ask about.
    """

    epsilon: Interval
    at_upper: LogEnclosure | None


def find_root(decomposition: Decomposition, n: int, log_target: Interval, rtol: float) -> Root:
    """Do as :func:`enclose_epsilon`, and tell what the last evaluation has shown."""
    search = _Search(decomposition, n, log_target, rtol)
    return Root(search.run(), search.at_high)


def log_target(delta: float) -> Interval:
    """Enclose log(delta); its lower end is the largest x with ``exp_up(x) <= delta``.

    So log delta is at most the lower end where delta, rounded up to a double, is at most ``delta``.

    >>> log_target(0.0)
    Interval(lower=-inf, upper=-inf)
    >>> exp_up(log_target(0.1).lower) == 0.1
    True
    """
    if delta == 0:
        return Interval(-math.inf, -math.inf)
    log = math.log(delta)
    slack = 4 * UNIT * abs(log)
    low, high = -math.inf, log + slack
    middle = log - slack - 16 * UNIT
    while low < middle < high:
        low, high = (middle, high) if exp_up(middle) <= delta else (low, middle)
        middle = 0.5 * (low + high) if low > -math.inf else 2 * high
    return Interval(low, log + slack)


def raise_epsilon(epsilon: float, excess: float, slope: float, attempt: int) -> float:
    """Return a larger epsilon at which log delta should be smaller by ``excess``.

    Args:
        epsilon: where it is too large.
        excess: by how much.
        slope: an estimate of the derivative of log delta; it may be anything.
        attempt: how often this was tried before; every time the step is four times as large.
    """
    step = 1.5 * excess / -slope if -math.inf < slope < 0 and excess < math.inf else 0.0
    return epsilon + (max(step, 4 * _ULP * epsilon) + _SMALLEST_STEP) * 4.0**attempt


@dataclass(frozen=True)
class _Point:
    """An evaluated epsilon: its coordinate u, log delta minus target, width of both."""

    u: float
    miss: float
    width: float


class _Search:
    r"""A bracket [low, high] around the root and the probes that shrink it.

    Steps are taken in :math:`u=-\log(1-\varepsilon/\varepsilon_{max})`, in which log delta is
    nearly linear both for small epsilon and close to :math:`\varepsilon_{max}`, where delta
    vanishes.
    """

    def __init__(
        self, decomposition: Decomposition, n: int, log_target: Interval, rtol: float
    ) -> None:
        self.decomposition, self.n, self.log_target = decomposition, n, log_target
        self.rtol = self.evaluation_rtol = rtol
        self.end = max(decomposition.max_epsilon, 0.0)  # delta is 0 from here on
        self.ceiling = min(self.end, MAX_EPSILON0)
        self.low, self.high = 0.0, self.end
        self.points: list[_Point] = []
        self.at_high: LogEnclosure | None = None  # evaluated there, with rtol itself
        self.failed = False  # the last enclosure was vague: effort or precision ran out

    def run(self) -> Interval:
        """Probe until the bracket is narrow or nothing narrows it."""
        if self._is_infinite():
            return Interval(math.inf, math.inf)
        probe: float | None = self._first_probe()
        margin, stalled, retried = 1.0, 0, False
        for _ in range(_MAX_EVALUATIONS):
            if probe is None:
                break
            gap = self.high - self.low
            decided = self._evaluate(probe)
            if self.failed:
                if retried:
                    break
                retried = True
                self._raise_near_the_end(probe)
                self._shrink_by_cheap_bound()
                if self.high == math.inf:
                    break
                probe = self.low + _RETRY * (self.high - self.low)
                continue
            if self.high - self.low <= max(0.1 * self.rtol, 4 * _ULP) * self.high < math.inf:
                break
            margin = 1.0 if decided else 3 * margin
            stalled = stalled + 1 if self.high - self.low > 0.5 * gap else 0
            probe = self._middle() if stalled % 7 == 6 else self._next_probe(margin)
        if self.low == 0 < self.high and not any(point.u == 0 for point in self.points):
            self.evaluation_rtol = self.rtol
            self._evaluate(0.0)
        self._confirm()
        return Interval(self.low, self.high)

    def _confirm(self) -> None:
        """Raise the upper end until an evaluation with ``rtol`` shows that it meets the target.

        Mostly that was the last one. It was not if a closer look, or the cheap bound, decided, or
        if the upper end is where delta vanishes, up to rounding.
        """
        if self.at_high is not None:
            return
        high = self.high
        for attempt in range(MAX_RAISES):
            if high > MAX_EPSILON0:
                break
            value = enclose_log_delta(self.decomposition, self.n, high, self.rtol)
            if value.upper <= self.log_target.lower:
                self.high, self.at_high = high, value
                return
            _, slope = estimate_log_delta(self.decomposition, self.n, high)
            high = raise_epsilon(high, value.upper - self.log_target.lower, slope, attempt)
        self.high = self.end if self.end > MAX_EPSILON0 else math.inf

    def _is_infinite(self) -> bool:
        """Whether outputs that the second input cannot produce have more mass than the target."""
        exposed = self.decomposition.singular0[self.decomposition.singular1 == 0]
        mass = float(exposed.sum()) * (1 - self.decomposition.singular_error - 1e-12)
        return mass > 0 and math.log(mass) > self.log_target.upper

    def _evaluate(self, epsilon: float) -> bool:
        """Move the end of the bracket that the enclosure at epsilon decides, if it does."""
        epsilon = min(epsilon, MAX_EPSILON0)
        value = self._enclose(epsilon)
        target = 0.5 * (self.log_target.lower + self.log_target.upper)
        miss = 0.5 * (value.lower + value.upper) - target
        vague = value.width > _VAGUE
        if not vague and abs(miss) < math.inf:
            width = value.width + self.log_target.width
            self.points.append(_Point(self._to_u(epsilon), miss, width))
        if value.upper <= self.log_target.lower:
            if epsilon <= self.high:
                self.at_high = value if self.evaluation_rtol == self.rtol else None
            self.high = min(self.high, epsilon)
        elif value.lower > self.log_target.upper:
            self.low = max(self.low, epsilon)
        if self.low > self.high:
            raise ContradictionError(
                f"delta is above the target at epsilon = {self.low!r}, below at {self.high!r}"
            )
        self.failed = vague
        return epsilon in (self.low, self.high)

    def _enclose(self, epsilon: float) -> LogEnclosure:
        if self.evaluation_rtol == self.rtol:
            return enclose_log_delta(self.decomposition, self.n, epsilon, self.rtol)
        return log_delta(self.decomposition.at(epsilon), self.n, rtol=self.evaluation_rtol)

    def _raise_near_the_end(self, failed: float) -> None:
        """Raise the lower end if rounding, close to the largest epsilon, made a probe fail."""
        if not 0.9 * self.end < failed < math.inf:
            return
        for distance in (1e-13, 1e-11, 1e-8, 1e-5):
            if self._evaluate(self.end * (1 - distance)) and not self.failed:
                break

    def _shrink_by_cheap_bound(self) -> None:
        """Lower the upper end by bisection with the bound of one tilt, which always exists."""
        low, high = self.low, self.high
        for _ in range(_MAX_BISECTIONS):
            middle = self.ceiling if high == math.inf else 0.5 * (low + high)
            bound = log_delta_bound(self.decomposition.at(middle), self.n)
            if bound <= self.log_target.lower:
                self.high = high = middle
                self.at_high = None
            elif middle == self.ceiling:
                break
            else:
                low = middle

    def _next_probe(self, margin: float) -> float | None:
        """Return where to evaluate next, None if nothing is left to gain."""
        if self.low == self.ceiling:
            return None  # not even the largest epsilon meets the target
        ranked = sorted(self.points, key=lambda point: abs(point.miss))
        slope = self._slope(ranked) if ranked else math.nan
        if not -math.inf < slope < 0:
            return self._middle()
        best = ranked[0]
        root = best.u - best.miss / slope
        if abs(best.miss) > 0.5:
            return self._inside(root)
        reach = margin * (0.55 * best.width + 0.03 * abs(best.miss) + 1e-13) / -slope
        return self._beside(root, max(reach, 2 * _ULP * root), best)

    def _beside(self, root: float, reach: float, best: _Point) -> float | None:
        """Return a point on the side of the predicted root that the bracket leaves open."""
        open_above = self._to_epsilon(root + 1.5 * reach) < self.high
        open_below = self._to_epsilon(root - 1.5 * reach) > self.low
        if open_above and (best.miss > 0 or not open_below):
            return self._inside(root + reach)
        if open_below:
            return self._inside(root - reach)
        if best.width > 2 * self.evaluation_rtol or self.evaluation_rtol <= _SMALLEST_RTOL:
            return None  # a narrower enclosure of delta is not to be had
        self.evaluation_rtol /= 10
        return self._inside(root)

    def _slope(self, ranked: list[_Point]) -> float:
        """Return d(log delta)/du from the two best points, or from the estimate."""
        best = ranked[0]
        for other in ranked[1:]:
            if 10 * (other.width + best.width) < abs(other.miss - best.miss) < 1:
                return (other.miss - best.miss) / (other.u - best.u)
        epsilon = self._to_epsilon(best.u)
        _, slope = estimate_log_delta(self.decomposition, self.n, epsilon)
        return slope * (self.end - epsilon) if self.end < math.inf else slope

    def _first_probe(self) -> float:
        """Return the root of the estimate, found by Newton steps in u."""
        u = self._to_u(min(self._gaussian_guess(), 0.9 * self.ceiling))
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
            u = moved
        return min(self._to_epsilon(u), self.ceiling)

    def _gaussian_guess(self) -> float:
        """Return epsilon as if the sum were normal: e^epsilon - 1 is about z sqrt(Var/n)."""
        law = self.decomposition.at(0.0).lower
        top = float(np.abs(law.values).max())
        if top == 0:
            return 0.0
        deviation = top * math.sqrt(float(law.weights @ (law.values / top) ** 2) / self.n)
        tail = math.sqrt(2 * max(-self.log_target.upper, 0.1))
        return math.log1p(deviation * tail)

    def _inside(self, u: float) -> float:
        """Return the epsilon of u if the bracket does not decide it yet, else its middle."""
        epsilon = self._to_epsilon(u)
        if epsilon <= 0 and self.low == 0 and not any(point.u == 0 for point in self.points):
            return 0.0
        return epsilon if self.low < epsilon < self.high else self._middle()

    def _middle(self) -> float:
        if self.high == math.inf:
            return self.ceiling
        return self._to_epsilon(0.5 * (self._to_u(self.low) + min(self._to_u(self.high), _MAX_U)))

    def _to_u(self, epsilon: float) -> float:
        if self.end == math.inf:
            return epsilon
        return -math.log1p(-epsilon / self.end) if epsilon < self.end else math.inf

    def _to_epsilon(self, u: float) -> float:
        return u if self.end == math.inf else -self.end * math.expm1(-max(u, -1.0))
