"""The enclosure of an exactly defined number."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from shuffledp.errors import ContradictionError

_SMALLEST = math.nextafter(0.0, 1.0)
_LOG_SMALLEST = -745.0  # e**-745 is below the smallest double


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval that is certified to contain one exactly defined number.

    Ends that are crossed or missing (NaN) contain none: they raise
    :class:`shuffledp.ContradictionError`.

    >>> Interval(0.25, 0.5).width
    0.25
    >>> 0.3 in Interval(0.25, 0.5)
    True
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        """Raise the alarm if no number lies between the end points."""
        if not self.lower <= self.upper:
            raise ContradictionError(
                f"no number is at least {self.lower!r} and at most {self.upper!r}"
            )

    @property
    def width(self) -> float:
        """Upper minus lower (0 for a point, also at infinity)."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    def __contains__(self, number: float) -> bool:
        """Whether ``number`` lies between the end points, ends included."""
        return self.lower <= number <= self.upper

    def exp(self) -> Interval:
        """Return the enclosure of the exponential, rounded outwards by two ulps.

        >>> Interval(-math.inf, -math.inf).exp()
        Interval(lower=0.0, upper=0.0)
        """
        return Interval(exp_down(self.lower), exp_up(self.upper))


def exp_up(x: float) -> float:
    """Return a double that is at least e**x; 0 only for minus infinity."""
    if x <= _LOG_SMALLEST:
        return 0.0 if x == -math.inf else _SMALLEST
    try:
        return math.nextafter(math.nextafter(math.exp(x), math.inf), math.inf)
    except OverflowError:
        return math.inf


def exp_down(x: float) -> float:
    """Return a double that is at most e**x and at least 0."""
    try:
        return max(0.0, math.nextafter(math.nextafter(math.exp(x), 0.0), 0.0))
    except OverflowError:
        return math.nextafter(math.inf, 0.0)


def sum_up(numbers: Iterable[float]) -> float:
    """Return the smallest double that is at least the exact sum of numbers of at least 0.

    >>> sum_up([0.1] * 10) > 1 > sum([0.1] * 10)
    True
    """
    terms = list(numbers)
    nearest = math.fsum(terms)  # correctly rounded
    if nearest == math.inf or Fraction(nearest) >= sum(map(Fraction, terms)):
        return nearest
    return math.nextafter(nearest, math.inf)
