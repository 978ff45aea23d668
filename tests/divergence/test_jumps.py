"""Rare large values: a few jumps next to the law of the rest, and what more of them may add."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from exact_sums import ExactBlock, ExactSum, contains
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import enumerated_delta

from shuffledp.decomposition import GPARV, Law
from shuffledp.divergence import BlockSum, jumps, log_delta, log_delta_bound, log_mean_positive
from shuffledp.divergence.elementary import jensen_log_mean, linear_log_mean, mean_of_sum
from shuffledp.divergence.enclosure import LogEnclosure, Sides
from shuffledp.divergence.jumps import DividedSum, divide
from shuffledp.divergence.proposals.jumps import choose_jumps, class_edges, jump_levels
from shuffledp.divergence.proposals.size import estimate_jump, estimate_saddle
from shuffledp.divergence.terms import TermPair, add_terms


def make_law(values: list[float], weights: list[float]) -> Law:
    zeros = np.zeros(len(values))
    return Law(np.array(values), np.array(weights) / sum(weights), zeros, zeros.copy())


@st.composite
def heavy_blocks(draw: st.DrawFn, times: int = 4) -> ExactBlock:
    """Moderate values, and large gains and losses that get rarer as they grow."""
    gains = draw(st.lists(st.integers(2, 60), min_size=1, max_size=2, unique=True))
    losses = draw(st.lists(st.integers(2, 60), max_size=1))
    rarity = draw(st.floats(0.6, 2.0))
    atoms = [(Fraction(2**x), Fraction(1, 2 ** (int(rarity * x) + 4))) for x in gains]
    atoms += [(Fraction(-(2**x)), Fraction(1, 2 ** (int(rarity * x) + 4))) for x in losses]
    atoms += [(Fraction(draw(st.integers(-16, 8)), 4), Fraction(1, 4))]
    rest = 1 - sum(weight for _, weight in atoms)
    atoms += [(Fraction(draw(st.integers(-16, 4)), 4), rest)]
    return atoms, draw(st.integers(1, times))


heavy_sums = st.builds(ExactSum, st.lists(heavy_blocks(), min_size=1, max_size=2))
edge_lists = st.lists(st.integers(-4, 50), min_size=1, max_size=3).map(
    lambda logs: np.sort(np.array([2.0**x for x in logs]) - 0.5)
)


def fits_doubles(case: ExactSum) -> bool:
    return all(Fraction(float(w)) == w for atoms, _ in case.blocks for _, w in atoms)


# -- the identity -------------------------------------------------------------------------------


@settings(max_examples=150)
@given(case=heavy_sums.filter(fits_doubles), edges=edge_lists, orders=st.integers(1, 4))
def test_terms_and_remainder_enclose_the_mean(case: ExactSum, edges, orders: int) -> None:
    """Each term exactly; the sum of all terms is the mean but for at most the remainder."""
    divided = DividedSum(case.doubles(), edges)
    exact = case.mean_positive()
    known = Fraction(0)
    for term in divided.terms(orders).values():
        blocks = [
            (
                list(zip(map(Fraction, b.law.values), map(Fraction, b.law.weights), strict=True)),
                b.times,
            )
            for b in term.total.blocks
        ]
        known += Fraction(math.exp(term.log_coefficient)) * ExactSum(blocks).mean_positive()
    assert known <= exact * (1 + Fraction(1, 10**11))
    remainder = divided.log_remainder(orders)
    most = Fraction(math.exp(remainder)) if remainder > -math.inf else Fraction(0)
    assert exact <= (known + most) * (1 + Fraction(1, 10**11))


def test_all_orders_leave_nothing() -> None:
    """With as many jumps as there are summands, the terms are the whole mean."""
    law = make_law([100.0, 7.0, -1.0, 0.5], [0.01, 0.02, 0.5, 0.47])
    divided = DividedSum(BlockSum.of((law, 3)), np.array([2.0, 50.0]))
    terms = divided.terms(4)
    assert sorted(len(key) for key in terms) == [0, 1, 1, 2, 2, 2, 3, 3, 3, 3]
    total = sum(
        math.exp(term.log_coefficient)
        * ExactSum(
            [
                (
                    [*zip(map(Fraction, b.law.values), map(Fraction, b.law.weights), strict=True)],
                    b.times,
                )
                for b in term.total.blocks
            ]
        ).mean_positive()
        for term in terms.values()
    )
    assert float(total) == pytest.approx(3 * enumerated_delta(law, 3), rel=1e-13)
    assert len(divided.terms(9)) == len(terms)


def test_a_divided_law_is_a_mixture() -> None:
    law = make_law([9.0, 4.0, 1.0, -1.0], [0.01, 0.02, 0.5, 0.47])
    divided = divide(law, np.array([1.0, 4.0]))
    assert divided.rest.law.values.tolist() == [1.0, -1.0]
    assert {c: jump.law.values.tolist() for c, jump in divided.jumps.items()} == {
        2: [9.0],
        1: [4.0],
    }
    parts = [divided.rest, *divided.jumps.values()]
    assert [math.exp(part.log_probability) for part in parts] == pytest.approx([0.97, 0.02, 0.01])
    assert all(part.law.weights.sum() == pytest.approx(1) for part in parts)


@pytest.mark.parametrize("level", [-5.0, 0.0, 0.5])
def test_a_law_of_frequent_jumps_stays_whole(level: float) -> None:
    law = make_law([9.0, 4.0, 1.0, -1.0], [0.1, 0.2, 0.5, 0.2])
    divided = divide(law, np.array([level]))
    assert divided.rest.law is law
    assert not divided.jumps


def test_errors_of_weights_are_passed_on() -> None:
    """Whatever the weights are within their errors, so are probabilities and conditional laws."""
    weights, errors = np.array([0.01, 0.02, 0.5, 0.47]), np.array([0.1, 0.05, 1e-3, 1e-3])
    law = Law(np.array([9.0, 4.0, 1.0, -1.0]), weights, np.zeros(4), errors)
    divided = divide(law, np.array([2.0]))
    for signs in np.ndindex(2, 2):
        true = weights * np.exp(errors * (2 * np.array([*signs, 0, 0]) - 1) * [1, 1, 0, 0])
        true[2:] *= (1 - true[:2].sum()) / true[2:].sum()
        jump, rest = divided.jumps[1], divided.rest
        assert abs(jump.log_probability - math.log(true[:2].sum())) <= jump.log_error
        assert abs(rest.log_probability - math.log(true[2:].sum())) <= rest.log_error
        found = np.abs(np.log(jump.law.weights / (true[:2] / true[:2].sum())))
        assert (found <= jump.law.weight_error).all()


def test_coefficients_are_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    law = make_law([9.0, 1.0, -1.0], [0.01, 0.5, 0.49])
    plain = DividedSum(BlockSum.of((law, 100)), np.array([2.0]))
    least = min(term.log_error for term in plain.terms(3).values())
    monkeypatch.setattr(jumps, "UNIT", 1e-6)
    wide = DividedSum(BlockSum.of((law, 100)), np.array([2.0]))
    assert min(term.log_error for term in wide.terms(3).values()) > 1e-6 > 1e6 * least
    assert wide.log_remainder(2) > plain.log_remainder(2) + 1e-6


# -- enclosures -----------------------------------------------------------------------------------


@settings(max_examples=100)
@given(case=heavy_sums.filter(fits_doubles), rtol=st.sampled_from([1e-2, 1e-4]))
def test_enclosures_of_heavy_sums(case: ExactSum, rtol: float) -> None:
    total = case.doubles()
    enclosure = log_mean_positive(total, total, rtol=rtol).enclosure
    assert contains(enclosure, case.mean_positive())
    assert enclosure.width <= max(2 * rtol, 1e-3)


@st.composite
def long_tails(draw: st.DrawFn) -> ExactBlock:
    """Many atoms on both sides, whose probabilities fall as their values grow."""
    span, rarity = draw(st.integers(20, 60)), draw(st.integers(1, 3))
    atoms = [
        (Fraction(sign * 2**x), Fraction(1, 2 ** (rarity * x // 2 + x // 2 + 6)))
        for x in range(3, span)
        for sign in (1, -draw(st.integers(1, 3)))
    ]
    rest = 1 - sum(weight for _, weight in atoms)
    return [*atoms, (Fraction(-1, 2), rest / 2), (Fraction(1, 4), rest / 2)], draw(
        st.integers(1, 2)
    )


@settings(max_examples=40, deadline=None)
@given(block=long_tails())
def test_enclosures_of_long_tails(block: ExactBlock) -> None:
    atoms, times = block
    case = ExactSum([block])
    values, weights = (np.array([float(x) for x in part]) for part in zip(*atoms, strict=True))
    law = Law(values, weights, np.zeros(len(atoms)), np.full(len(atoms), 2.0**-52))
    total = BlockSum.of((law, times))
    enclosure = log_mean_positive(total, total, rtol=1e-4).enclosure
    assert contains(enclosure, case.mean_positive())
    assert enclosure.width <= 5e-3


@pytest.mark.parametrize("n", [10, 1000, 10**5])
def test_a_jump_has_to_overcome_the_drift(n: int) -> None:
    """Against the mean over the number of jumps, the rest being almost surely -n/2."""
    size, p = 5.0 * n, 1e-9 / n
    law = make_law([size, 0.0, -1.0], [p, 0.5, 0.5])
    enclosure = log_delta(GPARV(law, law, 0.0, 0.0), n)
    exact = math.log(p * (size - (n - 1) / 2))
    assert enclosure.lower <= exact + 1e-8
    assert enclosure.upper >= exact - 1e-8
    assert enclosure.width <= 1e-4


@pytest.mark.heavy
def test_values_of_all_magnitudes() -> None:
    """Gains and losses over thirty orders of magnitude, more and more rarely."""
    sizes = 10.0 ** np.arange(1, 31)
    values = np.concatenate([sizes, -3 * sizes, [0.5, -0.5]])
    rare = 10.0 ** (-1.5 * np.arange(1, 31) - 3)
    weights = np.concatenate([rare, rare, [0.4, 0.6 - 2 * rare.sum()]])
    law = make_law(values.tolist(), weights.tolist())
    for n in (2, 30, 1000):
        enclosure = log_delta(GPARV(law, law, 0.0, 0.0), n)
        assert enclosure.width <= 1e-3
    assert log_delta_bound(GPARV(law, law, 0.0, 0.0), 1000) >= enclosure.lower


@settings(max_examples=100)
@given(case=heavy_sums.filter(fits_doubles), edges=edge_lists)
def test_the_bound_by_one_tilt_and_all_jumps_holds(case: ExactSum, edges) -> None:
    divided = DividedSum(case.doubles(), edges)
    exact = case.mean_positive()
    if exact and divided.rest.largest[0] > 1e-9:
        bound = math.exp(divided.bound.log_mean) + math.exp(divided.log_remainder(1))
        assert Fraction(bound) >= exact * (1 - Fraction(1, 10**12))


# -- elementary bounds ----------------------------------------------------------------------------


@settings(max_examples=100)
@given(case=heavy_sums.filter(fits_doubles), floor=st.floats(-1e9, 0.0))
def test_jensen_and_the_straight_line(case: ExactSum, floor: float) -> None:
    total, exact = case.doubles(), case.mean_positive()
    value, error = mean_of_sum(total)
    mean = sum((times * v * w for atoms, times in case.blocks for v, w in atoms), Fraction(0))
    assert abs(Fraction(value) - mean) <= Fraction(error)
    if exact:
        assert contains(LogEnclosure(jensen_log_mean(total), linear_log_mean(total, floor)), exact)


def test_the_mean_of_a_sum_counts_errors() -> None:
    law = Law(np.array([2.0, -1.0]), np.full(2, 0.5), np.array([0.25, 0.5]), np.array([0.1, 0.2]))
    _, error = mean_of_sum(BlockSum.of((law, 4)))
    least = 4 * (0.5 * (math.expm1(0.1) * 2.25 + 0.25) + 0.5 * (math.expm1(0.2) * 1.5 + 0.5))
    assert least <= error <= least * (1 + 1e-6)


def test_where_the_sum_is_nearly_always_positive_the_line_is_sharp() -> None:
    law = make_law([1.0, 3.0], [0.5, 0.5])
    total = BlockSum(BlockSum.of((law, 100)).blocks, 50.0)
    assert jensen_log_mean(total) == pytest.approx(math.log(150.0), abs=1e-12)
    assert linear_log_mean(total, -math.inf) == pytest.approx(math.log(150.0), abs=1e-12)


# -- sums of terms --------------------------------------------------------------------------------


def test_only_terms_that_matter_are_sharpened() -> None:
    law = make_law([1000.0, 1.0, -1.0], [1e-7, 0.4, 0.6])
    divided = DividedSum(BlockSum.of((law, 50)), np.array([2.0]))
    terms = divided.terms(3)
    pairs = [TermPair(term, term) for term in terms.values()]
    asked = []

    def evaluate(lower: BlockSum, upper: BlockSum, rtol: float) -> Sides:
        assert lower is upper
        asked.append(len(lower.blocks))
        found = log_mean_positive(lower, upper, rtol=rtol)
        return Sides(found.lower, found.upper)

    found = add_terms(pairs, divided.log_remainder(3), 0.0, 1e-3, evaluate)
    exact = log_mean_positive(divided.total, divided.total, rtol=1e-6)
    assert found.lower <= exact.upper
    assert found.upper >= exact.lower
    assert found.upper - found.lower <= 1e-3
    assert set(asked) <= {1}


def test_a_term_of_one_side_only() -> None:
    """A class of jumps may be empty below or above; then only the other bound counts it."""
    law = make_law([1000.0, 1.0, -1.0], [1e-3, 0.4, 0.6])
    term = DividedSum(BlockSum.of((law, 5)), np.array([2.0])).terms(2)[((1, 0),)]
    below, above = TermPair(term, None), TermPair(None, term)
    exact = term.log_coefficient + math.log(1000 - 4 * 0.2)
    assert below.below == pytest.approx(exact, abs=1e-9)
    assert (below.above, above.below) == (-math.inf, -math.inf)
    assert above.above >= exact
    above.tilt()
    assert above.above == pytest.approx(exact, abs=1e-3)


# -- proposals ------------------------------------------------------------------------------------


def test_an_ordinary_law_has_no_jumps() -> None:
    law = make_law([1.0, -1.5, 0.0], [0.25, 0.25, 0.5])
    assert choose_jumps(BlockSum.of((law, 1000)), 1e-4).level == math.inf


def test_levels_rise_until_nothing_jumps() -> None:
    values = [1.0, -1.0, *(10.0**k for k in range(1, 12))]
    law = make_law(values, [0.5, 0.5, *(10.0 ** (-3 * k) for k in range(1, 12))])
    levels = list(jump_levels(BlockSum.of((law, 1))))
    assert levels == sorted(levels)
    assert levels[0] < levels[5] < levels[-1] == math.inf


def test_classes_reach_from_the_level_to_where_a_jump_decides() -> None:
    law = make_law([1.0, -2.0], [0.5, 0.5])
    edges = class_edges(BlockSum.of((law, 10_000)), 100.0)
    assert edges[0] == 100.0
    assert edges[-1] == pytest.approx(5000 + 9 * 150)
    assert (edges[1:] / edges[:-1] <= 2.000001).all()
    assert class_edges(BlockSum.of((law, 10)), 100.0).tolist() == [100.0]


def test_a_single_jump_is_estimated_by_itself() -> None:
    law = make_law([100.0, -0.01], [1e-6, 1.0])
    estimate = estimate_jump(BlockSum.of((law, 100)))
    jump, mean = law.weights[0], float(law.weights @ law.values)
    assert estimate.log_mean == pytest.approx(math.log(100 * jump * (100 + 99 * mean)), abs=0.01)


@pytest.mark.parametrize("n", [100, 10_000, 10**9])
def test_the_saddle_point_estimate_is_good_to_a_few_per_cent(n: int) -> None:
    for shift in (0.0, 1.0, 5.0):
        law = make_law([1 - shift / n**0.5, -1 - shift / n**0.5, -shift / n**0.5], [0.3, 0.3, 0.4])
        exact = log_delta(GPARV(law, law, 0.0, 0.0), n)
        estimate = estimate_saddle(BlockSum.of((law, n))).log_mean - math.log(n)
        assert estimate == pytest.approx(exact.upper, abs=0.12)
