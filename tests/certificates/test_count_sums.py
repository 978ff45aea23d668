"""What sums of bits reveal, in balls: exact fractions over all datasets, small n first."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache
from itertools import product

import pytest
import tiers
from flint import arb, ctx, fmpq

from shuffledp.accounting.datasets import Datasets
from shuffledp.bounds.sums.common import CommonBits
from shuffledp.bounds.sums.counts import Bit, count_law, counts_delta
from shuffledp.bounds.sums.worst import CountSearch
from shuffledp.certificates.sums import BitCounts
from shuffledp.engine.progress import silent
from shuffledp.mechanisms import Pair, parse


@pytest.fixture(autouse=True)
def _bits():
    with ctx.workprec(128):
        yield


def ball(x):
    return arb(fmpq(x.numerator, x.denominator))


def exact(x):
    return Fraction(str(x.fmpq()))


def bit(p):
    return Bit(ball(p), ball(1 - p))


@cache
def bits_law(probabilities):
    """The law of a sum of independent bits."""
    law = [Fraction(1)]
    for p in probabilities:
        law = [
            (law[i] if i < len(law) else 0) * (1 - p) + (law[i - 1] if i else 0) * p
            for i in range(len(law) + 1)
        ]
    return law


@cache
def exact_delta(a, b, n, u, v, growth):
    """Delta of the counts if u of the others hold the first value and v the second one."""
    first, second = ((a,) * m + (b,) * (n - 1 - m) for m in (u, v))
    p = bits_law((a, *first)), bits_law((b, *second))
    q = bits_law((b, *first)), bits_law((a, *second))
    return sum(
        max(p[0][i] * p[1][j] - growth * q[0][i] * q[1][j], Fraction(0))
        for i, j in product(range(n + 1), repeat=2)
    )


def worst(a, b, n, growth, two_values):
    return max(
        exact_delta(a, b, n, u, v, growth)
        for u in range(n)
        for v in range(n - u)
        if not two_values or u + v == n - 1
    )


def search(a, b, n, growth, two_values, hint):
    return CountSearch(bit(a), bit(b), n, two_values, ball(growth), ball(hint))


REFERENCE = [
    ((3, 4), (1, 4), 3, (3, 2), 0.2867431640625, 0.2867431640625),
    ((3, 4), (1, 4), 6, (3, 2), 0.16444328427314758, 0.164443284273148),
    ((3, 4), (1, 4), 10, (5, 4), 0.13828630095667904, 0.138286300956679),
    ((1, 2), (1, 4), 3, (3, 2), 0.0615234375, 0.0615234375),
    ((1, 2), (1, 4), 6, (3, 2), 0.021127223968505859, 0.0202388763427734),
    ((1, 2), (1, 4), 10, (5, 4), 0.031138317737259058, 0.0281461961567402),
    ((1, 2), (1, 10), 3, (3, 2), 0.2726325, 0.225),
    ((1, 2), (1, 10), 6, (3, 2), 0.1753443136125, 0.1205792578125),
    ((1, 2), (1, 10), 10, (5, 4), 0.1603364671793344, 0.124079774189063),
]


@pytest.mark.heavy(keep=9)
@pytest.mark.parametrize(("p", "q", "n", "growth", "many", "two"), REFERENCE)
def test_reference_values(p, q, n, growth, many, two):
    a, b, factor = (Fraction(*x) for x in (p, q, growth))
    for two_values, value in ((False, many), (True, two)):
        found = search(a, b, n, factor, two_values, Fraction(value)).run(arb(0), silent)
        # That delta is above 0 is known at once; a smaller target makes the search go on.
        assert exact(found.lower) <= Fraction(value) * Fraction(1 + 1e-14)
        enough = ball(Fraction(value) * Fraction(1 + 1e-7))
        found = search(a, b, n, factor, two_values, Fraction(value)).run(enough, silent)
        truth = worst(a, b, n, factor, two_values)
        assert abs(float(truth) - value) < 1e-14
        assert exact(found.lower) <= truth <= exact(found.upper) <= exact(enough.upper())


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_all_datasets_of_few_users(n):
    for a, b, growth in (
        (Fraction(3, 4), Fraction(1, 4), Fraction(5, 4)),
        (Fraction(1, 2), Fraction(1, 8), Fraction(1)),
        (Fraction(7, 8), Fraction(1, 2), Fraction(3, 2)),
        (Fraction(9, 16), Fraction(1, 2), Fraction(1)),
    ):
        for two_values in (False, True):
            truth = worst(a, b, n, growth, two_values)
            for share in (Fraction(1, 2), 1 + Fraction(1, 10**7)):  # not to be had, just so
                found = search(a, b, n, growth, two_values, truth).run(ball(share * truth), silent)
                assert exact(found.lower) <= truth <= exact(found.upper)
            assert exact(found.upper) <= truth * (1 + Fraction(1, 10**6))


def test_rectangles_cover_all_datasets_in_them():
    draw = random.Random(3)
    for _ in range(tiers.examples(60)):
        n = draw.randint(2, 9)
        b = Fraction(draw.randint(1, 15), 32)
        a = b + Fraction(draw.randint(1, 16), 32)
        growth = 1 + Fraction(draw.randint(0, 8), 16)
        u, v = (tuple(sorted(draw.choices(range(n), k=2))) for _ in range(2))
        inside = [
            exact_delta(a, b, n, x, y, growth)
            for x in range(u[0], u[1] + 1)
            for y in range(v[0], v[1] + 1)
            if x + y <= n - 1
        ]
        for hint in (Fraction(1, 2), Fraction(1, 10**4)):
            bound = search(a, b, n, growth, False, hint)._at(u, v)
            assert max(inside, default=0) <= exact(bound.upper)
            if u[0] == u[1] and v[0] == v[1] and inside:
                assert exact(bound.lower) <= inside[0]


def test_the_risk_of_counting_on_too_many_is_bounded():
    common = CommonBits(bit(Fraction(3, 4)), bit(Fraction(1, 4)))
    for number in (1, 2, 7, 19):
        law = bits_law((Fraction(1, 2),) * number)
        for sure in range(number + 1):
            assert sum(law[:sure]) <= exact(common.risk(number, sure))


@pytest.mark.parametrize("depth", [3.0, 8.0, 20.0])
def test_counts_left_out_are_counted(depth):
    """With rare counts cut off, both ends hold all the same."""
    a, b, n, growth = Fraction(3, 4), Fraction(1, 4), 40, Fraction(9, 8)
    for u, v in ((0, 0), (39, 0), (10, 20), (0, 39)):
        laws = [count_law([(m, bit(a)), (n - 1 - m, bit(b))], depth) for m in (u, v)]
        found = counts_delta(laws[0], laws[1], bit(a), bit(b), ball(growth))
        truth = exact_delta(a, b, n, u, v, growth)
        assert exact(found.lower) <= truth <= exact(found.upper)
        full = bits_law((a,) * u + (b,) * (n - 1 - u))
        kept = sum(map(exact, (x.mid() for x in laws[0].masses.coeffs())))
        assert sum(full) - kept <= exact(laws[0].lost) + Fraction(1, 10**30)


@pytest.mark.parametrize(
    ("text", "n", "epsilon", "third", "same"),
    [
        ("rappor(4)", 1000, "0.2", 0.0013041678251526976, 0.0015524167328526124),
        ("rappor(4)", 10**4, "0.1", 1.3101526250413559e-5, 1.5699657058828767e-5),
        ("oue(4)", 1000, "0.2", 0.0093686787610678709, 0.00283191732549706),
        ("oue(4)", 10**4, "0.1", 0.00052324791061463655, 5.3578952677397346e-5),
        ("oue(1)", 1000, "0.2", 1.064391629591937e-20, 1.2486335374921517e-21),
        ("oue(1)", 10**4, "0.1", 1.481513952893575e-45, 4.3049255577466396e-49),
    ],
)
def test_reference_values_of_single_datasets(text, n, epsilon, third, same):
    for held, value in ((2, third), (0, same)):
        counts = BitCounts(parse(text), n, Fraction(epsilon), arb(value))
        found = counts.enclose_datasets(Datasets(Pair(0, 1), held))
        assert exact(found.lower) <= Fraction(value) * Fraction(1 + 1e-13)
        assert exact(found.upper) >= Fraction(value) * Fraction(1 - 1e-13)
        assert found.is_narrow(1e-5)


def test_the_worst_dataset_may_be_no_corner():
    """With rappor(4), 200 users and epsilon = 0.1, 196 others who hold u are worse than 199."""
    counts = BitCounts(parse("rappor(4)"), 200, Fraction(1, 10), arb(0.0174))
    corner, inner = (counts.search._at((m, m), (0, 0)) for m in (199, 196))
    assert corner.upper < inner.lower
    found = counts.search.run(inner.upper * 1.001, silent)
    assert inner.lower <= found.upper <= inner.upper * 1.001


@pytest.mark.parametrize(
    "text",
    [
        "rappor(1.5)",
        "oue(1.5)",
        "unary(0.7, 0.2)",
        "unary(0.2, 0.7)",
        "blh(2, domain_size=9)",
        "olh(2, domain_size=9)",
    ],
)
def test_bits_are_those_that_are_run(text):
    """Probabilities derived from support masses are those that the accountant derives."""
    randomizer = parse(text)
    counts, sums = BitCounts(randomizer, 5, Fraction(0), arb(1)).search, randomizer.aggregate
    for mine, (one, zero) in ((counts.own, sums.own), (counts.other, sums.other)):
        assert abs(mine.one - one) < 1e-30
        assert abs(mine.zero - zero) < 1e-30
        assert abs(mine.one + mine.zero - 1) < 1e-30
