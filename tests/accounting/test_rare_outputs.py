"""Matrices whose rows hardly differ: the guarantee is above the truth, however small that is."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from oracles import histogram_law, hockey_stick

from shuffledp import MatrixRandomizer, ShuffleAccountant


def exact_rows(matrix: np.ndarray) -> list[list[Fraction]]:
    """Every row divided by its sum, in fractions."""
    rows = [[Fraction(p) for p in row] for row in matrix.tolist()]
    return [[p / sum(row) for p in row] for row in rows]


def worst_delta(laws: list[list[Fraction]], n: int, exp_epsilon: Fraction) -> Fraction:
    """The largest divergence over all pairs and all inputs of the others, by enumeration."""
    inputs = range(len(laws))
    return max(
        hockey_stick(
            histogram_law([laws[x], *(laws[z] for z in others)]),
            histogram_law([laws[y], *(laws[z] for z in others)]),
            exp_epsilon,
        )
        for x, y in permutations(inputs, 2)
        for others in product(inputs, repeat=n - 1)
    )


def assert_between(randomizer: MatrixRandomizer, n: int, epsilon: float) -> None:
    """Lower bound <= truth <= guarantee; e^epsilon is a double, which fractions hold."""
    exp_epsilon = Fraction(math.exp(epsilon))
    truth = worst_delta(exact_rows(randomizer.matrix), n, exp_epsilon)
    accountant = ShuffleAccountant(randomizer, n)
    upper = Fraction(accountant.get_delta(math.nextafter(math.log(exp_epsilon), 0.0)))
    assert truth <= upper
    assert Fraction(accountant.delta_lower_bound(epsilon + 1e-15)) <= truth * (
        1 + Fraction(1, 10**9)
    )


@pytest.mark.heavy
def test_a_residual_below_1e_12():
    randomizer = MatrixRandomizer([[0.9999999999995, 5e-13], [0.99999999999999, 1e-14]])
    accountant = ShuffleAccountant(randomizer, 2)
    assert accountant.get_delta(3.5) >= 8.43e-26
    assert_between(randomizer, 2, 3.5)


def test_a_residual_below_1e_12_among_very_many_users():
    randomizer = MatrixRandomizer([[0.9999999999991, 9e-13], [0.99999999999999, 1e-14]])
    accountant = ShuffleAccountant(randomizer, 10**14)
    assert accountant.get_delta(5e-13) >= accountant.delta_lower_bound(5e-13) > 1e-13


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("seed", range(30))
def test_rows_that_hardly_differ(seed):
    rng = np.random.default_rng(seed)
    outputs = int(rng.integers(2, 4))
    base = rng.dirichlet(np.ones(outputs))
    size = 10.0 ** rng.uniform(-16, -2, (3, outputs))
    rows = base * (1 + size * rng.choice([-1, 1], (3, outputs)))
    if seed % 2:
        rows[:, -1] = 10.0 ** rng.uniform(-40, -10, 3)
    rows /= rows.sum(axis=1, keepdims=True)
    randomizer = MatrixRandomizer(rows[: rng.integers(2, 4)])
    level = randomizer.epsilon0
    for share in (0.3, 0.9):
        assert_between(randomizer, int(rng.integers(1, 4)), share * level)


@pytest.mark.parametrize("excess", [9e-13, -9e-13])
def test_rows_that_sum_to_one_up_to_the_tolerance(excess):
    randomizer = MatrixRandomizer([[0.25, 0.75 + excess], [0.25 + excess, 0.75]])
    assert_between(randomizer, 2, 0.0)
    exact = worst_delta(exact_rows(randomizer.matrix), 2, Fraction(1))
    answer = ShuffleAccountant(randomizer, 2).get_delta(0.0)
    assert Fraction(answer) <= exact * Fraction(10_002, 10_000)
