from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.decomposition.panels import NODES, POINTS, WEIGHTS, Panels


def test_nodes_and_weights_are_correctly_rounded():
    with mp.workdps(60):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            root = mp.findroot(lambda x: mp.legendre(POINTS, x), mp.mpf(float(node)))
            slope = POINTS * mp.legendre(POINTS - 1, root) / (1 - root**2)
            assert float(root) == node
            assert float(2 / ((1 - root**2) * slope**2)) == weight


@given(st.floats(0.1, 40.0), st.floats(0.2, 3.0))
def test_panels_cover_the_range_and_are_no_wider_than_asked(end, width):
    panels = Panels.up_to(end, width)
    assert panels.edges[0] == 0
    assert panels.edges[-1] == end
    assert np.diff(panels.edges).max() <= width * (1 + 1e-12)
    assert panels.nodes.size == panels.weights.size == panels.ends.size == POINTS * panels.count
    assert math.isclose(panels.weights.sum(), end)
    assert (panels.nodes < panels.ends).all()


@pytest.mark.parametrize("rate", [2.0, 8.0, 20.0, 40.0])
def test_the_error_of_a_wave_is_within_its_bound(rate):
    """The integral of cos(rate s) over [0, 2]; |cos| is at most e^{rate height}."""
    panels = Panels(np.array([0.0, 2.0]))
    strips = panels.strips
    error = abs(float(panels.weights @ np.cos(rate * panels.nodes)) - math.sin(2 * rate) / rate)
    logs = (rate * strips.height).max(axis=2) + strips.log_factor
    bound = float(np.exp(logs.min()))
    assert error <= bound + 1e-14
    assert rate < 20 or error > bound * 1e-6  # the bound is of use, and put to the test


@given(st.integers(0, 2**32 - 1), st.integers(0, 6), st.floats(0, 2 * math.pi))
def test_strips_cover_the_ellipse(seed, ellipse, angle):
    panels = Panels(np.sort(np.random.default_rng(seed).uniform(0, 10, 4)))
    strips = panels.strips
    rho = np.array([1.5, 2.0, 2.7, 3.6, 5.0, 7.0, 10.0])[ellipse]
    middle = (panels.edges[1:] + panels.edges[:-1]) / 2
    radius = np.diff(panels.edges) / 2
    w = rho * np.exp(1j * angle)
    points = middle + radius * (w + 1 / w) / 2
    for p, point in enumerate(points):
        left, right = strips.left[p, ellipse], strips.right[p, ellipse]
        inside = (left <= point.real) & (point.real <= right)
        assert (inside & (abs(point.imag) <= strips.height[p, ellipse])).any()
