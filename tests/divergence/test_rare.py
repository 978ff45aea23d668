"""Sums in which few users count: enclosing, and narrow where they are rare."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from exact_sums import ExactSum

from shuffledp.decomposition import Law
from shuffledp.divergence import BlockSum, rare
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.rare import rare_log_mean


def exact_mean(values: list[Fraction], weights: list[Fraction], n: int) -> Fraction:
    """E[(G_1+...+G_n)_+] with all that is missing to 1 at 0, by convolution."""
    law = {Fraction(0): Fraction(1)}
    atoms = [*zip(values, weights, strict=True), (Fraction(0), 1 - sum(weights))]
    for _ in range(n):
        longer: dict[Fraction, Fraction] = {}
        for start, p in law.items():
            for g, w in atoms:
                longer[start + g] = longer.get(start + g, Fraction(0)) + p * w
        law = longer
    return sum((g * p for g, p in law.items() if g > 0), Fraction(0))


def some_law(seed: int, mass: float) -> Law:
    rng = np.random.default_rng(seed)
    values = rng.integers(-20, 20, 4) / 4.0
    weights = np.round(rng.dirichlet(np.ones(4)) * mass * 2**40) / 2**40 + 2.0**-40
    rest = float(1 - sum(map(Fraction, weights.tolist())))
    zero = np.zeros(5)
    return Law(np.append(values, 0.0), np.append(weights, rest), zero, zero)


def bounds(enclosure: LogEnclosure) -> tuple[float, float]:
    return math.exp(enclosure.lower), math.exp(enclosure.upper)


@pytest.mark.parametrize("mass", [1e-6, 1e-3, 0.1, 0.9])
@pytest.mark.parametrize("seed", range(12))
def test_encloses_the_exact_mean(seed, mass):
    law = some_law(seed, mass)
    for n in (2, 3, 5):
        values, weights = ([Fraction(x) for x in a.tolist()[:4]] for a in (law.values, law.weights))
        exact = exact_mean(values, weights, n)
        lower, upper = bounds(rare_log_mean(BlockSum.of((law, n))))
        assert Fraction(lower) * (1 - Fraction(1, 10**14)) <= exact
        assert exact <= Fraction(upper) * (1 + Fraction(1, 10**14))
        if exact and (n - 1) * mass < 0.5:
            # Three users who count are all that is missed.
            assert upper - lower <= float(exact) * (2 * (n * mass) ** 2 + 1e-12)


def test_errors_of_the_data_widen_the_enclosure():
    law = some_law(1, 1e-3)
    plain = rare_log_mean(BlockSum.of((law, 3)))
    weights = rare_log_mean(
        BlockSum.of((Law(law.values, law.weights, law.value_error, np.full(5, 1e-3)), 3))
    )
    values = rare_log_mean(
        BlockSum.of((Law(law.values, law.weights, np.full(5, 1e-3), law.weight_error), 3))
    )
    assert weights.upper - plain.upper >= 0.9e-3
    assert plain.lower - weights.lower >= 0.9e-3
    assert values.upper > plain.upper + 1e-5
    assert values.lower < plain.lower - 1e-5


def test_rounding_widens_the_enclosure(monkeypatch):
    law = some_law(2, 0.3)
    plain = rare_log_mean(BlockSum.of((law, 1000)))
    monkeypatch.setattr(rare, "UNIT", 1e-9)
    rounded = rare_log_mean(BlockSum.of((law, 1000)))
    # A thousandfold power of P(G = 0), and a sum of five rounded weights.
    assert plain.lower - rounded.lower >= 999 * 5e-9 * 0.3 / 0.7
    assert rounded.upper - plain.upper >= 1e-9 * (4 + math.log(1000))


def test_a_value_that_may_differ_from_zero_counts():
    """It may be negative and pull down every sum."""
    law = Law(np.array([1.0, 0.0]), np.array([0.25, 0.75]), np.array([0.0, 0.5]), np.zeros(2))
    moved = exact_mean([Fraction(1), Fraction(-1, 2)], [Fraction(1, 4), Fraction(3, 4)], 3)
    assert bounds(rare_log_mean(BlockSum.of((law, 3))))[0] <= moved


def test_nothing_positive():
    law = Law(np.array([-1.0, 0.0]), np.array([0.5, 0.5]), np.zeros(2), np.zeros(2))
    assert rare_log_mean(BlockSum.of((law, 3))).upper == -math.inf


def test_large_crowds_keep_the_elementary_bounds():
    law = some_law(2, 0.9)
    lower, upper = bounds(rare_log_mean(BlockSum.of((law, 10**6))))
    single = float(law.weights @ np.maximum(law.values, 0.0))
    assert upper == pytest.approx(10**6 * single)
    assert lower == 0


def joined(seeds, mass, times):
    """Blocks of different laws, and their exact sum."""
    laws = [some_law(seed, mass) for seed in seeds]
    blocks = [
        ([(Fraction(v), Fraction(w)) for v, w in zip(law.values, law.weights, strict=True)], n)
        for law, n in zip(laws, times, strict=True)
    ]
    return BlockSum.of(*zip(laws, times, strict=True)), ExactSum(blocks).mean_positive()


@pytest.mark.parametrize("times", [(1, 1), (2, 1), (1, 3), (1, 1, 2)])
@pytest.mark.parametrize("mass", [1e-6, 1e-3, 0.1, 0.9])
def test_blocks_enclose_the_exact_mean(times, mass):
    for seed in range(6):
        total, exact = joined(range(seed, seed + len(times)), mass, times)
        lower, upper = bounds(rare_log_mean(total))
        assert Fraction(lower) * (1 - Fraction(1, 10**14)) <= exact
        assert exact <= Fraction(upper) * (1 + Fraction(1, 10**14))
        if exact and sum(times) * mass < 0.5:
            assert upper - lower <= float(exact) * (2 * (sum(times) * mass) ** 2 + 1e-12)


def test_two_blocks_of_one_law_are_one():
    law = some_law(3, 1e-4)
    one = rare_log_mean(BlockSum.of((law, 1000)))
    for part in (1, 10, 500):
        two = rare_log_mean(BlockSum.of((law, part), (law, 1000 - part)))
        assert two.lower == pytest.approx(one.lower, abs=1e-13)
        assert two.upper == pytest.approx(one.upper, abs=1e-13)


def test_a_block_of_zeros_adds_nothing():
    law = some_law(3, 1e-4)
    nothing = Law(np.zeros(1), np.ones(1), np.zeros(1), np.zeros(1))
    one = rare_log_mean(BlockSum.of((law, 10)))
    two = rare_log_mean(BlockSum.of((nothing, 10**6), (law, 10)))
    assert two.lower == pytest.approx(one.lower, abs=1e-13)
    assert two.upper == pytest.approx(one.upper, abs=1e-13)


def test_gains_of_one_block_that_may_have_underflowed_leave_all_open():
    faint = Law(np.array([1.0, 0.0]), np.array([1e-300, 1.0]), np.zeros(2), np.zeros(2))
    assert rare_log_mean(BlockSum.of((some_law(3, 1e-4), 10), (faint, 10))).width == math.inf


@pytest.mark.parametrize("seed", range(12))
def test_two_summands_are_exact(seed):
    """Of two summands no third one counts, however much mass they have, in one block or in two."""
    rng = np.random.default_rng(seed)
    blocks = []
    for _ in range(2):
        values = [Fraction(int(v), 8) for v in rng.integers(-40, 40, 4)]
        weights = [Fraction(int(w), 2**30) for w in rng.integers(1, 2**27, 3)]
        blocks.append(list(zip(values, [*weights, 1 - sum(weights)], strict=True)))
    for exact in (ExactSum([(blocks[0], 2)]), ExactSum([(block, 1) for block in blocks])):
        mean = exact.mean_positive()
        found = rare_log_mean(exact.doubles())
        lower, upper = bounds(found)
        assert Fraction(lower) * (1 - Fraction(1, 10**14)) <= mean
        assert mean <= Fraction(upper) * (1 + Fraction(1, 10**14))
        if mean > 0:
            assert found.width < 1e-10
