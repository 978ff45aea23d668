"""Merging, reversing, products and mixtures of decompositions."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from comparing import (
    EPSILONS,
    assert_same,
    cells,
    five_points,
    seeds,
)
from hypothesis import given
from hypothesis import strategies as st
from oracles import enumerated_delta, stop_loss, thresholds
from strategies import coefficients, exp_epsilons

from shuffledp.decomposition import Decomposition

# -- merging and reversing ------------------------------------------------------------------------


@given(coefficients(singular=True), st.integers(2, 5))
def test_merging_undoes_splitting(parts, pieces):
    d = parts.decomposition()
    split = Decomposition.mixture([1 / pieces] * pieces, [d] * pieces)
    assert split.size == pieces * d.size
    merged = split.merge()
    covered = [(a / c, b / c) for a, b, c in zip(parts.a, parts.b, parts.c, strict=True) if c]
    distinct: Counter = Counter()
    for ratios, c in zip(covered, filter(None, parts.c), strict=True):
        distinct[ratios] += c
    distinct.pop((0, 0), None)  # what neither input produces counts as residual
    expected = np.array(
        sorted((float(r0), float(r1), float(c)) for (r0, r1), c in distinct.items())
    ).reshape(-1, 3)
    actual = np.array(sorted(zip(merged.ratio0, merged.ratio1, merged.weight, strict=True)))
    np.testing.assert_allclose(actual.reshape(-1, 3), expected, rtol=1e-12)
    assert merged.residual == pytest.approx(d.residual)


@given(seeds, st.sampled_from(EPSILONS))
def test_merging_keeps_the_law(seed, epsilon):
    # Ratios on a small lattice, so that many coincide.
    rng = np.random.default_rng(seed)
    u, v = np.exp(0.25 * rng.integers(0, 4, (2, 60)))
    c = rng.dirichlet(np.ones(60))
    d = Decomposition.from_coefficients(c * u / (c @ u), c * v / (c @ v), c / 4)
    merged = d.merge()
    assert merged.size <= 16
    before, after = d.at(epsilon).lower, merged.at(epsilon).lower
    levels = thresholds(before)
    np.testing.assert_allclose(stop_loss(after, levels), stop_loss(before, levels), atol=1e-13)


def test_merging_does_not_join_close_but_different_ratios():
    c = np.full(4, 0.25)
    shift = 1e-12 * np.array([1, -1, 2, -2])
    d = Decomposition.from_coefficients(c * (1 + shift), c, c)
    assert d.merge().size == 4


def test_merging_covers_how_far_ratios_were_moved():
    d = Decomposition(
        log_ratio0=[1e-10, 0.0],
        log_ratio1=[0.0, 0.0],
        weight=[0.5, 0.5],
        residual=0.0,
        log_ratio_error=[1e-10, 1e-10],
    )
    merged = d.merge()
    assert merged.size == 1
    for log in (0.0, 1e-10):
        assert abs(merged.log_ratio0[0] - log) + 1e-10 <= merged.log_ratio_error[0] * (1 + 1e-15)


def test_merging_nothing():
    alone = Decomposition(
        log_ratio0=[], log_ratio1=[], weight=[], residual=1.0, singular0=[1.0], singular1=[1.0]
    )
    assert alone.merge().size == 0


@given(coefficients(singular=True))
def test_swap_is_the_decomposition_of_the_reversed_pair(parts):
    vectors = [list(map(float, x)) for x in (parts.b, parts.a, parts.c)]
    assert_same(parts.decomposition().swap(), Decomposition.from_coefficients(*vectors))


def test_swap_reverses_cells_too():
    d = cells(5, 3)[0]
    swapped = d.swap()
    assert swapped.spread is not None
    assert_same(swapped.spread, d.spread.swap())
    assert_same(swapped.swap(), d)


# -- joint and parallel composition ---------------------------------------------------------------


def outer(x, y) -> np.ndarray:
    return np.outer([float(v) for v in x], [float(v) for v in y]).ravel()


@given(coefficients(max_components=3, singular=True), coefficients(max_components=3, singular=True))
def test_product_is_made_of_products(one, two):
    joint = one.decomposition().product(two.decomposition())
    direct = Decomposition.from_coefficients(
        outer(one.a, two.a),
        outer(one.b, two.b),
        outer(one.c, two.c),
        residual=float(1 - (1 - one.residual) * (1 - two.residual)),
    )
    assert_same(joint, direct)


@given(
    coefficients(max_components=2, singular=True),
    coefficients(max_components=2, singular=True),
    st.integers(1, 2),
    exp_epsilons(),
)
def test_bound_of_a_product(one, two, n, exp_epsilon):
    gparv = one.decomposition().product(two.decomposition()).at(math.log(exp_epsilon))
    triples = [
        (a * d, b * e, c * f)
        for a, b, c in zip(one.a, one.b, one.c, strict=True)
        for d, e, f in zip(two.a, two.b, two.c, strict=True)
    ]
    joint = type(one)(*map(tuple, zip(*triples, strict=True)))
    value = enumerated_delta(gparv.upper, n) + gparv.singular_upper
    assert value == pytest.approx(float(joint.delta(n, exp_epsilon)), abs=1e-12)


@given(
    coefficients(max_components=3, singular=True),
    coefficients(max_components=3, singular=True),
    st.integers(1, 15),
)
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
        ([1.5, -0.5], 2, "weights must be positive and sum to 1"),
        ([math.nan, 0.5], 2, "weights must be finite"),
    ],
)
def test_bad_mixtures(weights, count, message):
    with pytest.raises(ValueError, match=message):
        Decomposition.mixture(weights, [five_points(1.0, 0.1, 0.1)] * count)


def test_subsampling_adds_a_public_silence():
    # Theory: silence has ratios (1, 1), not (0, 0); the residual shrinks with the rate.
    d = five_points(1.0, 0.1, 0.1)
    silence = Decomposition(log_ratio0=[0.0], log_ratio1=[0.0], weight=[1.0], residual=0.0)
    sampled = Decomposition.mixture([0.25, 0.75], [d, silence])
    assert sampled.residual == pytest.approx(0.25 * d.residual)
    law = sampled.at(0.3).lower
    silent = law.values[np.isclose(law.weights, 0.75)]
    np.testing.assert_allclose(silent, [-math.expm1(0.3)], rtol=1e-14)
