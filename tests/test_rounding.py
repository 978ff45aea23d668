"""Displayed numbers never promise more than the numbers they stand for."""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.basics.rounding import exp_above, exp_below, gap, plain, round_down, round_up

numbers = st.floats(min_value=0, allow_infinity=False, allow_nan=False)


@given(numbers, st.integers(1, 12))
def test_rounded_numbers_lie_on_their_side(number, digits):
    exact, above, below = Decimal(number), round_up(number, digits), round_down(number, digits)
    assert Decimal(below) <= exact <= Decimal(above)
    assert Decimal(above) - Decimal(below) <= exact * Decimal(10) ** (1 - digits)


@given(numbers)
def test_plain_numbers_read_back(number):
    assert float(plain(number)) == number


@given(st.floats(max_value=0, min_value=-1e17), st.integers(1, 12))
def test_exponentials_of_any_size(log, digits):
    above, below = exp_above(log), exp_below(log)
    context = Context(prec=100, Emin=MIN_EMIN, Emax=MAX_EMAX)
    exact = context.exp(Decimal(log))
    assert below < exact < above
    assert context.divide(context.subtract(above, below), exact) < Decimal("1e-48")
    assert Decimal(round_down(below, digits)) <= below
    assert above <= Decimal(round_up(above, digits))


@given(numbers, numbers)
def test_gaps_are_rounded_up(first, second):
    lower, upper = sorted((Decimal(first), Decimal(second)))
    text = gap(float(upper), float(lower))
    if text.endswith("%"):
        assert lower * (1 + Decimal(text[:-1]) / 100) >= upper
        assert upper < 2 * lower
    elif text.startswith("factor "):
        assert lower * Decimal(text.removeprefix("factor ")) >= upper
        assert upper >= 2 * lower
    else:
        assert text == ("none" if upper == lower else "no lower bound above 0")


@pytest.mark.parametrize(
    ("number", "up", "down"),
    [
        (0.0, "0", "0"),
        (0.5, "0.5", "0.5"),
        (0.1, "0.1001", "0.1000"),
        (1e-6, "1.000e-6", "9.999e-7"),
        (0.00025, "0.0002501", "0.0002500"),
        (99.999, "100.0", "99.99"),
        (123456.0, "123500", "123400"),
        (5e-324, "4.941e-324", "4.940e-324"),
        (1.7e308, "1.700e+308", "1.699e+308"),
    ],
)
def test_layout(number, up, down):
    assert (round_up(number), round_down(number)) == (up, down)
