"""Uniform integers and draws from finite laws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from fit import Scripted, assert_fits
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.mechanisms.sampling import Bits, Categorical, below


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 128, 129, 200, 256, 257, 1000])
def test_below_is_uniform(bound):
    values = below(Bits(np.random.default_rng(bound)), bound, 50_000)
    assert_fits(np.bincount(values, minlength=bound), np.full(bound, 1 / bound))


@pytest.mark.parametrize("bound", [2**31 - 1, 2**32, 2**32 + 1, 2**61 - 1, 2**63 + 1, 2**64])
def test_below_for_large_bounds(bound):
    values = below(Bits(np.random.default_rng(1)), bound, 20_000)
    assert int(values.max()) < bound
    eighths = [int(v) * 8 // bound for v in values.tolist()]
    assert_fits(np.bincount(eighths, minlength=8), np.full(8, 1 / 8))


def test_below_takes_every_octet_equally_often():
    """All 256 octets in, and again none below the bound: only those that fit are used, in turn."""
    octets = np.arange(256, dtype=np.uint8).view(np.uint64).tolist()
    again = np.zeros(256, dtype=np.uint8).view(np.uint64).tolist()
    values = below(Scripted(octets + again), 5, 256)
    # The lowest three bits of 0..255: 5, 6 and 7 are drawn again.
    assert np.bincount(values).tolist() == [32 + 96, 32, 32, 32, 32]


@given(
    st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=6).filter(
        lambda weights: sum(weights) > 0
    ),
    st.lists(st.integers(0, 2**64 - 1), min_size=64, max_size=64),
)
@settings(max_examples=60)
def test_categorical_inverts_the_exact_distribution_function(weights, words):
    exact = [Fraction(w) for w in weights]
    total = sum(exact)
    cumulative = [sum(exact[: i + 1]) / total for i in range(len(exact))]
    drawn = Categorical(weights).draw(Scripted([*words, *range(1, 200)]), len(words))
    for word, outcome in zip(words, drawn.tolist(), strict=True):
        low, high = Fraction(word, 2**64), Fraction(word + 1, 2**64)
        before = cumulative[outcome - 1] if outcome else Fraction(0)
        assert before < high
        assert low < cumulative[outcome]
        assert exact[outcome] > 0


def test_categorical_draws_more_bits_at_a_boundary():
    """A third of 2**64 is no integer: its first 64 bits do not decide, the next 64 do."""
    law = Categorical([1.0, 2.0])
    boundary = 2**64 // 3
    assert law.draw(Scripted([boundary - 1]), 1).tolist() == [0]
    assert law.draw(Scripted([boundary + 1]), 1).tolist() == [1]
    assert law.draw(Scripted([boundary, boundary - 1]), 1).tolist() == [0]
    assert law.draw(Scripted([boundary, boundary + 1]), 1).tolist() == [1]
    assert law.draw(Scripted([boundary, boundary, boundary, 0]), 1).tolist() == [0]
    exact = Categorical([0.5, 0.5])
    assert exact.draw(Scripted([2**63 - 1, 2**63]), 2).tolist() == [0, 1]


def test_categorical_frequencies():
    weights = [0.1, 0.0, 0.25, 0.3, 0.35, 0.0]
    counts = np.bincount(Categorical(weights).draw(Bits(np.random.default_rng(1)), 100_000))
    assert_fits(np.append(counts, [0] * (6 - counts.size)), weights)


def test_categorical_keeps_the_smallest_weights():
    law = Categorical([1e-250, 1.0])
    assert law.draw(Scripted([1]), 1).tolist() == [1]
    assert law.draw(Scripted([0] * 12 + [2**63]), 1).tolist() == [1]
    assert law.draw(Scripted([0] * 14), 1).tolist() == [0]
