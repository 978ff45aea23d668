"""Cells and coarsening: both sides enclose what they stand for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from comparing import (
    EPSILONS,
    assert_dominated,
    cells,
    five_points,
    seeds,
    singular_pairs,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import enumerated_delta, stop_loss, thresholds
from strategies import cloud

from shuffledp.decomposition import Decomposition, decompose_segments

# -- cells ----------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 5), st.sampled_from(EPSILONS))
def test_cells_enclose_the_law_they_stand_for(seed, count, epsilon):
    coarse, fine = cells(seed, count)
    assert coarse.size < fine.size
    gparv, law = coarse.at(epsilon), fine.at(epsilon).lower
    assert_dominated(gparv.lower, law)
    assert_dominated(law, gparv.upper)


@given(seeds, st.integers(1, 5))
def test_ends_have_the_mass_and_the_means_of_the_cells(seed, count):
    coarse, _ = cells(seed, count)
    spread = coarse.spread
    assert spread is not None
    assert spread.residual == coarse.residual
    assert spread.weight.sum() == pytest.approx(coarse.weight.sum(), abs=1e-14)
    for name in ("ratio0", "ratio1"):
        ours, theirs = getattr(coarse, name), getattr(spread, name)
        assert coarse.weight @ ours == pytest.approx(spread.weight @ theirs, abs=1e-14)
    # Ratios rise together along these cells, so their product is convex there.
    upper = spread.weight @ (spread.ratio0 * spread.ratio1)
    assert upper >= coarse.weight @ (coarse.ratio0 * coarse.ratio1) - 1e-14


@settings(max_examples=40)
@given(seeds, seeds, st.sampled_from(EPSILONS))
def test_compositions_of_cells_enclose_compositions_of_atoms(seed, other, epsilon):
    (coarse, fine), (coarse2, fine2) = cells(seed, 2, 4), cells(other, 2, 4)
    atoms = fine.merge()
    pairs = [
        (coarse.product(coarse2), fine.product(fine2)),
        (coarse.product(atoms), fine.product(atoms)),
        (atoms.product(coarse), atoms.product(fine)),
        (
            Decomposition.mixture([0.25, 0.75], [coarse, fine2]),
            Decomposition.mixture([0.25, 0.75], [fine, fine2]),
        ),
        (coarse.swap(), fine.swap()),
        (coarse.merge(), fine),
    ]
    for enclosing, exact in pairs:
        gparv, law = enclosing.at(epsilon), exact.at(epsilon).lower
        assert gparv.lower is not gparv.upper
        assert_dominated(gparv.lower, law)
        assert_dominated(law, gparv.upper)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_tails_enclose_the_bound(epsilon, n):
    # Ratios 2^i with masses 4^-i / 2: all but the first few are one unbounded cell on each side.
    i = np.arange(1, 12)
    c = 0.25**i / 2
    u = 2.0**i
    rest = 1 - c @ u - c.sum()
    fine = Decomposition.from_coefficients(
        np.concatenate([c * u, c, [rest]]),
        np.concatenate([c, c * u, [rest]]),
        np.concatenate([c, c, [rest / 2]]),
    )
    head, far = slice(0, 3), slice(3, None)
    logs = np.log(u[head])
    zeros = np.zeros(3)
    two = [math.log(2)]
    total, heavy = float(c[far].sum()), float(c[far] @ u[far])
    coarse = decompose_segments(
        (np.concatenate([logs, zeros, two]), np.concatenate([zeros, logs, two])),
        np.concatenate([c[head], c[head], [rest / 2]]),
        residual=fine.residual,
        start=(np.concatenate([logs, zeros, two]), np.concatenate([zeros, logs, two])),
        stop=(np.concatenate([logs, zeros, two]), np.concatenate([zeros, logs, two])),
        tails=[(heavy, total, total), (total, heavy, total)],
    )
    gparv, law = coarse.at(epsilon), fine.merge().at(epsilon).lower
    assert_dominated(gparv.lower, law)
    assert coarse.spread.size == 7
    exact = enumerated_delta(law, n)
    assert enumerated_delta(gparv.lower, n) + gparv.singular_lower <= exact + 1e-13
    assert exact <= enumerated_delta(gparv.upper, n) + gparv.singular_upper + 1e-13


def test_cells_without_width_are_atoms():
    a, b, c = np.array([0.5, 0.3, 0.2]), np.array([0.25, 0.25, 0.5]), np.array([0.25, 0.2, 0.2])
    logs = np.log(a / c), np.log(b / c)
    atoms = decompose_segments(
        logs, c, start=logs, stop=logs, residual=0.35, log_ratio_error=1e-15, weight_error=0.0
    )
    assert atoms.spread is None
    law, exact = atoms.at(0.3).lower, Decomposition.from_coefficients(a, b, c).at(0.3).lower
    order, other = np.argsort(law.values), np.argsort(exact.values)
    assert law.values[order] == pytest.approx(exact.values[other], abs=1e-14)
    assert law.weights[order] == pytest.approx(exact.weights[other], abs=1e-14)


def test_atoms_whose_ends_are_rounded_otherwise_have_larger_errors():
    logs, moved = np.log([2.0, 0.5]), np.array([1e-13, 0.0])
    one = decompose_segments(
        (logs, logs[::-1]),
        [0.4, 0.4],
        start=(logs + moved, logs[::-1] + moved),
        stop=(logs + moved, logs[::-1] + moved),
        residual=0.2,
    )
    assert one.log_ratio_error.max() >= 1e-13


def test_a_mean_outside_its_cell_is_rejected():
    with pytest.raises(ValueError, match="mean of every cell must lie between its ends"):
        decompose_segments(
            ([0.0], [0.0]), [1.0], residual=0.0, start=([0.1], [0.0]), stop=([0.2], [0.0])
        )


# -- coarsening -----------------------------------------------------------------------------------


@settings(max_examples=30)
@given(seeds, st.sampled_from([1e-3, 0.5, 2.0]), st.sampled_from([4, 16, 60]))
def test_coarse_clouds_enclose_the_cloud(seed, epsilon0, limit):
    d = cloud(seed, 200, epsilon0)
    coarse = d.coarsen(limit)
    assert coarse.size <= 2 * limit + 4
    assert coarse.upper.size <= 2 * limit + 4
    for epsilon in (0.0, 0.1 * epsilon0, 0.9 * epsilon0, 2 * epsilon0):
        gparv, law = coarse.at(epsilon), d.at(epsilon).lower
        assert_dominated(gparv.lower, law)
        assert_dominated(law, gparv.upper)


@settings(max_examples=20)
@given(seeds, st.integers(1, 3))
def test_coarse_clouds_enclose_the_bound(seed, n):
    d = cloud(seed, 60, 1.0)
    coarse = d.coarsen(16)
    for epsilon in (0.0, 0.2, 0.7):
        gparv, exact = coarse.at(epsilon), enumerated_delta(d.at(epsilon).lower, n)
        assert enumerated_delta(gparv.lower, n) <= exact + 1e-13
        assert exact <= enumerated_delta(gparv.upper, n) + 1e-13


def test_more_cells_are_tighter():
    d = cloud(1, 2000, 1.0)

    def width(limit):
        gparv = d.coarsen(limit).at(0.3)
        levels = thresholds(gparv.lower, gparv.upper)
        return float((stop_loss(gparv.upper, levels) - stop_loss(gparv.lower, levels)).max())

    widths = [width(limit) for limit in (16, 64, 256, 1024)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.1 * widths[0]


def test_coarse_cells_can_be_coarsened_again():
    d = cloud(2, 500, 1.0)
    twice = d.coarsen(200).coarsen(16)
    for epsilon in (0.0, 0.4):
        gparv, law = twice.at(epsilon), d.at(epsilon).lower
        assert_dominated(gparv.lower, law)
        assert_dominated(law, gparv.upper)


def test_coarsening_keeps_the_singular_part_and_zeros():
    rng = np.random.default_rng(4)
    a, b, c = rng.dirichlet(np.ones(80), 3)
    a[:5], b[5:10], c[10:15] = 0, 0, 0
    a, b, c = a / a.sum(), b / b.sum(), c / (1.5 * c.sum())
    d = Decomposition.from_coefficients(a, b, c)
    coarse = d.coarsen(16)
    assert singular_pairs(coarse) == singular_pairs(coarse.upper) == singular_pairs(d)
    gparv, law = coarse.at(0.5), d.at(0.5).lower
    assert_dominated(gparv.lower, law)
    assert_dominated(law, gparv.upper)


def test_small_decompositions_stay_as_they_are():
    d = five_points(1.0, 0.1, 0.1)
    assert d.coarsen(4) is d
    with pytest.raises(ValueError, match="max_components must be an integer of at least 4"):
        d.coarsen(3)
