"""Cells of noise against 160 digits, at the ends of the parameters."""

from __future__ import annotations

import pytest
from enumeration import assert_masses_of_laws, backgrounds, encloses, precision

from shuffledp.mechanisms import DiscreteLaplace, Gaussian, Laplace, Pair

mp = precision(160)

LEVELS = (1e-12, 1e-9, 1e-4, 0.1, 1.0, 3.7, 12.0, 50.0, 133.3, 299.99, 300.0)
BOUNDS = (1, 2, 3, 4, 101, 102, 8193, 8194, 20000, 20001, 10**6 + 1, 10**9 - 1, 10**9)


def assert_accurate(randomizer, residual) -> None:
    """All cells have small balls and the masses of laws, and what is left over is known."""
    for pair in randomizer.neighbours()[0], Pair(0, 0):
        blanket = randomizer.decomposition(pair)
        assert encloses(blanket.residual, residual, 60)
        assert encloses(blanket.mass, 1 - residual, 20)
        for found in (blanket, *backgrounds(randomizer, pair)):
            assert_masses_of_laws(found)
            for part in (found, found.upper):
                for log in (log for c in part.components for log in (c.log0, c.log1)):
                    assert float(log.rad()) <= 1e-14


@pytest.mark.heavy(keep=4)
@pytest.mark.parametrize("level", LEVELS)
def test_laplace(level):
    assert_accurate(Laplace(epsilon0=level), -mp.expm1(-mp.mpf(level) / 2))


@pytest.mark.heavy(keep=4)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("bound", BOUNDS)
def test_discrete_laplace(bound, level):
    alpha = mp.exp(-mp.mpf(level) / bound)
    mass = 2 * alpha ** (bound // 2 + 1) / (1 + alpha)
    if bound % 2 == 0:
        mass += (1 - alpha) / (1 + alpha) * alpha ** (bound // 2)
    assert_accurate(DiscreteLaplace(epsilon0=level, bound=bound), 1 - mass)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("sigma", [0.3, 0.31, 0.5, 1.0, 2.7, 10.0, 333.3, 1e4, 1e6])
def test_gaussian(sigma):
    assert_accurate(Gaussian(sigma=sigma), mp.erf(1 / (mp.sqrt(8) * mp.mpf(sigma))))
