"""One round as several rounds need it: the profile of its bound, and that of two datasets."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.accounting.choice import choose
from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.report import Bound
from shuffledp.accounting.sum_view import View, in_logs, is_exact, search_of, tells_less
from shuffledp.bounds.curve import Curve
from shuffledp.bounds.decomposed import Decomposed
from shuffledp.bounds.root import delta_below
from shuffledp.errors import wide_is_enough
from shuffledp.interval import Interval
from shuffledp.randomizers import LocalRandomizer, Pair
from shuffledp.randomizers.aggregate import BitSums, SeparateSums
from shuffledp.rounds import RoundProfile
from shuffledp.rounds.grid import scale_of

#: Of the relative width of many rounds' epsilon, what the epsilon of one of them may err.
_SHARE = 0.5

#: No closer values of delta are of use, relative to the width of many rounds' epsilon.
_FINEST = 0.2


@dataclass(frozen=True)
class Attack:
    """Two datasets, the same in every round, and the profile of what they reveal."""

    datasets: Datasets
    profile: RoundProfile


@lru_cache(maxsize=256)  # a ledger may hold a year of weeks, each with its own number of users
def bound_profile(
    randomizer: LocalRandomizer, crowd: Crowd, bound: Bound, view: View, rtol: float
) -> RoundProfile:
    """Return the profile of what is proved; under "best" its lower ends mean nothing.

    It is the largest one over all neighbours in both orders, so it is its own reverse.
    """
    choice = choose(randomizer, crowd, view, bound, _SHARE * rtol, _FINEST * rtol)
    curve = choice.guarantee

    def proved(epsilon: float) -> Interval:
        return Interval(-math.inf, curve.above(epsilon).log)

    values = enclosed(curve) if choice.encloses_blanket else proved
    return RoundProfile(values, values, curve.end.upper, rtol)


@lru_cache(maxsize=16)
def attack(randomizer: LocalRandomizer, crowd: Crowd, view: View, rtol: float) -> Attack | None:
    """Return the datasets that reveal most about where losses mostly are; None if there are none.

    Which ones are taken decides how good the lower bound is, never whether it is valid. What the
    multiset reveals, the sum may not: there, noise has datasets, and any will do, and so have bits.
    """
    if view == "sum" and tells_less(randomizer):
        if not is_exact(randomizer, crowd) or isinstance(randomizer.aggregate, SeparateSums):
            return None
        seen = randomizer.aggregate
        if isinstance(seen, BitSums):
            return _attack_on_bits(randomizer.neighbours()[0], seen, crowd, rtol)
        return _attack_on_noise(randomizer, crowd, rtol)
    n = crowd.honest - crowd.corrupted_adaptively  # as if these were fixed, too
    accountant = _accountant(randomizer, Crowd(n), "blanket", "multiset", rtol)
    scale = scale_of(accountant.delta_lower_bound(0.0))
    datasets = accountant.delta_report(min(scale, 1.0)).datasets
    if datasets is None:
        return None
    law = randomizer.decomposition(datasets.pair, datasets.other)
    forward, backward = (
        Decomposed(d, n, _SHARE * rtol, finest=_FINEST * rtol) for d in (law, law.swap())
    )
    end = max(forward.end.upper, backward.end.upper)
    floor = delta_below(forward.floor)
    profile = RoundProfile(enclosed(forward), enclosed(backward), end, rtol, floor)
    return Attack(datasets, profile)


def enclosed(curve: Curve) -> Callable[[float], Interval]:
    """Return what encloses log delta of a curve."""

    def enclose(epsilon: float) -> Interval:
        return Interval(curve.below(epsilon).log, curve.above(epsilon).log)

    return enclose


def _attack_on_noise(randomizer: LocalRandomizer, crowd: Crowd, rtol: float) -> Attack | None:
    """Return what a shift of the sum reveals, the same whatever the others hold."""
    accountant = _accountant(randomizer, crowd, "blanket", "sum", rtol)
    datasets = accountant.delta_report(0.0).datasets
    if datasets is None:
        return None

    def forward(epsilon: float) -> Interval:
        with wide_is_enough():
            ends = accountant.log_delta_interval(epsilon)
        return Interval(ends.lower, ends.upper)

    end = accountant.epsilon_interval(0.0).upper
    return Attack(datasets, RoundProfile(forward, forward, end, rtol))


def _attack_on_bits(pair: Pair, seen: BitSums, crowd: Crowd, rtol: float) -> Attack:
    """Return what the counts of two bits reveal if all others hold the same value."""
    n, end = crowd.honest, seen.epsilon0
    scale = scale_of(search_of(n, seen, 0.0).corners()[0].lower)
    _, held = search_of(n, seen, min(scale, end / 2)).corners()

    def forward(epsilon: float) -> Interval:
        return _counted(n, seen, held, epsilon)

    def backward(epsilon: float) -> Interval:
        # The two values change their roles.
        return _counted(n, seen, {0: 1, 1: 0, 2: 2}[held], epsilon)

    profile = RoundProfile(forward, forward if held == 2 else backward, end, rtol)
    return Attack(Datasets(pair, held), profile)


def _counted(n: int, seen: BitSums, held: int, epsilon: float) -> Interval:
    """Enclose log delta of the counts if all others hold a value, 0 and 1 being those compared."""
    if epsilon >= seen.epsilon0:
        return Interval(-math.inf, -math.inf)
    return in_logs(search_of(n, seen, epsilon).all_hold(held))


def _accountant(
    randomizer: LocalRandomizer, crowd: Crowd, bound: Bound, view: View, rtol: float
) -> ShuffleAccountant:
    return ShuffleAccountant(
        randomizer,
        crowd.n,
        rtol=_SHARE * rtol,
        bound=bound,
        corrupted=crowd.corrupted,
        corrupted_adaptively=crowd.corrupted_adaptively,
        view=view,
    )
