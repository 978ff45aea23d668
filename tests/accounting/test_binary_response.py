"""Binary randomized response of a few users, against exact rationals."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from blankets import blanket_accountant
from flint import arb, arb_poly, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.number import exponential

from shuffledp import ShuffleAccountant
from shuffledp.bounds import binary_response as binary_responses
from shuffledp.bounds.binary_response import BinaryResponse

#: What is said to cover all roundings, twice.
SLACK = 2.5e-9


def truth(odds: Fraction, ratio: Fraction, n: int) -> Fraction:
    """The largest delta over all datasets, output by output."""
    p = odds / (odds + 1)
    largest = Fraction(0)
    for ones in range(n):
        law = [Fraction(1)]
        for hit in [p] * ones + [1 - p] * (n - 1 - ones):
            law = times(law, hit)
        both = zip(times(law, p), times(law, 1 - p), strict=True)
        largest = max(largest, sum((max(a - ratio * b, Fraction(0)) for a, b in both), Fraction(0)))
    return largest


def times(law: list[Fraction], hit: Fraction) -> list[Fraction]:
    shifted = zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)
    return [a * (1 - hit) + b * hit for a, b in shifted]


def test_references():
    """Worst mixtures of binary response, computed by two programs."""
    lam = Fraction(5, 4)
    assert truth(Fraction(3), lam, 5) == Fraction(81, 512)
    assert truth(Fraction(3), Fraction(2), 5) == Fraction(81, 1024)
    assert truth(Fraction(2), Fraction(11, 10), 5) == Fraction(8, 81)
    assert truth(Fraction(7), Fraction(3), 5) == Fraction(2401, 8192)
    assert truth(Fraction(20), Fraction(3, 2), 5) == Fraction(2960000, 4084101)
    assert float(truth(Fraction(3), lam, 12)) == pytest.approx(0.066578999162, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 9),
    st.floats(1e-3, 6.0),
    st.floats(0.0, 0.99),
)
def test_it_is_the_truth_rounded_up(n, epsilon0, share):
    epsilon = share * epsilon0
    exact = truth(exponential(Fraction(epsilon0)), exponential(Fraction(epsilon)), n)
    found = BinaryResponse(epsilon0, n).above(epsilon).log
    assert float(exact) * (1 - 1e-15) <= math.exp(found)
    # The difference of two sums: relative to the larger of them.
    assert math.exp(found) <= float(exact) * (1 + SLACK) + 1e-8 * math.expm1(epsilon)


def truth_in_balls(epsilon0: float, epsilon: float, n: int) -> arb:
    """The same, in 300 bits, from the generating functions."""
    odds, ratio = arb(epsilon0).exp(), arb(epsilon).exp()
    p = odds / (odds + 1)
    true, false = arb_poly([1 - p, p]), arb_poly([p, 1 - p])
    largest = arb(0)
    for ones in range(n):
        law = true**ones * false ** (n - 1 - ones)
        gains = (law * (true - ratio * false)).coeffs()
        largest = max(largest, sum((gain for gain in gains if gain > 0), arb(0)))
    return largest


@pytest.mark.parametrize(
    "n", [16, 17, 18, 33, 34, 70, 129, pytest.param(400, marks=pytest.mark.heavy)]
)
@pytest.mark.parametrize(
    ("epsilon0", "epsilon"), [(0.05, 0.02), (1.0, 0.3), (4.0, 2.5), (9.0, 1.0)]
)
def test_many_users(n, epsilon0, epsilon):
    """Where the laws come from products of several levels."""
    with ctx.workprec(300):
        exact = truth_in_balls(epsilon0, epsilon, n)
        found = arb(BinaryResponse(epsilon0, n).above(epsilon).log).exp()
        assert exact <= found <= exact * (1 + SLACK) + 1e-8 * arb(epsilon).expm1()


@pytest.mark.parametrize(
    ("n", "epsilon0", "epsilon"),
    [
        (2, 259.8287377747533, 5.998739132936583e-05),
        (2, 166.38677313849928, 2.3366957582970405),
        (3, 135.83973355744732, 0.0002880857595228196),
        (9, 282.1338071864195, 1.0149308567875277e-08),
        (2, 1.0, math.nextafter(1.0, 0.0)),
        (2, 1e-9, math.nextafter(1e-9, 0.0)),
    ],
)
def test_a_few_users_at_extreme_levels(n, epsilon0, epsilon):
    """Differences of levels, and logarithms of the result, are rounded: by more than n units."""
    with ctx.workprec(1500):
        exact = truth_in_balls(epsilon0, epsilon, n)
        found = arb(BinaryResponse(epsilon0, n).above(epsilon).log).exp()
        assert exact <= found <= exact * (1 + SLACK)
    accountant = ShuffleAccountant(f"krr(k=2, epsilon0={epsilon0!r})", n, bound="best")
    assert exact <= arb(accountant.get_delta(epsilon))


@pytest.mark.parametrize("n", [2, 17, 40, 90])
@pytest.mark.parametrize(("epsilon0", "epsilon"), [(0.3, 0.1), (3.0, 0.0), (3.0, 2.9)])
@pytest.mark.parametrize("cut", [1e-3, 0.5, 0.999])
def test_windows_hide_nothing(n, epsilon0, epsilon, cut, monkeypatch):
    """However narrow they are: all is looked at where the largest difference may lie beyond."""
    monkeypatch.setattr(binary_responses, "_CUT", 0.0)
    whole = binary_responses._Laws(epsilon0, n)
    monkeypatch.setattr(binary_responses, "_CUT", cut)
    narrow = binary_responses._Laws(epsilon0, n)
    for window, full in zip(narrow._windows, whole._windows, strict=True):
        assert window.law.shape[1] <= full.law.shape[1] == n
        assert full.beyond == 0
        for row, law in zip(window.law, full.law, strict=True):
            starts = range(n - row.size + 1)
            (start,) = (i for i in starts if np.allclose(law[i : i + row.size], row, rtol=1e-12))
            rest = np.append(law[:start], law[start + row.size :])
            assert rest.max(initial=0.0) <= window.beyond * (1 + 1e-12)
    gain, cost = (math.exp(epsilon0) - math.exp(epsilon)) / (math.exp(epsilon0) + 1), 0.01
    assert narrow.largest(gain, cost) == pytest.approx(whole.largest(gain, cost), rel=1e-12)


@pytest.mark.parametrize(
    ("row", "begin", "size", "beyond"),
    [
        ([0.3, 0.75, 0.1], 1, 4, 0.3),
        ([0.3, 0.75, 0.1], 0, 4, 0.1),
        ([0.3, 0.75, 0.1], 1, 5, 0.3),
        ([0.1, 0.75, 0.3], 1, 5, 0.3),
        ([0.3, 0.75, 0.1], 0, 3, 0.0),
        ([0.3, 0.55, 0.1], 1, 4, 1.0),  # the maximum may lie beyond
    ],
)
def test_what_lies_beyond_a_window(row, begin, size, beyond):
    products = binary_responses._Products(np.ones(2), np.ones(2), 0.0)
    assert products._beyond(np.array([row]), begin, size) == beyond
    other = np.array([[0.01, 0.5, 0.02], row])
    assert products._beyond(other, begin, size) == max(
        beyond, products._beyond(other[:1], begin, size)
    )


def test_what_lies_beyond_any_window_counts():
    laws = binary_responses._Laws(1.0, 40)
    exact = laws.largest(0.3, 0.1)
    nothing = np.zeros((1, 1))
    for order in (1, -1):
        windows = [binary_responses._Window(nothing, nothing, beyond) for beyond in (0.0, 1.0)]
        laws._windows = windows[::order]
        assert laws.largest(0.3, 0.1) == pytest.approx(exact, rel=1e-12)


def test_windows_leave_out_most_of_many_users():
    """And very small delta are found beyond them."""
    response, laws = BinaryResponse(1.0, 1500), binary_responses._laws(1.0, 1500)
    assert max(window.law.shape[1] for window in laws._windows) < 800
    assert response.above(0.2).log > -100
    assert max(window.law.shape[1] for window in laws._windows) < 800
    assert response.above(0.9).log < -100
    assert min(window.law.shape[1] for window in laws._windows) == 1500


@pytest.mark.parametrize("text", ["krr(k=2, epsilon0=2)", "discrete_laplace(epsilon0=2, bound=1)"])
def test_answers_are_exact(text):
    accountant = ShuffleAccountant(text, 7, bound="best")
    exact = truth(exponential(Fraction(2)), exponential(Fraction(1, 2)), 7)
    report = accountant.delta_report(0.5)
    assert report.bound == "exact"
    assert float(exact) <= report.guarantee.upper <= float(exact) * (1 + SLACK)
    blanket = blanket_accountant(text, 7).get_delta(0.5)
    assert report.guarantee.upper < blanket
    assert accountant.get_delta(2.0) == blanket_accountant(text, 7).get_delta(2.0)


@pytest.mark.heavy
def test_it_falls_with_n_and_epsilon():
    """The truth does, and so does what is exact; beyond 2000 users the swap bound takes over."""
    sizes = [10, 100, 500, 1999, 2000, 2001, 4000]
    found = [
        ShuffleAccountant("krr(k=2, epsilon0=1)", n, bound="best").log_delta_interval(0.1).upper
        for n in sizes
    ]
    assert all(b < a for a, b in pairwise(found))
    accountant = ShuffleAccountant("krr(k=2, epsilon0=1)", 300, bound="best")
    deltas = [accountant.get_delta(e) for e in (0.0, 0.1, 0.2, 0.3, 0.5, 0.9)]
    assert all(b < a for a, b in pairwise(deltas))


def test_high_levels_with_a_thousand_users():
    """Where there are few blanket users to swap with, exactness closes the gap."""
    report = ShuffleAccountant("krr(k=2, epsilon0=4)", 1000, bound="best").epsilon_report(1e-6)
    assert report.lower_bound <= report.guarantee.upper <= 1.0005 * report.lower_bound
