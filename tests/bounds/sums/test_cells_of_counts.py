"""Cells of counts: exact fractions for few users, every single count for more, order for many."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate, pairwise

import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import OUE, RAPPOR, BinaryLocalHash, UnaryEncoding
from shuffledp.accounting.sum_view import sum_of_bits
from shuffledp.basics.balls import ball, precision, upper_log
from shuffledp.bounds.sums.common import CommonBits
from shuffledp.bounds.sums.count_cells import Chords, cell_law
from shuffledp.bounds.sums.count_cover import CellLaws, CellSearch, cells_depth
from shuffledp.bounds.sums.counts import Bit, count_law, counts_delta
from shuffledp.bounds.sums.worst import CountSearch
from shuffledp.engine.enclosure import PrecisionError
from shuffledp.engine.progress import silent

Law = list[Fraction]


def bit(p: Fraction | float) -> Bit:
    return Bit(ball(Fraction(p)), ball(1 - Fraction(p)))


def bits_of(mechanism) -> tuple[Bit, Bit]:
    seen = mechanism.aggregate
    return Bit(*seen.own), Bit(*seen.other)


def with_bit(law: Law, p: Fraction) -> Law:
    return [
        x * (1 - p) + y * p for x, y in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)
    ]


def bits_law(parts: list[tuple[int, Fraction]]) -> Law:
    law = [Fraction(1)]
    for number, p in parts:
        for _ in range(number):
            law = with_bit(law, p)
    return law


def exact_delta(
    a: Fraction, b: Fraction, n: int, held: tuple[int, int], growth: Fraction
) -> Fraction:
    u, v = (bits_law([(m, a), (n - 1 - m, b)]) for m in held)
    first, second = (with_bit(u, a), with_bit(v, b)), (with_bit(u, b), with_bit(v, a))
    return sum(
        max(x * y - growth * first_q * second_q, Fraction(0))
        for x, first_q in zip(first[0], second[0], strict=True)
        for y, second_q in zip(first[1], second[1], strict=True)
    )


def within(exact: Fraction, found: arb) -> bool:
    with precision(1000):
        return found.contains(fmpq(exact.numerator, exact.denominator))


PROBABILITIES = st.tuples(st.integers(2, 63), st.integers(1, 62)).filter(lambda x: x[0] > x[1])


@given(PROBABILITIES, st.lists(st.integers(0, 4), min_size=3, max_size=3))
def test_edges_of_few_counts(ones, numbers):
    """Every count is a cell: ratios, tails and mean excesses are those of fractions."""
    a, b = (Fraction(x, 64) for x in ones)
    parts = list(zip(numbers, (a, b, b / (1 - a + b)), strict=True))
    edges = cell_law([(number, bit(p)) for number, p in parts], bit(a), bit(b), 30.0)
    law = bits_law(parts)
    held, free = with_bit(law, a), with_bit(law, b)
    ratios = [x / y for x, y in zip(held, free, strict=True)]
    below = {
        ratio: sums
        for ratio, *sums in zip(
            ratios,
            accumulate(free[:-1], initial=Fraction(0)),
            accumulate(held[:-1], initial=Fraction(0)),
            strict=True,
        )
    }
    assert edges
    for edge in edges:
        (ratio,) = [ratio for ratio in ratios if within(ratio, edge.ratio)]
        excess = [(f - ratio) * mass for f, mass in zip(ratios, free, strict=True)]
        assert within(sum(max(x, 0) for x in excess), edge.call)
        assert within(sum(max(-x, 0) for x in excess), edge.put)
        assert within(below[ratio][0], edge.free_below)
        assert within(below[ratio][1], edge.held_below)
        assert within(1 - below[ratio][0], edge.free_above)
        assert within(1 - below[ratio][1], edge.held_above)


@given(PROBABILITIES, st.integers(1, 6), st.fractions(1, 3, max_denominator=9), st.booleans())
def test_all_datasets_of_few_users(ones, n, growth, two_values):
    a, b = (Fraction(x, 64) for x in ones)
    others = n - 1
    with precision():
        search = CellSearch(CellLaws(bit(a), bit(b), n, two_values, 40.0), ball(growth))
        worst = max(
            exact_delta(a, b, n, (u, v), growth)
            for u in range(n)
            for v in range(n - u)
            if not two_values or u + v == others
        )
        found = search.run(ball(worst))
        assert found >= fmpq(worst.numerator, worst.denominator)
        assert found <= ball(worst) * 1.02 + 1e-15
        for held in ((True, False), (False, True), (False, False)):
            u, v = (others * hold for hold in held)
            exact, one = exact_delta(a, b, n, (u, v), growth), search.all_hold(held)
            assert one.lower <= fmpq(exact.numerator, exact.denominator) <= one.upper
            assert one.lower >= ball(exact) * 0.99 - 1e-15


@pytest.mark.parametrize(
    ("mechanism", "n", "epsilon"),
    [
        (RAPPOR(2.0), 10**5, 0.012),
        (OUE(2.0), 3 * 10**5, 0.01),
        (OUE(12.0), 10**5, 2.0),
        (UnaryEncoding(0.2, 0.6), 10**5, 0.03),
        (RAPPOR(3.0), 10**5, 0.07),
    ],
    ids=str,
)
def test_cells_agree_with_single_counts(mechanism, n, epsilon):
    """Deltas of single datasets, from 0.01 to 1e-40."""
    own, other = bits_of(mechanism)
    with precision():
        growth = ball(epsilon).exp()
        for held in ((True, False), (False, True), (False, False)):
            u, v = ((n - 1) * hold for hold in held)
            laws = [count_law([(m, own), (n - 1 - m, other)], 160.0) for m in (u, v)]
            exact = counts_delta(*laws, own, other, growth)
            search = CellSearch(CellLaws(own, other, n, False, cells_depth(exact.upper)), growth)
            found = search.all_hold(held)
            assert found.lower <= exact.upper
            assert exact.lower <= found.upper
            if not exact.lower > 0:  # too small for what was left out
                continue
            loose = 1 + 0.0015 * max(-upper_log(exact.upper), 1.0)
            assert found.upper <= loose * exact.lower
            assert found.lower * loose >= exact.upper


@pytest.mark.heavy(keep=4)
@pytest.mark.parametrize(
    ("mechanism", "n", "epsilon"),
    [
        (RAPPOR(8.0), 3000, 0.6),
        (OUE(2.0), 3000, 0.1),
        (OUE(6.0, 2), 1000, 1.0),
        (OUE(9.0, 2), 10**4, 0.5),
        (BinaryLocalHash(2.0, 4), 1000, 0.1),
        (BinaryLocalHash(2.0, 2), 1000, 0.1),
        (UnaryEncoding(0.9999, 1e-4), 3000, 3.0),
        (UnaryEncoding(0.9, 1e-4, 2), 3000, 1.0),
    ],
    ids=str,
)
def test_the_worst_dataset_is_that_of_the_other_search(mechanism, n, epsilon):
    own, other = bits_of(mechanism)
    two_values = mechanism.aggregate.two_values
    with precision():
        growth = ball(epsilon).exp()
        search = CountSearch(own, other, n, two_values, growth, ball(1e-6))
        exact = search.run(arb(0), silent)
        laws = CellLaws(own, other, n, two_values, cells_depth(exact.lower))
        found = CellSearch(laws, growth).run(exact.lower * 1.03)
        assert exact.lower <= found <= 1.06 * exact.lower


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("n", [10**3, 10**6, 10**12])
@pytest.mark.parametrize("mechanism", [RAPPOR(4.0), OUE(2.0), OUE(3.0, 2), RAPPOR(1.0, 2)], ids=str)
def test_delta_falls_with_epsilon_and_users(mechanism, n):
    curve, more = sum_of_bits(mechanism, n), sum_of_bits(mechanism, 2 * n)
    epsilons = [c / math.sqrt(n) for c in (0.0, 1.0, 5.0, 12.0)]
    bounds = [(curve.below(e).log, curve.above(e).log) for e in epsilons]
    for (low, high), (next_low, next_high) in pairwise(bounds):
        assert low <= high
        assert next_low <= low
        assert next_high <= high
    for epsilon, (_, high) in zip(epsilons, bounds, strict=True):
        assert more.below(epsilon).log <= high


def test_intervals_hold_all_numbers_once():
    for mechanism in (RAPPOR(1.0), OUE(6.0, 2), BinaryLocalHash(2.0, 4)):
        laws = CellLaws(*bits_of(mechanism), 10**5, mechanism.aggregate.two_values, 40.0)
        intervals = laws.intervals
        assert len(intervals) <= 100
        assert (intervals[0][0], intervals[-1][1]) == (0, 10**5 - 1)
        assert all(after[0] == before[1] + 1 for before, after in pairwise(intervals))
        assert all(low <= high for low, high in intervals)


def test_what_surely_is_in_common():
    common = CommonBits(bit(Fraction(3, 4)), bit(Fraction(1, 4)))
    law = bits_law([(60, Fraction(1, 2))])
    for log_risk in (-2.0, -10.0, -30.0):
        sure = common.surely(60, log_risk)
        assert common.risk(60, sure) <= math.exp(log_risk) * 1.001
        missed = sum(law[:sure])
        assert common.risk(60, sure) >= fmpq(missed.numerator, missed.denominator)


def test_chords_are_above_convex_functions():
    points = [(arb(x), arb(x) ** 2) for x in (0, 1, 3, 10)]
    places = [arb(x) / 4 for x in range(41)]
    assert Chords(points).at(places)[4 * 2] == 5
    points.insert(2, (arb(1.5, 0.25), arb(4)))  # what is known of a place is hardly where it is
    found = Chords(points).at(places)
    assert all(y >= x**2 for x, y in zip(places, found, strict=True))
    with pytest.raises(PrecisionError):
        Chords([(arb(0), arb(0)), (arb(1, 0.5), arb(1))]).at([arb(1)])
