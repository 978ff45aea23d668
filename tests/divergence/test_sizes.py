"""Estimates of E[S_+] where a jump has few losses to make up for: proposals, but good ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp.decomposition import Law
from shuffledp.divergence import BlockSum
from shuffledp.divergence.proposals.edges import edges_for
from shuffledp.divergence.proposals.size import estimate_beside, estimate_saddle
from shuffledp.divergence.usual import usual_log_mean


@pytest.mark.parametrize("zero", [0.2, 0.7, 0.95])
@pytest.mark.parametrize("n", [2, 10, 40])
def test_one_jump_beside_losses(zero: float, n: int) -> None:
    law = Law(
        np.array([50.0, -9.0, 0.0]), np.array([1e-9, 1 - zero, zero - 1e-9]), *np.zeros((2, 3))
    )
    total = BlockSum.of((law, n))
    exact = usual_log_mean(total, 1e-6)
    assert exact is not None
    worst = 0.3 if n * (1 - zero) > 30 else 0.05  # far more losses than a jump makes up for
    assert estimate_beside(total).log_mean == pytest.approx(exact.upper, abs=worst)


def test_a_sum_that_is_never_positive_has_no_saddle_point() -> None:
    law = Law(np.array([0.0, -1.0]), np.array([0.5, 0.5]), np.zeros(2), np.zeros(2))
    assert estimate_saddle(BlockSum.of((law, 5))).log_mean == -math.inf


def test_masses_far_below_are_kept_from_the_largest_value() -> None:
    """Losses around -150 and few values up to 0 at which the tilt is large: no cell joins them."""
    values = np.concatenate(
        [np.linspace(-5000, -140, 3000), np.linspace(-139, -1, 100), [0.0, 9.0]]
    )
    weights = np.concatenate([np.full(3000, 0.8 / 3000), np.full(100, 1e-18), [0.2, 1e-12]])
    law = Law(values, weights / weights.sum(), np.zeros(values.size), np.zeros(values.size))
    (edges,) = edges_for(BlockSum.of((law, 9)), 1e-4)
    assert np.sum((edges > -140) & (edges < 0)) > 2
