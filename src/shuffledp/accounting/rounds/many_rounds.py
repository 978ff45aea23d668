"""Several rounds, answered from the loss laws of each kind."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.rounds.one_round import Attack, attack, bound_profile
from shuffledp.accounting.rounds.round_kind import RoundKind
from shuffledp.accounting.setting import Bound
from shuffledp.accounting.sum_view import View, tells_less
from shuffledp.basics.arrays import UNIT
from shuffledp.basics.errors import ContradictionError, wide_is_enough
from shuffledp.basics.interval import Interval, log_target
from shuffledp.bounds.rounds import ComposedBound, ComposedCurve, RoundProfile, largest_profile
from shuffledp.mechanisms import LocalRandomizer

T = TypeVar("T")


@dataclass(frozen=True)
class Turns:
    """Some rounds of a user, each of which may be any one of several kinds.

    Attributes:
        kinds: the kinds it may be; the first one is what datasets that reveal much take.
        times: how many such rounds there are.
    """

    kinds: tuple[RoundKind, ...]
    times: int


def all_turns(kinds: Sequence[RoundKind]) -> tuple[Turns, ...]:
    """Return the rounds of a user who takes part in all."""
    return tuple(Turns((kind,), kind.times) for kind in kinds)


def chosen_turns(kinds: Sequence[RoundKind], at_most: int) -> tuple[Turns, ...]:
    r"""Return what bounds the rounds of a user who takes part in at most so many.

    Let :math:`H_1,H_2,\dots` be the profiles of the kinds in the order given, and
    :math:`E_j=\max(H_j,H_{j+1},\dots)`, a profile, too. A round of kind j is below :math:`E_j`, and
    these fall with j. So whatever is chosen, also after seeing what was published, is below the
    product of the first ``at_most`` ones, each :math:`E_j` as often as there are rounds of kind j.
    For, by induction over the rounds that are left, choosing kind j and then the best of the rest
    is a product of as many factors, the i-th largest of which is at most the i-th of these.

    Args:
        kinds: the kinds of rounds. Any order is right; beginning with what reveals most is best.
        at_most: in how many rounds a user takes part.

    >>> from shuffledp import ShuffleAccountant
    >>> one, other = (ShuffleAccountant("krr(k=3, epsilon0=1)", n) for n in (100, 200))
    >>> turns = chosen_turns([RoundKind(one, 4), RoundKind(other, 52)], 10)
    >>> [(len(turn.kinds), turn.times) for turn in turns]
    [(2, 4), (1, 6)]
    """
    turns, left = [], at_most
    for place, kind in enumerate(kinds):
        times = min(kind.times, left)
        if times:
            turns.append(Turns(tuple(kinds[place:]), times))
        left -= times
    return tuple(turns)


class ManyRounds:
    """What :class:`shuffledp.Rounds` asks, for more than one round.

    Args:
        kinds: the kinds of rounds.
        limit: in how many of them a user takes part, at most.
        rtol: relative width of epsilon.
    """

    def __init__(self, kinds: Sequence[RoundKind], limit: int, rtol: float) -> None:
        self.kinds, self.limit, self.rtol = kinds, limit, rtol

    def epsilon(self, delta: float) -> tuple[Interval, bool]:
        """Enclose epsilon; also return whether that is as narrow as asked."""
        found, narrow = self.proved_epsilon(delta)
        if delta in (0, 1) or self._two_sided:
            return found, narrow
        return _between(self.lower_epsilon(delta), found.upper), True

    def proved_epsilon(self, delta: float) -> tuple[Interval, bool]:
        """Enclose the epsilon of the bound, not of what datasets attain.

        Its lower end is 0 where that of a bound is not known.
        """
        if delta in (0, 1):
            with wide_is_enough():  # told by the answer, if at all
                ends = [(k.accountant.epsilon_interval(delta), k.times) for k in self.kinds]
            lower = largest_sum([(end.lower, times) for end, times in ends], self.limit).lower
            upper = largest_sum([(end.upper, times) for end, times in ends], self.limit).upper
            return Interval(lower, upper), True
        found = self._bound.epsilon(log_target(delta))
        upper = min(found.upper, self._end)
        # A pointwise largest profile may go on beyond the end of every choice.
        interval = Interval(min(found.lower, self._end), upper)
        if not self._two_sided or upper < math.inf:
            return interval, not self._two_sided or interval.width <= self.rtol * upper
        # What datasets reveal shows that there is no finite epsilon.
        lower = max(found.lower, self.lower_epsilon(delta))
        return Interval(lower, math.inf), lower == math.inf

    def log_delta(self, epsilon: float) -> tuple[Interval, bool]:
        """Enclose log delta; also return whether that is as narrow as asked."""
        found, narrow = self.proved_log_delta(epsilon)
        if self._two_sided or epsilon >= self._end:
            return found, narrow
        return _between(self.lower_log_delta(epsilon), found.upper), True

    def proved_log_delta(self, epsilon: float) -> tuple[Interval, bool]:
        """Enclose log delta of the bound, not of what datasets attain.

        Its lower end is minus infinity where that of a bound is not known.
        """
        if epsilon >= self._end:
            return Interval(-math.inf, -math.inf), True
        return self._bound.log_delta(epsilon)

    def gap(self, epsilon: float, delta: float) -> float:
        """Return how far a single evaluation of a bound is above log delta."""
        if delta in (0, 1):
            return -math.inf if self.epsilon(delta)[0].upper <= epsilon else math.inf
        return self._bound.upper.gap(epsilon, log_target(delta))

    def estimate(self, epsilon: float) -> float:
        """Return log delta of the bound in doubles, about."""
        return self._bound.upper.estimate(epsilon) if epsilon < self._end else -math.inf

    def lower_epsilon(self, delta: float) -> float:
        """Return the epsilon that datasets attain."""
        if delta in (0, 1):
            ends = [(k.accountant.epsilon_lower_bound(delta), k.times) for k in self.kinds]
            return largest_sum(ends, self.limit).lower
        return 0.0 if self._leak is None else self._leak.epsilon(log_target(delta), 0)

    def lower_log_delta(self, epsilon: float) -> float:
        """Return the log delta that datasets attain."""
        return -math.inf if self._leak is None else self._leak.log_delta(epsilon, 0)

    @property
    def datasets(self) -> tuple[Datasets | None, ...]:
        """The datasets behind lower bounds, one pair for each kind of round."""
        found = [self._attack(kind) for kind in self.kinds]
        return tuple(None if one is None else one.datasets for one in found)

    @property
    def leading(self) -> list[tuple[RoundKind, int]]:
        """The rounds that the datasets take part in, and how many there are of each kind."""
        return [(turns.kinds[0], turns.times) for turns in self._turns]

    def profiles(self) -> list[tuple[RoundProfile, int]]:
        """Return the profiles of the bound, and how many rounds there are of each."""
        return self._profiles({kind: self._profile(kind) for kind in self.kinds})

    @cached_property
    def _end(self) -> float:
        """The epsilon from which on delta is 0."""
        return self.epsilon(0.0)[0].upper

    @property
    def _two_sided(self) -> bool:
        """Whether the bounds of single rounds are enclosed, not only bounded from above."""
        return all(map(_is_enclosed, self.kinds))

    @cached_property
    def _turns(self) -> tuple[Turns, ...]:
        if self.limit == sum(kind.times for kind in self.kinds):
            return all_turns(self.kinds)
        ordered = sorted(self.kinds, key=lambda kind: -self._profile(kind).log_delta(0.0))
        return chosen_turns(ordered, self.limit)

    @cached_property
    def _bound(self) -> ComposedBound:
        return ComposedBound(self.profiles(), self.rtol, two_sided=self._two_sided)

    def _profiles(self, known: dict[RoundKind, RoundProfile]) -> list[tuple[RoundProfile, int]]:
        return [
            (largest_profile([known[kind] for kind in turns.kinds]), turns.times)
            for turns in self._turns
        ]

    def _profile(self, kind: RoundKind) -> RoundProfile:
        return self._ask(bound_profile, kind)

    def _ask(
        self, question: Callable[[LocalRandomizer, Crowd, Bound, View, float], T], of: RoundKind
    ) -> T:
        one = of.accountant
        return question(one.randomizer, one.crowd, _bound_of(one), one.view, self.rtol)

    def _attack(self, kind: RoundKind) -> Attack | None:
        one = kind.accountant
        return attack(one.randomizer, one.crowd, one.view, self.rtol)

    @cached_property
    def _leak(self) -> ComposedCurve | None:
        """What the datasets reveal; rounds without any reveal nothing."""
        profiles = [
            (found.profile, turns.times)
            for turns in self._turns
            if (found := self._attack(turns.kinds[0])) is not None
        ]
        return ComposedCurve(profiles, "lower", self.rtol) if profiles else None


def largest_sum(terms: Sequence[tuple[float, int]], limit: int) -> Interval:
    """Enclose the largest sum of so many numbers of at least 0, each there so many times.

    >>> largest_sum([(0.25, 3), (2.0, 1)], 3).upper < 2.5 + 1e-9
    True
    """
    taken, left = [], limit
    for number, times in sorted(terms, reverse=True):
        taken.append((number, min(times, left)))
        left -= taken[-1][1]
        if not left:
            break
    return add_up(taken)


def _is_enclosed(kind: RoundKind) -> bool:
    """Whether the profile has lower ends: that of the blanket, if the multiset is what is seen."""
    one = kind.accountant
    is_multiset = one.view == "multiset" or not tells_less(one.randomizer)
    return is_multiset and _bound_of(one) == "blanket"


def _bound_of(one: ShuffleAccountant) -> Bound:
    """Return which bound answers: the blanket, if there is no other one."""
    return "blanket" if one.choice.is_blanket else one.bound


def add_up(terms: Sequence[tuple[float, int]]) -> Interval:
    """Enclose the sum of numbers of at least 0, each so many times.

    >>> total = add_up([(0.1, 3), (0.2, 1)])
    >>> total.lower < 0.5 < total.upper, add_up([(0.0, 5)])
    (True, Interval(lower=0.0, upper=0.0))
    """
    infinite = any(number == math.inf and times for number, times in terms)
    try:
        total = math.fsum(number * times for number, times in terms if times)
    except OverflowError:  # the largest double is a lower end of what may be infinite
        total = math.inf
    # Each product is rounded once, and so is the sum.
    lower = total * (1 - 4 * UNIT)
    return Interval(lower if infinite else min(lower, sys.float_info.max), total * (1 + 4 * UNIT))


def _between(attained: float, proved: float) -> Interval:
    if not attained <= proved:
        raise ContradictionError(f"datasets attain {attained!r}, but at most {proved!r} is proved")
    return Interval(attained, proved)
