"""The largest value in a simplex, from its corners."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.bounds.swap.interpolation import largest_sums, largest_values


def weights_of(corners: int, parts: int = 12) -> np.ndarray:
    """Return all weights that are multiples of 1/parts."""
    found = [k for k in product(range(parts + 1), repeat=corners) if sum(k) == parts]
    return np.array(found) / parts


def interpolated(values: np.ndarray, errors: np.ndarray, edges: list[tuple[int, int]]) -> float:
    """Return the largest of interpolation plus error at many weights."""
    alpha = weights_of(len(values))
    pairs = np.array([alpha[:, i] * alpha[:, j] for i, j in edges])
    return float((alpha @ values + errors @ pairs).max())


@settings(max_examples=150)
@given(st.integers(2, 4), st.integers(0, 2**32 - 1), st.sampled_from([0.01, 1.0, 100.0]))
def test_no_weights_exceed_the_bound(corners, seed, size):
    rng = np.random.default_rng(seed)
    edges = list(combinations(range(corners), 2))
    values = rng.normal(size=(5, corners))
    errors = size * rng.exponential(size=(len(edges), 5)) * (rng.random((len(edges), 5)) < 0.7)
    bounds = largest_values(values, errors, edges)
    for row, column, bound in zip(values, errors.T, bounds, strict=True):
        assert interpolated(row, column, edges) <= bound
        # Products of weights add up to at most (k-1)/2k, less than a half.
        assert bound <= row.max() + column.max() / 2 + 1e-7 * (1 + size)


@pytest.mark.parametrize("fall", [0.0, 0.3, 0.9, 1.0, 2.0])
def test_two_corners_are_exact(fall):
    """u - g s + e s (1 - s) is largest at s = (e - g)/2e, if that is positive."""
    found = largest_values(np.array([[2.0, 2.0 - fall]]), np.array([[1.0]]), [(0, 1)])[0]
    exact = 2.0 + max(1.0 - fall, 0.0) ** 2 / 4
    assert exact <= found <= exact * (1 + 1e-8)


def test_next_to_a_corner_that_leads_nothing_is_added():
    """All others fall short by more than the errors: the corner itself is the largest."""
    edges = list(combinations(range(3), 2))
    found = largest_values(np.array([[0.5, 3.0, 1.0]]), np.full((3, 1), 1.5), edges)[0]
    assert 3.0 <= found <= 3.0 * (1 + 1e-8)


def test_an_infinite_error_is_no_bound():
    with np.errstate(invalid="ignore"):
        found = largest_values(np.array([[1.0, 2.0]]), np.array([[np.inf]]), [(0, 1)])[0]
    assert not found < np.inf


@settings(max_examples=100)
@given(st.integers(2, 4), st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 5.0]))
def test_no_mixture_of_exponentials_exceeds_the_bound(corners, seed, size):
    """Real parts of sums of w e^x, x a mean of complex points: what mixtures of types lead to."""
    rng = np.random.default_rng(seed)
    edges = list(combinations(range(corners), 2))
    x = size * (rng.normal(size=(corners, 6)) + 1j * rng.normal(size=(corners, 6)))
    kernel = rng.normal(size=6) + 1j * rng.normal(size=6)
    weight = np.abs(kernel) * np.exp(x.real.max(axis=0))
    squares = np.array([np.abs(x[i] - x[j]) ** 2 for i, j in edges])[:, None, :]
    at_corners = (kernel * np.exp(x)).sum(axis=1).real
    bound = largest_sums(at_corners[None, :], weight[None, :], squares, edges)[0]
    mixed = (kernel * np.exp(weights_of(corners) @ x)).sum(axis=1).real
    assert mixed.max() <= bound + 1e-12 * weight.sum()


def test_sums_in_numbers():
    """Half the squares times the weights of the corners, at most twice the weight of a node."""
    weight = np.array([[0.1, 0.2, 0.4]])
    # Between equal ends a node adds an eighth of its square: 2 is less from 16 on.
    squares = np.array([[[15.0, 17.0, 40.0]]])
    found = largest_sums(np.array([[5.0, 5.0]]), weight, squares, [(0, 1)])
    assert found == pytest.approx(5.0 + 0.1 * 15 / 8 + 2 * (0.2 + 0.4))
    # Between three equal corners, all of them as far apart, it is a sixth: from 12 on.
    edges = [(0, 1), (0, 2), (1, 2)]
    squares = np.repeat([[[11.0, 13.0, 15.0]]], 3, axis=0)
    found = largest_sums(np.full((1, 3), 5.0), weight, squares, edges)
    assert found == pytest.approx(5.0 + 0.1 * 11 / 6 + 2 * (0.2 + 0.4))
    # One edge is enough.
    squares = np.array([[[1.0]], [[1.0]], [[40.0]]])
    found = largest_sums(np.full((1, 3), 5.0), np.array([[0.1]]), squares, edges)
    assert found == pytest.approx(5.0 + 2 * 0.1)
