"""Estimates of E[S_+] where a jump has few losses to make up for: proposals, but good ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp.decomposition import Law
from shuffledp.divergence import HINGE, BlockSum
from shuffledp.divergence.enumeration import enumerate_log_mean
from shuffledp.divergence.proposals.edges import edges_for
from shuffledp.divergence.proposals.size import (
    estimate_beside,
    estimate_saddle,
    largest_log_mean,
)
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


@pytest.mark.parametrize("n", [1, 3, 30])
@pytest.mark.parametrize("seed", range(5))
def test_no_sum_is_larger_than_the_largest(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.choice([-1.0, 1.0], 4) * 10.0 ** rng.uniform(-3, 3, 4)
    law = Law(values, rng.dirichlet(np.ones(4)), np.zeros(4), np.zeros(4))
    exact = enumerate_log_mean(BlockSum.of((law, n)), HINGE)
    assert exact.lower <= largest_log_mean(law, n) + 1e-12


def test_rare_large_values_do_not_hide_what_a_sum_can_be() -> None:
    """Their squares rule that of the sum, but they add next to nothing."""
    law = Law(
        np.array([1e9, 1.0, -1.0, -1e9]), np.array([1e-15, 0.5, 0.5, 1e-15]), *np.zeros((2, 4))
    )
    assert largest_log_mean(law, 10**4) == pytest.approx(math.log(50), abs=0.2)
