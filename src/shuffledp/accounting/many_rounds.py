"""Several rounds, answered from the loss laws of each kind."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import cached_property

from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.inversion import log_target
from shuffledp.accounting.one_round import Attack, attack, bound_profile
from shuffledp.accounting.round_kind import RoundKind
from shuffledp.accounting.sum_view import tells_less
from shuffledp.arrays import UNIT
from shuffledp.errors import AccuracyWarning, ContradictionError
from shuffledp.interval import Interval
from shuffledp.rounds import ComposedBound, ComposedCurve


class ManyRounds:
    """What :class:`shuffledp.Rounds` asks, for more than one round."""

    def __init__(self, kinds: Sequence[RoundKind], rtol: float) -> None:
        self.kinds, self.rtol = kinds, rtol

    def epsilon(self, delta: float) -> tuple[Interval, bool]:
        """Enclose epsilon; also return whether that is as narrow as asked."""
        if delta in (0, 1):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AccuracyWarning)  # told by the answer, if at all
                ends = [(k.accountant.epsilon_interval(delta), k.times) for k in self.kinds]
            lower = add_up([(end.lower, times) for end, times in ends]).lower
            return Interval(lower, add_up([(end.upper, times) for end, times in ends]).upper), True
        found = self._bound.epsilon(log_target(delta))
        interval = Interval(found.lower, min(found.upper, self._end))
        if self._two_sided and interval.upper < math.inf:
            return interval, interval.width <= self.rtol * interval.upper
        if self._two_sided:  # what datasets reveal shows that there is no finite epsilon
            lower = max(interval.lower, self.lower_epsilon(delta))
            return Interval(lower, math.inf), lower == math.inf
        return _between(self.lower_epsilon(delta), interval.upper), True

    def log_delta(self, epsilon: float) -> tuple[Interval, bool]:
        """Enclose log delta; also return whether that is as narrow as asked."""
        if epsilon >= self._end:
            return Interval(-math.inf, -math.inf), True
        value, narrow = self._bound.log_delta(epsilon)
        if self._two_sided:
            return Interval(value.lower, value.upper), narrow
        return _between(self.lower_log_delta(epsilon), value.upper), True

    def meets(self, epsilon: float, delta: float) -> bool:
        """Whether a single evaluation shows that delta is met."""
        if delta in (0, 1):
            return self.epsilon(delta)[0].upper <= epsilon
        return self._bound.upper.meets(epsilon, log_target(delta))

    def lower_epsilon(self, delta: float) -> float:
        """Return the epsilon that datasets attain."""
        if delta in (0, 1):
            ends = [(k.accountant.epsilon_lower_bound(delta), k.times) for k in self.kinds]
            return add_up(ends).lower
        return 0.0 if self._leak is None else self._leak.epsilon(log_target(delta), 0)

    def lower_log_delta(self, epsilon: float) -> float:
        """Return the log delta that datasets attain."""
        return -math.inf if self._leak is None else self._leak.log_delta(epsilon, 0)

    @property
    def datasets(self) -> tuple[Datasets | None, ...]:
        """The datasets behind lower bounds, one pair for each kind of round."""
        return tuple(None if found is None else found.datasets for found in self._attacks)

    @cached_property
    def _end(self) -> float:
        """The epsilon from which on delta is 0."""
        return self.epsilon(0.0)[0].upper

    @property
    def _two_sided(self) -> bool:
        """Whether the bounds of single rounds are enclosed, not only bounded from above."""
        return all(
            one.bound == "blanket" and (one.view == "multiset" or not tells_less(one.randomizer))
            for kind in self.kinds
            for one in [kind.accountant]
        )

    @cached_property
    def _bound(self) -> ComposedBound:
        profiles = [
            (bound_profile(a.randomizer, a.crowd, a.bound, a.view, self.rtol), kind.times)
            for kind in self.kinds
            for a in [kind.accountant]
        ]
        return ComposedBound(profiles, self.rtol, two_sided=self._two_sided)

    @cached_property
    def _attacks(self) -> tuple[Attack | None, ...]:
        accountants = [kind.accountant for kind in self.kinds]
        return tuple(attack(a.randomizer, a.crowd, a.view, self.rtol) for a in accountants)

    @cached_property
    def _leak(self) -> ComposedCurve | None:
        """What the datasets reveal; rounds without any reveal nothing."""
        profiles = [
            (found.profile, kind.times)
            for found, kind in zip(self._attacks, self.kinds, strict=True)
            if found is not None
        ]
        return ComposedCurve(profiles, "lower", self.rtol) if profiles else None


def add_up(terms: Sequence[tuple[float, int]]) -> Interval:
    """Enclose the sum of numbers of at least 0, each so many times.

    >>> total = add_up([(0.1, 3), (0.2, 1)])
    >>> total.lower < 0.5 < total.upper, add_up([(0.0, 5)])
    (True, Interval(lower=0.0, upper=0.0))
    """
    total = math.fsum(number * times for number, times in terms)
    # Each product is rounded once, and so is the sum.
    return Interval(total * (1 - 4 * UNIT), total * (1 + 4 * UNIT))


def _between(attained: float, proved: float) -> Interval:
    if not attained <= proved:
        raise ContradictionError(f"datasets attain {attained!r}, but at most {proved!r} is proved")
    return Interval(attained, proved)
