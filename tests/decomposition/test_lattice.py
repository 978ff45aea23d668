"""Products on a lattice of log ratios: enclosing, closed, bounded."""

from __future__ import annotations

import time
from functools import reduce

import numpy as np
import pytest
from oracles import law_scale, stop_loss, thresholds
from strategies import cloud

from shuffledp import KRR, Gaussian, Laplace
from shuffledp.decomposition import Decomposition, product_of
from shuffledp.decomposition.lattice import MAX_COMPONENTS


def assert_encloses(coarse: Decomposition, exact: Decomposition, epsilon: float) -> None:
    """The contraction is below and the spread above, in convex order."""
    law, middle = coarse.at(epsilon), exact.at(epsilon)
    levels = thresholds(law.lower, law.upper, middle.lower, middle.upper)
    slack = 1e4 * law_scale(law.upper, middle.upper)
    assert (stop_loss(law.lower, levels) <= stop_loss(middle.upper, levels) + slack).all()
    assert (stop_loss(law.upper, levels) >= stop_loss(middle.lower, levels) - slack).all()
    assert law.singular_lower <= middle.singular_upper + slack
    assert law.singular_upper >= middle.singular_lower - slack


def on_lattice(decomposition: Decomposition, step: float) -> bool:
    logs = np.concatenate([decomposition.upper.log_ratio0, decomposition.upper.log_ratio1])
    logs = logs[np.isfinite(logs)] / step
    return bool((np.abs(logs - np.round(logs)) < 1e-9).all())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("step", [0.01, 0.1, 0.5])
def test_coarsening_to_a_lattice_encloses(seed, step):
    exact = cloud(seed, 200, 1.5)
    coarse = exact.coarsen_to_lattice(step)
    for epsilon in (0.0, 0.1, 1.0):
        assert_encloses(coarse, exact, epsilon)
    assert on_lattice(coarse, step)


def test_ratios_of_zero_stay():
    rng = np.random.default_rng(1)
    a, b, c = rng.dirichlet(np.ones(100), 3)
    a[:20] = 0
    b[10:40] = 0
    exact = Decomposition.from_coefficients(a / a.sum(), b / b.sum(), 0.5 * c)
    coarse = exact.coarsen_to_lattice(0.1)
    assert np.isneginf(coarse.upper.log_ratio0).any()
    assert np.isneginf(coarse.upper.log_ratio1).any()
    assert_encloses(coarse, exact, 0.2)
    assert on_lattice(coarse, 0.1)


@pytest.mark.heavy
def test_products_stay_on_the_lattice():
    step = 0.05
    parts = [cloud(seed, 150, 1.0).coarsen_to_lattice(step) for seed in range(3)]
    whole = reduce(lambda x, y: x.product(y).merge(), parts)
    assert on_lattice(whole, step)
    reach = sum(
        np.ptp(np.concatenate([part.upper.log_ratio0, part.upper.log_ratio1])) for part in parts
    )
    assert whole.upper.size <= (reach / step + 2) ** 2


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("seed", range(4))
def test_products_enclose_the_exact_product(seed):
    factors = [cloud(3 * seed + i, size, 0.8) for i, size in enumerate((70, 80, 5))]
    exact = reduce(Decomposition.product, factors)
    coarse = product_of(factors)
    for epsilon in (0.0, 0.2):
        assert_encloses(coarse, exact, epsilon)
    assert max(coarse.size, coarse.upper.size) <= 2 * MAX_COMPONENTS


def test_small_products_are_exact():
    factors = [cloud(seed, 6, 1.0) for seed in range(3)]
    exact, product = reduce(Decomposition.product, factors), product_of(factors)
    assert product.spread is None
    assert product.size == exact.size == 216
    assert product.residual == pytest.approx(exact.residual)
    for epsilon in (0.0, 0.3):
        one, other = product.at(epsilon).lower, exact.at(epsilon).lower
        levels = thresholds(one, other)
        assert stop_loss(one, levels) == pytest.approx(stop_loss(other, levels), abs=1e-12)


def test_no_factors_reveal_nothing():
    nothing = product_of([])
    assert nothing.size == 1
    assert nothing.at(0.0).lower.values.tolist() == [0.0]


LARGE = {
    "6 equal Laplace": [Laplace(epsilon0=0.5)] * 6,
    "6 different Laplace": [Laplace(epsilon0=0.3 + 0.1 * i) for i in range(6)],
    "12 different randomized responses": [KRR(k=3 + i, epsilon0=1 + i / 7) for i in range(12)],
    "12 responses and a Laplace": [
        *(KRR(k=3 + i, epsilon0=0.1 + i / 70) for i in range(12)),
        Laplace(epsilon0=1.0),
    ],
    "2 Gaussians": [Gaussian(sigma=1.0), Gaussian(sigma=3.0)],
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", LARGE)
def test_large_products_stay_small_and_quick(name):
    blankets = [part.blanket(part.neighbours()[0]) for part in LARGE[name]]
    start = time.process_time()
    whole = product_of(blankets)
    assert time.process_time() - start < 20
    assert max(whole.size, whole.upper.size) <= 2 * MAX_COMPONENTS
    kept = np.prod([1 - blanket.residual for blanket in blankets])
    assert whole.residual == pytest.approx(1 - kept, rel=1e-9)
