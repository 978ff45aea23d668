"""Nodes: exponentials moved to the safe side, and what complements of events say."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import mpmath
import pytest
from exact_rounds import Laws, profile, random_laws, reverse

from shuffledp.basics.interval import Interval
from shuffledp.bounds.rounds.node import Node, node_at, reversed_node_at
from shuffledp.bounds.rounds.profile import Fineness, RoundProfile

EPSILONS = [1e-300, 1e-15, 1e-6, 0.01, 0.3, 0.999, 1.0, 2.5, 37.0, 299.0]


def exact(number: mpmath.mpf) -> Fraction:
    """A fraction within 1e-300 of the number."""
    return Fraction(int(mpmath.nint(number * mpmath.mpf(10) ** 320)), 10**320)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_ratio_lies_between(epsilon):
    with mpmath.workdps(500):
        ratio = exact(mpmath.expm1(mpmath.mpf(epsilon)))
        inverse = exact(mpmath.expm1(mpmath.mpf(-epsilon)))
    right = node_at(epsilon, Interval(-2.0, -1.0))
    assert right.below.x < ratio < right.above.x
    assert right.above.x - right.below.x <= Fraction(1, 10**14) * ratio
    left = reversed_node_at(epsilon, Interval(-2.0, -1.0))
    assert -1 < left.above.x < inverse < left.below.x < 0
    assert left.below.x - left.above.x <= Fraction(1, 10**14) * min(-inverse, 1 + inverse)


def test_zero_is_exact():
    node = node_at(0.0, Interval(-math.inf, 0.0))
    assert node.above.x == node.below.x == 0
    assert (node.above.y, node.below.y) == (1, 0)


def enclosure(laws: Laws, epsilon: float, low: float = 0.0, high: float = 0.0) -> Interval:
    """Log delta, wider than need be."""
    with mpmath.workdps(60):
        ratio = mpmath.exp(mpmath.mpf(epsilon))
        terms = [
            mpmath.mpf(p.numerator) / p.denominator
            - ratio * mpmath.mpf(q.numerator) / q.denominator
            for p, q in laws
        ]
        delta = sum(term for term in terms if term > 0)
        if delta < mpmath.mpf(10) ** -40:
            return Interval(-math.inf, -math.inf)
        log = float(mpmath.log(delta))
    return Interval(log - low - 1e-12, log + high + 1e-12)


def contains(laws: Laws, node: Node) -> bool:
    return 0 <= node.above.y - profile(laws, 1 + node.above.x) <= Fraction(
        1, 10**9
    ) and 0 <= profile(laws, 1 + node.below.x) - node.below.y <= Fraction(1, 10**9)


def test_nodes_enclose_profiles():
    rng = random.Random(5)
    for _ in range(40):
        laws = random_laws(rng, 4)
        for epsilon in (0.0, 1e-9, 0.05, 0.7, 1.3, 3.0):
            assert contains(laws, node_at(epsilon, enclosure(laws, epsilon)))
            if epsilon > 0:
                back = reversed_node_at(epsilon, enclosure(reverse(laws), epsilon))
                assert contains(laws, back)


def wide_profile(laws: Laws, seed: int) -> RoundProfile:
    """A profile whose values are known up to five percent, to either side at random."""
    rng = random.Random(seed)

    def wide(side: Laws, epsilon: float) -> Interval:
        return enclosure(side, epsilon, *(rng.choice((0.0, 0.05)) for _ in range(2)))

    finite = [abs(math.log(p / q)) for p, q in laws if p and q]
    return RoundProfile(
        lambda epsilon: wide(laws, epsilon),
        lambda epsilon: wide(reverse(laws), epsilon),
        max(finite) + 1e-9,
        1e-2,
    )


def test_profiles_of_wide_and_skew_values_lie_between_their_laws():
    """Sees the two ends exchanged, one order of the pair taken for the other, and missing sides."""
    rng = random.Random(6)
    for seed in range(12):
        laws = random_laws(rng, 5, zeros=False)
        found = wide_profile(laws, seed)
        upper, lower = (found.law(side, Fineness(0, 0)) for side in ("upper", "lower"))
        for ratio in (Fraction(k, 10) for k in range(1, 60)):
            true = profile(laws, ratio)
            assert lower.at(ratio) <= true <= upper.at(ratio)
        middle = Fraction(11, 10)
        true = profile(laws, middle)
        assert upper.at(middle) <= Fraction(108, 100) * true
        assert lower.at(middle) >= Fraction(90, 100) * true - Fraction(1, 1000)


def test_finer_grids_and_longer_reach_give_narrower_laws():
    laws = random_laws(random.Random(2), 5, zeros=False)
    found = RoundProfile(
        lambda epsilon: enclosure(laws, epsilon),
        lambda epsilon: enclosure(reverse(laws), epsilon),
        math.inf,
        0.1,
    )
    coarse, fine = Fineness(0, 0), Fineness(0, 2)
    ratio = Fraction(4, 3)
    assert found.law("upper", fine).at(ratio) <= found.law("upper", coarse).at(ratio)
    assert found.law("lower", fine).at(ratio) >= found.law("lower", coarse).at(ratio)
    assert set(found.grid(coarse)) <= set(found.grid(Fineness(3, 0)))


def test_nothing_leaks():
    def nothing(epsilon: float) -> Interval:
        return Interval(-math.inf, -math.inf)

    law = RoundProfile(nothing, nothing, 0.0, 1e-3).law("upper", Fineness(0, 0))
    assert (law.ratios, law.masses, law.infinite) == ((1,), (1,), 0)


def test_values_are_rounded_outwards():
    for number in range(-40, 0):
        log = number / 7
        node = node_at(0.5, Interval(log, log))
        with mpmath.workdps(60):
            exact = mpmath.exp(mpmath.mpf(log))
            below, above = (
                mpmath.mpf(y.numerator) / y.denominator for y in (node.below.y, node.above.y)
            )
            assert below < exact < above
            assert above - below < 1e-14 * exact


def test_no_value_is_above_1():
    node = node_at(0.5, Interval(0.1, 0.2))
    assert node.below.y == node.above.y == 1
