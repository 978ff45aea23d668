"""Answers for an analyst who sees nothing but the sum of what users submit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from shuffledp.accounting.crossing import cross
from shuffledp.accounting.inversion import log_target
from shuffledp.accounting.worst_case import WorstCase
from shuffledp.arrays import UNIT
from shuffledp.divergence import LogEnclosure
from shuffledp.divergence.geometric_shift import geometric_log_shift
from shuffledp.divergence.laplace_shift import laplace_log_shift
from shuffledp.divergence.normal_shift import normal_log_shift
from shuffledp.errors import MAX_EPSILON0
from shuffledp.interval import Interval
from shuffledp.randomizers import Input, LocalRandomizer, Pair
from shuffledp.randomizers.aggregate import (
    GeometricSum,
    LaplaceSum,
    NormalSum,
    OnlyMultiset,
    SameAsMultiset,
)

#: What the analyst sees.
View = Literal["multiset", "sum"]
VIEWS: tuple[View, ...] = ("multiset", "sum")


def check_view(view: View) -> View:
    """Return a view; refuse others."""
    if view not in VIEWS:
        raise ValueError(f"view must be one of {', '.join(VIEWS)}, got {view!r}")
    return view


_VAGUE = 0.1  # of log delta


@dataclass(frozen=True)
class Attained:
    """Where a bound is attained: the inputs of the differing user, and what all others hold."""

    pair: Pair
    other: Input | None


class NoiseSum:
    r"""The exact privacy of a sum of noisy values.

    The sum is that of the values plus that of the noise, which does not depend on them. So delta is
    that of a shift of the noise's sum by :math:`x_1-x_1'`, whatever the others hold, and the noise
    being log-concave it grows with the shift: the end points are the worst inputs.

    Args:
        randomizer: a mechanism that adds noise.
        multiset: the bound if all reports are seen, for the same users.
    """

    def __init__(self, randomizer: LocalRandomizer, multiset: WorstCase) -> None:
        n, self.rtol = multiset.n, multiset.rtol
        self.multiset, self.n = multiset, n
        self.evaluate, self.end = _noise(randomizer, n)
        pair = randomizer.neighbours()[0]
        self.attained = Attained(pair, pair.first)
        self._known: dict[float, LogEnclosure] = {}
        self._roots: dict[float, Interval] = {}

    def log_delta(self, epsilon: float) -> tuple[LogEnclosure, Attained]:
        """Enclose log delta; where little is known, the bound of the multiset helps."""
        if epsilon not in self._known:
            value = self.evaluate(epsilon)
            if value.width > _VAGUE:
                bound = self.multiset.log_delta(epsilon)[0].upper
                value = LogEnclosure(value.lower, min(value.upper, bound))
            self._known[epsilon] = value
        return self._known[epsilon], self.attained

    def epsilon(self, delta: float) -> tuple[Interval, Attained]:
        """Enclose the smallest epsilon at which delta is at most the target."""
        if delta == 0:
            return Interval(self.end, self.end), self.attained
        if delta not in self._roots:
            deviation = math.sqrt(max(-log_target(delta).lower, 0.1))
            self._roots[delta] = cross(
                lambda epsilon: self.log_delta(epsilon)[0],
                delta,
                rtol=self.rtol,
                start=min(deviation / math.sqrt(self.n), self.end / 2, MAX_EPSILON0 / 2),
                end=self.end,
            )
        return self._roots[delta], self.attained


class Unattained:
    """No datasets are known: what the multiset reveals, the sum may not."""

    def log_delta(self, epsilon: float) -> tuple[LogEnclosure, None]:
        """Return that of 0, which every delta is at least."""
        return LogEnclosure(-math.inf, -math.inf), None

    def epsilon(self, delta: float) -> tuple[Interval, None]:
        """Return 0."""
        return Interval(0.0, 0.0), None


def view_in_words(randomizer: LocalRandomizer, view: View) -> str:
    """Return what the analyst sees and what follows from it."""
    if view == "multiset":
        return "the shuffled multiset of whole reports"
    seen = randomizer.aggregate
    if isinstance(seen, SameAsMultiset):
        return f"the sum of the reports, which is as good as the multiset: {seen.reason}"
    if isinstance(seen, OnlyMultiset):
        return f"the sum of the reports; the guarantee is that of the multiset: {seen.reason}"
    return "the sum of the reports alone"


def _noise(randomizer: LocalRandomizer, n: int) -> tuple[Callable[[float], LogEnclosure], float]:
    """Return what encloses log delta, and from which epsilon on delta is 0."""
    seen = randomizer.aggregate
    if isinstance(seen, NormalSum):
        # A root, a product; n is exact.
        deviation = seen.sigma * math.sqrt(n)
        return lambda epsilon: normal_log_shift(deviation, 4 * UNIT, epsilon), math.inf
    if isinstance(seen, LaplaceSum):
        level = seen.epsilon0
        return lambda epsilon: laplace_log_shift(n, level, epsilon), level
    if isinstance(seen, GeometricSum):
        return _geometric(n, seen), seen.epsilon0
    raise TypeError(f"the reports of {randomizer} are not noisy numbers")


def _geometric(n: int, seen: GeometricSum) -> Callable[[float], LogEnclosure]:
    """Return the enclosure for the exact rate epsilon0/B: delta grows with the rate.

    Noise of a smaller rate is noise of the larger one plus something independent.
    """
    rate = seen.epsilon0 / seen.bound
    exact = Fraction(seen.epsilon0) / seen.bound
    below = rate if Fraction(rate) <= exact else math.nextafter(rate, 0.0)
    above = rate if Fraction(rate) >= exact else math.nextafter(rate, math.inf)

    def evaluate(epsilon: float) -> LogEnclosure:
        if epsilon >= seen.epsilon0:
            return LogEnclosure(-math.inf, -math.inf)
        upper = geometric_log_shift(n, above, seen.bound, epsilon).log_delta
        if below == above:
            return upper
        lower = geometric_log_shift(n, below, seen.bound, epsilon).log_delta
        return LogEnclosure(lower.lower, upper.upper)

    return evaluate
