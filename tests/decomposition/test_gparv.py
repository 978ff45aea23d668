"""The law of G in other units."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shuffledp.decomposition import Law
from shuffledp.decomposition import gparv as module

LAW = Law(
    np.array([3.0, -2.0, 0.0]),
    np.array([0.25, 0.25, 0.5]),
    np.array([1e-3, 2e-3, 0.0]),
    np.array([1e-4, 2e-4, 3e-4]),
)


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


def test_what_underflows_is_not_lost():
    law = Law(
        np.array([1e-300, -3e-200, 0.0, 0.0]),
        np.full(4, 0.25),
        np.array([0.0, 0.0, 1e-300, 0.0]),
        np.zeros(4),
    )
    for factor in (1e-150, 1e-8, 1e-24):
        scaled = law.scaled(factor)
        for new, error, old, old_error in zip(
            scaled.values, scaled.value_error, law.values, law.value_error, strict=True
        ):
            distance = abs(Fraction(new) - Fraction(old) * Fraction(factor))
            assert distance + Fraction(old_error) * Fraction(factor) <= Fraction(error)
        assert scaled.value_error[-1] == 0
