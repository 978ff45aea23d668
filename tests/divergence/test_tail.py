"""Large values that are too rare to matter, and what leaving them out costs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import enumerated_delta

from shuffledp.decomposition import GPARV, Law
from shuffledp.divergence import BlockSum, log_delta, log_delta_bound
from shuffledp.divergence.proposals.cuts import choose_cut, cut_levels
from shuffledp.divergence.proposals.size import estimate_jump, estimate_saddle
from shuffledp.divergence.tail import CutLaw, cut_above


def make_law(values: list[float], weights: list[float]) -> Law:
    zeros = np.zeros(len(values))
    return Law(np.array(values), np.array(weights) / sum(weights), zeros, zeros.copy())


def cut_tail(law: Law, n: int, rtol: float) -> CutLaw:
    return cut_above(law, choose_cut(BlockSum.of((law, n)), rtol).level)


@st.composite
def heavy_laws(draw: st.DrawFn) -> Law:
    """Moderate values, and large ones that get rarer faster than they grow."""
    moderate = draw(st.lists(st.floats(-3, 2), min_size=2, max_size=3))
    large = draw(st.lists(st.floats(1, 9), min_size=1, max_size=3))
    values = [*moderate, 0.5, *(10.0**x for x in large)]
    rarity = draw(st.floats(1.2, 3))
    weights = [0.3] * len(moderate) + [0.1] + [10.0 ** (-rarity * x - 2) for x in large]
    return make_law(values, weights)


@settings(max_examples=100)
@given(law=heavy_laws(), n=st.integers(1, 4))
def test_a_cut_law_brackets_the_mean(law: Law, n: int) -> None:
    """E S'_+ <= E S_+ <= E S'_+ + n E[G; cut], at every depth."""
    exact = enumerated_delta(law, n)
    for level in [*cut_levels(BlockSum.of((law, 1))), 0.0, 0.7, -1.0, math.nan]:
        cut = cut_above(law, level)
        below = enumerated_delta(cut.law, n)
        assert below <= exact * (1 + 1e-12)
        assert exact <= (below + cut.mass) * (1 + 1e-12)


@settings(max_examples=100)
@given(law=heavy_laws(), n=st.integers(1, 4), rtol=st.sampled_from([1e-2, 1e-4, 1e-6]))
def test_what_the_engine_cuts_is_negligible(law: Law, n: int, rtol: float) -> None:
    cut = cut_tail(law, n, rtol)
    exact = enumerated_delta(law, n)
    below = enumerated_delta(cut.law, n)
    assert below <= exact * (1 + 1e-12)
    assert exact <= (below + cut.mass) * (1 + 1e-12)
    removed = law.values != cut.law.values
    assert (cut.law.values[removed] == 0).all()
    assert cut.mass >= float(law.weights[removed] @ law.values[removed]) * (1 - 1e-15)
    if not removed.any():
        assert cut.mass == 0


def test_values_come_with_errors_and_so_does_the_cut_mass() -> None:
    values = np.array([1e6, 0.5, -1.0])
    weights = np.array([1e-14, 0.5, 0.5 - 1e-14])
    error, relative = np.array([1e3, 0.0, 0.0]), np.array([0.125, 0.0, 0.0])
    cut = cut_tail(Law(values, weights, error, relative), 10, 1e-2)
    assert cut.law.values[0] == 0
    assert cut.law.value_error[0] == 0
    assert cut.mass >= 1e-14 * 1.125 * (1e6 + 1e3)


def test_the_cut_mass_is_the_largest_that_errors_allow() -> None:
    weights = np.array([0.01, 0.02, 0.97])
    errors, relative = np.array([0.1, 0.3, 0.0]), np.array([0.001, 0.1, 0.0])
    law = Law(np.array([9.0, 4.0, -1.0]), weights, errors, relative)
    cut = cut_above(law, 3.0)
    assert cut.law.values.tolist() == [0.0, 0.0, -1.0]
    expected = 1.1 * (0.01 * 9.1 + 0.02 * 4.3)  # one error for all that was cut: the largest
    assert cut.mass == pytest.approx(expected, rel=1e-14)
    assert cut.mass > expected
    one = cut_above(law, 4.0)
    assert one.law.values.tolist() == [0.0, 4.0, -1.0]
    assert one.mass == pytest.approx(1.001 * 0.01 * 9.1, rel=1e-14)


def test_what_may_be_a_loss_is_not_cut() -> None:
    """Replaced by 0 it could make the sum larger, and the law no lower bound."""
    law = Law(np.array([0.1, 2.0, -1.0]), np.full(3, 1 / 3), np.array([0.2, 0.2, 0.0]), np.zeros(3))
    assert cut_above(law, 0.0).law.values.tolist() == [0.1, 0.0, -1.0]
    assert cut_above(law, -5.0).law.values.tolist() == [0.1, 0.0, -1.0]


def test_cuts_get_less_deep_until_nothing_is_cut() -> None:
    values = [1.0, -1.0, *(10.0**k for k in range(1, 12))]
    law = make_law(values, [0.5, 0.5, *(10.0 ** (-3 * k) for k in range(1, 12))])
    cuts = [cut_above(law, level) for level in cut_levels(BlockSum.of((law, 1)))]
    single = float(law.weights @ np.maximum(law.values, 0.0))
    removed = [int((cut.law.values != law.values).sum()) for cut in cuts]
    assert removed == sorted(removed, reverse=True)
    assert removed[0] > removed[5] > removed[-1] == 0
    assert cuts[-1].law is law
    for k, cut in enumerate(cuts):  # a hundredth of the one before
        assert cut.mass <= 0.1 * 100.0**-k * single * (1 + 1e-12)
        if removed[k] < len(values) - 2 and removed[k]:
            assert cut.mass >= 1e-3 * 0.1 * 100.0**-k * single


def test_nothing_is_cut_from_an_ordinary_law() -> None:
    law = make_law([1.0, -1.5, 0.0], [0.25, 0.25, 0.5])
    cut = cut_tail(law, 1000, 1e-4)
    assert cut.law is law
    assert cut.mass == 0


@settings(max_examples=100)
@given(law=heavy_laws(), n=st.integers(1, 4), rtol=st.sampled_from([1e-2, 1e-4, 1e-6]))
def test_enclosures_of_heavy_laws(law: Law, n: int, rtol: float) -> None:
    exact = math.log(enumerated_delta(law, n))
    gparv = GPARV(law, law, 0.0, 0.0)
    enclosure = log_delta(gparv, n, rtol=rtol)
    assert enclosure.lower <= exact + 1e-12
    assert enclosure.upper >= exact - 1e-12
    assert log_delta_bound(gparv, n) >= exact - 1e-12


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
