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
from shuffledp.accounting.setting import Bound
from shuffledp.accounting.sum_view import (
    View,
    held_by_all,
    is_exact,
    sum_of_bits,
    sum_of_noise,
    tells_less,
)
from shuffledp.basics.balls import lower_log, precision, upper_log
from shuffledp.basics.interval import Interval
from shuffledp.bounds.curve import Curve
from shuffledp.bounds.decomposed import Decomposed
from shuffledp.bounds.root import delta_below
from shuffledp.bounds.rounds import RoundProfile
from shuffledp.bounds.rounds.grid import scale_of
from shuffledp.bounds.sums.sum_curves import BitSum
from shuffledp.mechanisms import LocalRandomizer
from shuffledp.mechanisms.aggregate import SeparateSums
from shuffledp.mechanisms.noise.continuous_noise import ContinuousNoise

#: Of the relative width of many rounds' epsilon, what the epsilon of one of them may err.
_SHARE = 0.5

#: No closer values of delta are of use, relative to the width of many rounds' epsilon.
_FINEST = 0.2

#: Sums of so few users' noise are dear: a hundred closer values than this would take a minute.
_FEW, _DEAR = 30, 5e-3

#: The upper law alone errs by a twelfth of the width its grid is made for (`bounds.rounds.grid`),
#: both laws by about half of it.
_ONE_SIDED = 4.0


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
    finest = _finest(randomizer, crowd.honest, rtol)
    choice = choose(randomizer, crowd, view, bound, _SHARE * rtol, finest)
    curve = choice.guarantee

    def proved(epsilon: float) -> Interval:
        return Interval(-math.inf, curve.above(epsilon).log)

    if choice.encloses_blanket:
        values = enclosed(curve)
        return RoundProfile(values, values, curve.end.upper, rtol)
    return RoundProfile(proved, proved, curve.end.upper, _ONE_SIDED * rtol)


@lru_cache(maxsize=16)
def attack(randomizer: LocalRandomizer, crowd: Crowd, view: View, rtol: float) -> Attack | None:
    """Return the datasets that reveal most about where losses mostly are; None if there are none.

    Which ones are taken decides how good the lower bound is, never whether it is valid. What the
    multiset reveals, the sum may not: there, noise has datasets, and any will do, and so have bits.
    """
    if view == "sum" and tells_less(randomizer):
        if not is_exact(randomizer, crowd) or isinstance(randomizer.aggregate, SeparateSums):
            return None
        noise = sum_of_noise(randomizer, crowd.honest)
        bits = sum_of_bits(randomizer, crowd.honest)
        if bits is not None:
            held, profile = _best_on_bits(bits, rtol)
            return Attack(held_by_all(randomizer, held), profile)
        if noise is None:
            return None
        same = enclosed(noise)  # whatever the others hold
        profile = RoundProfile(same, same, noise.end.upper, rtol)
        return Attack(held_by_all(randomizer, (True, False)), profile)
    n = crowd.honest - crowd.corrupted_adaptively  # as if these were fixed, too
    accountant = _accountant(randomizer, Crowd(n), "blanket", "multiset", rtol)
    scale = scale_of(accountant.delta_lower_bound(0.0))
    datasets = accountant.delta_report(min(scale, 1.0)).datasets
    if datasets is None:
        return None
    law = randomizer.decomposition(datasets.pair, datasets.other)
    finest = _finest(randomizer, n, rtol)
    forward, backward = (Decomposed(d, n, _SHARE * rtol, finest=finest) for d in (law, law.swap()))
    end = max(forward.end.upper, backward.end.upper)
    floor = delta_below(forward.floor)
    aimed = max(rtol, 4 * finest)  # the laws below profiles; where values are dear, they are few
    profile = RoundProfile(enclosed(forward), enclosed(backward), end, aimed, floor)
    return Attack(datasets, profile)


def _finest(randomizer: LocalRandomizer, n: int, rtol: float) -> float:
    """Return below which relative width of delta no value need be."""
    is_dear = isinstance(randomizer, ContinuousNoise) and n <= _FEW
    return max(_FINEST * rtol, _DEAR if is_dear else 0.0)


def enclosed(curve: Curve) -> Callable[[float], Interval]:
    """Return what encloses log delta of a curve."""

    def enclose(epsilon: float) -> Interval:
        return Interval(curve.below(epsilon).log, curve.above(epsilon).log)

    return enclose


def _best_on_bits(curve: BitSum, rtol: float) -> tuple[tuple[bool, bool], RoundProfile]:
    """Return which value all others hold, and what the counts of two bits reveal then."""
    end = curve.end.upper
    _, at_once = curve.corner(0.0)
    held, _ = curve.corner(min(scale_of(max(float(at_once.lower), 0.0)), end / 2))

    def enclose(held: tuple[bool, bool]) -> Callable[[float], Interval]:
        def enclosed_at(epsilon: float) -> Interval:
            if epsilon >= end:
                return Interval(-math.inf, -math.inf)
            found = curve.all_hold(held, epsilon)
            with precision():
                return Interval(lower_log(found.lower), upper_log(found.upper))

        return enclosed_at

    forward = enclose(held)
    backward = forward if held[0] == held[1] else enclose(held[::-1])  # the values change roles
    return held, RoundProfile(forward, backward, end, rtol)


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
