"""The enclosure of an exactly defined number."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from shuffledp.basics.errors import ContradictionError

_SMALLEST = math.nextafter(0.0, 1.0)
_LOG_SMALLEST = -745.0  # e**-745 is below the smallest double
_UNIT = 2.0**-53  # relative rounding error of one operation
_ULP = 2.0**-52


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
    slack = 4 * _UNIT * abs(log)
    low, high = -math.inf, log + slack
    middle = log - slack - 16 * _UNIT
    while low < middle < high:
        low, high = (middle, high) if exp_up(middle) <= delta else (low, middle)
        middle = 0.5 * (low + high) if low > -math.inf else 2 * high
    return Interval(low, log + slack)


def log_gap(log_delta: float, delta: float) -> float:
    """Return how far a logarithm is above that of ``delta``; at most 0 exactly if not above.

    >>> log_gap(-3.0, 0.0), log_gap(-math.inf, 0.0), round(log_gap(-3.0, 0.1), 4)
    (inf, -inf, -0.6974)
    """
    if log_delta == -math.inf:
        return -math.inf
    gap = log_delta - log_target(delta).lower
    return min(gap, 0.0) if exp_up(log_delta) <= delta else max(gap, _ULP)
