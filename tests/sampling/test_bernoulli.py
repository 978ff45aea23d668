"""Decisions have exactly the probability asked for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from fit import Scripted, assert_fits

from shuffledp.mechanisms.sampling import Bits, Exponential, Logistic, Rational, bernoulli, decide
from shuffledp.mechanisms.sampling.bernoulli import decide_packed

#: Word j holds digit j, complemented, of the numbers 0..63: bit i is 1 if number i has a 0 there.
TABLE = [sum(1 << i for i in range(64) if not i >> (5 - digit) & 1) for digit in range(6)]


@pytest.mark.parametrize("dense", [0, 1, 3, 5, 6, 8])
def test_every_multiple_of_a_64th_is_met_exactly(dense, monkeypatch):
    """All 64 numbers U of six digits occur once; exactly those below p must be accepted."""
    monkeypatch.setattr(bernoulli, "_DENSE", dense)
    for numerator in range(64):
        script = Scripted(TABLE)
        packed = decide_packed(script, Rational(Fraction(numerator, 64)), 8)
        assert packed.view(np.uint64)[0] == (1 << numerator) - 1, numerator


@pytest.mark.parametrize(
    "probability",
    [
        Rational(Fraction(1, 3)),
        Rational(Fraction(0.1)),
        Rational(Fraction(1, 2)),
        Rational(Fraction(255, 256)),
        Rational(Fraction(1, 256) + Fraction(1, 2**20)),
        Rational(Fraction(0)),
        Logistic(Fraction(1)),
        Logistic(Fraction(-3), Fraction(9)),
        Logistic(Fraction(8)),
        Exponential(Fraction(1, 1000)),
    ],
    ids=str,
)
@pytest.mark.parametrize("dense", [0, 4, 8])
def test_frequencies(probability, dense, monkeypatch):
    monkeypatch.setattr(bernoulli, "_DENSE", dense)
    size = 200_000
    found = decide(Bits(np.random.default_rng(dense)), probability, size)
    p = probability.scaled(60) / 2**60
    assert found.shape == (size,)
    assert found.dtype == np.bool_
    assert_fits([found.sum(), size - found.sum()], [p, 1 - p])


def test_decisions_of_one_word_are_independent():
    """Neighbours, also across bytes, words and chunks, agree as often as independent ones."""
    found = decide(Bits(np.random.default_rng(3)), Logistic(Fraction(1)), 2_000_000)
    p = float(Logistic(Fraction(1)).scaled(60)) / 2**60
    law = np.outer([1 - p, p], [1 - p, p]).ravel()
    for lag in (1, 7, 8, 63, 64, 1024):
        pairs = 2 * found[:-lag].astype(int) + found[lag:]
        # Overlapping pairs: every second block of ``lag`` gives disjoint ones.
        apart = pairs[np.arange(pairs.size) // lag % 2 == 0]
        assert_fits(np.bincount(apart, minlength=4), law)


def test_bits_used_per_decision():
    class Counting(Bits):
        used = 0

        def words(self, size):
            self.used += 64 * size
            return super().words(size)

    bits = Counting(np.random.default_rng(1))
    decide(bits, Logistic(Fraction(1)), 1 << 20)
    assert bits.used < 9.6 * (1 << 20)


def test_tiny_probabilities_end():
    found = decide(Bits(np.random.default_rng(1)), Exponential(Fraction(300)), 100_000)
    assert not found.any()


def test_no_decisions():
    assert decide(Bits(None), Rational(Fraction(1, 3)), 0).size == 0
