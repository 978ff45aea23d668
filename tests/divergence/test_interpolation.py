"""The largest value in a simplex, from its corners."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.divergence import interpolation
from shuffledp.divergence.interpolation import largest_between, largest_sums, largest_values


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


def test_intervals_in_numbers(monkeypatch):
    """The same with two ends, for intervals of several nodes; all is rounded up."""
    weight, squares = np.array([0.3, 0.1, 0.2, 0.7]), np.array([2.0, 15.0, 17.0, 100.0])
    cell = np.array([1, 0, 1, 0])
    ends = np.array([[5.0, 5.0], [2.0, 2.0], [1.0, 0.5]])
    bent, far = np.array([0.1 * 15, 0.3 * 2, 0.0]), np.array([0.7, 0.2, 0.0])
    high = np.array([5.0, 2.0, 1.0])
    found = largest_between(ends, weight, squares, cell)
    assert found == pytest.approx(high + bent / 8 + 2 * far)
    monkeypatch.setattr(interpolation, "_MORE", 1.5)
    found = largest_between(ends, weight, squares, cell)
    assert found == pytest.approx(high + 1.5**3 * bent / 8 + 1.5 * 2 * far)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 9.0]))
def test_intervals_are_simplices_of_two_corners(seed, size):
    rng = np.random.default_rng(seed)
    ends = rng.normal(size=(4, 2))
    weight, squares = rng.exponential(size=(4, 6)), (size * rng.normal(size=(4, 6))) ** 2
    order = rng.permutation(24)
    cell = np.repeat(np.arange(4), 6)
    found = largest_between(ends, weight.ravel()[order], squares.ravel()[order], cell[order])
    assert found == pytest.approx(largest_sums(ends, weight, squares[None], [(0, 1)]))


@pytest.mark.parametrize("corners", [2, 3, 4])
def test_every_rounding_goes_up(corners, monkeypatch):
    """The largest value of the parabolas, with roundings that show."""
    more, less = 1.25, 0.75
    monkeypatch.setattr(interpolation, "_MORE", more)
    monkeypatch.setattr(interpolation, "_LESS", less)
    rng, s = np.random.default_rng(corners), np.linspace(0.0, 1.0, 20_001)
    edges = list(combinations(range(corners), 2))
    values = rng.uniform(0, 1, (40, corners))
    errors = rng.exponential(size=(len(edges), 40)) * rng.choice([0.1, 1.0, 5.0], (len(edges), 40))
    found = largest_values(values, errors, edges)
    kappa = (corners - 2) / (2 * (corners - 1))
    for row, column, bound in zip(values, errors.T, found.tolist(), strict=True):
        top = int(np.argmax(row))
        by_edge = {frozenset(edge): error * more for edge, error in zip(edges, column, strict=True)}
        others = max((e for edge, e in by_edge.items() if top not in edge), default=0.0)
        gain = 0.0
        for i in set(range(corners)) - {top}:
            own = by_edge[frozenset((top, i))]
            slope = own - (row[top] - row[i]) * less
            bend = own * less**2 - kappa * others * more
            gain = max(gain, float((s * slope - s * s * bend).max()))
        assert bound == pytest.approx(row[top] + gain * more, rel=1e-6)


def test_sums_are_rounded_up(monkeypatch):
    """Errors twice, their largest value once more; what is far, once."""
    monkeypatch.setattr(interpolation, "_MORE", 1.25)
    weight, squares = np.array([[0.1, 0.2]]), np.array([[[8.0, 40.0]]])
    found = largest_sums(np.array([[5.0, 5.0]]), weight, squares, [(0, 1)])
    assert found == pytest.approx(5.0 + 1.25**3 * 0.1 * 8 / 8 + 1.25 * 2 * 0.2)


def test_large_values_are_rounded_up():
    found = largest_values(np.array([[1e6, 0.0]]), np.array([[1.0]]), [(0, 1)])[0]
    assert 1e6 < found < 1e6 + 2e-9
