"""Where a bound that lies a little above the truth falls to a target.

Nothing in this module is trusted: :mod:`shuffledp.accounting.best_bound` takes an epsilon for an
answer only where an evaluation proves it. A mistake here can cost time or make a guarantee larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from shuffledp.accounting.proposals import parabola_root

_FIRST_STEP = 3e-4  # relatively, beyond where a climb begins
_QUICK_STEP = 1e-4  # the same for one of many: where the target is met there, it is the last
_OVERSHOOT = 1.05
_BESIDE = 0.03  # of a step back, how much shorter it is
_LONGEST_STEP = 0.75  # of what is left to climb
_CLOSE, _WORTH_A_CLIMB = 2e-4, 3e-4  # relatively, of epsilon
_WORTH_A_STEP, _WORTH_A_CLOSER_LOOK = 1e-4, 1.5e-4  # the same: what is gained, and may be gained
_MANY_MISSES = 2
_BEYOND_A_BEND = 0.3  # of the distance between a line and a parabola
_WORTH_A_HALF, _CLOSE_TO_A_TEAR = 2.5e-4, 2e-3  # relatively, of brackets that are halved
# Points to judge a bound by, with the slope of the truth and alone, and how it may still fall.
_FEWEST_LOOKS, _ENOUGH_LOOKS, _FASTER = 2, 3, 4.0


class Climb:
    """Proposes where a bound on log delta, a little above the truth, falls to a target.

    Args:
        low: the truth meets the target here.
        ceiling: another bound meets it here.
        target: the target.
        quick: whether a single evaluation should do.
    """

    def __init__(self, low: float, ceiling: float, target: float, *, quick: bool = False) -> None:
        self.low, self.ceiling, self.target = low, ceiling, target
        self._first_step = _QUICK_STEP if quick else _FIRST_STEP
        # The points above the target and at or below it, in the order in which they were seen.
        self._above: list[tuple[float, float]] = []
        self._below: list[tuple[float, float]] = []
        self._misses = 0  # points above the target, after one at or below it
        self._is_torn = False  # the bound rises between such points: it is not one curve
        self._slope = self._slope_of_truth = -1.0

    def see(self, epsilon: float, value: float, slope: float, *, meets: bool) -> None:
        """Remember an evaluation, and how steep the truth is there."""
        self._slope = self._slope_of_truth = slope
        if meets:
            self._below.append((epsilon, value))
            return
        self._misses += bool(self._below)
        if self._above and self._above[-1][0] < epsilon and self._above[-1][1] < value:
            self._is_torn = bool(self._below)
        if self._above and value < self._above[-1][1]:  # the bound may be flatter
            self._slope = max(slope, _slope(self._above[-1], (epsilon, value)))
        self._above.append((epsilon, value))

    def is_close(self, epsilon: float) -> bool:
        """Whether little is left to gain once the target is met at an epsilon."""
        return epsilon - self.low < _CLOSE * epsilon

    def next(self) -> float | None:
        """Return where to evaluate next, None if little is left to gain."""
        if not self._below:
            epsilon = self._climb()
            gain = _WORTH_A_CLIMB if self._above else 0.0
            worth = epsilon < self.ceiling * (1 - gain) and not self._is_hopeless
            return epsilon if worth else None
        epsilon, value = self._below[-1]
        least = self._above[-1][0] if self._above else self.low
        if epsilon - least <= _WORTH_A_CLOSER_LOOK * epsilon:
            return None
        if self._misses >= _MANY_MISSES or self._is_torn:  # lines through its points tell little
            enough = _CLOSE_TO_A_TEAR if self._is_torn else _WORTH_A_HALF
            if epsilon - least <= enough * epsilon:
                return None
            root = self._bent_root()
            root = (least + epsilon) / 2 if math.isnan(root) else root
            return root if epsilon - root >= _WORTH_A_STEP * epsilon else None
        lines = (self._below[-2:], [*self._above[-1:], self._below[-1]])
        roots = (_root(line, self.target) for line in lines if len(line) == 2)
        root = min((x for x in roots if least < x < epsilon), default=-math.inf)
        if root == -math.inf:
            root = max(epsilon + (value - self.target) / -self._slope, least)
        root += _BESIDE * (epsilon - root)
        return root if epsilon - root >= _WORTH_A_STEP * epsilon else None

    def _bent_root(self) -> float:
        """Return a point just below the root of a parabola through the last three points.

        NaN if it would not fall all the way between them.
        """
        others = self._above[-2:-1] + self._below[-2:-1]
        if self._is_torn or not others:
            return math.nan
        third = min(others, key=lambda point: abs(point[1] - self.target))
        ends = self._above[-1], self._below[-1]
        near, far = ends if third in self._above else ends[::-1]  # near is between the others
        fallen = (near[1] - far[1]) / (third[1] - far[1]) if third[1] != far[1] else math.nan
        at = (near[0] - far[0]) / (third[0] - far[0])
        if not (fallen**2 < at and (1 - fallen) ** 2 < 1 - at):
            return math.nan
        root = parabola_root((near, far, third), self.target)
        return root + _BEYOND_A_BEND * abs(root - _root(ends, self.target))

    @property
    def _is_hopeless(self) -> bool:
        """Whether the target is missed even if the bound falls much faster than it ever did."""
        if len(self._above) < _FEWEST_LOOKS:
            return False
        steepest = min(_slope(*points) for points in pairwise(self._above))
        if len(self._above) < _ENOUGH_LOOKS:
            steepest = min(steepest, self._slope_of_truth)  # a bound may come closer to it
        epsilon, value = self._above[-1]
        return value + _FASTER * steepest * (self.ceiling - epsilon) > self.target

    def _climb(self) -> float:
        if not self._above:
            return self.low * (1 + self._first_step)
        epsilon, value = self._above[-1]
        step = max((value - self.target) / -self._slope, _FIRST_STEP * epsilon) * _OVERSHOOT
        return epsilon + min(
            step, max(_LONGEST_STEP * (self.ceiling - epsilon), _FIRST_STEP * epsilon)
        )


def _slope(first: tuple[float, float], second: tuple[float, float]) -> float:
    return (second[1] - first[1]) / (second[0] - first[0])


def _root(line: Sequence[tuple[float, float]], target: float) -> float:
    """Return where a line through two points falls to the target; NaN if it does not fall."""
    slope = _slope(*line)
    return line[1][0] + (target - line[1][1]) / slope if slope < 0 else math.nan
