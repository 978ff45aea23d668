"""How far users who choose their reports can move an estimate: the bound holds and is attained."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp import Aggregator, parse, shuffle

RNG = np.random.default_rng(7)
VALUES = [0, 1, 1, 2, 0, 2, 1, 0]


def estimates(randomizer, reports, **more):
    aggregator = Aggregator(randomizer)
    aggregator.add(reports)
    return aggregator, aggregator.estimate(**more)


@pytest.mark.parametrize(
    "text",
    [
        "krr(k=3, epsilon0=1)",
        "oue(epsilon0=1, domain_size=3)",
        "olh(epsilon0=1, domain_size=3)",
        "hadamard(epsilon0=2, domain_size=3)",
        "matrix([[.5, .3, .2], [.2, .5, .3], [.1, .2, .7]])",
    ],
)
def test_reports_of_some_users_move_no_estimate_farther(text):
    randomizer = parse(text)
    honest = randomizer.randomize(VALUES, RNG)
    aggregator, before = estimates(randomizer, honest)
    limit, largest = aggregator.largest_shifts(2), 0.0
    pool = randomizer.randomize([0, 1, 2] * 60, RNG)
    for i in range(0, len(pool), 2):
        chosen = honest.copy()
        chosen[:2] = pool[i : i + 2]
        _, after = estimates(randomizer, chosen)
        shift = np.abs(after.values - before.values)
        assert (shift <= limit).all()
        largest = max(largest, float((shift / limit).max()))
    assert largest > 0.4


def test_the_bound_is_attained():
    aggregator = Aggregator("krr(k=3, epsilon0=1)")
    aggregator.add_sum([5, 3, 2], 10)
    other = Aggregator("krr(k=3, epsilon0=1)")
    other.add_sum([2, 6, 2], 10)
    shift = abs(aggregator.estimate().values - other.estimate().values)
    assert shift[0] == pytest.approx(aggregator.largest_shifts(3)[0], rel=1e-8)
    assert shift[0] <= aggregator.largest_shifts(3)[0]


def test_any_number_is_a_report_of_noise():
    aggregator = Aggregator("laplace(epsilon0=1)")
    aggregator.add_sum(3, 10)
    assert aggregator.largest_shifts(1).tolist() == [math.inf]
    assert aggregator.largest_shifts(0).tolist() == [0.0]


def test_parts_of_a_joint_report_each_have_their_own():
    randomizer = parse("joint(krr(k=3, epsilon0=1), krr(k=2, epsilon0=2))")
    aggregator = Aggregator(randomizer)
    aggregator.add(randomizer.randomize(([0, 1, 2], [0, 1, 1]), RNG))
    first, second = aggregator.largest_shifts(1)
    assert (first.size, second.size) == (3, 2)
    assert first[0] > second[0]


def test_dummies_are_no_users():
    randomizer = parse("krr(k=3, epsilon0=1)")
    aggregator = Aggregator(randomizer)
    reports = shuffle(randomizer.randomize(VALUES, RNG), RNG, dummies=8, randomizer=randomizer)
    aggregator.add(reports)
    assert aggregator.largest_shifts(1, dummies=8)[0] == 2 * aggregator.largest_shifts(1)[0]


def test_what_is_refused():
    aggregator = Aggregator("krr(k=3, epsilon0=1)")
    with pytest.raises(ValueError, match="at least one report"):
        aggregator.largest_shifts(1)
    aggregator.add_sum([5, 3, 2], 10)
    with pytest.raises(ValueError, match="corrupted"):
        aggregator.largest_shifts(10)
    some = parse("subsample(krr(k=3, epsilon0=1), 0.5)")
    aggregator = Aggregator(some)
    aggregator.add(some.randomize(VALUES, RNG))
    with pytest.raises(TypeError, match="not known"):
        aggregator.largest_shifts(1)
