from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import stop_loss, thresholds

from shuffledp.decomposition import Law
from shuffledp.decomposition.cells import (
    boxes,
    choose_axes,
    choose_edges,
    interpolate,
    split_to_corners,
)

seeds = st.integers(0, 2**32 - 1)


def points(seed: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two coordinates (some of them repeated) and masses."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.gamma(1.0, size=size), int(rng.integers(1, 6)))
    y = np.round(rng.gamma(1.0, size=size), int(rng.integers(1, 6)))
    mass = rng.dirichlet(np.full(size, 0.3)) + 1e-9
    return x, y, mass / mass.sum()


def law(values: np.ndarray, weights: np.ndarray) -> Law:
    return Law(values, weights, np.zeros(values.size), np.zeros(values.size))


@given(seeds, st.integers(1, 200), st.integers(2, 60))
def test_edges_are_sorted_values_and_span_the_range(seed, size, count):
    x, _, mass = points(seed, size)
    edges = choose_edges(x, mass, count)
    assert (np.diff(edges) > 0).all()
    assert np.isin(edges, x).all()
    assert edges[0] == x.min()
    assert edges[-1] == x.max()
    assert edges.size <= count + 2


def test_few_values_all_stay_edges():
    x = np.array([3.0, 1.0, 2.0, 1.0])
    assert choose_edges(x, np.full(4, 0.25), 3).tolist() == [1.0, 2.0, 3.0]


def test_heavy_atoms_stay_edges():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 1, 1000)
    mass = np.full(1000, 0.5 / 998)
    heavy = [17, 421]
    mass[heavy] = 0.25
    assert np.isin(x[heavy], choose_edges(x, mass, 20)).all()


def test_edges_are_denser_where_there_is_more_mass():
    x = np.linspace(0, 1, 2001)
    mass = np.where(x < 0.5, 27.0, 1.0)
    edges = choose_edges(x, mass / mass.sum(), 80)
    # density mass^(1/3): three times as many on the left
    assert np.sum(edges < 0.5) / np.sum(edges > 0.5) == pytest.approx(3, rel=0.15)


def test_boxes_tell_edges_from_gaps():
    edges = np.array([0.0, 1.0, 3.0])
    assert boxes(np.array([0.0, 0.5, 1.0, 2.0, 3.0]), edges).tolist() == [1, 2, 3, 4, 5]


@given(seeds, st.integers(1, 100), st.integers(2, 20))
def test_interpolation_returns_the_value(seed, size, count):
    x, _, mass = points(seed, size)
    edges = choose_edges(x, mass, count)
    index, share = interpolate(x, edges)
    assert ((share >= 0) & (share <= 1)).all()
    top = edges[np.minimum(index + 1, edges.size - 1)]
    np.testing.assert_allclose((1 - share) * edges[index] + share * top, x, atol=1e-14)


def corners_of(x, y, mass, count):
    """Where the corners are, and their masses."""
    axes = choose_axes(x, y, mass, count)
    corners = split_to_corners(x, y, mass, *axes)
    assert corners.faint_log_mass.size == 0
    return axes[0][corners.index_x], axes[1][corners.index_y], corners.mass


@given(seeds, st.integers(1, 100), st.integers(4, 64))
def test_splitting_to_corners_keeps_mixed_means(seed, size, corners):
    x, y, mass = points(seed, size)
    corner_x, corner_y, corner_mass = corners_of(x, y, mass, corners)
    assert (corner_mass > 0).all()
    assert corner_mass.sum() == pytest.approx(1, abs=1e-13)
    # Bilinear weights reproduce every function that is linear in each coordinate.
    assert corner_mass @ corner_x == pytest.approx(mass @ x, abs=1e-12)
    assert corner_mass @ corner_y == pytest.approx(mass @ y, abs=1e-12)
    assert corner_mass @ (corner_x * corner_y) == pytest.approx(mass @ (x * y), abs=1e-12)


@given(seeds, st.integers(1, 100), st.floats(-2, 4))
def test_splitting_to_corners_spreads_every_linear_combination(seed, size, factor):
    x, y, mass = points(seed, size)
    corner_x, corner_y, corner_mass = corners_of(x, y, mass, 16)
    before = law(x - factor * y, mass)
    after = law(corner_x - factor * corner_y, corner_mass)
    levels = thresholds(before, after)
    assert (stop_loss(after, levels) >= stop_loss(before, levels) - 1e-12).all()


@given(seeds, st.integers(1, 300), st.integers(4, 100))
def test_axes_make_few_corners(seed, size, corners):
    x, y, mass = points(seed, size)
    edges_x, edges_y = choose_axes(x, y, mass, corners)
    assert edges_x.size * edges_y.size <= 2 * corners + 4


def test_one_axis_gets_all_corners_when_the_other_is_constant():
    x, mass = np.linspace(1, 2, 500), np.full(500, 1 / 500)
    edges_x, edges_y = choose_axes(x, np.ones(500), mass, 64)
    assert edges_y.tolist() == [1.0]
    assert edges_x.size > 16
