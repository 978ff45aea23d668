"""Decompositions: construction, their law at one epsilon, their largest epsilon."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from comparing import singular_pairs
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from oracles import enumerated_delta
from strategies import cloud, coefficients, exp_epsilons

from shuffledp import KRR, Pair
from shuffledp.basics.balls import ball, precision
from shuffledp.decomposition import Decomposition

HALVES = [0.5, 0.5]

# -- construction ---------------------------------------------------------------------------------


def test_stores_ratios_weights_and_residual():
    d = Decomposition.from_coefficients([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.125, 0.25, 0.25])
    np.testing.assert_allclose(d.ratio0, [4, 1, 1], rtol=1e-15)
    np.testing.assert_allclose(d.ratio1, [2, 2, 1], rtol=1e-15)
    assert d.weight.tolist() == [0.125, 0.25, 0.25]
    assert d.residual == 0.375
    assert d.size == 3
    assert d.upper is d
    with pytest.raises(AttributeError):
        d.residual = arb(0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5], HALVES, HALVES), "a, b and c must have the same length, got 1, 2 and 2"),
        (([-0.5, 1.5], HALVES, HALVES), "a must be at least 0"),
        ((HALVES, [math.nan, 0.5], HALVES), "b must be at least 0"),
        ((HALVES, HALVES, [0.5, -0.5]), "c must be at least 0"),
        ((HALVES, HALVES, [0.5, math.inf]), "c must be at least 0 and finite"),
        (([0.5, 0.4], HALVES, HALVES), "masses of a must sum to 1"),
        ((HALVES, [0.5, 0.6], HALVES), "masses of b must sum to 1"),
        ((HALVES, HALVES, [0.5, 0.6]), "masses of c must sum to at most 1"),
        (([HALVES], HALVES, HALVES), "a must be one-dimensional"),
    ],
)
def test_bad_coefficients_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Decomposition.from_coefficients(*arguments)


def test_coefficients_must_be_numbers():
    with pytest.raises(TypeError, match="a must be a sequence of real numbers, got the entry 'x'"):
        Decomposition.from_coefficients(["x", 0.5], HALVES, HALVES)


def test_components_without_weight_are_kept_apart():
    d = Decomposition.from_coefficients(
        [0.25, 0.25, 0.5, 0.0], [0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 0.5, 0.0]
    )
    assert singular_pairs(d) == [(0.25, 0.0), (0.25, 0.5)]
    assert d.size == 1
    assert d.residual == 0.5
    assert d.is_singular


def test_rounding_noise_is_no_residual():
    tenth = [0.1] * 10
    assert sum(map(Fraction, tenth)) > 1
    assert Decomposition.from_coefficients(tenth, tenth, tenth).residual.is_zero()


def test_components_that_neither_input_can_produce_are_residual():
    d = Decomposition.from_coefficients([0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5])
    assert (d.size, d.residual) == (1, 0.5)
    assert d.max_epsilon == 0


@given(coefficients(singular=True))
def test_coefficients_survive(parts):
    d = parts.decomposition()
    ratios: dict[tuple[Fraction, Fraction], Fraction] = {}
    for a, b, c in zip(parts.a, parts.b, parts.c, strict=True):
        if c:
            ratios[a / c, b / c] = ratios.get((a / c, b / c), Fraction(0)) + c
    silent = ratios.pop((Fraction(0), Fraction(0)), Fraction(0))
    found = sorted(zip(d.ratio0, d.ratio1, d.weight, strict=True))
    wanted = sorted((float(x), float(y), float(c)) for (x, y), c in ratios.items())
    np.testing.assert_allclose(np.array(found).reshape(-1, 3), np.array(wanted).reshape(-1, 3))
    assert float(d.residual) == pytest.approx(float(parts.residual + silent), rel=1e-15)
    assert singular_pairs(d) == sorted((float(a), float(b)) for a, b in parts.singular if a or b)


# -- the law at one epsilon -----------------------------------------------------------------------


@given(coefficients(singular=True), st.floats(-1, 3))
def test_values_are_those_of_the_exact_coefficients(parts, epsilon):
    law = parts.decomposition().at(epsilon).lower
    with precision(600):
        cost = arb(epsilon).exp()
        exact = [
            (ball(a / c) - cost * ball(b / c), c)
            for a, b, c in zip(parts.a, parts.b, parts.c, strict=True)
            if c
        ]
        for value, _ in exact:
            assert any(atom.value.overlaps(value) for atom in law.atoms)
        for atom in law.atoms:
            mass = sum((c for value, c in exact if atom.value.overlaps(value)), Fraction(0))
            assert atom.value.is_zero() or atom.mass.overlaps(ball(mass))


@pytest.mark.parametrize("epsilon0", [1e-6, 1e-3, 0.1, 1.0, 4.0])
@pytest.mark.parametrize("below", [0.0, 1e-15, 1e-12, 1e-9, 1e-3, 0.3, 1.0, 1.5])
def test_values_keep_relative_accuracy_next_to_the_largest_epsilon(epsilon0, below):
    level = Fraction(math.exp(epsilon0))
    p = 1 / (level + 1)
    d = Decomposition.from_coefficients([level * p, p], [p, level * p], [p, p])
    epsilon = d.max_epsilon * (1 - below)
    for value, _ in d.at(epsilon).lower.atoms:
        assert value.contains(0) or value.rel_accuracy_bits() >= 50
    assert (d.at(epsilon).lower.atoms[0].value > 0) == (below > 0)


@given(coefficients(), st.floats(-1, 3))
def test_mean_is_one_minus_exp_epsilon(parts, epsilon):
    law = parts.decomposition().at(epsilon).lower
    assert law.mean.overlaps(-arb(epsilon).expm1())
    assert sum(atom.mass for atom in law.atoms) == pytest.approx(1, abs=1e-30)


@given(coefficients(singular=True), exp_epsilons(4))
def test_singular_part_is_enclosed(parts, exp_epsilon):
    gains = parts.decomposition().at(math.log(exp_epsilon))
    exact = sum((max(a - exp_epsilon * b, Fraction(0)) for a, b in parts.singular), Fraction(0))
    # log(exp_epsilon) is rounded, which moves the sum by an ulp of e^epsilon.
    assert all(abs(side - ball(exact)) < 1e-15 for side in gains.exposed)


@given(coefficients(max_components=3, singular=True), st.integers(1, 4), exp_epsilons(4))
def test_bound_of_the_law_is_the_exact_one(parts, n, exp_epsilon):
    gains = parts.decomposition().at(math.log(exp_epsilon))
    value = enumerated_delta(gains.lower, n) + float(gains.exposed[0])
    assert value == pytest.approx(float(parts.delta(n, exp_epsilon)), abs=1e-13)


def test_zero_coefficients():
    d = Decomposition.from_coefficients([0.0, 1.0], [1.0, 0.0], HALVES)
    assert [c.log0 is None for c in d.components] == [True, False]
    assert [c.log1 is None for c in d.components] == [False, True]
    np.testing.assert_allclose(d.at(0.5).lower.values, [-2 * math.exp(0.5), 2.0], rtol=1e-15)
    assert d.max_epsilon == d.min_end == math.inf


def test_values_where_b_is_tiny():
    d = Decomposition.from_coefficients(HALVES, [1e-315, 1.0], HALVES)
    np.testing.assert_allclose(d.at(0.1).lower.values, [1.0, 1 - 2 * math.exp(0.1)], rtol=1e-14)


@pytest.mark.parametrize("epsilon", [300.5, -301.0, math.nan, math.inf])
def test_epsilon_out_of_range(epsilon):
    with pytest.raises(ValueError, match="epsilon must"):
        Decomposition.silent().at(epsilon)


def test_atoms_have_one_law():
    gains = cloud(1, 5, 1.0).at(0.2)
    assert gains.lower is gains.upper


# -- the largest epsilon --------------------------------------------------------------------------


@given(coefficients(singular=True).filter(lambda p: all(map(any, zip(p.a, p.b, strict=True)))))
def test_largest_epsilon_is_where_the_bound_vanishes(parts):
    d = parts.decomposition()
    if any(a and not b for a, b in zip(parts.a, parts.b, strict=True)):
        assert d.max_epsilon == math.inf
        return
    largest = max(a / b for a, b in zip(parts.a, parts.b, strict=True) if b)
    with precision():
        level = ball(largest).log()
        assert d.min_end <= float(level) * (1 + 1e-15)
        assert level <= d.max_epsilon <= float(level) * (1 + 1e-15)
    if d.max_epsilon > 1e-9:
        gains = d.at(d.max_epsilon * (1 - 1e-9))
        assert enumerated_delta(gains.upper, 1) + float(gains.exposed[1]) > 0
    gains = d.at(d.max_epsilon + 1e-12)
    assert enumerated_delta(gains.upper, 1) + float(gains.exposed[0]) == 0


def test_tiny_gains_have_all_digits_in_estimates():
    level = 1e-12
    d = KRR(k=3, epsilon0=level).decomposition(Pair(0, 1))
    gains = sorted(d.rough_gains(level / 2).tolist())
    assert gains[-1] == pytest.approx(level / 2, rel=1e-9)
    assert float(d.weight @ d.rough_gains(0.0)) == pytest.approx(0.0, abs=1e-27)


def test_what_reveals_nothing_still_does_beside_another_report():
    u = KRR(k=3, epsilon0=1.0)
    both = Decomposition.silent().times(u.decomposition(Pair(0, 0)))
    assert both.at(0.0).upper.values.tolist() == [0.0] * len(both.at(0.0).upper.atoms)
    assert all(atom.value.is_zero() for atom in both.at(0.0).upper.atoms)


def test_ratios_next_to_one_have_all_digits():
    d = Decomposition.from_coefficients([1e-250, 1.0], [2e-250, 1.0], [1e-250, 1.0])
    assert max(d.at(0.0).upper.values) == pytest.approx(1e-250, rel=1e-9)
