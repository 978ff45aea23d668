"""Displayed numbers never promise more than the numbers they stand for."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.rounding import gap, plain, power_of_ten, round_down, round_up

numbers = st.floats(min_value=0, allow_infinity=False, allow_nan=False)


@given(numbers, st.integers(1, 12))
def test_rounded_numbers_lie_on_their_side(number, digits):
    exact, above, below = Decimal(number), round_up(number, digits), round_down(number, digits)
    assert Decimal(below) <= exact <= Decimal(above)
    assert Decimal(above) - Decimal(below) <= exact * Decimal(10) ** (1 - digits)


@given(numbers)
def test_plain_numbers_read_back(number):
    assert float(plain(number)) == number


@given(st.floats(max_value=-600, min_value=-1e15))
def test_powers_of_ten_are_the_next_ones_above(log):
    exponent = int(power_of_ten(log).removeprefix("1e"))
    assert exponent - 1 <= log / math.log(10) * (1 - 1e-15)
    assert exponent >= log / math.log(10) * (1 + 1e-15)


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
