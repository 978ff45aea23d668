"""The law of G in other units."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shuffledp.decomposition import GPARV, Law
from shuffledp.decomposition import gparv as module

LAW = Law(
    np.array([3.0, -2.0, 0.0]),
    np.array([0.25, 0.25, 0.5]),
    np.array([1e-3, 2e-3, 0.0]),
    np.array([1e-4, 2e-4, 3e-4]),
)
SPREAD = Law(np.array([4.0, -3.0]), np.array([0.5, 0.5]), np.zeros(2), np.zeros(2))


@pytest.mark.parametrize("factor", [0.01, 7.0])
def test_values_and_their_errors_are_scaled(factor, monkeypatch):
    monkeypatch.setattr(module, "UNIT", 0.0)
    scaled = LAW.scaled(factor)
    assert scaled.values == pytest.approx(factor * LAW.values, rel=1e-15)
    assert scaled.value_error == pytest.approx(factor * LAW.value_error, rel=1e-15)
    assert scaled.weights is LAW.weights
    assert scaled.weight_error is LAW.weight_error


@pytest.mark.parametrize("factor", [0.01, 7.0])
def test_the_product_is_rounded(factor, monkeypatch):
    unit = 2.0**-10
    monkeypatch.setattr(module, "UNIT", unit)
    scaled = LAW.scaled(factor)
    rounding = scaled.value_error - factor * LAW.value_error
    assert rounding == pytest.approx(unit * factor * np.abs(LAW.values), rel=1e-12)


@pytest.mark.parametrize("factor", [0.01, 7.0])
def test_both_sides_and_the_singular_part_are_scaled(factor, monkeypatch):
    monkeypatch.setattr(module, "UNIT", 0.0)
    scaled = GPARV(LAW, SPREAD, 0.125, 0.25).scaled(factor)
    assert scaled.lower.values == pytest.approx(factor * LAW.values)
    assert scaled.upper.values == pytest.approx(factor * SPREAD.values)
    assert scaled.singular_lower == pytest.approx(factor * 0.125)
    assert scaled.singular_upper == pytest.approx(factor * 0.25)
    monkeypatch.setattr(module, "UNIT", 2.0**-10)
    rounded = GPARV(LAW, SPREAD, 0.125, 0.25).scaled(factor)
    assert rounded.singular_upper > scaled.singular_upper
    assert rounded.singular_lower <= scaled.singular_lower


def test_the_singular_part_is_rounded_outwards():
    """Exactly: one unit of round-off added to 1 would be lost."""
    for part in np.random.default_rng(0).uniform(0, 1, 50).tolist():
        scaled = GPARV(LAW, LAW, part, part).scaled(0.1)
        exact = Fraction(0.1) * Fraction(part)
        assert Fraction(scaled.singular_lower) <= exact <= Fraction(scaled.singular_upper)


def test_atoms_stay_one_law():
    scaled = GPARV(LAW, LAW, 0.0, 0.0).scaled(2.0)
    assert scaled.upper is scaled.lower


def test_a_singular_part_that_underflows_is_not_lost():
    scaled = GPARV(LAW, LAW, 1e-300, 1e-300).scaled(1e-150)
    assert scaled.singular_lower == 0
    assert scaled.singular_upper > 0
    assert GPARV(LAW, LAW, 0.0, 0.0).scaled(1e-150).singular_upper == 0
