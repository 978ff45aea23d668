"""What is predicted is what simulated collections show, for every mechanism that is offered."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp import KRR
from shuffledp.collection import simulate
from shuffledp.planning import plan
from shuffledp.planning.mean_task import Mean

N, SIZE = 468, 12
COUNTS = 6 * np.arange(1, SIZE + 1)
SHARES = tuple((COUNTS / N).tolist())
MECHANISMS = ["krr", "blh", "olh", "rappor", "oue", "hadamard", "subset"]


def check(squares, predicted):
    """The mean of simulated squared errors is the predicted one, up to four standard errors."""
    deviation = squares.std(ddof=1) / math.sqrt(squares.size)
    assert abs(squares.mean() - predicted) < 4 * deviation
    assert deviation < 0.1 * predicted


@pytest.mark.heavy
def test_shares():
    made = plan(n=N, target_epsilon=1.0, target_delta=1e-6, domain_size=SIZE, distribution=SHARES)
    values = np.repeat(np.arange(SIZE), COUNTS)
    assert values.size == N
    assert sorted(option.name for option in made.options) == sorted(MECHANISMS)
    for option in made.options:
        worst, expected = option.ours.worst_case, option.ours.expected
        assert option.ours.error == expected.rms_error == worst.rms_error
        assert expected.max_error <= worst.max_error
        rng = np.random.default_rng(7)
        simulation = simulate(option.ours.randomizer, values, repetitions=150, rng=rng)
        check(simulation.errors**2, expected.squared_error)


@pytest.mark.heavy
def test_means():
    """Values are rounded as the plan says: at random, such that the mean stays."""
    made = plan(n=N, target_epsilon=1.0, target_delta=1e-6, task="mean")
    grid = np.arange(N) % 5
    known = Mean(N, 5, tuple(np.bincount(grid) / N))
    assert sorted(option.name for option in made.options) == ["discrete_laplace", "krr"]
    for option in made.options:
        mechanism, rng = option.ours.randomizer, np.random.default_rng(11)
        bound = mechanism.k - 1 if isinstance(mechanism, KRR) else mechanism.bound
        places = [x / (20 * bound) for x in range(20 * bound + 1)]
        alike = [Mean(N, len(places), tuple(np.eye(len(places))[i])) for i in range(len(places))]
        least = [one.expected(mechanism).squared_error for one in alike]
        worst = np.full(N, places[int(np.argmax(least))])
        check(_errors(mechanism, worst, bound, rng) ** 2, option.ours.worst_case.squared_error)
        expected = known.expected(mechanism).squared_error
        check(_errors(mechanism, grid / 4, bound, rng) ** 2, expected)


def _errors(mechanism, values, bound, rng, repetitions=300):
    """Return the errors of many collections, all drawn at once."""
    everybody = np.tile(values, repetitions)
    low = np.floor(everybody * bound)
    up = rng.random(everybody.size) < everybody * bound - low
    estimates = mechanism.randomize((low + up).astype(int), rng) / bound
    if isinstance(mechanism, KRR):
        own, other = mechanism.support_probabilities
        estimates = (estimates - other * mechanism.k / 2) / (own - other)
    return estimates.reshape(repetitions, values.size).mean(axis=1) - values.mean()


@pytest.mark.slow
@pytest.mark.parametrize("target", [0.1, 3.0])
@pytest.mark.parametrize("size", [3, 200])
def test_shares_with_other_targets(target, size):
    made = plan(n=2000, target_epsilon=target, target_delta=1e-6, domain_size=size)
    values = np.minimum(np.random.default_rng(1).geometric(0.1, 2000), size) - 1
    for option in made.options:
        rng = np.random.default_rng(2)
        squares = simulate(option.ours.randomizer, values, repetitions=1000, rng=rng).errors ** 2
        spread = squares.std(ddof=1) / math.sqrt(squares.size)
        assert abs(squares.mean() - option.ours.worst_case.squared_error) < 4 * spread
