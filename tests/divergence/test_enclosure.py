"""Enclosures of a logarithm."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.divergence import LogEnclosure
from shuffledp.errors import ContradictionError

logs = st.floats(-1e6, 10)


def test_width_of_a_value_that_is_known_to_be_zero() -> None:
    assert LogEnclosure(-math.inf, -math.inf).width == 0
    assert LogEnclosure(-math.inf, 0.0).width == math.inf
    assert LogEnclosure(-1.0, -0.5).width == 0.5


@given(low=logs, high=logs, error=st.floats(0, 1))
def test_widening_moves_both_ends_outwards(low: float, high: float, error: float) -> None:
    low, high = min(low, high), max(low, high)
    wider = LogEnclosure(low, high).widen(error)
    assert wider.lower < low - error / 2 or error == 0
    assert wider.lower < low
    assert wider.upper > high
    assert wider.lower <= low - error
    assert wider.upper >= high + error


@pytest.mark.parametrize("ends", [(0.0, 1e6), (-1e6, 0.0), (-math.inf, 0.0), (-math.inf, -1e6)])
def test_each_end_moves_by_its_own_rounding(ends: tuple[float, float]) -> None:
    wider = LogEnclosure(*ends).widen(0.0)
    assert wider.upper > ends[1]
    assert wider.lower < ends[0] or ends[0] == -math.inf


def test_widening_keeps_the_value_zero() -> None:
    assert LogEnclosure(-math.inf, -math.inf).widen(1.0) == LogEnclosure(-math.inf, -math.inf)


def test_intersection() -> None:
    first, second = LogEnclosure(-3.0, 1.0), LogEnclosure(-2.0, 2.0)
    assert first.intersect(second) == second.intersect(first) == LogEnclosure(-2.0, 1.0)


def test_enclosures_that_do_not_meet_are_a_contradiction() -> None:
    with pytest.raises(ContradictionError, match=r"at least -1\.0 and at most -2\.0"):
        LogEnclosure(-3.0, -2.0).intersect(LogEnclosure(-1.0, 0.0))
    with pytest.raises(ContradictionError):
        LogEnclosure(0.0, -1e-300)


@given(value=st.floats(1e-300, 1.0), low=st.floats(0, 1), high=st.floats(0, 1))
def test_adding_an_uncertain_amount(value: float, low: float, high: float) -> None:
    low, high = min(low, high), max(low, high)
    exact = math.log(value)
    total = LogEnclosure(exact, exact).plus(low, high)
    assert math.exp(total.lower) <= (value + low) * (1 + 1e-13)
    assert math.exp(total.upper) >= (value + high) * (1 - 1e-13)
    assert total.lower <= math.log(value + low) <= math.log(value + high) <= total.upper


def test_adding_keeps_the_ends_apart() -> None:
    total = LogEnclosure(math.log(1.0), math.log(5.0)).plus(0.5, 2.0)
    assert total.lower <= math.log(1.5)
    assert total.upper >= math.log(7.0)
    assert total.width == pytest.approx(math.log(7.0 / 1.5))


def test_adding_to_nothing() -> None:
    total = LogEnclosure(-math.inf, -math.inf).plus(0.25, 0.5)
    assert total.lower <= math.log(0.25) < math.log(0.5) <= total.upper
    assert total.width == pytest.approx(math.log(2))
