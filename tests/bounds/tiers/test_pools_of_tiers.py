"""The pool of tiers against sums over its size, in fractions, and against reference values."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from rational import exact_delta

from shuffledp.bounds.root import epsilon_above
from shuffledp.bounds.tiers.pool import Pool
from shuffledp.engine.balls import ball, precision
from shuffledp.newdec import Decomposition
from shuffledp.randomizers import KRR, Pair


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
    found = pool(k, odds, groups).above(math.log(growth)).log
    if exact == 0:
        assert found < -30
        return
    assert math.log(exact) - 1e-12 <= found <= math.log(exact) + 0.01


REFERENCE = [
    (10, 1, [(20, 1), (20, 2), (20, 4)], 0.3, 0.00014004115332663561),
    (10, 2, [(20, 1), (20, 2), (20, 4)], 0.5, 0.0074974794527136003),
    (10, 4, [(20, 1), (20, 2), (20, 4)], 1.0, 0.041094388864252241),
    (3, 4, [(30, 0.5), (30, 4)], 0.8, 0.012786833316731795),
    (2, 2, [(40, 1), (40, 3)], 0.5, 0.0085230783726784216),
    (4, 1, [(10, 1), (50, 6)], 0.4, 0.01443506906237373),
]


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
