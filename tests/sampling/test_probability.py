"""Binary digits of probabilities against high precision."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.mechanisms.sampling import Exponential, Logistic, Rational

DIGITS = 1200
mp = mpmath.MPContext()
mp.prec = DIGITS + 900

EXPONENTS = [1e-12, 1e-3, 0.5, 1.0, 2.0, 10.0, 299.9, 300.0]


def number(x: Fraction) -> mpmath.mpf:
    return mp.mpf(x.numerator) / x.denominator


@pytest.mark.parametrize("exponent", [*EXPONENTS, *(-x for x in EXPONENTS)])
@pytest.mark.parametrize("factor", [Fraction(1), Fraction(9), Fraction(2**53 - 1), Fraction(3, 7)])
def test_logistic(exponent, factor):
    x = Fraction(exponent)
    exact = 1 / (1 + number(factor) * mp.exp(number(x)))
    assert Logistic(x, factor).scaled(DIGITS) == int(mp.floor(exact * 2**DIGITS))


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_exponential(exponent):
    x = Fraction(exponent)
    exact = mp.exp(-number(x))
    assert Exponential(x).scaled(DIGITS) == int(mp.floor(exact * 2**DIGITS))


@given(st.fractions(min_value=0, max_value=1).filter(lambda p: p < 1))
@settings(max_examples=50)
def test_rational_digits_sum_to_the_value(p):
    probability = Rational(p)
    found = sum(Fraction(probability.digit(i), 2 ** (i + 1)) for i in range(150))
    assert p - Fraction(1, 2**150) < found <= p
    if probability.length is not None and probability.length <= 150:
        assert found == p
        assert not any(probability.digit(i) for i in range(probability.length, 150))


@given(st.floats(1e-12, 300), st.integers(0, 500))
@settings(max_examples=50)
def test_digits_agree_with_the_scaled_value(exponent, position):
    probability = Logistic(Fraction(exponent))
    assert probability.digit(position) == probability.scaled(position + 1) & 1


def test_enclosures_are_narrowed_until_they_agree():
    """The value is so close to 1/2 that the first precision cannot tell on which side it lies."""
    x = Fraction(1, 10**60)
    assert Logistic(x).scaled(1) == 0
    assert Logistic(-x).scaled(1) == 1
    assert Logistic(x).scaled(150) == 2**149 - 1


@pytest.mark.parametrize("value", [Fraction(1), Fraction(-1, 2), Fraction(3, 2)])
def test_rationals_outside_the_range(value):
    with pytest.raises(ValueError, match="value must be at least 0 and below 1"):
        Rational(value)


def test_exponents_whose_digits_would_never_be_settled():
    with pytest.raises(ValueError, match="exponent must not be 0"):
        Logistic(Fraction(0))
    with pytest.raises(ValueError, match="factor must be above 0"):
        Logistic(Fraction(1), Fraction(0))
    with pytest.raises(ValueError, match="exponent must be above 0"):
        Exponential(Fraction(0))
