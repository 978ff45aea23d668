"""All pairs of rows of a table at once, against proofs of every pair."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from shuffledp.bounds.decomposed import Decomposed
from shuffledp.bounds.pairs import MatrixPairs
from shuffledp.bounds.root import epsilon_above, epsilon_below
from shuffledp.bounds.rows import Rows
from shuffledp.engine.proposals import Plan
from shuffledp.randomizers import MatrixRandomizer, Pair

RTOL = 1e-4


def pairs_of(table: MatrixRandomizer, n: int) -> MatrixPairs:
    rows = table.distinct_rows()
    return MatrixPairs(
        Rows(table.probabilities()[rows]),
        lambda x, y: table.decomposition(Pair(rows[x], rows[y])),
        n,
        RTOL,
        table.epsilon0_interval,
        lambda x, y: Pair(rows[x], rows[y]),
    )


def every_pair(table: MatrixRandomizer, n: int) -> dict[tuple[int, int], Decomposed]:
    return {
        pair: Decomposed(table.decomposition(Pair(*pair)), n, RTOL)
        for pair in permutations(table.distinct_rows(), 2)
    }


def tables() -> dict[str, MatrixRandomizer]:
    rng = np.random.default_rng(4)
    sharp = rng.dirichlet(np.full(5, 0.3), 4) + 1e-6
    gaps = rng.dirichlet(np.ones(6), 4) * (rng.random((4, 6)) < 0.7)
    found = {
        "smooth": rng.dirichlet(np.full(6, 4.0), 5),
        "sharp": sharp / sharp.sum(axis=1, keepdims=True),
        "with zeros": gaps / gaps.sum(axis=1, keepdims=True),
        "nearly equal": 0.25 + 1e-5 * (rng.random((3, 4)) - 0.5),
        "repeated": rng.dirichlet(np.ones(4), 3)[[0, 1, 1, 0, 2]],
    }
    found["nearly equal"] /= found["nearly equal"].sum(axis=1, keepdims=True)
    return {name: MatrixRandomizer(table) for name, table in found.items()}


TABLES = tables()


def epsilons(table: MatrixRandomizer) -> list[float]:
    level = min(table.epsilon0, 3.0)
    return [0.0, 0.03 * level, 0.3 * level, 0.8 * level]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("n", [1, 3, 40, 10**4, 10**9])
def test_the_largest_of_all_pairs(name, n):
    table = TABLES[name]
    together, alone = pairs_of(table, n), every_pair(table, n)
    for epsilon in epsilons(table):
        above, below = together.above(epsilon).log, together.below(epsilon).log
        assert above >= max(curve.below(epsilon).log for curve in alone.values())
        assert above <= max(curve.above(epsilon).log for curve in alone.values()) + 1e-9
        assert below <= above
        assert below >= above - 0.05 or above < -40


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("n", [1, 7, 300, 10**6, 10**12])
def test_bounds_hold_for_any_proposal(name, n):
    """Tilts and contours are drawn at random over many orders of magnitude."""
    table, rng = TABLES[name], np.random.default_rng(n)
    numbers = table.distinct_rows()
    rows, alone = Rows(table.probabilities()[numbers]), every_pair(table, n)
    places = {pair: tuple(map(numbers.index, pair)) for pair in alone}
    for epsilon in epsilons(table)[1:3]:
        truth = {pair: curve.below(epsilon).log for pair, curve in alone.items()}
        found = [rows.by_one(epsilon)]
        for _ in range(20):
            theta = float(10 ** rng.uniform(-8, 2))
            found.append(rows.by_tilt(n, epsilon, theta))
            tau, step = (float(theta * 10 ** rng.uniform(-1, 1)) for _ in range(2))
            plan = Plan(theta, 1 / tau, step, int(rng.integers(1, 60)), -20.0, (1.0, 1.0))
            bounds = rows.by_contour(n, epsilon, list(places.values()), plan)
            for (pair, known), bound in zip(truth.items(), bounds.tolist(), strict=True):
                assert bound >= known, (pair, plan)
        for bounds in found:
            assert all(bounds[places[pair]] >= known for pair, known in truth.items())


def test_bounds_are_useful():
    """One contour settles nearly all pairs, so that few are proved."""
    table = MatrixRandomizer(np.random.default_rng(7).dirichlet(np.full(40, 5.0), 40))
    for n in (1000, 10**6):
        together = pairs_of(table, n)
        built = []
        make = together._curve
        together._curve = lambda x, y: built.append((x, y)) or make(x, y)  # noqa: B023
        upper = epsilon_above(together, 1e-6, RTOL).epsilon
        lower = epsilon_below(together, 1e-6, RTOL).epsilon
        assert lower <= upper <= lower * (1 + 4 * RTOL)
        assert len(set(built)) <= 6


def test_rows_that_do_not_differ_reveal_nothing():
    together = pairs_of(MatrixRandomizer([[0.5, 0.5]] * 3), 10)
    assert together.above(0.0).log == together.below(0.0).log == -math.inf
    assert together.estimate(0.0) == -math.inf
