"""Exact sums, logarithms of fractions, and masses that are divided by their exact sum."""

from __future__ import annotations

import doctest
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.arrays import UNIT
from shuffledp.decomposition import masses as module
from shuffledp.decomposition.arithmetic import log_quotient
from shuffledp.decomposition.masses import LOG_ERROR_UNITS, Masses, exact_sum, log_of

positive = st.floats(1e-300, 1.0)


@given(st.lists(st.floats(-1e300, 1e300, allow_subnormal=False), max_size=20))
def test_sums_are_exact(values):
    if math.isfinite(sum(map(abs, values))):
        assert exact_sum(values) == sum(map(Fraction, values))


def test_sums_of_numbers_of_all_sizes_are_exact():
    values = [1.0, 1e-16, 1e-40, -1.0, 1e-250, 1e-100, -1e-16]
    assert exact_sum(values) == sum(map(Fraction, values))


@pytest.mark.parametrize(
    "value",
    [
        Fraction(3, 2),
        Fraction(2),
        Fraction(1, 2),
        Fraction(501, 1000),
        Fraction(1999, 1000),
        Fraction(7, 3),
        1 + Fraction(1, 10**18),
        1 - Fraction(1, 10**30),
        Fraction(1, 10**400),
        Fraction(10**400, 7),
        Fraction(123456789, 10**250),
    ],
)
def test_logarithms_of_fractions(value):
    with mpmath.workdps(80):
        exact = mpmath.log(mpmath.mpf(value.numerator) / value.denominator)
        assert abs(mpmath.mpf(log_of(value)) - exact) <= LOG_ERROR_UNITS * UNIT * abs(exact)
    assert log_of(Fraction(1)) == 0


@given(positive, positive)
def test_logarithms_of_quotients(numerator, denominator):
    found = float(log_quotient(np.array([numerator]), np.array([denominator]))[0])
    with mpmath.workdps(60):
        exact = mpmath.log(mpmath.mpf(numerator) / mpmath.mpf(denominator))
        assert abs(mpmath.mpf(found) - exact) <= 8 * UNIT * abs(exact)


def test_quotients_beyond_the_range_of_doubles_have_logarithms():
    small, large = np.array([5e-324, 1e-310]), np.array([0.75, 1.0])
    for logs, sign in ((log_quotient(small, large), 1), (log_quotient(large, small), -1)):
        for found, s, g in zip(logs, small, large, strict=True):
            with mpmath.workdps(60):
                exact = sign * mpmath.log(mpmath.mpf(float(s)) / mpmath.mpf(float(g)))
                assert abs(mpmath.mpf(float(found)) - exact) <= 8 * UNIT * abs(exact)


@given(
    st.lists(st.tuples(positive, positive), min_size=1, max_size=6),
    st.floats(-1e-12, 1e-12),
    st.floats(-1e-12, 1e-12),
)
def test_ratios_of_scaled_masses(pairs, scale0, scale1):
    first, second = (np.array(x) for x in zip(*pairs, strict=True))
    logs, errors = Masses(first, np.array(scale0)).log_over(Masses(second, np.array(scale1)))
    with mpmath.workdps(60):
        shift = mpmath.mpf(scale0) - mpmath.mpf(scale1)
        for found, error, (x, y) in zip(logs, errors, pairs, strict=True):
            exact = mpmath.log(mpmath.mpf(x) / mpmath.mpf(y)) + shift
            assert abs(mpmath.mpf(float(found)) - exact) <= mpmath.mpf(float(error))


def test_equal_masses_have_a_ratio_of_one_without_error():
    row = Masses(np.array([0.25, 0.0]), np.array(1e-13))
    logs, errors = row.of(np.array([True, False])).log_over(row.of(np.array([True, False])))
    assert logs.tolist() == errors.tolist() == [0.0]


def test_examples_run():
    assert doctest.testmod(module).failed == 0
