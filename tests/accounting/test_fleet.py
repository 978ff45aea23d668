"""Corrupted devices in a random batch: against exact tails."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import corrupted_in_batch


def tail(fleet: int, bad: int, batch: int, above: int) -> Fraction:
    favourable = sum(
        comb(bad, i) * comb(fleet - bad, batch - i) for i in range(above + 1, min(bad, batch) + 1)
    )
    return Fraction(favourable, comb(fleet, batch))


@given(st.data())
def test_never_more_than_the_risk_and_nearly_the_least(data):
    fleet = data.draw(st.integers(2, 60))
    bad, batch = data.draw(st.integers(0, fleet - 1)), data.draw(st.integers(1, fleet))
    risk = data.draw(st.sampled_from([0.5, 0.1, 1e-3, 1e-6, 1e-12]))
    found = corrupted_in_batch(fleet=fleet, corrupted=bad, batch=batch, risk=risk)
    assert tail(fleet, bad, batch, found) <= Fraction(risk)
    if found > -(-bad * batch // fleet) + 1:  # the bound of the tail is a little larger
        assert tail(fleet, bad, batch, found - 2) > Fraction(risk) / 8


def test_known_values():
    fleet = {"fleet": 250_000, "batch": 10_000}
    assert corrupted_in_batch(**fleet, corrupted=0.02, risk=1e-9) == 287
    assert corrupted_in_batch(**fleet, corrupted=5000, risk=1e-9) == 287
    assert corrupted_in_batch(**fleet, corrupted=0, risk=1e-9) == 0
    assert corrupted_in_batch(fleet=2**53, corrupted=0.5, batch=10**9, risk=1e-300) > 5 * 10**8


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fleet": 0}, "fleet must be"),
        ({"batch": 11}, "batch must be"),
        ({"batch": 0}, "batch must be"),
        ({"corrupted": 11}, "corrupted must be"),
        ({"corrupted": 1.0}, "corrupted must be"),
        ({"risk": 0}, "risk must be"),
        ({"risk": -0.1}, "risk must be"),
        ({"risk": float("nan")}, "risk must be"),
    ],
)
def test_bad_input(changes, message):
    asked = {"fleet": 10, "corrupted": 2, "batch": 5, "risk": 1e-3} | changes
    with pytest.raises((ValueError, TypeError), match=message):
        corrupted_in_batch(**asked)
