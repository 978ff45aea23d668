"""Geometric noise, exactly."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from fit import assert_fits, assert_follows

from shuffledp.deployment.study.encoding import uniform
from shuffledp.mechanisms.sampling import Bits, Exponential, Logistic
from shuffledp.mechanisms.sampling.geometric import geometric, two_sided_geometric

RATES = [Fraction(3), Fraction(1), Fraction(0.7), Fraction(1, 10), Fraction(0.013) / 3]


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_geometric(rate):
    alpha = np.exp(-float(rate))
    drawn = geometric(Bits(np.random.default_rng(1)), rate, 100_000)
    cut = int(8 / float(rate)) + 1
    law = (1 - alpha) * alpha ** np.arange(cut)
    counts = np.bincount(np.minimum(drawn, cut), minlength=cut + 1)
    assert_fits(counts, np.append(law, alpha**cut))


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_two_sided(rate):
    alpha = np.exp(-float(rate))
    drawn = two_sided_geometric(Bits(np.random.default_rng(2)), rate, 100_000)
    cut = int(8 / float(rate)) + 1
    z = np.arange(-cut, cut + 1)
    law = (1 - alpha) / (1 + alpha) * alpha ** np.abs(z)
    law[[0, -1]] = alpha**cut / (1 + alpha)
    assert_fits(np.bincount(np.clip(drawn, -cut, cut) + cut, minlength=z.size), law)


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(0.1) / 7])
def test_digits_make_the_exact_law(rate):
    """The probabilities of the sampler's own decisions multiply to (1 - alpha) alpha^y."""
    mp = mpmath.MPContext()
    mp.prec = 300
    digits = 0
    while rate * 2**digits < 1:
        digits += 1

    def p(probability: Logistic | Exponential) -> mpmath.mpf:
        return mp.mpf(probability.scaled(400)) / 2**400

    alpha = mp.exp(-mp.mpf(rate.numerator) / rate.denominator)
    success = p(Exponential(rate * 2**digits))
    for y in (0, 1, 2, 5, 37, 200):
        whole, rest = divmod(y, 2**digits)
        mass = success**whole * (1 - success)
        for i in range(digits):
            one = p(Logistic(rate * 2**i))
            mass *= one if rest >> i & 1 else 1 - one
        assert abs(mass / ((1 - alpha) * alpha**y) - 1) < mp.mpf(2) ** -250


def test_slow_decay_stays_in_range():
    drawn = two_sided_geometric(Bits(np.random.default_rng(1)), Fraction(1, 2**40), 50_000)
    assert_follows(drawn / 2.0**40, lambda x: np.where(x < 0, np.exp(x) / 2, 1 - np.exp(-x) / 2))


def test_uniform():
    drawn = uniform(Bits(np.random.default_rng(1)), 100_000)
    assert 0 < drawn.min() < drawn.max() < 1
    assert_follows(drawn, lambda x: x)
