"""The bound of a matrix is that of its worst pair of rows, and the answer names it."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from blankets import blanket_accountant, enclose_log_delta
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import randomizers

from shuffledp import Decomposition, Interval, MatrixRandomizer, Pair, ShuffleAccountant
from shuffledp.basics.errors import AccuracyWarning


@pytest.fixture(autouse=True)
def _wide_enclosures_are_allowed_to_say_so() -> None:
    warnings.simplefilter("ignore", AccuracyWarning)


def all_pairs(matrix: MatrixRandomizer, n: int, epsilon: float) -> dict[Pair, Interval]:
    """Every ordered pair of rows on its own."""
    rows = range(len(matrix.matrix))
    return {
        Pair(x, y): enclose_log_delta(pair_blanket(matrix, x, y), n, epsilon)
        for x in rows
        for y in rows
        if x != y
    }


def pair_blanket(matrix: MatrixRandomizer, x: int, y: int) -> Decomposition:
    """From rows divided by their sums, in fractions."""
    rows = [[Fraction(p) for p in row] for row in matrix.matrix.tolist()]
    laws = [[p / sum(row) for p in row] for row in rows]
    return Decomposition.from_coefficients(
        laws[x], laws[y], list(map(min, zip(*laws, strict=True)))
    )


def check(matrix: MatrixRandomizer, n: int, epsilon: float) -> None:
    pairs = all_pairs(matrix, n, epsilon)
    largest = max(value.lower for value in pairs.values())
    report = blanket_accountant(matrix, n).delta_report(epsilon)
    log = blanket_accountant(matrix, n).log_delta_interval(epsilon)
    where = f"{matrix}, n = {n}, epsilon = {epsilon!r}"
    assert log.upper >= min(largest, 0.0), where
    assert log.lower <= max(value.upper for value in pairs.values()), where
    if largest > -math.inf:
        assert report.worst_pair is not None
        assert pairs[report.worst_pair].upper >= largest, where


#: Small matrices on which cheap bounds of some pairs overflow: the guarantee must not skip them.
OVERFLOWING = [
    ([[0.9902, 0.0081, 0.0017], [0.9796, 0.0111, 0.0093], [0.9901, 0.0088, 0.0011],
      [0.9241, 0.0709, 0.005]], 20, 0.069),
    ([[0.9581, 0.0018, 0.0401], [0.9715, 0.0008, 0.0277], [0.9745, 0.0018, 0.0237],
      [0.9618, 0.0065, 0.0317]], 2, 0.008),
    ([[0.7094, 0.2869, 0.0037], [0.8608, 0.1079, 0.0313], [0.9156, 0.0826, 0.0018],
      [0.9064, 0.0928, 0.0008]], 1, 0.971),
    ([[0.9733, 0.0242, 0.0025], [0.6801, 0.3179, 0.002], [0.9605, 0.0391, 0.0004]], 1, 0.341),
    ([[0.9973, 0.0013, 0.0014], [0.6604, 0.3395, 0.0001], [0.9855, 0.0144, 0.0001],
      [0.2853, 0.6946, 0.0201]], 5, 1.237),
    ([[0.9435, 0.0004, 0.0561], [0.936, 0.0002, 0.0638], [0.8396, 0.0004, 0.16]], 10, 0.116),
]  # fmt: skip


@pytest.mark.heavy(keep=5)
@pytest.mark.parametrize(("rows", "n", "epsilon"), OVERFLOWING)
def test_no_pair_is_skipped(rows: list[list[float]], n: int, epsilon: float) -> None:
    check(MatrixRandomizer(rows), n, epsilon)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(("rows", "n", "epsilon"), OVERFLOWING)
def test_no_pair_is_skipped_on_the_way_to_epsilon(
    rows: list[list[float]], n: int, epsilon: float
) -> None:
    matrix = MatrixRandomizer(rows)
    delta = math.exp(max(value.upper for value in all_pairs(matrix, n, epsilon).values()))
    found = blanket_accountant(matrix, n).epsilon_interval(delta)
    for value in all_pairs(matrix, n, found.upper).values():
        assert value.lower <= math.log(delta) + 1e-12


def random_matrix(rng: np.random.Generator) -> MatrixRandomizer:
    """Rows that share a base law and differ here and there, sometimes by much."""
    rows, columns = int(rng.integers(3, 6)), int(rng.integers(2, 5))
    base = 10.0 ** -rng.uniform(0, rng.choice([1.0, 4.0, 7.0]), columns)
    base[0] = 1.0
    spread = rng.exponential(rng.uniform(0.1, 3.0), (rows, columns))
    matrix = base * np.exp(spread * (rng.random((rows, columns)) < 0.6))
    if rng.random() < 0.2:
        matrix[1] = matrix[0]
    return MatrixRandomizer(matrix / matrix.sum(axis=1, keepdims=True))


@pytest.mark.heavy(keep=4)
@pytest.mark.parametrize("seed", range(200))
def test_random_matrices_against_all_pairs(seed: int) -> None:
    rng = np.random.default_rng([1, seed])
    matrix = random_matrix(rng)
    n = int(10 ** rng.uniform(0, 4))
    top = matrix.epsilon0 if seed % 3 == 0 else level_of_the_most_different_pair(matrix)
    check(matrix, n, float(top * (1 - 10.0 ** -rng.uniform(0, 4))))


def level_of_the_most_different_pair(matrix: MatrixRandomizer) -> float:
    """Where the pair with the largest variance has just stopped to count, others may not."""
    entries = matrix.matrix
    common = entries.min(axis=0)
    rows = range(len(entries))
    _, x, y = max(
        (float(((entries[x] - entries[y]) ** 2 / common).sum()), x, y) for x in rows for y in rows
    )
    return float(np.log(entries[x] / entries[y]).max())


@pytest.mark.slow
@pytest.mark.parametrize("block", range(30))
def test_random_matrices_at_length(block: int) -> None:
    for seed in range(100 * block, 100 * (block + 1)):
        rng = np.random.default_rng([2, seed])
        matrix = random_matrix(rng)
        n = int(10 ** rng.uniform(0, 6))
        check(matrix, n, float(matrix.epsilon0 * (1 - 10.0 ** -rng.uniform(0, 5))))


@pytest.mark.heavy
@settings(max_examples=80)
@given(rows=randomizers(inputs=3), share=st.floats(0.05, 0.95))
def test_one_user_is_the_local_guarantee(rows: list[tuple[Fraction, ...]], share: float) -> None:
    """For n = 1 the bound is the divergence of two rows, which needs no theory."""
    matrix = np.array([[float(p) for p in row] for row in rows])
    level = MatrixRandomizer(matrix).epsilon0
    epsilon = share * level
    exact = max(
        float(np.maximum(first - math.exp(epsilon) * second, 0).sum())
        for first in matrix
        for second in matrix
    )
    interval = ShuffleAccountant(MatrixRandomizer(matrix), 1).delta_interval(epsilon)
    assert interval.lower <= exact * (1 + 1e-12) + 1e-16
    assert interval.upper >= exact * (1 - 1e-12) - 1e-16


@pytest.mark.heavy
def test_an_obviously_worst_pair_is_named() -> None:
    close = [0.26, 0.25, 0.25, 0.24]
    rows = [[0.25] * 4, close, [0.24, 0.26, 0.25, 0.25], [0.97, 0.01, 0.01, 0.01]]
    matrix = MatrixRandomizer([*rows, [0.01, 0.97, 0.01, 0.01]])
    for n in (1, 10, 10_000):
        accountant = ShuffleAccountant(matrix, n)
        for report in (accountant.delta_report(0.05), accountant.epsilon_report(1e-4)):
            assert report.worst_pair in {Pair(3, 4), Pair(4, 3)}


def test_the_worst_direction_is_named() -> None:
    """A report that only one input sends often: the order of the pair matters."""
    matrix = MatrixRandomizer([[0.9, 0.1], [0.999, 0.001]])
    report = ShuffleAccountant(matrix, 1).delta_report(3.0)
    assert report.worst_pair == Pair(0, 1)
    assert ShuffleAccountant(matrix, 1).delta_report(0.05).worst_pair in {
        Pair(0, 1),
        Pair(1, 0),
    }


def test_which_pair_is_worst_depends_on_epsilon() -> None:
    matrix = MatrixRandomizer(
        [[0.49, 0.49, 0.019, 0.001], [0.29, 0.69, 0.019, 0.001], [0.49, 0.49, 0.001, 0.019]]
    )
    small = ShuffleAccountant(matrix, 1).delta_report(0.1).worst_pair
    large = ShuffleAccountant(matrix, 1).delta_report(2.0).worst_pair
    assert small in {Pair(0, 1), Pair(1, 0), Pair(1, 2), Pair(2, 1)}
    assert large in {Pair(0, 2), Pair(2, 0), Pair(1, 2), Pair(2, 1)}
    check(matrix, 1, 0.1)
    check(matrix, 1, 2.0)


@pytest.mark.heavy
def test_many_rows_are_compared_and_the_worst_is_named() -> None:
    rng = np.random.default_rng(3)
    rows = 0.02 * rng.random((12, 6)) + 1 / 6
    rows[7] += np.array([0.3, -0.15, 0, 0, -0.15, 0])
    matrix = MatrixRandomizer(rows / rows.sum(axis=1, keepdims=True))
    report = ShuffleAccountant(matrix, 50).delta_report(0.2)
    assert report.worst_pair is not None
    assert 7 in (report.worst_pair.first, report.worst_pair.second)
    assert report.pairs == "compared 132 pairs"
    check(matrix, 50, 0.2)
