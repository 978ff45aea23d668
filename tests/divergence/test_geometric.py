"""Sums of powers of complex numbers, against fifty digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from tiers import examples

from shuffledp.divergence.geometric import geometric_sum


def exact_sum(log_ratio: complex, terms: int) -> mpmath.mpc:
    x = mpmath.mpc(log_ratio)
    return mpmath.expm1(terms * x) / mpmath.expm1(x) if x else mpmath.mpf(terms)


def ratios(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return logarithms of moduli of at most 1, many of them close to whole turns."""
    falls = -(10.0 ** rng.uniform(-18, 2, count)) * (rng.random(count) < 0.9)
    angles = 10.0 ** rng.uniform(-17, 1.5, count) * rng.choice([-1, 1], count)
    turns = 2 * np.pi * rng.integers(0, 30, count) * (rng.random(count) < 0.3)
    return falls + 1j * (angles + turns)


@pytest.mark.parametrize("terms", [1, 2, 10, 1000, 10**6])
def test_the_error_is_what_it_is_said_to_be(terms):
    log_ratio = ratios(np.random.default_rng(terms), examples(400))
    found, error = geometric_sum(log_ratio, terms)
    with mpmath.workdps(50):
        for x, value, bound in zip(log_ratio, found, error, strict=True):
            off = abs(mpmath.mpc(complex(value)) - exact_sum(complex(x), terms))
            assert off <= float(bound) * (1 + 1e-9)
