"""A guarantee that is not attained: what is proved from below about its curve is no attack."""

from __future__ import annotations

from shuffledp.basics.interval import Interval
from shuffledp.bounds.curve import NOTHING, Curve, Proved


class OnlyAbove(Curve):
    """The upper bounds of a curve, where the truth may be smaller."""

    def __init__(self, curve: Curve) -> None:
        self.curve, self.where = curve, curve.where

    def above(self, epsilon: float) -> Proved:
        """Prove an upper bound on log delta."""
        return self.curve.above(epsilon)

    def below(self, epsilon: float) -> Proved:
        """Prove nothing: delta is at least 0."""
        return NOTHING

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return log delta of the curve in doubles, about."""
        return self.curve.estimate(epsilon, like)

    @property
    def end(self) -> Interval:
        """At most that of the curve."""
        return Interval(0.0, self.curve.end.upper)

    def __str__(self) -> str:
        """Name it."""
        return str(self.curve)
