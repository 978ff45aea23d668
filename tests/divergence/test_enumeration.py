"""Enumeration of count vectors: the exact path for few users."""

from __future__ import annotations

import math

import numpy as np
import pytest
from exact_laws import PRECISION, binomial_mean, enumerated_mean, law_of
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import Decomposition
from shuffledp.decomposition import Law
from shuffledp.divergence import BlockSum, LogEnclosure, log_delta
from shuffledp.divergence.enumeration import (
    _compositions,
    _multinomials,
    enumerate_log_mean,
    enumeration_size,
)


def contains(enclosure: LogEnclosure, mean: arb) -> bool:
    with ctx.workprec(PRECISION):
        value = mean.log()
        return bool(value >= arb(enclosure.lower)) and bool(value <= arb(enclosure.upper))


def two_atoms(x: float, y: float, w: float) -> Decomposition:
    return Decomposition(
        log_ratio0=[math.log(x / w), math.log((1 - x) / (1 - w))],
        log_ratio1=[math.log(y / w), math.log((1 - y) / (1 - w))],
        weight=[w, 1 - w],
        residual=0.0,
        weight_error=[0.0],
        residual_error=0.0,
    )


@pytest.mark.parametrize(("n", "atoms"), [(1, 1), (5, 1), (1, 4), (6, 2), (7, 3), (4, 6)])
def test_all_count_vectors_once(n: int, atoms: int) -> None:
    rows = _compositions(n, atoms)
    assert rows.shape == (math.comb(n + atoms - 1, atoms - 1), atoms)
    assert len({tuple(row) for row in rows.tolist()}) == len(rows)
    assert (rows.sum(axis=1) == n).all()
    assert (rows >= 0).all()


@pytest.mark.parametrize(("n", "atoms"), [(6, 2), (7, 3), (4, 6)])
def test_multinomial_coefficients(n: int, atoms: int) -> None:
    counts, logs = _multinomials(n, atoms)
    for row, log in zip(counts, logs, strict=True):
        exact = math.factorial(n) // math.prod(math.factorial(int(k)) for k in row)
        assert log == pytest.approx(math.log(exact), abs=1e-13)
    assert float(np.exp(logs).sum()) == pytest.approx(atoms**n, rel=1e-12)


def test_size() -> None:
    law = Law(np.array([1.0, -1.0, 0.0]), np.full(3, 1 / 3), np.zeros(3), np.zeros(3))
    assert enumeration_size(BlockSum.of((law, 10))) == math.comb(12, 2)
    assert enumeration_size(BlockSum.of((law, 10**6))) == math.inf
    assert enumeration_size(BlockSum.of((law, 10), (law, 3))) == math.comb(12, 2) * math.comb(5, 2)
    assert enumeration_size(BlockSum.of(*[(law, 1)] * 5)) == math.inf


@settings(max_examples=150)
@given(
    counts=st.lists(st.integers(1, 63), min_size=2, max_size=5),
    values=st.lists(st.integers(-64, 64), min_size=5, max_size=5),
    n=st.integers(1, 7),
)
def test_exact_values_are_enclosed_tightly(counts: list[int], values: list[int], n: int) -> None:
    """Dyadic values and weights: the law has no error at all, sums may hit 0."""
    weights = [k / 1024 for k in counts]
    weights.append(1 - sum(weights))
    values = [*values[: len(counts)], 24]
    zeros = np.zeros(len(values))
    law = Law(np.array(values) / 8, np.array(weights), zeros, zeros.copy())
    enclosure = enumerate_log_mean(BlockSum.of((law, n)))
    with ctx.workprec(PRECISION):
        atoms = [(arb(g) / 8, arb(w)) for g, w in zip(values, weights, strict=True)]
    assert contains(enclosure, enumerated_mean(atoms, n))
    assert enclosure.width < 1e-12


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("n", [50, 800, 2999, 3138, 9000, 31_123, 99_000])
@pytest.mark.parametrize(
    ("x", "y", "w", "epsilon"),
    [(0.75, 0.25, 0.75, 0.02), (0.9375, 0.3125, 0.375, 0.04), (0.0625, 0.53125, 0.671875, 0.3)],
)
def test_many_users_and_two_atoms(n: int, x: float, y: float, w: float, epsilon: float) -> None:
    """Logarithms of n! reach a million: their rounding must be part of the enclosure."""
    decomposition = two_atoms(x, y, w)
    exact = binomial_mean(law_of(decomposition, epsilon), n)
    enclosure = enumerate_log_mean(BlockSum.of((decomposition.at(epsilon).lower, n)))
    assert contains(enclosure, exact)
    assert enclosure.width < 1e-8


@pytest.mark.parametrize(
    ("x", "y", "w", "n", "epsilon", "rtol"),
    [
        (
            0.062254905700683594,
            0.5318202972412109,
            0.6728382110595703,
            31123,
            0.3085108017884278,
            1e-6,
        ),
        (
            0.9669370651245117,
            0.3340129852294922,
            0.37558555603027344,
            3138,
            0.03905984830321243,
            1e-9,
        ),
    ],
)
def test_narrow_enclosures_found_to_miss(
    x: float, y: float, w: float, n: int, epsilon: float, rtol: float
) -> None:
    decomposition = two_atoms(x, y, w)
    exact = binomial_mean(law_of(decomposition, epsilon), n)
    with ctx.workprec(PRECISION):
        assert contains(log_delta(decomposition.at(epsilon), n, rtol=rtol), exact / n)
