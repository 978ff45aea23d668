from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shuffledp.basics.errors import ContradictionError
from shuffledp.basics.interval import Interval, exp_down, exp_up, sum_up


@pytest.mark.parametrize("ends", [(1.0, 0.0), (math.nan, 1.0), (0.0, math.nan), (math.inf, 0.0)])
def test_crossed_or_missing_ends_are_rejected(ends):
    with pytest.raises(ContradictionError, match="no number is at least"):
        Interval(*ends)


def test_width_and_membership():
    interval = Interval(-1.0, 3.0)
    assert interval.width == 4.0
    assert all(x in interval for x in (-1.0, 0.0, 3.0))
    assert not any(x in interval for x in (-1.1, 3.1, math.nan))


@pytest.mark.parametrize("end", [-math.inf, 0.25, math.inf])
def test_a_point_has_no_width(end):
    assert Interval(end, end).width == 0.0


def test_intervals_are_immutable():
    with pytest.raises(AttributeError):
        Interval(0.0, 1.0).lower = 0.5


@given(st.floats(-800, 709))
def test_exponentials_are_rounded_outwards_and_tightly(x):
    with mpmath.workdps(40):
        exact = mpmath.exp(mpmath.mpf(x))
        assert mpmath.mpf(exp_down(x)) <= exact <= mpmath.mpf(exp_up(x))
        assert exp_up(x) - exp_down(x) <= 1e-15 * exp_up(x) + 2e-323


@given(st.floats(-800, 700), st.floats(0, 5))
def test_exp_of_an_interval_contains_exp_of_its_points(lower, width):
    image = Interval(lower, lower + width).exp()
    for x in (lower, lower + width / 2, lower + width):
        assert math.exp(x) in image


@pytest.mark.parametrize("x", [710.0, 1e6])
def test_overflow_keeps_the_enclosure(x):
    assert exp_up(x) == math.inf
    assert 1e308 < exp_down(x) < math.inf


def test_infinite_ends():
    assert Interval(-math.inf, math.inf).exp().lower == 0.0
    assert Interval(-math.inf, math.inf).exp().upper == math.inf
    assert exp_up(-math.inf) == 0.0
    assert exp_up(-1e9) > 0.0


@given(st.lists(st.floats(0.0, 1e300), min_size=1, max_size=5))
@example([1.0, 1e-30])
@example([1.0, -math.ulp(0.25) + 1.0])
def test_sums_are_rounded_up_and_tightly(terms):
    exact, found = sum(map(Fraction, terms)), sum_up(terms)
    assert found >= exact
    assert found == 0 or Fraction(math.nextafter(found, 0.0)) < exact
