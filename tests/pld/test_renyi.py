"""Rényi divergences, against closed forms and all datasets of few users."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath
import pytest
from blankets import blanket_accountant

from shuffledp import Rounds, ShuffleAccountant
from shuffledp.accounting.rounds.renyi import _divergence, _term
from shuffledp.bounds.rounds.loss_law import LossLaw
from shuffledp.bounds.rounds.node import Point
from shuffledp.outputs.pld import renyi_divergence

ORDERS = (1.001, 1.5, 2, 8, 64, 1e4)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("epsilon0", [1e-3, 1.0, 5.0])
def test_one_user_exactly(epsilon0):
    one = ShuffleAccountant(f"krr(k=2, epsilon0={epsilon0})", 1)
    for order in ORDERS:
        with mpmath.workdps(60):
            p = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon0)))
            total = sum(
                a**order * b ** (1 - mpmath.mpf(order)) for a, b in ((p, 1 - p), (1 - p, p))
            )
            exact = mpmath.log(total) / (mpmath.mpf(order) - 1)
        found = renyi_divergence(one, order)
        assert exact <= found <= exact * (1 + (1e-6 if order < 100 else 1e-3))


@pytest.mark.parametrize("order", [1.001, 2.0, 7.3, 1e3, 1e6])
def test_terms_are_rounded_up(order):
    for k in (1, 3, 7, 11, 13, 77, 10**5, 10**7):
        for x in (
            Fraction(k, 10**9),
            -Fraction(k, 10**8),
            Fraction(k, 999),
            1 / Fraction(k + 1) - 1,
        ):
            with mpmath.workdps(60):
                ratio = mpmath.mpf((1 + x).numerator) / (1 + x).denominator
                exact = ratio**order - 1 - mpmath.mpf(order) * (ratio - 1)
                if exact > 1e200:
                    continue
            found = _term(Fraction(1, 3), 1 + x, order)
            assert exact / 3 <= found
            if abs(x) > 1e-4:
                assert found <= exact / 3 * (1 + 1e-7)


@pytest.mark.parametrize("order", [1.5, 2.0, 20.0])
def test_what_is_at_infinity_may_be_anywhere_up_to_the_end(order):
    """A pair with losses up to log 4 that the law dominates, but not with its mass put at log 4."""
    law = LossLaw((Fraction(2),), (Fraction(3, 4),), Fraction(1, 4))
    pair = LossLaw((Fraction(1), Fraction(4)), (Fraction(1, 2), Fraction(1, 2)), Fraction(0))
    assert all(pair.at(Fraction(k, 8)) <= law.at(Fraction(k, 8)) for k in range(40))
    true = math.log(0.5 + 0.5 * 4 ** (order - 1)) / (order - 1)
    assert true <= _divergence(law, order, math.log(4)) * (1 + 1e-12)


def test_what_p_never_does_counts():
    """A law with Q-mass where P has none: log 2 at every order, as P is Q given half of it."""
    law = LossLaw.of([Point(Fraction(-1), Fraction(1)), Point(Fraction(1), Fraction(0))])
    for order in (1.5, 2.0, 30.0):
        assert math.log(2) <= _divergence(law, order, 1.0) <= math.log(2) * (1 + 1e-9)


def law_of(dataset, stay):
    """The law of the shuffled reports of 2-ary randomized response: how many are 1."""
    law = Counter({0: 1.0})
    for value in dataset:
        one = stay if value else 1 - stay
        new = Counter()
        for count, mass in law.items():
            new[count + 1] += mass * one
            new[count] += mass * (1 - one)
        law = new
    return law


def test_all_datasets_of_three_users():
    stay = math.e / (1 + math.e)
    accountant = ShuffleAccountant("krr(k=2, epsilon0=1)", 3)
    for order in (1.5, 2, 10):
        worst = 0.0
        for rest in itertools.product((0, 1), repeat=2):
            for x, y in ((0, 1), (1, 0)):
                p, q = law_of((x, *rest), stay), law_of((y, *rest), stay)
                total = sum(p[c] ** order * q[c] ** (1 - order) for c in p)
                worst = max(worst, math.log(total) / (order - 1))
        assert worst * (1 - 1e-12) <= renyi_divergence(accountant, order) <= 1.3 * worst


@pytest.mark.heavy
def test_rounds_add_up():
    weekly = ShuffleAccountant("krr(k=3, epsilon0=1)", 1000)
    survey = ShuffleAccountant("krr(k=2, epsilon0=2)", 500)
    one, other = renyi_divergence(weekly, 4), renyi_divergence(survey, 4)
    both = renyi_divergence(Rounds([(weekly, 52), (survey, 3)]), 4)
    assert both == pytest.approx(52 * one + 3 * other, rel=1e-12)
    limited = renyi_divergence(weekly.rounds(52, at_most=5), 4)
    assert limited == pytest.approx(5 * one, rel=1e-12)


@pytest.mark.heavy
def test_it_is_no_better_than_rounds():
    """Epsilon by the usual conversion is a bound, so it is above what datasets reveal."""
    year = ShuffleAccountant("krr(k=3, epsilon0=1)", 1000).rounds(52)
    delta = 1e-6
    epsilon = min(
        renyi_divergence(year, order)
        + math.log1p(-1 / order)
        - math.log(delta * order) / (order - 1)
        for order in (5, 10, 20)
    )
    assert year.epsilon_lower_bound(delta) < epsilon < 1.3 * year.get_epsilon(delta)


@pytest.mark.heavy
def test_limits():
    one = ShuffleAccountant("krr(k=3, epsilon0=1)", 1000)
    assert renyi_divergence(one, 1e300) <= 1.0000001
    assert renyi_divergence(ShuffleAccountant("gaussian(sigma=1)", 2), 2) == math.inf
    orders = [renyi_divergence(one, order) for order in (1.1, 2, 30, 1e3, 1e5)]
    assert orders == sorted(orders)


def test_bad_input():
    one = ShuffleAccountant("krr(k=3, epsilon0=1)", 1000)
    for order in (1, 0.5, -2):
        with pytest.raises(ValueError, match="order must be greater than 1, got"):
            renyi_divergence(one, order)
    with pytest.raises(ValueError, match="order must be finite"):
        renyi_divergence(one, math.inf)
    with pytest.raises(TypeError, match="collected must be a ShuffleAccountant or Rounds"):
        renyi_divergence("krr(3, 1)", 2)


@pytest.mark.heavy
def test_corrupted_users_hide_nobody():
    whole, corrupted, rest = (
        renyi_divergence(blanket_accountant("krr(k=3, epsilon0=1)", n, corrupted=known), 4)
        for n, known in ((100, 0), (100, 40), (60, 0))
    )
    assert corrupted == rest > whole
