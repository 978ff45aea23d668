r"""Several independent changes at once: the privacy losses of independent counts add up."""

from __future__ import annotations

import math
from collections.abc import Callable

from shuffledp.basics.interval import Interval, exp_down
from shuffledp.bounds.curve import Curve, Proved
from shuffledp.bounds.rounds import ComposedBound, RoundProfile

#: Relative width of epsilon.
_RTOL = 1e-3


class Copies(Curve):
    """So many independent copies of a pair of laws.

    Args:
        forward: the curve of a pair.
        backward: that of the pair reversed.
        times: how many there are.
    """

    def __init__(self, forward: Curve, backward: Curve, times: int) -> None:
        self.forward, self.backward, self.times, self.where = forward, backward, times, forward.where
        there = _enclosed(forward)
        back = there if backward is forward else _enclosed(backward)
        end = max(forward.end.upper, backward.end.upper)
        floor = exp_down(forward.floor)
        profile = RoundProfile(there, back, end, _RTOL, floor)
        self._bound = ComposedBound([(profile, times)], _RTOL, two_sided=True)
        self._found: dict[float, Interval] = {}

    def above(self, epsilon: float) -> Proved:
        """Prove an upper bound on log delta."""
        return Proved(self._enclosed(epsilon).upper, self.where, "composition")

    def below(self, epsilon: float) -> Proved:
        """Prove a lower bound on log delta."""
        return Proved(self._enclosed(epsilon).lower, self.where, "composition")

    def _enclosed(self, epsilon: float) -> Interval:
        if epsilon not in self._found:
            self._found[epsilon] = self._bound.log_delta(epsilon)[0]
        return self._found[epsilon]

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return log delta in doubles, about."""
        return self._bound.upper.estimate(epsilon)

    @property
    def end(self) -> Interval:
        """Unknown, or so many times that of one."""
        return Interval(0.0, math.inf)

    def __str__(self) -> str:
        """Name it."""
        return f"{self.times} times {self.forward}"


def _enclosed(curve: Curve) -> Callable[[float], Interval]:
    def log_delta(epsilon: float) -> Interval:
        upper = min(curve.above(epsilon).log, 0.0)
        return Interval(min(curve.below(epsilon).log, upper), upper)

    return log_delta
