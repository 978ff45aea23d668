"""Decompositions for tests, and how they are compared."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import strategies as st
from oracles import law_scale, stop_loss, thresholds

from shuffledp.decomposition import Decomposition, Law, decompose_segments

INF = math.inf
EPSILONS = [0.0, 0.05, 0.5, 1.5]

seeds = st.integers(0, 2**32 - 1)


def five_points(epsilon0: float, p: float, q: float) -> Decomposition:
    """Components (E,1), (1,E), (E,E), (1,1) of masses p, p, q, r, with exact logarithms."""
    E = math.exp(epsilon0)
    r = 1 - (E + 1) * p - E * q
    logs0, logs1 = [epsilon0, 0.0, epsilon0, 0.0], [0.0, epsilon0, epsilon0, 0.0]
    residual = math.expm1(epsilon0) * (p + q)
    return Decomposition(log_ratio0=logs0, log_ratio1=logs1, weight=[p, p, q, r], residual=residual)


def components(d: Decomposition) -> np.ndarray:
    """Rows (a/c, b/c, c), in a fixed order."""
    rows = np.stack([d.ratio0, d.ratio1, d.weight], axis=1)
    return rows[np.lexsort(np.round(rows, 9).T)]


def singular_pairs(d: Decomposition) -> list[tuple[float, float]]:
    pairs = zip(d.singular0.tolist(), d.singular1.tolist(), strict=True)
    return sorted(pair for pair in pairs if pair != (0.0, 0.0))


def assert_same(actual: Decomposition, expected: Decomposition) -> None:
    np.testing.assert_allclose(components(actual), components(expected), rtol=1e-12)
    assert actual.residual == pytest.approx(expected.residual, rel=1e-12, abs=1e-15)
    np.testing.assert_allclose(singular_pairs(actual), singular_pairs(expected), rtol=1e-12)


def assert_dominated(below: Law, above: Law) -> None:
    """Convex order: equal means, and E(G - t)_+ no larger at any level."""
    slack = law_scale(below, above)
    assert below.values @ below.weights == pytest.approx(above.values @ above.weights, abs=slack)
    levels = thresholds(below, above)
    assert (stop_loss(below, levels) <= stop_loss(above, levels) + slack).all()


def cells(seed: int, count: int, per_cell: int = 6) -> tuple[Decomposition, Decomposition]:
    """Cells and the law they stand for: random atoms on random segments, plus one lone atom."""
    rng = np.random.default_rng(seed)
    starts = 1 + rng.uniform(0, 2, (count, 2))
    along = rng.choice([0, 1], (count, 2))
    along[0, 0] = 1  # not all of them are atoms
    stops = starts + rng.uniform(0.1, 1, (count, 2)) * along
    shares = rng.uniform(0, 1, (count, per_cell, 1))
    ratios = starts[:, None, :] + shares * (stops - starts)[:, None, :]
    mass = rng.dirichlet(np.ones(per_cell), count) * rng.dirichlet(np.ones(count))[:, None]
    # One atom more makes the masses of a and b equal 1.
    mass *= 0.9 / max((mass[..., None] * ratios).sum(axis=(0, 1)))
    rest = 1 - (mass[..., None] * ratios).sum(axis=(0, 1))
    weight = 0.05
    means = (mass[..., None] * ratios).sum(axis=1) / mass.sum(axis=1)[:, None]
    total = float(mass.sum()) + weight
    fine = Decomposition.from_coefficients(
        np.append((mass * ratios[..., 0]).ravel(), rest[0]),
        np.append((mass * ratios[..., 1]).ravel(), rest[1]),
        np.append(mass.ravel(), weight),
    )
    last = np.log(rest / weight)
    coarse = decompose_segments(
        (np.append(np.log(means[:, 0]), last[0]), np.append(np.log(means[:, 1]), last[1])),
        np.append(mass.sum(axis=1), weight),
        residual=1 - total,
        start=(np.append(np.log(starts[:, 0]), last[0]), np.append(np.log(starts[:, 1]), last[1])),
        stop=(np.append(np.log(stops[:, 0]), last[0]), np.append(np.log(stops[:, 1]), last[1])),
    )
    return coarse, fine
