"""Two-sided bounds on the logarithm of a non-negative number."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp.arrays import UNIT
from shuffledp.errors import ContradictionError

#: What Python raises where numbers leave the range of doubles: too large, or a divisor became 0.
BEYOND_DOUBLES = (OverflowError, ZeroDivisionError)


@dataclass(frozen=True, slots=True)
class LogEnclosure:
    """``lower <= log(value) <= upper``; minus infinity stands for the value 0."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        """Raise the alarm if no number lies between the end points."""
        if self.lower > self.upper:
            raise ContradictionError(
                f"no logarithm is at least {self.lower!r} and at most {self.upper!r}"
            )

    @property
    def width(self) -> float:
        """Relative width of the value, to first order."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    def widen(self, error: float) -> LogEnclosure:
        """Add an absolute error and the rounding of the logarithms themselves."""
        return LogEnclosure.rounded(self.lower, self.upper, error)

    @classmethod
    def rounded(cls, lower: float, upper: float, error: float) -> LogEnclosure:
        """Return the enclosure between two logarithms, after their errors have been added.

        Before, they may be in the wrong order, by their roundings.

        >>> LogEnclosure.rounded(-1.0 + 2e-16, -1.0, 1e-12).width > 0
        True
        """
        return cls(lower - error - 8 * UNIT * _size(lower), upper + error + 8 * UNIT * _size(upper))

    def intersect(self, other: LogEnclosure) -> LogEnclosure:
        """Return the intersection of two enclosures of the same number."""
        return LogEnclosure(max(self.lower, other.lower), min(self.upper, other.upper))

    def plus(self, lower: float, upper: float) -> LogEnclosure:
        """Return the enclosure of value + x for x in [lower, upper], both at least 0."""
        if upper == 0:
            return self
        ends = _log_add(self.lower, lower), _log_add(self.upper, upper)
        return LogEnclosure.rounded(*ends, 4 * UNIT)


@dataclass(frozen=True, slots=True)
class Sides:
    """A bound from below on log E[S_+] of one sum, and a bound from above on that of another one.

    They enclose what lies between the two sums. If parts of it are kept apart, of different size
    for the two, the sides can be compared only after these have been added.
    """

    lower: float
    upper: float

    @property
    def enclosure(self) -> LogEnclosure:
        """The enclosure, if nothing is kept apart."""
        return LogEnclosure(self.lower, self.upper)


def _size(x: float) -> float:
    return abs(x) + 1 if math.isfinite(x) else 0.0


def _log_add(log_value: float, x: float) -> float:
    if x == 0:
        return log_value
    high, low = max(log_value, math.log(x)), min(log_value, math.log(x))
    return high + math.log1p(math.exp(low - high))
