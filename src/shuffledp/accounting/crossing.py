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
from shuffledp.errors import MAX_EPSILON0, ContradictionError
from shuffledp.interval import Interval, exp_up

_MAX_EVALUATIONS = 40
_VAGUE = 2.0  # an enclosure of log delta this wide says little about where the target is met


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
    """A bracket: the target is missed up to ``low`` and met at ``high``."""

    def __init__(
        self, log_delta: Callable[[float], LogEnclosure], delta: float, rtol: float, end: float
    ) -> None:
        self.log_delta, self.target, self.rtol = log_delta, log_target(delta), rtol
        self.delta, self.end = delta, end
        self.low, self.high = 0.0, math.inf
        self.seen: dict[float, float] = {}  # how far the middle of log delta is above the target

    def run(self, start: float) -> Interval:
        ceiling = min(self.end, MAX_EPSILON0)
        probe, margin = min(max(start, 0.0), ceiling), 0.25
        for _ in range(_MAX_EVALUATIONS):
            gap = self.high - self.low
            vague = not self._evaluate(probe)
            if self.high - self.low <= self.rtol * self.high < math.inf or self.high == 0:
                break
            if self.low >= ceiling:
                break
            if self.high - self.low >= gap:  # nothing was decided
                margin *= 4
                if vague and margin > 1e3:
                    break
            probe = self._next(ceiling, margin)
        if self.high == math.inf:
            self._climb(ceiling)
        return Interval(self.low, self.high)

    def _evaluate(self, epsilon: float) -> bool:
        """Move the end that the enclosure at epsilon decides; return whether it says much."""
        value = self.log_delta(epsilon)
        if exp_up(value.upper) <= self.delta:
            self.high = min(self.high, epsilon)
        elif value.lower > self.target.upper:
            self.low = max(self.low, epsilon)
        if self.low > self.high:
            raise ContradictionError(
                f"delta is above the target at epsilon = {self.low!r}, below at {self.high!r}"
            )
        if value.width > _VAGUE or not math.isfinite(value.upper):
            return False
        self.seen[epsilon] = 0.5 * (value.lower + value.upper) - self.target.upper
        return True

    def _next(self, ceiling: float, margin: float) -> float:
        """Return where to look next: beside the root of a line through the two nearest points."""
        near = sorted(self.seen, key=lambda epsilon: abs(self.seen[epsilon]))
        root = math.nan
        if len(near) > 1:
            rise = self.seen[near[1]] - self.seen[near[0]]
            if rise:
                root = near[0] - self.seen[near[0]] * (near[1] - near[0]) / rise
        elif near:
            # Log delta is about -epsilon^2 times a constant.
            factor = 1 + self.seen[near[0]] / max(-self.target.upper, 1.0)
            root = near[0] * min(max(math.sqrt(max(factor, 0.0)), 0.25), 4.0)
        if near and abs(self.seen[near[0]]) < 0.1:
            below = self.low < root * (1 - margin * self.rtol)
            side = -1 if below and self.high <= root * (1 + 2 * margin * self.rtol) else 1
            root *= 1 + side * margin * self.rtol
        if not self.low < root < min(self.high, ceiling):
            root = self._middle(ceiling)
        return root

    def _middle(self, ceiling: float) -> float:
        """Return a point inside the bracket, or its end where that has not been looked at."""
        if self.low == 0 and 0.0 not in self.seen and self.high < 1e-3:
            return 0.0
        if self.high == math.inf:
            return min(max(4 * self.low, 1e-3), ceiling) if self.low < ceiling / 4 else ceiling
        if self.low == 0:
            return 0.25 * self.high
        return math.sqrt(self.low * self.high)

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
