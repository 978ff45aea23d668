"""What is measured on curves: ranges of ratios and where they are attained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reproduction.digits import RESOLUTION, percent, users

#: Values along the horizontal axis.
Values = Mapping[int, float]


@dataclass(frozen=True)
class Span:
    """The smallest and the largest of some values, and where they are.

    >>> Span.of({1000: 0.5, 2000: 0.25})
    Span(low=0.25, low_at=2000, high=0.5, high_at=1000)
    """

    low: float
    low_at: int
    high: float
    high_at: int

    @classmethod
    def of(cls, values: Values) -> Span:
        """Return the range of values; there must be some."""
        low_at, high_at = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
        return cls(values[low_at], low_at, values[high_at], high_at)

    def to_text(self) -> str:
        """Return for example ``10.0% (n = 1,000) to 12.0% (n = 100,000)``."""
        if max(abs(self.low), abs(self.high)) < RESOLUTION:
            return f"{percent(self.high)} everywhere"
        return (
            f"{percent(self.low)} ({users(self.low_at)}) to "
            f"{percent(self.high)} ({users(self.high_at)})"
        )


def smallest(curves: Iterable[Values]) -> dict[int, float]:
    """Return the smallest of several curves wherever one has a value."""
    found: dict[int, float] = {}
    for curve in curves:
        for x, value in curve.items():
            found[x] = min(value, found.get(x, value))
    return found


def saving(new: Values, old: Values) -> dict[int, float]:
    """Return 1 - new/old: by which share of the old value the new one is smaller.

    >>> saving({1000: 0.5}, {1000: 2.0, 2000: 1.0})
    {1000: 0.75}
    """
    return {x: 1 - value / old[x] for x, value in new.items() if x in old}


def gap(upper: Values, lower: Values) -> dict[int, float]:
    """Return upper/lower - 1: by which share of the lower bound the upper one is above it.

    >>> gap({1000: 0.5}, {1000: 0.4})
    {1000: 0.25}
    """
    return {x: value / lower[x] - 1 for x, value in upper.items() if lower.get(x, 0) > 0}
