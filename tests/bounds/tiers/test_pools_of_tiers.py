"""The pool of tiers against sums over its size, in fractions, and against reference values."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from rational import exact_delta

from shuffledp.basics.balls import ball, lower_log, precision, upper_log
from shuffledp.bounds.root import epsilon_above
from shuffledp.bounds.tiers.pool import Pool, has_common_law
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms import KRR, Pair, parse


def response(k: int, odds: Fraction) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
    """Two rows of k-ary response, and the common law, uniform over k outputs."""
    unit = 1 / (odds + k - 1)
    rows = [[unit * (odds if x == y else 1) for y in range(k)] for x in (0, 1)]
    return rows[0], rows[1], [unit] * k


def exact_pool(k: int, odds: Fraction, shares: list[Fraction], growth: Fraction) -> Fraction:
    """The mean over the number of others in the pool of the bound for so many."""
    a, b, c = response(k, odds)
    mass = sum(c)
    ratios = [[x * mass / y for x, y in zip(row, c, strict=True)] for row in (a, b)]
    sizes = [Fraction(1)]
    for share in shares:
        sizes = [
            (sizes[m] if m < len(sizes) else 0) * (1 - share) + (sizes[m - 1] if m else 0) * share
            for m in range(len(sizes) + 1)
        ]
    weights = [x / mass for x in c]
    return sum(
        probability * exact_delta(ratios[0], ratios[1], weights, m + 1, growth)
        for m, probability in enumerate(sizes)
        if probability
    )


def pool(k: int, odds: Fraction, shares: list[tuple[Fraction, int]]) -> Pool:
    with precision():
        others = [(ball(share), count) for share, count in shares]
    return Pool(Decomposition.from_coefficients(*response(k, odds)), others, 1e-4)


@pytest.mark.heavy(keep=4)
@pytest.mark.parametrize("seed", range(25))
def test_bounds_are_above_the_exact_mean_and_close(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    odds = Fraction(int(rng.integers(3, 16)), 2)
    groups = [
        (Fraction(int(rng.integers(1, 20)), 20), int(rng.integers(1, 3)))
        for _ in range(int(rng.integers(0, 4)))
    ]
    growth = Fraction(int(rng.choice([10, 11, 14])), 10)
    exact = exact_pool(k, odds, [s for s, n in groups for _ in range(n)], growth)
    curve = pool(k, odds, groups)
    upper, lower = curve.above(math.log(growth)).log, curve.below(math.log(growth)).log
    if exact == 0:
        assert upper < -30
        return
    true = math.log(exact)
    assert true - 0.01 <= lower <= true + 1e-12
    assert true - 1e-12 <= upper <= true + 0.01
    if groups:
        with precision():
            above, below = (curve._mean(math.log(growth), side)[0] for side in ("upper", "lower"))
            ends = below._integral(curve._more), above._integral(curve._fewer)
        assert true - 0.02 <= lower_log(ends[0]) <= true + 1e-12
        assert true - 1e-12 <= upper_log(ends[1]) <= true + 0.02


#: k, E of the victim, E of the others, lambda: e_1 and the two biased bounds, all exact rationals.
BIASED = [
    (3, 3, [2, 2, 5, 5, 8, 8], 1.1, 0.17245688775510204, 0.16812938687035509, 0.1808576832706767),
    (2, 8, [2, 3, 3, 8, 8, 8, 8], 1.25, 0.2931884430727023, 0.2815126216041499, 0.3096185794848346),
    (10, 7, [3] * 5 + [20] * 5, 1.2, 0.19030531583984533, 0.1882268238929423, 0.19617050037859735),
]


@pytest.mark.parametrize(("k", "own", "others", "growth", "value", "low", "high"), BIASED)
def test_both_biased_bounds(k, own, others, growth, value, low, high):
    """The share of one of the others for the user in question: the smallest, and the largest."""
    shares = [(Fraction(k, ratio + k - 1), n) for ratio, n in Counter(others).items()]
    curve, epsilon = pool(k, Fraction(own), shares), math.log(growth)
    with precision():
        least = lower_log(curve._mean(epsilon, "lower")[0].biased(curve._more, -1))
        most = upper_log(curve._mean(epsilon, "upper")[0].biased(curve._fewer, 0))
    assert math.log(low) - 1e-3 <= least <= math.log(low) + 1e-12
    assert math.log(high) - 1e-12 <= most <= math.log(high) + 1e-3
    assert curve.below(epsilon).log - 1e-12 <= math.log(value) <= curve.above(epsilon).log + 1e-12
    assert curve.above(epsilon).log - curve.below(epsilon).log < 2e-3


def test_tails_that_are_given_away_leave_no_common_law():
    """Normal noise: ratios are unbounded, and cells beyond the last one count as singular."""
    laplace, normal = (
        parse(text).decomposition(Pair(0, 1)) for text in ("laplace(1)", "gaussian(sigma=1)")
    )
    assert has_common_law(laplace)
    assert not has_common_law(normal)
    nothing = [Fraction(0)] * 2
    disjoint = Decomposition.from_coefficients([1, 0], [0, 1], nothing)
    assert not has_common_law(disjoint)


REFERENCE = [
    (10, 1, [(20, 1), (20, 2), (20, 4)], 0.3, 0.00014004115332663561),
    (10, 2, [(20, 1), (20, 2), (20, 4)], 0.5, 0.0074974794527136003),
    (10, 4, [(20, 1), (20, 2), (20, 4)], 1.0, 0.041094388864252241),
    (3, 4, [(30, 0.5), (30, 4)], 0.8, 0.012786833316731795),
    (2, 2, [(40, 1), (40, 3)], 0.5, 0.0085230783726784216),
    (4, 1, [(10, 1), (50, 6)], 0.4, 0.01443506906237373),
]


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize(("k", "own", "others", "epsilon", "value"), REFERENCE)
def test_reference_values(k, own, others, epsilon, value):
    """Of k-ary response, by direct sums in 40 digits."""
    blanket = KRR(k=k, epsilon0=own).decomposition(Pair(0, 1))
    with precision():
        shares = [
            (KRR(k=k, epsilon0=level).decomposition(Pair(0, 1)).mass, count)
            for count, level in others
        ]
    found = Pool(blanket, shares, 1e-4).above(epsilon).log
    assert math.log(value) <= found <= math.log(value) + 3e-3


def test_dummies_have_a_whole_share():
    blanket = KRR(k=10, epsilon0=3).decomposition(Pair(0, 1))
    with precision():
        others = [(blanket.mass, 59), (ball(1), 20)]
    found = Pool(blanket, others, 1e-4).above(0.7).log
    assert 0 <= found - math.log(0.019629187488231409) <= 3e-3
    alone = Pool(blanket, [(others[1][0], 30)], 1e-4).above(0.7).log
    assert 0 <= alone - math.log(0.034952527323310497) <= 3e-3


@pytest.mark.parametrize(
    ("own", "low", "high"), [(1, 0.029768, 0.02978), (2, 0.085179, 0.08520), (4, 0.194973, 0.19502)]
)
def test_epsilons_of_three_tiers(own, low, high):
    """3333 users of each level, delta = 1e-6."""
    blankets = {level: KRR(k=10, epsilon0=level).decomposition(Pair(0, 1)) for level in (1, 2, 4)}
    others = [(blankets[level].mass, 3333 - (level == own)) for level in (1, 2, 4)]
    assert low <= epsilon_above(Pool(blankets[own], others, 1e-4), 1e-6, 1e-4).epsilon <= high
