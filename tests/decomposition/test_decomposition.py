"""Decompositions: construction, their law at one epsilon, their largest epsilon, corners."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from comparing import (
    INF,
    cells,
    five_points,
    singular_pairs,
)
from hypothesis import given
from hypothesis import strategies as st
from oracles import enumerated_delta
from strategies import cloud, coefficients, exp_epsilons

from shuffledp.decomposition import GPARV, Decomposition, Law

# -- construction ---------------------------------------------------------------------------------


def test_stores_ratios_weights_and_residual():
    d = Decomposition.from_coefficients([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.125, 0.25, 0.25])
    np.testing.assert_allclose(d.ratio0, [4, 1, 1], rtol=1e-15)
    np.testing.assert_allclose(d.ratio1, [2, 2, 1], rtol=1e-15)
    assert d.weight.tolist() == [0.125, 0.25, 0.25]
    assert d.residual == 0.375
    assert d.size == 3
    assert d.upper is d


def test_arrays_are_private_and_frozen():
    a, c = np.array([0.5, 0.5]), np.array([0.25, 0.5])
    d = Decomposition.from_coefficients(a, a, c)
    c[0] = 0.1
    assert d.weight[0] == 0.25
    for name in ("log_ratio0", "log_ratio1", "weight", "singular0", "singular1"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(d, name)[:] = 0.0
    with pytest.raises(AttributeError):
        d.residual = 0.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"log_ratio0": [0.0]}, "must have the same length, got 1, 2 and 2"),
        ({"log_ratio1": [0.0, 0.0, 0.0]}, "must have the same length, got 2, 3 and 2"),
        ({"log_ratio0": [math.nan, 0.0]}, "log_ratio0 must be at most 600"),
        ({"log_ratio1": [601.0, 0.0]}, "log_ratio1 must be at most 600"),
        ({"log_ratio0": [INF, 0.0]}, "log_ratio0 must be at most 600"),
        ({"weight": [1.0, 0.0]}, "weight must be positive and finite"),
        ({"weight": [1.5, -0.5]}, "weight must be positive and finite"),
        ({"weight": [INF, 0.5]}, "weight must be positive and finite"),
        ({"weight": [math.nan, 0.5]}, "weight must be positive and finite"),
        ({"weight": [0.5, 0.25]}, r"weight plus residual must sum to 1, got 0\.75"),
        ({"residual": 0.25}, r"weight plus residual must sum to 1, got 1\.25"),
        ({"residual": -0.1}, r"residual must be at least 0, got -0\.1"),
        ({"residual": math.nan}, "residual must be finite"),
        ({"log_ratio0": [0.1, 0.0]}, "masses of a must sum to 1"),
        ({"log_ratio1": [0.1, 0.0]}, "masses of b must sum to 1"),
        ({"singular0": [0.1], "singular1": [0.0]}, r"masses of a must sum to 1, got 1\.1"),
        ({"singular0": [0.0], "singular1": [0.1]}, r"masses of b must sum to 1, got 1\.1"),
        ({"singular0": [-0.1], "singular1": [0.0]}, r"singular0 must lie in \[0, 1\]"),
        ({"singular0": [0.0], "singular1": [1.1]}, r"singular1 must lie in \[0, 1\]"),
        ({"singular0": [0.0]}, "singular0 and singular1 must have the same length, got 1 and 0"),
        ({"weight": [[0.5, 0.5]]}, "weight must be one-dimensional"),
    ],
)
def test_broken_invariants_are_named(changes, message):
    arguments = {
        "log_ratio0": [0.0, 0.0],
        "log_ratio1": [0.0, 0.0],
        "weight": [0.5, 0.5],
        "residual": 0.0,
    }
    Decomposition(**arguments)
    with pytest.raises(ValueError, match=message):
        Decomposition(**(arguments | changes))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5], [0.5, 0.5], [0.5, 0.5]), "a, b and c must have the same length, got 1, 2 and 2"),
        (([-0.5, 1.5], [0.5, 0.5], [0.5, 0.5]), "a must be at least 0"),
        (([0.5, 0.5], [math.nan, 0.5], [0.5, 0.5]), "b must be at least 0"),
        (([0.5, 0.5], [0.5, 0.5], [0.5, -0.5]), "c must be at least 0"),
        (([0.5, 0.4], [0.5, 0.5], [0.5, 0.5]), "masses of a must sum to 1"),
        (([0.5, 0.5], [0.5, 0.6], [0.5, 0.5]), "masses of b must sum to 1"),
        (([0.5, 0.5], [0.5, 0.5], [0.5, 0.6]), "weight plus residual must sum to 1"),
    ],
)
def test_bad_coefficients_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Decomposition.from_coefficients(*arguments)


def test_a_given_residual_must_fit():
    halves = [0.5, 0.5]
    assert (
        Decomposition.from_coefficients(halves, halves, [0.5, 0.25], residual=0.25).residual == 0.25
    )
    with pytest.raises(ValueError, match="weight plus residual"):
        Decomposition.from_coefficients(halves, halves, [0.5, 0.25], residual=0.125)


def test_components_without_weight_are_kept_apart():
    d = Decomposition.from_coefficients(
        [0.25, 0.25, 0.5, 0.0], [0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 0.5, 0.0]
    )
    assert singular_pairs(d) == [(0.25, 0.0), (0.25, 0.5)]
    assert d.size == 1
    assert d.residual == 0.5


def test_rounding_noise_is_no_residual():
    tenth = [0.1] * 10
    assert sum(tenth) != 1
    assert Decomposition.from_coefficients(tenth, tenth, tenth).residual == 0.0


@given(coefficients(singular=True))
def test_coefficients_survive(parts):
    d = parts.decomposition()
    covered = [j for j, c in enumerate(parts.c) if c and (parts.a[j] or parts.b[j])]
    silent = sum(c for a, b, c in zip(parts.a, parts.b, parts.c, strict=True) if not a and not b)
    np.testing.assert_allclose(
        d.ratio0 * d.weight, [float(parts.a[j]) for j in covered], rtol=1e-13
    )
    np.testing.assert_allclose(
        d.ratio1 * d.weight, [float(parts.b[j]) for j in covered], rtol=1e-13
    )
    assert d.residual == pytest.approx(float(parts.residual + silent), rel=1e-15)
    assert singular_pairs(d) == sorted((float(a), float(b)) for a, b in parts.singular if a or b)


# -- the law at one epsilon -----------------------------------------------------------------------


def assert_values(law: Law, exact: list[mpmath.mpf]) -> None:
    for value, error, reference in zip(law.values, law.value_error, exact, strict=False):
        assert abs(mpmath.mpf(float(value)) - reference) <= mpmath.mpf(float(error)), (
            value,
            error,
            mpmath.nstr(reference, 20),
        )


@pytest.mark.parametrize("epsilon0", [1e-6, 1e-3, 0.1, 1.0, 4.0])
@pytest.mark.parametrize("below", [0.0, 1e-15, 1e-12, 1e-9, 1e-3, 0.3, 1.0, 1.5])
def test_values_keep_relative_accuracy_next_to_the_largest_epsilon(epsilon0, below):
    d = five_points(epsilon0, p=0.2 / (math.exp(epsilon0) + 1), q=0.1 / math.exp(epsilon0))
    epsilon = epsilon0 * (1 - below)
    law = d.at(epsilon).lower
    with mpmath.workdps(50):
        exact = [
            mpmath.exp(mpmath.mpf(float(x)))
            - mpmath.exp(mpmath.mpf(epsilon) + mpmath.mpf(float(y)))
            for x, y in zip(d.log_ratio0, d.log_ratio1, strict=True)
        ]
        assert_values(law, exact)
        for value, reference in zip(law.values, exact, strict=False):
            assert abs(mpmath.mpf(float(value)) - reference) <= 1e-14 * abs(reference)
    assert law.values[-1] == 0.0
    assert law.weights[-1] == d.residual


@pytest.mark.parametrize("epsilon0", [1e-6, 1e-2, 1.0, 5.0])
@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 1e-9, 0.1, 1.0, 3.0])
def test_values_from_coefficients_are_as_accurate_as_stated(epsilon0, epsilon):
    rng = np.random.default_rng(11)
    c = rng.dirichlet(np.ones(40))
    a, b = c * np.exp(epsilon0 * rng.uniform(-1, 1, (2, 40)))
    a, b = a / a.sum(), b / b.sum()
    law = Decomposition.from_coefficients(a, b, c / 2).at(epsilon).lower
    with mpmath.workdps(50):
        factor = mpmath.exp(mpmath.mpf(epsilon))
        first, second = (mpmath.fsum(map(mpmath.mpf, row.tolist())) for row in (a, b))
        exact = [
            (mpmath.mpf(x) / first - factor * mpmath.mpf(y) / second) / mpmath.mpf(z / 2)
            for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
        ]
        assert_values(law, exact)
    assert law.value_error.max() < 2e-13 * math.exp(epsilon0 + abs(epsilon))


@given(coefficients(singular=True), st.floats(-1, 3))
def test_values_of_exact_coefficients(parts, epsilon):
    law = parts.decomposition().at(epsilon).lower
    with mpmath.workdps(400):  # epsilon may be as small as doubles are
        growth = mpmath.expm1(mpmath.mpf(epsilon))  # of e^epsilon over 1, which may be tiny
        exact = [
            (mpmath.mpf(float(a - b)) - growth * mpmath.mpf(float(b))) / mpmath.mpf(float(c))
            for a, b, c in zip(parts.a, parts.b, parts.c, strict=True)
            if c and (a or b)
        ]
        assert law.size - len(exact) in (0, 1)  # silent components are part of the residual
        assert_values(law, exact)


@given(coefficients(), st.floats(-1, 3))
def test_mean_is_one_minus_exp_epsilon(parts, epsilon):
    law = parts.decomposition().at(epsilon).lower
    assert law.weights.sum() == pytest.approx(1, abs=1e-15)
    assert law.values @ law.weights == pytest.approx(
        -math.expm1(epsilon), abs=1e-15 * (1 + math.exp(epsilon))
    )


@pytest.mark.parametrize("epsilon0", [1e-6, 0.1, 4.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.999999])
def test_mean_of_both_sides_of_a_coarse_cloud(epsilon0, share):
    gparv = cloud(5, 300, epsilon0).coarsen(32).at(share * epsilon0)
    for law in (gparv.lower, gparv.upper):
        slack = float(law.weights @ law.value_error) + 1e-13
        assert law.values @ law.weights == pytest.approx(-math.expm1(share * epsilon0), abs=slack)


@given(coefficients(singular=True), exp_epsilons(4))
def test_singular_part_is_enclosed(parts, exp_epsilon):
    gparv = parts.decomposition().at(math.log(exp_epsilon))
    exact = sum((max(a - exp_epsilon * b, Fraction(0)) for a, b in parts.singular), Fraction(0))
    # log(exp_epsilon) is rounded, which moves the sum by an ulp of e^epsilon.
    slack = Fraction(1, 10**15)
    assert Fraction(gparv.singular_lower) - slack <= exact <= Fraction(gparv.singular_upper) + slack
    assert gparv.singular_upper - gparv.singular_lower < 1e-13


@given(coefficients(max_components=3, singular=True), st.integers(1, 4), exp_epsilons(4))
def test_bound_of_the_law_is_the_exact_one(parts, n, exp_epsilon):
    gparv = parts.decomposition().at(math.log(exp_epsilon))
    value = enumerated_delta(gparv.lower, n) + gparv.singular_lower
    assert value == pytest.approx(float(parts.delta(n, exp_epsilon)), abs=1e-13)


def test_zero_coefficients():
    d = Decomposition.from_coefficients([0.0, 1.0], [1.0, 0.0], [0.5, 0.5])
    assert d.log_ratio0.tolist() == [-INF, pytest.approx(math.log(2))]
    np.testing.assert_allclose(d.at(0.5).lower.values, [-2 * math.exp(0.5), 2.0], rtol=1e-15)
    assert d.max_epsilon == INF


@pytest.mark.parametrize("epsilon", [300.5, -301.0, math.nan, INF])
def test_epsilon_out_of_range(epsilon):
    with pytest.raises(ValueError, match="epsilon must"):
        five_points(1.0, 0.1, 0.1).at(epsilon)


def test_atoms_have_one_law():
    gparv = five_points(1.0, 0.1, 0.1).at(0.2)
    assert isinstance(gparv, GPARV)
    assert gparv.lower is gparv.upper
    assert gparv.lower.size == 5


# -- the largest epsilon --------------------------------------------------------------------------


@given(coefficients(singular=True).filter(lambda p: all(map(any, zip(p.a, p.b, strict=True)))))
def test_largest_epsilon_is_where_the_bound_vanishes(parts):
    d = parts.decomposition()
    pairs = list(zip(parts.a, parts.b, strict=True))
    if any(a and not b for a, b in pairs):
        assert d.max_epsilon == INF
        return
    largest = max(a / b for a, b in pairs if b)
    assert d.max_epsilon == pytest.approx(math.log(largest), abs=4e-14)
    if d.max_epsilon > 1e-9:
        gparv = d.at(d.max_epsilon * (1 - 1e-9))
        assert enumerated_delta(gparv.upper, 1) + gparv.singular_upper > 0
    gparv = d.at(d.max_epsilon + 1e-12)
    assert enumerated_delta(gparv.upper, 1) + gparv.singular_lower == 0


def test_largest_epsilon_of_cells_is_that_of_their_ends():
    d = cells(5, 3)[0]
    ends = d.spread.log_ratio0 - d.spread.log_ratio1
    assert d.max_epsilon == pytest.approx(float(ends.max()), abs=1e-14)


# -- corners --------------------------------------------------------------------------------------


def test_components_that_neither_input_can_produce():
    d = Decomposition.from_coefficients([0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5])
    assert (d.size, d.residual) == (2, 0.5)
    law = d.at(0.1).lower
    assert law.values[2] == 0.0
    assert np.isfinite(law.value_error).all()
    assert d.max_epsilon == pytest.approx(0, abs=4e-15)


def test_value_error_at_large_epsilon0():
    rng = np.random.default_rng(0)
    for epsilon0, epsilon in zip(rng.uniform(8, 30, 200), rng.uniform(0, 2, 200), strict=True):
        d = five_points(epsilon0, p=0.2 / (math.exp(epsilon0) + 1), q=0.1 / math.exp(epsilon0))
        with mpmath.workdps(50):
            top = mpmath.exp(mpmath.mpf(epsilon0)) - mpmath.exp(mpmath.mpf(epsilon))
            assert_values(d.at(epsilon).lower, [top])


@pytest.mark.filterwarnings("ignore:overflow")
def test_values_where_b_is_tiny():
    d = Decomposition.from_coefficients([0.5, 0.5], [1e-315, 1.0], [0.5, 0.5])
    np.testing.assert_allclose(d.at(0.1).lower.values, [1.0, 1 - 2 * math.exp(0.1)], rtol=1e-14)


@pytest.mark.parametrize("log1", [-0.1, 1e-3, -1e-20])
def test_largest_epsilon_is_enclosed(log1):
    # Logarithms count as exact here, so the largest epsilon is exactly 1 - log1.
    weight = [0.25, 0.75]
    logs = [[x, math.log((1 - 0.25 * math.exp(x)) / 0.75)] for x in (1.0, log1)]
    interval = Decomposition(
        log_ratio0=logs[0], log_ratio1=logs[1], weight=weight, residual=0.0
    ).max_epsilon_interval()
    assert Fraction(interval.lower) <= 1 - Fraction(log1) <= Fraction(interval.upper)


def test_weight_error_of_many_merged_components():
    size = 10_000
    masses = np.full(size, 1 / size)
    merged = Decomposition.from_coefficients(masses, masses, 0.9 * masses).merge()
    exact = size * Fraction(0.9 * masses[0])
    assert abs(Fraction(merged.weight[0]) / exact - 1) <= Fraction(merged.weight_error[0])


def test_error_bounds_are_private():
    error = np.zeros(2)
    d = Decomposition(
        log_ratio0=[0.0, 0.0],
        log_ratio1=[0.0, 0.0],
        weight=[0.5, 0.5],
        residual=0.0,
        log_ratio_error=error,
    )
    error[:] = 1.0
    assert not d.log_ratio_error.any()


@pytest.mark.parametrize(
    "changes",
    [
        {"log_ratio_error": [-1.0]},
        {"log_ratio_error": [math.nan]},
        {"weight_error": math.nan},
        {"weight_error": -1.0},
    ],
)
def test_error_bounds_are_checked(changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        Decomposition(log_ratio0=[0.0], log_ratio1=[0.0], weight=[1.0], residual=0.0, **changes)


def test_product_of_tiny_weights():
    d = Decomposition.from_coefficients([1e-170, 1.0], [1e-170, 1.0], [1e-170, 0.5])
    assert d.product(d).size >= 3
