from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import stop_loss, thresholds

from shuffledp.decomposition import Law
from shuffledp.divergence import BlockSum, coarsening
from shuffledp.divergence.coarsening import _contract, _spread, coarsen_law
from shuffledp.divergence.mean import _MAX_ATOMS, _coarsened
from shuffledp.divergence.proposals.edges import edges_for

seeds = st.integers(0, 2**32 - 1)


def random_law(seed: int, size: int) -> Law:
    rng = np.random.default_rng(seed)
    values = rng.normal(-0.2, 1.0, size)
    weights = rng.dirichlet(np.full(size, 0.5)) + 1e-12
    return Law(values, weights / weights.sum(), np.zeros(size), np.zeros(size))


def edges(law: Law, n: int, rtol: float) -> np.ndarray:
    return edges_for(BlockSum.of((law, n)), rtol)[0]


@settings(max_examples=40)
@given(seeds, st.integers(_MAX_ATOMS + 1, 3000), st.sampled_from([2, 30, 1000, 10**6]))
def test_two_small_laws_enclose_a_large_one(seed, size, n):
    law = random_law(seed, size)
    lower, upper = coarsen_law(law, edges(law, n, 1e-4))
    assert max(lower.size / 2, upper.size) <= 610
    for small in (lower, upper):
        assert small.weights.sum() == pytest.approx(law.weights.sum(), abs=1e-13)
        assert small.weights @ small.values == pytest.approx(law.weights @ law.values, abs=1e-13)
    levels = thresholds(lower, law, upper)
    below, middle, above = (stop_loss(x, levels) for x in (lower, law, upper))
    assert (below <= middle + 1e-13).all()
    assert (middle <= above + 1e-13).all()


def test_few_atoms_stay_as_they_are():
    law = random_law(0, _MAX_ATOMS)
    total = BlockSum.of((law, 10))
    lower, upper = _coarsened(total, 1e-4)
    assert lower is total
    assert upper is total


def test_a_looser_tolerance_takes_fewer_atoms():
    law = random_law(1, 3000)
    coarse, fine = (edges(law, 1000, rtol) for rtol in (1e-2, 1e-4))
    assert coarse.size < fine.size


# Two edges with atoms between them, on them and outside of nothing; weights are far from equal.
VALUES = np.array([-1.0, -0.5, 0.5, 1.0, 2.0, 3.0])
WEIGHTS = np.array([0.1, 0.2, 0.05, 0.3, 0.25, 0.1])
EDGES = np.array([-1.0, 1.0, 3.0])


@pytest.mark.parametrize("coarsen", [_contract, _spread])
def test_atoms_that_move_keep_their_mean(coarsen):
    law = coarsen(Law(VALUES, WEIGHTS, np.zeros(6), np.zeros(6)), EDGES)
    assert law.weights.sum() == pytest.approx(1, abs=1e-15)
    assert law.weights @ law.values == pytest.approx(WEIGHTS @ VALUES, abs=1e-15)
    if coarsen is _contract:
        means = [(-0.5 * 0.2 + 0.5 * 0.05) / 0.25, 2.0]
        assert law.values.tolist() == pytest.approx([-1.0, means[0], 1.0, means[1], 3.0])
        assert law.weights.tolist() == pytest.approx([0.1, 0.25, 0.3, 0.25, 0.1])
    else:
        shares = [0.1 + 0.2 * 0.75 + 0.05 * 0.25, 0.1 + 0.25 / 2]
        assert law.values.tolist() == EDGES.tolist()
        assert law.weights.tolist() == pytest.approx([shares[0], 1 - sum(shares), shares[1]])


