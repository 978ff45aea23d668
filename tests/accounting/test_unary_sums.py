"""Sums of unary encodings: exact fractions over all datasets, small n first."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from itertools import pairwise, product

import pytest

from shuffledp import (
    OUE,
    RAPPOR,
    ShuffleAccountant,
    UnaryEncoding,
    calibrate_epsilon0,
    required_users,
)
from shuffledp.basics.balls import ball, precision
from shuffledp.basics.errors import AccuracyWarning
from shuffledp.bounds.sums.counts import Bit, Bounds, count_law, counts_delta
from shuffledp.bounds.sums.worst import CountSearch
from shuffledp.engine.progress import silent

HEAVY = pytest.mark.heavy


@pytest.fixture(autouse=True)
def _wide_is_fine():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        yield


def bits_law(probabilities: list[Fraction]) -> list[Fraction]:
    """The law of a sum of independent bits."""
    law = [Fraction(1)]
    for p in probabilities:
        law = [
            (law[i] if i < len(law) else 0) * (1 - p) + (law[i - 1] if i else 0) * p
            for i in range(len(law) + 1)
        ]
    return law


def exact_delta(a: Fraction, b: Fraction, n: int, u: int, v: int, growth: Fraction) -> Fraction:
    """Delta of the counts if u of the others hold the first value and v the second one."""
    first, second = ([a] * m + [b] * (n - 1 - m) for m in (u, v))
    laws = {(x, y): bits_law([x, *y]) for x in (a, b) for y in (tuple(first), tuple(second))}
    p = laws[a, tuple(first)], laws[b, tuple(second)]
    q = laws[b, tuple(first)], laws[a, tuple(second)]
    return sum(
        max(p[0][i] * p[1][j] - growth * q[0][i] * q[1][j], Fraction(0))
        for i, j in product(range(n + 1), repeat=2)
    )


def worst(a: Fraction, b: Fraction, n: int, growth: Fraction, two_values: bool) -> Fraction:
    return max(
        exact_delta(a, b, n, u, v, growth)
        for u in range(n)
        for v in range(n - u)
        if not two_values or u + v == n - 1
    )


def delta_of_counts(
    mechanism: UnaryEncoding, n: int, held: tuple[int, int], epsilon: float, depth: float
) -> Bounds:
    """Delta if so many of the others hold the first value, and the second one."""
    seen = mechanism.aggregate
    with precision():
        own, other = Bit(*seen.own), Bit(*seen.other)
        laws = [count_law([(m, own), (n - 1 - m, other)], depth) for m in held]
        return counts_delta(*laws, own, other, ball(epsilon).exp())


REFERENCE = [
    (0.75, 0.25, 3, 1.5, 0.2867431640625, 0.2867431640625),
    (0.75, 0.25, 6, 1.5, 0.16444328427314758, 0.164443284273148),
    (0.75, 0.25, 10, 1.25, 0.13828630095667904, 0.138286300956679),
    (0.5, 0.25, 3, 1.5, 0.0615234375, 0.0615234375),
    (0.5, 0.25, 6, 1.5, 0.021127223968505859, 0.0202388763427734),
    (0.5, 0.25, 10, 1.25, 0.031138317737259058, 0.0281461961567402),
    (0.5, 0.1, 3, 1.5, 0.2726325, 0.225),
    (0.5, 0.1, 6, 1.5, 0.1753443136125, 0.1205792578125),
    (0.5, 0.1, 10, 1.25, 0.1603364671793344, 0.124079774189063),
]


@pytest.mark.parametrize(("p", "q", "n", "growth", "many", "two"), REFERENCE)
def test_reference_values(p, q, n, growth, many, two):
    for size, expected in ((None, many), (3, many), (2, two)):
        accountant = ShuffleAccountant(UnaryEncoding(p, q, size), n, view="sum")
        found = accountant.delta_interval(math.log(growth))
        assert found.lower * (1 - 1e-11) <= expected <= found.upper * (1 + 1e-11)
        assert found.upper <= 1.031 * expected


@pytest.mark.parametrize(
    ("a", "b", "growth"),
    [
        (Fraction(3, 4), Fraction(1, 4), Fraction(5, 4)),
        (Fraction(1, 2), Fraction(1, 8), Fraction(1)),
        (Fraction(7, 8), Fraction(1, 2), Fraction(3, 2)),
        (Fraction(9, 16), Fraction(1, 2), Fraction(1)),
    ],
)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_all_datasets_of_few_users(a, b, growth, n):
    for size in (2, 3):
        truth = float(worst(a, b, n, growth, size == 2))
        for p, q in ((a, b), (1 - a, 1 - b)):  # the second one has a 0 where the value is
            accountant = ShuffleAccountant(UnaryEncoding(float(p), float(q), size), n, view="sum")
            found = accountant.delta_interval(math.log(growth))
            assert found.lower <= truth * (1 + 1e-11)
            assert truth <= found.upper * (1 + 1e-11)
            assert accountant.delta_lower_bound(math.log(growth)) <= truth * (1 + 1e-11)


@pytest.mark.parametrize(
    ("mechanism", "n", "epsilon", "third", "same"),
    [
        (RAPPOR(4.0), 1000, 0.2, 0.0013041678251526976, 0.0015524167328526124),
        (RAPPOR(4.0), 10**4, 0.1, 1.3101526250413559e-5, 1.5699657058828767e-5),
        (OUE(4.0), 1000, 0.2, 0.0093686787610678709, 0.00283191732549706),
        (OUE(4.0), 10**4, 0.1, 0.00052324791061463655, 5.3578952677397346e-5),
        (OUE(1.0), 1000, 0.2, 1.064391629591937e-20, 1.2486335374921517e-21),
        (OUE(1.0), 10**4, 0.1, 1.481513952893575e-45, 4.3049255577466396e-49),
    ],
)
def test_single_datasets(mechanism, n, epsilon, third, same):
    for u, expected in ((0, third), (n - 1, same)):
        found = delta_of_counts(mechanism, n, (u, 0), epsilon, 207.0)
        assert found.lower <= expected * (1 + 1e-14)
        assert expected <= found.upper * (1 + 1e-12)
        assert found.upper <= expected * (1 + 1e-5)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(
    ("mechanism", "expected", "within"),
    [
        (RAPPOR(4.0), 0.12503, 0.006),
        (OUE(1.0), 0.02422, 0.006),
        (OUE(2.0), 0.05817, 0.006),
        (OUE(4.0), 0.19442, 0.006),
        (RAPPOR(1.0), 0.02352, 0.006),
        (RAPPOR(2.0), 0.05160, 0.011),
    ],
)
def test_reference_epsilons(mechanism, expected, within):
    accountant = ShuffleAccountant(mechanism, 10**4, view="sum")
    found = accountant.epsilon_interval(1e-6)
    assert found.lower <= expected * 1.0001
    assert expected * 0.9999 <= found.upper <= (1 + within) * expected
    assert accountant.get_delta(found.upper) <= 1e-6


def test_corners_are_not_always_worst():
    """Of 200 users of rappor(4), 196 others with the value beat 199."""
    values = {u: delta_of_counts(RAPPOR(4.0), 200, (u, 0), 0.1, 92.0) for u in (196, 199)}
    assert values[196].lower > values[199].upper
    found = ShuffleAccountant(RAPPOR(4.0), 200, view="sum").delta_interval(0.1)
    assert found.upper >= values[196].lower


def test_what_two_values_cannot_have_in_common_is_left_out():
    """(N, N) would be worse for blh-like bits, but nobody holds two values."""
    with precision():
        own, other = (Bit(ball(p), 1 - ball(p)) for p in (0.88, 0.5))
        search = CountSearch(own, other, 200, False, ball(0.3).exp(), ball(1e-3))
        everybody = search._at((199, 199), (199, 199))
        assert search.run(ball(2e-4), silent).upper < everybody.lower


def test_subsampled_bits_are_not_bits_of_smaller_probability():
    """Participation couples the bits of one user: two users, rate 1/2, both bits of one user."""
    a, b, rate = Fraction(3, 4), Fraction(1, 4), Fraction(1, 2)
    both = rate * a * b  # a report has both bits, if it is there
    assert both != (rate * a) * (rate * b)
    accountant = ShuffleAccountant("subsample(unary(0.75, 0.25), 0.5)", 20, view="sum")
    assert "the guarantee is that of the multiset" in accountant.epsilon_report(0.1).view_in_words


@pytest.mark.parametrize("mechanism", [RAPPOR(2.0), OUE(3.0, 2), UnaryEncoding(0.2, 0.6)])
def test_never_above_the_multiset_and_monotone_in_users(mechanism):
    deltas = []
    for n in (1, 2, 5, 30, 300):
        sums, multiset = (ShuffleAccountant(mechanism, n, view=v) for v in ("sum", "multiset"))
        assert sums.get_delta(0.3) <= multiset.get_delta(0.3)
        deltas.append(sums.delta_interval(0.3))
    for small, large in pairwise(deltas):
        assert large.lower <= small.upper


def test_the_datasets_are_those_of_the_lower_bound():
    careful = ShuffleAccountant(OUE(4.0), 1000, view="sum").delta_report(0.2)
    assert str(careful.datasets) == "x1 = 0 vs 1, all others hold 2"
    assert careful.lower_bound == pytest.approx(0.0093686787610678709)
    other = ShuffleAccountant(RAPPOR(4.0), 1000, view="sum").delta_report(0.2)
    assert str(other.datasets) == "x1 = 0 vs 1, all others hold 0"
    assert other.lower_bound == pytest.approx(0.0015524167328526124)


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(
    ("mechanism", "n", "expected", "rounded"),
    [
        (OUE(2.0), 10**6, 0.00477, 0.001),
        (RAPPOR(1.0), 10**6, 0.00187, 0.001),
        (RAPPOR(4.0), 10**6, 0.01022, 0.001),
        (OUE(4.0), 10**9, 0.000343429, 0.001),
        (RAPPOR(4.0), 10**9, 0.00020574, 0.001),
        (OUE(1.0), 10**6, 0.00193, 0.003),
        (OUE(4.0), 10**6, 0.01635, 0.001),
        (RAPPOR(2.0), 10**6, 0.00418, 0.002),
    ],
)
def test_large_crowds(mechanism, n, expected, rounded):
    accountant = ShuffleAccountant(mechanism, n, view="sum")
    found = accountant.epsilon_interval(1e-6)
    assert found.lower <= expected * (1 + rounded)
    assert expected * (1 - rounded) <= found.upper <= 1.015 * expected
    again = ShuffleAccountant(mechanism, n, view="sum")
    assert again.get_delta(found.upper) <= 1e-6
    assert again.delta_lower_bound(found.lower) > 0.99e-6
    assert accountant.epsilon_report(1e-6).bound == "exact"


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("mechanism", "epsilon", "delta", "fewest", "certified"),
    [
        (OUE(2.0), 0.1, 1e-6, 3640, 3648),
        (OUE(4.0), 0.5, 1e-8, 2552, 2558),
        (RAPPOR(4.0), 0.5, 1e-8, 1268, 1271),
    ],
)
def test_the_smallest_batch(mechanism, epsilon, delta, fewest, certified):
    """With fewer than the first number two datasets exceed the target."""
    targets = {"target_epsilon": epsilon, "target_delta": delta}
    found = required_users(mechanism, **targets, view="sum").n
    assert fewest <= found <= 1.015 * certified  # half a percent of epsilon
    assert ShuffleAccountant(mechanism, found, view="sum").meets(epsilon, delta)
    few = ShuffleAccountant(mechanism, fewest - 1, view="sum")
    assert few.delta_lower_bound(epsilon) > delta


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("mechanism", [OUE(2.0), RAPPOR(1.0), RAPPOR(4.0), OUE(3.0, 2)])
@pytest.mark.parametrize("n", [30, 3000, 10**5, 10**7])
def test_meeting_a_target_is_what_delta_says(mechanism, n):
    accountant = ShuffleAccountant(mechanism, n, view="sum")
    epsilon = accountant.get_epsilon(1e-6)
    for factor in (0.9, 0.999, 1.0, 1.001, 1.1):
        met = ShuffleAccountant(mechanism, n, view="sum").meets(factor * epsilon, 1e-6)
        assert met == (accountant.get_delta(factor * epsilon) <= 1e-6)
    assert accountant.meets(epsilon, 1e-6)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("delta", [1e-20, 1e-40])
@pytest.mark.parametrize("n", [10**6, 10**9])
@pytest.mark.parametrize("mechanism", [OUE(2.0), pytest.param(RAPPOR(2.0), marks=HEAVY)], ids=str)
def test_tiny_deltas_of_large_crowds(mechanism, n, delta):
    sums, multiset = (ShuffleAccountant(mechanism, n, view=v) for v in ("sum", "multiset"))
    found = sums.epsilon_interval(delta)
    assert found.upper <= 1.011 * found.lower
    assert found.upper < 0.8 * multiset.get_epsilon(delta)
    assert sums.epsilon_report(delta).bound == "exact"
    again = ShuffleAccountant(mechanism, n, view="sum")
    assert again.get_delta(found.upper) <= delta
    assert again.delta_lower_bound(found.lower) > 0.9 * delta


@pytest.mark.heavy(keep=0)
@pytest.mark.parametrize("epsilon", [0.05, 0.9, 4.0])
@pytest.mark.parametrize("n", [10**4, 10**5, 10**6, 10**8])
@pytest.mark.parametrize("family", [RAPPOR, OUE], ids=["rappor", "oue"])
def test_delta_does_not_fall_where_noise_does(family, n, epsilon):
    """Of a level between, reports are made by more noise from those of a higher level."""
    last = -math.inf
    for level in range(math.ceil(epsilon), 21, 2):
        found = ShuffleAccountant(family(level), n, view="sum").log_delta_interval(epsilon)
        assert found.upper >= last - 0.05
        if found.upper > math.log(2e-80):
            assert found.upper - found.lower <= 1 - 0.02 * found.upper
        last = found.upper


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("family", "n", "epsilon", "delta", "level"),
    [
        ("rappor()", 10**5, 0.906, 1e-9, 13.8),  # it said 7.16, with an epsilon of 0.14
        ("rappor()", 10**6, 0.5, 1e-6, 17.3),
        ("oue()", 10**8, 0.2, 1e-9, 11.7),
        pytest.param("oue()", 10**10, 0.05, 1e-12, 13.6, marks=HEAVY),
    ],
)
def test_the_largest_level_of_many_users_is_the_largest(family, n, epsilon, delta, level):
    targets = {"target_epsilon": epsilon, "target_delta": delta}
    found = calibrate_epsilon0(family, n=n, **targets, view="sum")
    assert 0.97 * epsilon <= found.report.guarantee.upper <= epsilon
    assert found.epsilon0 >= level
    assert found.report.lower_bound >= 0.97 * epsilon


def test_noise_left_out_only_helps_the_analyst():
    """Of a bit that is a fair coin few count: bounds stay above what datasets say."""
    n, epsilon = 10**8, 0.05
    accountant = ShuffleAccountant(OUE(9.03), n, view="sum")
    report = accountant.delta_report(epsilon)
    assert report.guarantee.upper <= 1.04 * report.lower_bound
    attack = accountant.choice.attack.curve
    for held in ((True, False), (False, True)):  # more noise than is counted on
        assert attack.all_hold(held, epsilon).upper <= report.guarantee.upper


def test_the_largest_crowds_have_the_guarantee_of_the_multiset():
    sums, multiset = (ShuffleAccountant(OUE(1.0), 10**13, view=v) for v in ("sum", "multiset"))
    assert sums.get_delta(1e-7) == multiset.get_delta(1e-7)
    report = sums.delta_report(1e-7)
    assert report.lower_bound == 0.0
    assert "for up to 1,000,000,000,000 users" in report.view_in_words


class Skewed(OUE):
    """A class derived from an encoding, which may state another law."""


def test_derived_classes_have_the_guarantee_of_the_multiset():
    assert "multiset" in ShuffleAccountant(Skewed(1.0), 9, view="sum").delta_report(0).view_in_words
