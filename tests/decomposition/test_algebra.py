"""Merging, reversing, products and mixtures of decompositions; products on a lattice."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from functools import reduce
from itertools import product

import numpy as np
import pytest
from comparing import EPSILONS, assert_below, assert_between, assert_same
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from oracles import enumerated_delta
from strategies import cloud, coefficients, exp_epsilons

from shuffledp import KRR, Gaussian, Laplace, MatrixRandomizer, Pair, joint
from shuffledp.basics.balls import total
from shuffledp.decomposition import Decomposition, product_of

small = coefficients(max_components=3, singular=True)


def times(one, two):
    """The coefficients of a product."""
    rows = product(zip(one.a, one.b, one.c, strict=True), zip(two.a, two.b, two.c, strict=True))
    triples = [(a * d, b * e, c * f) for (a, b, c), (d, e, f) in rows]
    return type(one)(*map(tuple, zip(*triples, strict=True)))


# -- merging and reversing ------------------------------------------------------------------------


@given(coefficients(singular=True), st.integers(2, 5))
def test_merging_undoes_splitting(parts, pieces):
    d = parts.decomposition()
    split = Decomposition(d.scaled(arb(1) / pieces).components * pieces, d.residual, d.singular)
    merged = split.merged()
    assert split.size == pieces * merged.size == pieces * d.size
    assert_same(merged, d)


@given(st.integers(0, 2**32 - 1), st.sampled_from(EPSILONS))
def test_merging_keeps_the_law(seed, epsilon):
    # Ratios on a small lattice, so that many coincide.
    rng = np.random.default_rng(seed)
    u, v = rng.integers(1, 5, (2, 60))
    c = rng.integers(1, 9, 60)
    vectors = [
        [Fraction(int(x), int(masses.sum())) for x in masses] for masses in (c * u, c * v, 4 * c)
    ]
    vectors[2] = [x / 4 for x in vectors[2]]
    merged = Decomposition.from_coefficients(*vectors)
    assert merged.size <= 16
    rows = (map(float, row) for row in zip(*vectors, strict=True))
    atoms = [((x - math.exp(epsilon) * y) / z, z) for x, y, z in rows]
    law = merged.at(epsilon).lower
    for level in law.values[:5]:
        direct = sum(max(g - level, 0) * z for g, z in atoms) + 0.75 * max(-level, 0)
        assert np.maximum(law.values - level, 0) @ law.masses == pytest.approx(direct, abs=1e-12)


def test_merging_does_not_join_close_but_different_ratios():
    c = np.full(4, 0.25)
    shift = 1e-12 * np.array([1, -1, 2, -2])
    assert Decomposition.from_coefficients(c * (1 + shift), c, c).size == 4


def test_merged_balls_hold_the_ratios_of_their_members():
    wide, narrow = arb(0, 1e-10), arb(1e-10, 1e-12)
    weight, law = arb(0.5), Decomposition.silent()
    parts = tuple(law.components[0]._replace(log0=log, weight=weight) for log in (wide, narrow))
    (one,) = Decomposition(parts, arb(0)).merged().components
    assert one.log0.contains(wide)
    assert one.log0.contains(narrow)
    assert one.weight == 1


@given(coefficients(singular=True))
def test_swap_is_the_decomposition_of_the_reversed_pair(parts):
    reverse = Decomposition.from_coefficients(parts.b, parts.a, parts.c)
    assert_same(parts.decomposition().swap(), reverse)


def test_swap_reverses_cells_too():
    d = Laplace(epsilon0=1.0).decomposition(Pair(0, 1), 0)
    swapped = d.swap()
    assert_same(swapped.upper, d.upper.swap())
    assert_same(swapped.swap(), d)


# -- joint and parallel composition ---------------------------------------------------------------


@given(small, small)
def test_product_is_made_of_products(one, two):
    whole = one.decomposition().times(two.decomposition())
    assert_same(whole, times(one, two).decomposition())


@given(
    coefficients(max_components=2, singular=True),
    coefficients(max_components=2, singular=True),
    st.integers(1, 2),
    exp_epsilons(),
)
def test_bound_of_a_product(one, two, n, exp_epsilon):
    gains = one.decomposition().times(two.decomposition()).at(math.log(exp_epsilon))
    value = enumerated_delta(gains.upper, n) + float(gains.exposed[1])
    assert value == pytest.approx(float(times(one, two).delta(n, exp_epsilon)), abs=1e-12)


@given(small, small, st.integers(1, 15))
def test_mixture_is_made_of_weighted_parts(one, two, sixteenths):
    w = sixteenths / 16
    mixed = Decomposition.mixture([w, 1 - w], [one.decomposition(), two.decomposition()])
    vectors = (
        np.concatenate([w * np.array(x, dtype=float), (1 - w) * np.array(y, dtype=float)])
        for x, y in ((one.a, two.a), (one.b, two.b), (one.c, two.c))
    )
    assert_same(mixed, Decomposition.from_coefficients(*vectors))


@pytest.mark.parametrize(
    ("weights", "count", "message"),
    [
        ([], 0, "non-empty and of equal length, got 0 and 0"),
        ([1.0], 2, "non-empty and of equal length, got 1 and 2"),
        ([0.5, 0.6], 2, "weights must be positive and sum to 1"),
        ([0.0, 1.0], 2, "weights must be positive and sum to 1"),
        ([1.5, -0.5], 2, "weights must be at least 0"),
        ([math.nan, 0.5], 2, "weights must be at least 0 and finite"),
    ],
)
def test_bad_mixtures(weights, count, message):
    with pytest.raises(ValueError, match=message):
        Decomposition.mixture(weights, [Decomposition.silent()] * count)


def test_subsampling_adds_a_public_silence():
    # Theory: silence has ratios (1, 1), not (0, 0); the residual shrinks with the rate.
    d = Decomposition.from_coefficients([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
    sampled = Decomposition.mixture([0.25, 0.75], [d, Decomposition.silent()])
    assert sampled.residual == d.residual / 4
    (silent,) = (atom.value for atom in sampled.at(0.3).lower.atoms if atom.mass == 0.75)
    assert silent.overlaps(-arb(0.3).expm1())


# -- products on a lattice ------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(4))
def test_products_enclose_the_exact_product(seed):
    factors = [cloud(3 * seed + i, size, 0.8) for i, size in enumerate((70, 80, 5))]
    coarse = product_of(factors)
    assert coarse.spread is not None
    assert_between(coarse, reduce(Decomposition.times, factors))


def test_ratios_of_zero_stay():
    rng = np.random.default_rng(1)
    a, b, c = rng.dirichlet(np.ones(100), 3)
    a[:20] = 0
    b[10:40] = 0
    with_zeros = Decomposition.from_coefficients(a / a.sum(), b / b.sum(), 0.5 * c)
    factors = [with_zeros, cloud(2, 70, 1.0)]
    coarse = product_of(factors)
    for place in (0, 1):
        assert any(part[place] is None for part in coarse.upper.components)
    assert_between(coarse, reduce(Decomposition.times, factors))


def test_small_products_are_exact():
    factors = [cloud(seed, 6, 1.0) for seed in range(3)]
    exact, whole = reduce(Decomposition.times, factors), product_of(factors)
    assert whole.spread is None
    assert whole.size == exact.size == 216
    assert_same(whole, exact)


def test_no_factors_reveal_nothing():
    nothing = product_of([])
    assert nothing.size == 1
    assert nothing.at(0.0).lower.values.tolist() == [0.0]


LARGE = {
    "6 equal Laplace": [Laplace(epsilon0=0.5)] * 6,
    "6 different Laplace": [Laplace(epsilon0=0.3 + 0.1 * i) for i in range(6)],
    "12 different randomized responses": [KRR(k=3 + i, epsilon0=1 + i / 7) for i in range(12)],
    "12 responses and a Laplace": [
        *(KRR(k=3 + i, epsilon0=0.1 + i / 70) for i in range(12)),
        Laplace(epsilon0=1.0),
    ],
    "2 Gaussians": [Gaussian(sigma=1.0), Gaussian(sigma=3.0)],
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", LARGE)
def test_large_products_stay_small_and_quick(name):
    blankets = [part.decomposition(part.neighbours()[0]) for part in LARGE[name]]
    start = time.process_time()
    whole = product_of(blankets)
    assert time.process_time() - start < 20
    assert max(whole.size, whole.upper.size) <= 2**14
    kept = math.prod(1 - blanket.residual for blanket in blankets)
    assert whole.residual.overlaps(1 - kept)


# -- masses and ratios beyond the range of doubles ------------------------------------------------


def masses(d: Decomposition) -> arb:
    covered = (c.weight * c.log0.exp() for c in d.components if c.log0 is not None)
    return total(covered) + total(s.a for s in d.singular)


@pytest.mark.parametrize("tail", [1e-150, 1e-200, 1e-249])
@pytest.mark.parametrize("parts", [2, 3])
def test_products_of_which_nothing_is_a_normal_double(tail, parts):
    part = MatrixRandomizer([[1.0, tail], [tail, 1.0]])
    whole = joint(*[part] * parts)
    blanket = whole.decomposition(Pair((0,) * parts, (1,) * parts))
    laws = [[math.prod(p) for p in product(part.law(x), repeat=parts)] for x in (0, 1)]
    gains = blanket.at(1.0)
    revealed = total(a.mass * a.value for a in gains.upper.atoms if a.value > 0)
    exact = float(sum(max(a - math.e * float(b), 0) for a, b in zip(*laws, strict=True)))
    assert float(revealed + gains.exposed[1]) == pytest.approx(exact, rel=1e-12)
    assert masses(blanket).overlaps(arb(1))


def test_ratios_beyond_the_range_of_doubles():
    whole = joint(*[KRR(k=3, epsilon0=210.0)] * 3)
    blanket = whole.decomposition(whole.neighbours()[0])
    assert blanket.max_epsilon >= 630
    assert masses(blanket).overlaps(arb(1))


def test_singular_masses_below_all_doubles_count():
    tiny = 1e-200
    one = Decomposition.from_coefficients([tiny, 1.0], [0.0, 1.0], [0.0, 0.5])
    whole = one.times(one).times(one)
    assert whole.at(0.0).exposed[1] > 0
    assert any(s.a.overlaps(one.singular[0].a ** 3) for s in whole.singular)


def test_convex_order_of_mixtures_of_cells():
    """A mixture of enclosures encloses the mixture."""
    cells, atoms = Laplace(epsilon0=1.0), KRR(k=3, epsilon0=0.5)
    pair = Pair(0, 1)
    mixed = Decomposition.mixture(
        [0.25, 0.75], [cells.decomposition(pair), atoms.decomposition(pair)]
    )
    assert mixed.spread is not None
    for epsilon in EPSILONS:
        gains = mixed.at(epsilon)
        assert_below(gains.lower, gains.upper)
        for law in (gains.lower, gains.upper):
            assert law.mean.overlaps(-arb(epsilon).expm1())
