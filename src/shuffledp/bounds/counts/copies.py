r"""Several independent changes at once: the privacy losses of independent counts add up."""

from __future__ import annotations

import math
from collections.abc import Callable

from shuffledp.basics.interval import Interval, exp_down
from shuffledp.bounds.curve import Curve, Proved
from shuffledp.bounds.rounds import ComposedCurve, RoundProfile
from shuffledp.bounds.rounds.loss_law import Side

_SIDES: tuple[Side, Side] = ("upper", "lower")

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
        self.forward, self.backward, self.times, self.where = (
            forward,
            backward,
            times,
            forward.where,
        )
        there = _enclosed(forward)
        back = there if backward is forward else _enclosed(backward)
        end = max(forward.end.upper, backward.end.upper)
        floor = exp_down(forward.floor)
        profile = RoundProfile(there, back, end, _RTOL, floor)
        rounds = [(profile, times)]
        self._upper, self._lower = (ComposedCurve(rounds, side, _RTOL) for side in _SIDES)

    def above(self, epsilon: float) -> Proved:
        """Prove an upper bound on log delta."""
        return Proved(self._upper.log_delta(epsilon, 0), self.where, "composition")

    def below(self, epsilon: float) -> Proved:
        """Prove a lower bound on log delta."""
        return Proved(self._lower.log_delta(epsilon, 0), self.where, "composition")

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return log delta in doubles, about."""
        return self._upper.estimate(epsilon)

    @property
    def end(self) -> Interval:
        """So many times that of one."""
        end = self.forward.end
        return Interval(
            math.nextafter(self.times * end.lower, 0.0) if end.lower < math.inf else math.inf,
            math.nextafter(self.times * end.upper, math.inf),
        )

    def __str__(self) -> str:
        """Name it."""
        return f"{self.times} times {self.forward}"


def _enclosed(curve: Curve) -> Callable[[float], Interval]:
    def log_delta(epsilon: float) -> Interval:
        upper = min(curve.above(epsilon).log, 0.0)
        return Interval(min(curve.below(epsilon).log, upper), upper)

    return log_delta
