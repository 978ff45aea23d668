"""Advantage and trade-off against every attacker on a few users, in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import histogram_law, hockey_stick

from shuffledp import MatrixRandomizer, ShuffleAccountant
from shuffledp.accounting.operational import OperationalTerms

HALF, QUARTER, EIGHTH = Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)

#: Rows are exact in doubles, so what is accounted for is what is enumerated.
CHANNELS = {
    "two": ((3 * QUARTER, QUARTER), (QUARTER, 3 * QUARTER)),
    "three": ((HALF, QUARTER, QUARTER), (QUARTER, HALF, QUARTER), (QUARTER, QUARTER, HALF)),
    "skewed": ((7 * EIGHTH, EIGHTH), (HALF, HALF)),
    "revealing": ((HALF, HALF, Fraction(0)), (Fraction(0), HALF, HALF)),
}
RATES = [Fraction(i, 20) for i in range(21)] + [Fraction(1, 1000), Fraction(999, 1000)]

Law = dict[frozenset, Fraction]


def neighbours(channel: tuple[tuple[Fraction, ...], ...], n: int) -> list[tuple[Law, Law]]:
    """The laws of what is seen, for all neighbouring datasets of n users."""
    pairs = []
    for others in combinations_with_replacement(channel, n - 1):
        laws = [histogram_law([row, *others]) for row in channel]
        pairs += list(permutations(laws, 2))
    return pairs


def least_misses(law0: Law, law1: Law, rate: Fraction) -> Fraction:
    """The least false negative rate at a false positive rate, by Neyman and Pearson."""
    outcomes = [(law0.get(h, Fraction(0)), law1.get(h, Fraction(0))) for h in law0.keys() | law1]
    outcomes.sort(key=lambda o: o[1] / o[0] if o[0] else math.inf, reverse=True)
    left, found = rate, Fraction(0)
    for false, true in outcomes:
        share = Fraction(1) if false <= left else left / false
        found += share * true
        left -= share * false
    return 1 - found


def accountant_of(name: str, n: int) -> ShuffleAccountant:
    return ShuffleAccountant(MatrixRandomizer([[float(p) for p in r] for r in CHANNELS[name]]), n)


@pytest.mark.heavy
@pytest.mark.parametrize("n", [3, 2, 1])
@pytest.mark.parametrize("name", CHANNELS)
def test_no_attacker_is_better(name: str, n: int) -> None:
    accountant, pairs = accountant_of(name, n), neighbours(CHANNELS[name], n)
    best = max(hockey_stick(p, q, Fraction(1)) for p, q in pairs)
    assert Fraction(accountant.advantage()) >= best
    for rate in map(Fraction, map(float, RATES)):
        truth = min(least_misses(p, q, rate) for p, q in pairs)
        assert 0 <= Fraction(accountant.tradeoff(float(rate))) <= truth


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("name", ["two", "three", "revealing"])
def test_one_user_alone_is_told_exactly(name: str) -> None:
    """Without a crowd the certified profile is the true one, and 33 lines are nearly all.

    The laws of "skewed" differ when they are exchanged; lines know only the larger delta.
    """
    accountant, pairs = accountant_of(name, 1), neighbours(CHANNELS[name], 1)
    best = max(hockey_stick(p, q, Fraction(1)) for p, q in pairs)
    assert accountant.advantage() == pytest.approx(float(best), rel=1e-3)
    for rate in RATES:
        truth = min(least_misses(p, q, rate) for p, q in pairs)
        assert accountant.tradeoff(float(rate)) == pytest.approx(float(truth), abs=6e-3)


def test_many_users_hide_nearly_everything() -> None:
    accountant = ShuffleAccountant("krr(k=10, epsilon0=2)", n=10_000)
    for rate in (1e-6, 0.01, 0.5, 0.99):
        chance = 1 - rate
        assert chance - accountant.advantage() * 1.001 <= accountant.tradeoff(rate) <= chance


class Stated(OperationalTerms):
    """A profile that is 0 from one epsilon on: what pure differential privacy says."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon

    def get_epsilon(self, target_delta: float) -> float:
        return self.epsilon

    def get_delta(self, target_epsilon: float) -> float:
        return 0.0 if target_epsilon >= self.epsilon else 1.0


@settings(max_examples=50)
@given(epsilon=st.floats(0.0, 20.0), rate=st.floats(0.0, 1.0))
def test_pure_privacy_is_rounded_down(epsilon: float, rate: float) -> None:
    found = Fraction(Stated(epsilon).tradeoff(rate))
    # e**epsilon by its series, from below: a larger one would only lower the line.
    growth, term = Fraction(0), Fraction(1)
    for i in range(1, 120):
        growth, term = growth + term, term * Fraction(epsilon) / i
    alpha = Fraction(rate)
    assert found <= max(0, 1 - growth * alpha, (1 - alpha) / growth)
    assert float(found) == pytest.approx(
        max(0.0, float(1 - growth * alpha), float((1 - alpha) / growth)), abs=1e-12
    )


@pytest.mark.parametrize(
    "rate",
    [
        Fraction(1) - Fraction(1, 2**53) + Fraction(1, 10**25),
        np.longdouble(1) - np.longdouble(2.0**-53) + np.longdouble(2.0**-60),
    ],
)
def test_rates_are_taken_exactly(rate: object) -> None:
    """The double next to these rates is below them, where an attacker misses more."""
    exact = rate if isinstance(rate, Fraction) else Fraction(*rate.as_integer_ratio())
    assert Fraction(Stated(0.0).tradeoff(rate)) <= 1 - exact


def test_what_never_becomes_private_still_has_a_curve() -> None:
    assert ShuffleAccountant("matrix([[1, 0], [0, 1]])", n=1).tradeoff(0.25) == 0.0
    assert ShuffleAccountant("matrix([[1, 0], [0, 1]])", n=1).advantage() == 1.0


def test_shapes() -> None:
    accountant = ShuffleAccountant("krr(k=2, epsilon0=1)", n=100)
    assert isinstance(accountant.tradeoff(0.5), float)
    table = accountant.tradeoff([[0.0, 0.5], [0.75, 1.0]])
    assert isinstance(table, np.ndarray)
    assert table.shape == (2, 2)
    assert table[0, 1] == accountant.tradeoff(0.5) == accountant.tradeoff(np.float64(0.5))
    assert accountant.tradeoff(1) == 0.0 == accountant.tradeoff(Fraction(1))
    assert accountant.tradeoff([]).size == 0


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("bad", [-0.1, 1.5, math.nan, math.inf, [0.5, 1.5], [math.nan], 2])
def test_rates_that_are_none(bad: object) -> None:
    with pytest.raises(ValueError, match="false_positive_rate must be"):
        ShuffleAccountant("krr(k=2, epsilon0=1)", n=100).tradeoff(bad)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("bad", ["0.5", None, True, [None], {"a": 1}, 1j, [[0.1], [0.1, 0.2]]])
def test_what_is_no_rate(bad: object) -> None:
    with pytest.raises(TypeError, match="false_positive_rate must be a real number"):
        ShuffleAccountant("krr(k=2, epsilon0=1)", n=100).tradeoff(bad)
