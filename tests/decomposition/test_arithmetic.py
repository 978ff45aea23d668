from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shuffledp.arrays import UNIT
from shuffledp.decomposition.arithmetic import (
    clusters,
    distance,
    log_quotient,
    outer_sum,
    two_sum,
    vector,
)

finite = st.floats(-1e6, 1e6)


def test_vectors_are_fresh_copies():
    source = np.array([1.0, 2.0])
    copy = vector("x", source)
    copy[0] = 5.0
    assert source[0] == 1.0


@pytest.mark.parametrize("values", [[[1.0]], 3.0, None])
def test_vectors_have_one_dimension(values):
    with pytest.raises(ValueError, match="x must be one-dimensional"):
        vector("x", values)


@pytest.mark.parametrize("values", [["a"], [1j], [[1.0], [1.0, 2.0]], {}])
def test_vectors_hold_real_numbers(values):
    with pytest.raises(TypeError, match="x must be a sequence of real numbers"):
        vector("x", values)


@pytest.mark.parametrize("spread", [1e-12, 1e-6, 1e-2, 0.5, 2.0, 30.0, 300.0])
def test_log_quotient_is_accurate_relative_to_itself(spread):
    # The bound that Decomposition.from_coefficients states for its logarithms.
    rng = np.random.default_rng(7)
    denominator = rng.uniform(1e-3, 1.0, 400)
    numerator = denominator * np.exp(spread * rng.uniform(-1, 1, 400))
    logs = log_quotient(numerator, denominator)
    with mpmath.workdps(50):
        for x, y, log in zip(numerator, denominator, logs, strict=True):
            exact = mpmath.log(mpmath.mpf(float(x)) / mpmath.mpf(float(y)))
            assert abs(mpmath.mpf(float(log)) - exact) <= 4 * UNIT * abs(exact)


@pytest.mark.parametrize("quotient", [0.5, 1.5])
def test_log_quotient_where_its_formula_changes(quotient):
    rng = np.random.default_rng(8)
    denominator = rng.uniform(0.1, 1.0, 400)
    numerator = denominator * quotient * (1 + 8 * UNIT * rng.integers(-3, 4, 400))
    logs = log_quotient(numerator, denominator)
    with mpmath.workdps(50):
        for x, y, log in zip(numerator, denominator, logs, strict=True):
            exact = mpmath.log(mpmath.mpf(float(x)) / mpmath.mpf(float(y)))
            assert abs(mpmath.mpf(float(log)) - exact) <= 4 * UNIT * abs(exact)


def test_log_quotient_of_zero_is_minus_infinity():
    assert log_quotient(np.array([0.0, 2.0]), np.array([1.0, 2.0])).tolist() == [-np.inf, 0.0]


@example(0.8114194773464132, 7.376375071363707)  # both parts of the error count
@given(finite, finite)
def test_two_sum_knows_its_rounding_error_exactly(x, y):
    total, error = two_sum(np.array([x]), np.array([y]))
    exact = Fraction(x) + Fraction(y)
    assert abs(exact - Fraction(float(total[0]))) == Fraction(float(error[0]))


def test_two_sum_of_infinities_claims_no_error():
    total, error = two_sum(np.array([-np.inf, 1.0]), np.array([1.0, -np.inf]))
    assert total.tolist() == [-np.inf, -np.inf]
    assert error.tolist() == [0.0, 0.0]


def test_outer_sum_runs_over_the_second_argument_first():
    total, error = outer_sum(np.array([1.0, 2.0]), np.array([10.0, 20.0, 30.0]))
    assert total.tolist() == [11.0, 21.0, 31.0, 12.0, 22.0, 32.0]
    assert not error.any()


def test_distance_between_equal_infinities_is_zero():
    x = np.array([-np.inf, -np.inf, 1.0])
    y = np.array([-np.inf, 0.0, 3.0])
    assert distance(x, y).tolist() == [0.0, np.inf, 2.0]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=12))
def test_clusters_without_errors_are_the_distinct_values(values):
    labels = clusters(np.array(values, dtype=float), np.zeros(len(values)))
    for i, x in enumerate(values):
        for j, y in enumerate(values):
            assert (labels[i] == labels[j]) == (x == y)


def test_clusters_join_what_errors_cannot_tell_apart():
    values = np.array([1.0, 3.0, 1.0 + 1e-15, -np.inf, 2.0, -np.inf])
    labels = clusters(values, np.full(6, 1e-15))
    assert labels[0] == labels[2]
    assert labels[3] == labels[5]
    assert len(set(labels.tolist())) == 4
    assert len(set(clusters(values, np.full(6, 1e-16)).tolist())) == 5


def test_clusters_use_the_errors_of_both_neighbours():
    values = np.array([0.0, 1.0, 2.0, 3.0])
    assert clusters(values, np.array([0.0, 0.6, 0.6, 0.0])).tolist() == [0, 1, 1, 2]
    assert clusters(values, np.array([0.6, 0.6, 0.0, 0.9])).tolist() == [0, 0, 1, 2]