@pytest.mark.parametrize("coarsen", [_contract, _spread])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_errors_of_atoms_are_errors_of_what_they_become(coarsen, scale, monkeypatch):
    """Values and weights move against each other, as far as their errors let them."""
    monkeypatch.setattr(coarsening, "UNIT", 0.0)
    value_error = scale * np.array([1e-5, 3e-5, 2e-5, 1e-5, 4e-5, 2e-5])
    weight_error = np.array([2e-5, 1e-5, 5e-5, 3e-5, 1e-5, 2e-5])
    law = Law(scale * VALUES, WEIGHTS, value_error, weight_error)
    stated = coarsen(law, scale * EDGES)
    assert (stated.value_error <= value_error.max() + weight_error.max() * 3 * scale).all()
    assert (stated.value_error >= value_error.min()).all()
    assert (stated.weight_error <= weight_error.max()).all()
    assert (stated.weight_error >= weight_error.min()).all()
    plain = coarsen(Law(scale * VALUES, WEIGHTS, np.zeros(6), np.zeros(6)), scale * EDGES)
    assert not plain.value_error.any()
    tipped = WEIGHTS * (1 + weight_error * np.sign(VALUES))
    moved = coarsen(Law(scale * VALUES, tipped, np.zeros(6), np.zeros(6)), scale * EDGES)
    assert (np.abs(moved.weights / plain.weights - 1) <= stated.weight_error * 1.0001).all()
    assert np.abs(moved.weights / plain.weights - 1).max() >= 0.3 * stated.weight_error.max()
    if coarsen is _contract:
        assert (np.abs(moved.values - plain.values) <= stated.value_error).all()
        # A gap's mean inherits the mean of the errors, of the values and through the weights.
        inner = np.array([1, 2])
        both = value_error[inner] + weight_error[inner] * np.abs(scale * VALUES[inner])
        expected = WEIGHTS[inner] @ both / WEIGHTS[inner].sum()
        assert stated.value_error[1] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("coarsen", [_contract, _spread])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_sums_of_many_atoms_are_rounded(coarsen, scale, monkeypatch):
    unit = 1e-6
    monkeypatch.setattr(coarsening, "UNIT", unit)
    law = Law(scale * VALUES, WEIGHTS, np.zeros(6), np.zeros(6))
    rounded = coarsen(law, scale * EDGES)
    sizes = np.array([1, 2, 1, 1, 1]) if coarsen is _contract else np.array([3, 5, 2])
    assert (rounded.weight_error >= unit * (sizes + 1)).all()
    assert (rounded.weight_error <= unit * 50).all()
    assert (rounded.value_error >= unit * (sizes + 1) * np.abs(rounded.values)).all()
    assert (rounded.value_error <= unit * 50 * scale * 3).all()


def test_equal_values_become_one_atom():
    law = Law(np.full(300, 0.5), np.full(300, 1 / 300), np.zeros(300), np.zeros(300))
    for small in coarsen_law(law, edges(law, 10, 1e-4)):
        assert small.values.tolist() == pytest.approx([0.5])
        assert small.weights.tolist() == pytest.approx([1.0])


@given(places=st.lists(st.floats(), max_size=6))
def test_any_edges_enclose(places):
    law = Law(VALUES, WEIGHTS, np.zeros(6), np.zeros(6))
    lower, upper = coarsen_law(law, np.array(places, dtype=np.float64))
    levels = np.linspace(-1.2, 3.2, 45)
    below, middle, above = (stop_loss(x, levels) for x in (lower, law, upper))
    assert (below <= middle + 1e-14).all()
    assert (middle <= above + 1e-14).all()
    assert lower.weights @ lower.values == pytest.approx(WEIGHTS @ VALUES, abs=1e-14)
    assert upper.weights @ upper.values == pytest.approx(WEIGHTS @ VALUES, abs=1e-14)


def test_a_small_share_keeps_its_digits():
    """An atom next to its upper edge: what the lower edge gets is tiny, not rounded away."""
    near = np.nextafter(np.nextafter(1.0, 0.0), 0.0)
    law = Law(np.array([-1e9, near, 1.0]), np.full(3, 1 / 3), np.zeros(3), np.zeros(3))
    spread = _spread(law, np.array([-1e9, 0.0, 1.0]))
    assert spread.weights[1] == pytest.approx((1 - near) / 3, rel=1e-15)
