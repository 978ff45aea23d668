"""Errors of enumerated means: those of the law, and a unit round-off large enough to see."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from shuffledp.decomposition import Law
from shuffledp.divergence import BlockSum, LogEnclosure, enumeration
from shuffledp.divergence.enumeration import enumerate_log_mean

VALUES = np.array([1.0, -0.9, 0.05])
WEIGHTS = np.array([0.3, 0.5, 0.2])
VAGUE = Law(VALUES, WEIGHTS, np.array([0.06, 0.02, 0.04]), np.array([1e-3, 3e-3, 0.0]))


def means(law: Law, n: int, error: np.ndarray) -> tuple[float, float]:
    """E(S - E)_+ and E(S + E)_+ by all tuples, E the sum of the errors."""
    lower = upper = 0.0
    for atoms in product(range(law.size), repeat=n):
        weight = math.prod(law.weights[list(atoms)])
        total, slack = float(law.values[list(atoms)].sum()), float(error[list(atoms)].sum())
        lower += weight * max(total - slack, 0.0)
        upper += weight * max(total + slack, 0.0)
    return lower, upper


@pytest.mark.parametrize("n", [1, 2, 4])
def test_values_move_against_the_mean_and_weights_against_the_probabilities(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enumeration, "UNIT", 0.0)
    lower, upper = means(VAGUE, n, VAGUE.value_error)
    enclosure = enumerate_log_mean(BlockSum.of((VAGUE, n)))
    assert enclosure.lower == pytest.approx(math.log(lower) - n * 3e-3, abs=1e-12)
    assert enclosure.upper == pytest.approx(math.log(upper) + n * 3e-3, abs=1e-12)


def test_a_mean_that_may_be_zero_or_is() -> None:
    law = Law(np.array([0.1, -1.0]), np.array([0.5, 0.5]), np.array([0.2, 0.0]), np.zeros(2))
    enclosure = enumerate_log_mean(BlockSum.of((law, 1)))
    assert enclosure.lower == -math.inf
    assert enclosure.upper == pytest.approx(math.log(0.15))
    negative = Law(np.array([-0.1, -1.0]), np.array([0.5, 0.5]), np.zeros(2), np.zeros(2))
    assert enumerate_log_mean(BlockSum.of((negative, 3))) == LogEnclosure(-math.inf, -math.inf)
    barely = Law(np.array([-0.1, -1.0]), np.array([0.5, 0.5]), np.array([0.3, 0.0]), np.zeros(2))
    assert enumerate_log_mean(BlockSum.of((barely, 1))).upper == pytest.approx(math.log(0.5 * 0.2))


@pytest.mark.parametrize("n", [1, 3])
def test_sums_and_logarithms_are_rounded(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    law = Law(VALUES, WEIGHTS, np.zeros(3), np.zeros(3))
    exact, _ = means(law, n, np.zeros(3))
    unit = 1e-5
    monkeypatch.setattr(enumeration, "UNIT", unit)
    enclosure = enumerate_log_mean(BlockSum.of((law, n)))
    # Every sum has three rounded products; what is left is the rounding of the probabilities.
    lower, upper = means(law, n, law.size * unit * np.abs(VALUES))
    logs = unit * n * float(np.abs(np.log(WEIGHTS)).max())
    assert enclosure.upper >= math.log(upper) + logs
    assert enclosure.lower <= math.log(lower) - logs
    assert enclosure.width <= 1e-2
    assert enclosure.lower < math.log(exact) < enclosure.upper


def test_logarithms_of_small_weights_are_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.array([1e-200, 1.0])
    law = Law(np.array([1.0, -1e-3]), weights, np.zeros(2), np.zeros(2))
    plain = enumerate_log_mean(BlockSum.of((law, 2)))
    unit = 1e-6
    monkeypatch.setattr(enumeration, "UNIT", unit)
    rounded = enumerate_log_mean(BlockSum.of((law, 2)))
    assert plain.lower - rounded.lower >= unit * 2 * 460
    assert rounded.upper - plain.upper >= unit * 2 * 460


def test_sums_that_nearly_cancel_are_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """One gain against one loss of the same size to six digits: the rounding is all there is."""
    law = Law(np.array([1.0, -1.0 + 1e-6]), np.array([1e-8, 1 - 1e-8]), np.zeros(2), np.zeros(2))
    unit = 1e-5
    monkeypatch.setattr(enumeration, "UNIT", unit)
    _, upper = means(law, 2, law.size * unit * np.abs(law.values))
    enclosure = enumerate_log_mean(BlockSum.of((law, 2)))
    assert math.log(upper) <= enclosure.upper <= math.log(upper) + 2
    assert enclosure.lower <= math.log(2e-16)
