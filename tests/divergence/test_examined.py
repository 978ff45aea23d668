"""Averages over who is examined, against all sets of users."""

from __future__ import annotations

import cmath
import math
import random
from itertools import combinations

import numpy as np
import pytest

from shuffledp import ShuffleAccountant
from shuffledp.divergence.examined import Extent, Spread, most_variance


def variance(points: list[complex]) -> float:
    mean = sum(points) / len(points)
    return sum(abs(point - mean) ** 2 for point in points) / len(points)


def extent(square: float) -> Extent:
    return Extent(np.array([square]), 1 / 3)


@pytest.mark.parametrize("seed", range(60))
def test_no_set_of_users_differs_more(seed):
    rng = random.Random(seed)
    others, types = rng.randint(1, 7), rng.randint(2, 3)
    scale = rng.choice([0.05, 0.5, 2.0])
    logs = [complex(-rng.random(), rng.uniform(-1, 1)) * scale for _ in range(types)]
    gamma, terms = rng.uniform(0.05, 0.95), rng.randint(2, others + 1)
    held = [rng.randrange(types) for _ in range(others)]
    if rng.random() < 0.5:  # nearly all the same
        held = [0] * (others - 1) + held[:1]
    slots = [logs[v] for v in held]
    mean = sum(slots) / others
    error = height = full = 0.0
    central_height = 0.0
    largest, smallest = max(x.real for x in logs), min(x.real for x in logs)
    for k in range(terms):
        weight = gamma * (1 - gamma) ** k
        sets = list(combinations(range(others), k))
        average = sum(
            cmath.exp(sum(slots[j] for j in range(others) if j not in examined))
            for examined in sets
        ) / len(sets)
        error += weight * abs(average - cmath.exp((others - k) * mean))
        height += weight * math.exp((others - k) * largest)
        central_height += weight * math.exp((others - k) * mean.real)
    full = gamma * math.exp(others * largest)
    square = max(abs(a - b) ** 2 for a, b in combinations(logs, 2))
    ends = tuple(np.array([math.log1p(-gamma) - end]) for end in (largest, smallest))
    spread = Spread.of(np.array([height]), np.array([full]), ends, extent(square), terms)
    assert error <= float(spread.everywhere[0]) * (1 + 1e-9)
    own = [held.count(v) / others for v in range(types)]
    known = most_variance(np.array([[own]]))
    assert variance(slots) <= known[0] * square * (1 + 1e-9) + 1e-15
    sharper = spread.at(known, np.array([[central_height]]))[0, 0]
    assert error <= sharper * (1 + 1e-9) + 1e-15
    assert sharper <= spread.everywhere[0] * (1 + 1e-9)


def test_equal_users_leave_no_error_even_where_bounds_are_infinite():
    huge = np.array([math.inf])
    spread = Spread.of(huge, huge, (np.array([1.0]), np.array([1.0])), extent(1.0), 3)
    assert spread.at(np.array([0.0]), np.array([[0.0]])).tolist() == [[0.0]]
    assert spread.at(np.array([0.1]), np.array([[0.0]])).tolist() == [[math.inf]]
    zero = Spread.of(
        np.array([2.0]), np.array([0.0]), (np.array([1.0]), np.array([1.0])), extent(4.0), 3
    )
    assert zero.at(np.array([0.25]), np.array([[0.0]])).tolist() == [[2.0]]


def test_variances_in_simplices():
    corner = [[1.0, 0.0, 0.0], [0.875, 0.125, 0.0], [0.75, 0.125, 0.125]]
    whole = np.eye(3).tolist()
    assert most_variance(np.array([corner, whole])).tolist() == [0.25, 1 / 3]


def test_few_users_gain():
    """With one bound for all backgrounds it was 1.016 times the attack."""
    found = ShuffleAccountant("krr(k=3, epsilon0=1)", 30).epsilon_interval(1e-6)
    assert found.lower < found.upper <= 1.01 * found.lower


def test_the_formula_in_numbers():
    ends = np.log([0.5]), np.log([0.25])
    spread = Spread.of(np.array([3.0]), np.array([2.0]), ends, extent(8.0), 4)
    assert spread.most.tolist() == [6.0]
    assert spread.absolute == pytest.approx(2.0 * (0.5 / 0.5**2) * 4.0)
    assert spread.relative == pytest.approx(0.25 / 0.75**2 * 4.0)
    assert spread.everywhere == pytest.approx(16 / 3)
    assert spread.at(np.array([0.1]), np.array([[1.0]])) == pytest.approx(0.1 * 16 / 9)
    assert spread.at(np.array([0.1]), np.array([[90.0]])) == pytest.approx(0.1 * 16)
    assert spread.at(np.array([0.9]), np.array([[90.0]])) == pytest.approx(6.0)
    few = Spread.of(np.array([3.0]), np.array([2.0]), ends, extent(8.0), 2)
    assert few.absolute == pytest.approx(3.0 * 1 * 4.0)


@pytest.mark.parametrize("seed", range(40))
def test_extents_hold_for_many_types(seed):
    """All pairs, all shares, wherever the L are within their errors."""
    rng = np.random.default_rng(seed)
    types, nodes = int(rng.integers(2, 30)), 20
    shape = (types, nodes)
    logs = rng.standard_normal(shape) + 1j * rng.standard_normal(shape) * rng.choice([0.0, 0.1, 1])
    if rng.random() < 0.5:  # corners of a triangle, where Jung's theorem is sharp
        corners = np.exp(2j * math.pi / 3 * np.arange(3) + 1j * rng.uniform(0, 7))
        logs = corners[rng.integers(0, 3, shape)]
    error = np.full(nodes, rng.choice([0.0, 0.3]))
    found = Extent.of(logs, error)
    logs = logs + error * np.exp(1j * rng.uniform(0, 7, shape))
    distances = np.abs(logs[:, None] - logs[None]).max(axis=(0, 1))
    assert (distances**2 <= found.square * (1 + 1e-12)).all()
    for _ in range(20):
        shares = rng.dirichlet(np.full(types, 0.1))
        mean = shares @ logs
        variances = shares @ np.abs(logs - mean) ** 2
        # Where all L are the same, the mean is off by its rounding.
        most = found.variance * found.square * (1 + 1e-12) + (types * 1e-15) ** 2
        assert (variances <= most).all()


def test_extents_in_numbers():
    square = 3 * np.array([[0.0], [1.0], [1.0j], [1 + 1j]])
    few = Extent.of(square, np.array([0.1]))
    assert few.square == pytest.approx((3 * math.sqrt(2) + 0.2) ** 2)
    many = Extent.of(np.concatenate([square, square]), np.array([0.1]))
    assert many.square == pytest.approx((3 * math.sqrt(2) + 0.2) ** 2)
    assert (few.variance, many.variance) == (1 / 3, 1 / 4)


def test_the_variance_of_the_extent_counts():
    ends = np.log([0.5]), np.log([0.25])
    disc = Extent(np.array([8.0]), 1 / 4)
    spread = Spread.of(np.array([3.0]), np.array([2.0]), ends, disc, 4)
    assert spread.everywhere == pytest.approx(16 / 4)
