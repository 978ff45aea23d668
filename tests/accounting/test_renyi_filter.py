"""Budgets for rounds that are chosen after looking at results: no strategy exceeds them."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import permutations

import mpmath
import pytest

from shuffledp import MatrixRandomizer, ShuffleAccountant
from shuffledp.accounting.rounds.renyi import renyi_divergence
from shuffledp.accounting.rounds.renyi_filter import RenyiFilter, natural_order

#: Reports of one user, of different costs.
ROWS = {
    name: ((Fraction(odds, odds + 4), Fraction(4, odds + 4)), (Fraction(1, 2), Fraction(1, 2)))
    for name, odds in (("small", 5), ("middle", 6), ("large", 9))
}


def one(name: str) -> ShuffleAccountant:
    rows = [[float(p) for p in row] for row in ROWS[name]]
    return ShuffleAccountant(MatrixRandomizer(rows), 1)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("epsilon", "delta", "order"), [(0.5, 0.2, 3.0), (0.9, 0.12, 5.0), (0.6, 0.05, 15.0)]
)
def test_no_strategy_exceeds_the_budget(epsilon, delta, order):
    """All choices of the next report, after each outcome, as long as the filter lets them pass."""
    budget = RenyiFilter.of(epsilon, delta, order)
    costs = {name: renyi_divergence(one(name), order) for name in ROWS}

    @cache
    def largest(ratio: Fraction, left: float, depth: int) -> Fraction:
        values = [max(1 - ratio, Fraction(0))]
        for name, pair in ROWS.items():
            if depth and costs[name] <= left:
                for first, second in permutations(pair):
                    values.append(
                        sum(
                            (
                                p * largest(ratio * q / p, left - costs[name], depth - 1)
                                for p, q in zip(first, second, strict=True)
                            ),
                            Fraction(0),
                        )
                    )
        return max(values)

    growth = Fraction(math.floor(math.exp(epsilon) * 1000), 1000)  # below, so deltas are larger
    worst = largest(growth, budget.allowed, 5)
    assert 0 < worst <= Fraction(delta)


def test_what_is_allowed_is_rounded_down():
    for epsilon, delta, order in ((1.0, 1e-6, 20.0), (0.1, 1e-12, 300.0), (9.0, 0.3, 1.001)):
        with mpmath.workdps(60):
            alpha, level, target = map(mpmath.mpf, (order, epsilon, delta))
            constant = (alpha - 1) ** (alpha - 1) / alpha**alpha
            exact = level + mpmath.log(target / constant) / (alpha - 1)
            found = RenyiFilter.of(epsilon, delta, order).allowed
            assert found <= exact
            assert exact - found < abs(exact) * mpmath.mpf(2) ** -51
            # Its delta, by the bound of the proof.
            assert constant * mpmath.exp((alpha - 1) * (found - level)) <= target


def test_the_constant_is_the_best_one():
    for order in (1.5, 2.0, 7.0):
        constant = (order - 1) ** (order - 1) / order**order
        for growth in (1.0, 2.5):
            gaps = [
                constant * t**order * growth ** (1 - order) - (t - growth)
                for t in [growth * k / 100 for k in range(1, 1000)]
            ]
            assert min(gaps) >= -1e-12
            assert min(gaps) < 1e-3 * growth


def test_how_many_fit():
    kind = one("middle")
    found = RenyiFilter.of(3.0, 1e-3, 4.0)
    times = found.fitting([], kind, 10**6)
    assert times > 2
    assert found.spent([(kind, times)]) <= found.allowed < found.spent([(kind, times + 1)])
    before = [(kind, 2)]
    assert found.fitting(before, kind, 10**6) == times - 2
    assert found.fitting(before, kind, 1) == 1
    assert found.fitting([(kind, times + 1)], kind, 10) == 0
    assert found.fitting([], ShuffleAccountant("gaussian(sigma=9)", 10), 10) == 0
    silent = ShuffleAccountant("matrix([[0.5, 0.5], [0.5, 0.5]])", 3)
    assert found.fitting(before, silent, 10**8) == 10**8


def test_orders_for_every_budget():
    for epsilon in (1e-9, 0.1, 1.0, 50.0, 1e12):
        for delta in (1e-300, 1e-6, 0.5, math.nextafter(1.0, 0.0)):
            assert natural_order(epsilon, delta) > 1
    best = RenyiFilter.of(1.0, 1e-6, natural_order(1.0, 1e-6)).allowed
    assert 0.3 < best < 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RenyiFilter.of(1.0, 0.0, 2.0), "delta must be greater than 0"),
        (lambda: RenyiFilter.of(1.0, 0.1, 1.0), "order must be greater than 1"),
        (lambda: RenyiFilter.of(-1.0, 0.1, 2.0), "epsilon must be between"),
        (lambda: RenyiFilter.of(1.0, 2.0, 2.0), "delta must be between"),
        (lambda: natural_order(0.0, 0.1), "needs epsilon and delta greater than 0"),
        (lambda: natural_order(1.0, 0.0), "needs epsilon and delta greater than 0"),
        (lambda: natural_order(1.0, 1.0), "delta below 1"),
    ],
)
def test_budgets_that_are_none(call, message):
    with pytest.raises(ValueError, match=message):
        call()
