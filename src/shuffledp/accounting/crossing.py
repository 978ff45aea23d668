"""Where a certified curve of delta against epsilon falls to a target.

The curve is any function that encloses log delta and whose true value falls with epsilon. Guesses
say where to evaluate; only certified comparisons move an end, so they cost time, never truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from shuffledp.accounting.inversion import MAX_RAISES, log_target
from shuffledp.accounting.proposals import raise_epsilon
from shuffledp.divergence import LogEnclosure
from shuffledp.errors import MAX_EPSILON0
from shuffledp.interval import Interval, exp_up

_MAX_EVALUATIONS = 40
_MAX_MISSES = 6  # in a row
_CLOSE = 0.1  # of the width that is asked for
_TINY = 1e-3  # an epsilon at which to look for 0


def cross(
    log_delta: Callable[[float], LogEnclosure],
    delta: float,
    *,
    rtol: float,
    start: float,
    end: float,
) -> Interval:
    """Enclose the smallest epsilon at which delta is at most the target.

    The upper end keeps its word: the curve, evaluated there, ends at or below the target, unless it
    is beyond 300, the largest epsilon one can ask about.

    Args:
        log_delta: encloses log delta at an epsilon, the same whenever it is asked.
        delta: the target, greater than 0.
        rtol: relative width to aim for.
        start: where to look first.
        end: an epsilon from which on delta is 0; it may be infinite.

    >>> found = cross(lambda e: LogEnclosure(-20 * e, -20 * e), 1e-6, rtol=1e-4, start=1, end=9)
    >>> found.lower <= math.log(1e6) / 20 <= found.upper, found.width < 1e-4
    (True, True)
    """
    if delta == 1:
        return Interval(0.0, 0.0)
    return _Crossing(log_delta, delta, rtol, end).run(start)


class _Crossing:
    """A bracket: the target is missed up to ``low`` and met at ``high``.

    Both ends are looked for on their own, since the two sides of the curve may be far apart.
    """

    def __init__(
        self, log_delta: Callable[[float], LogEnclosure], delta: float, rtol: float, end: float
    ) -> None:
        self.log_delta, self.target, self.rtol = log_delta, log_target(delta), rtol
        self.delta, self.end = delta, end
        self.low, self.high = 0.0, math.inf
        # How far each side of the curve is above the target.
        self.above: dict[float, float] = {}
        self.below: dict[float, float] = {}

    def run(self, start: float) -> Interval:
        """Probe beside the predicted ends until both are close to their predictions."""
        ceiling = min(self.end, MAX_EPSILON0)
        probe: float | None = min(max(start, 0.0), ceiling)
        misses = 0
        for _ in range(_MAX_EVALUATIONS):
            if probe is None or self.high == 0 or self.low >= ceiling:
                break
            before = self.low, self.high
            self._evaluate(probe)
            misses = misses + 1 if (self.low, self.high) == before else 0
            if (
                misses > _MAX_MISSES
                or self.high - self.low <= _CLOSE * self.rtol * self.high < math.inf
            ):
                break
            probe = self._next(ceiling, _CLOSE * self.rtol * 4.0**misses)
        if self.high == math.inf:
            self._climb(ceiling)
        return Interval(self.low, self.high)

    def _evaluate(self, epsilon: float) -> None:
        """Move the end that the enclosure at epsilon decides."""
        value = self.log_delta(epsilon)
        if exp_up(value.upper) <= self.delta:
            self.high = min(self.high, epsilon)
        elif value.lower > self.target.upper:
            self.low = max(self.low, epsilon)
        if math.isfinite(value.upper):
            self.above[epsilon] = value.upper - self.target.lower
        if math.isfinite(value.lower):
            self.below[epsilon] = value.lower - self.target.upper

    def _next(self, ceiling: float, margin: float) -> float | None:
        """Return where to look next, None if both ends are where they are predicted."""
        root = self._root(self.above)
        if not self.high <= root * (1 + 3 * margin):
            probe = root * (1 + margin)
            return probe if self.low < probe < min(self.high, ceiling) else self._middle(ceiling)
        root = self._root(self.below)
        if not self.low >= root * (1 - 3 * margin):
            probe = root * (1 - margin)
            return probe if self.low < probe < self.high else self._middle(ceiling)
        return None

    def _root(self, seen: dict[float, float]) -> float:
        """Return where a line through the two points nearest to the target meets it."""
        near = sorted(seen, key=lambda epsilon: abs(seen[epsilon]))[:2]
        if len(near) == 2 and (rise := seen[near[1]] - seen[near[0]]):
            return near[0] - seen[near[0]] * (near[1] - near[0]) / rise
        if not near:
            return math.nan
        # Log delta is about -epsilon^2 times a constant.
        factor = 1 + seen[near[0]] / max(-self.target.upper, 1.0)
        return near[0] * min(max(math.sqrt(max(factor, 0.0)), 0.25), 4.0)

    def _middle(self, ceiling: float) -> float:
        """Return a point inside the bracket, or its end where that has not been looked at."""
        if self.low == 0 and 0.0 not in self.above and self.high < _TINY:
            return 0.0
        if self.high == math.inf:
            return min(max(4 * self.low, _TINY), ceiling) if self.low < ceiling / 4 else ceiling
        return math.sqrt(self.low * self.high) if self.low > 0 else 0.25 * self.high

    def _climb(self, ceiling: float) -> None:
        """Look for an upper end beyond the point where delta vanishes, up to rounding."""
        epsilon = max(ceiling, self.low)
        for attempt in range(MAX_RAISES):
            if epsilon > MAX_EPSILON0:
                break
            if exp_up(self.log_delta(epsilon).upper) <= self.delta:
                self.high = epsilon
                return
            epsilon = raise_epsilon(epsilon, math.inf, -1.0, attempt)
        self.high = self.end if self.end > MAX_EPSILON0 else math.inf
