from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import histogram_law, hockey_stick
from rational import exact_delta, exact_shuffled_divergence
from strategies import (
    background,
    blanket,
    coefficients,
    exp_epsilons,
    randomized_response,
    randomizers,
)

HALF = Fraction(1, 2)


def reduction_pair_divergence(parts, n, exp_epsilon):
    """Definition of the general clone: one draw of A0 or A1 among n - 1 of A2, histograms."""
    first, second = [*parts.a, Fraction(0)], [*parts.b, Fraction(0)]
    crowd = [[*parts.c, parts.residual]] * (n - 1)
    return hockey_stick(
        histogram_law([first, *crowd]), histogram_law([second, *crowd]), exp_epsilon
    )


@given(coefficients(singular=True), exp_epsilons(4))
def test_one_user_has_no_crowd(parts, exp_epsilon):
    assert parts.delta(1, exp_epsilon) == parts.deltas_alone(exp_epsilon)


@settings(max_examples=60)
@given(coefficients(max_components=3, singular=True), st.integers(1, 4), exp_epsilons(4))
def test_equals_the_divergence_of_the_reduction_pair(parts, n, exp_epsilon):
    assert parts.delta(n, exp_epsilon) == reduction_pair_divergence(parts, n, exp_epsilon)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_randomized_response_equals_its_reduction_pair(k, n):
    parts = blanket(randomized_response(k, Fraction(3)), 0, 1)
    for exp_epsilon in (Fraction(1), Fraction(5, 4), Fraction(2), Fraction(3)):
        assert parts.delta(n, exp_epsilon) == reduction_pair_divergence(parts, n, exp_epsilon)


def test_binary_randomized_response_closed_form():
    # G = E - L, 1 - L E or 0 with probabilities p, p, 1 - 2p: a trinomial sum.
    odds, exp_epsilon, n = Fraction(5), Fraction(7, 4), 12
    p = 1 / (odds + 1)
    total = Fraction(0)
    for i in range(n + 1):
        for j in range(n + 1 - i):
            ways = math.comb(n, i) * math.comb(n - i, j)
            gain = i * (odds - exp_epsilon) + j * (1 - exp_epsilon * odds)
            total += ways * p ** (i + j) * (1 - 2 * p) ** (n - i - j) * max(gain, 0)
    assert exact_delta([odds, 1], [1, odds], [p, p], n, exp_epsilon) == total / n


@settings(max_examples=60)
@given(randomizers(positive=False), st.integers(0, 2), st.integers(1, 4), exp_epsilons(4))
def test_constant_background_is_its_decomposition(rows, x2, n, exp_epsilon):
    # Paper, theorem 14; outputs that x2 never reports are the singular part.
    expected = background(rows, 0, 1, x2).delta(n, exp_epsilon)
    assert exact_shuffled_divergence(rows, 0, 1, [x2] * (n - 1), exp_epsilon) == expected


@settings(max_examples=40)
@given(randomizers(positive=False), st.integers(1, 3), exp_epsilons(4))
def test_blanket_bounds_every_dataset(rows, n, exp_epsilon):
    bound = blanket(rows, 0, 1).delta(n, exp_epsilon)
    for others in product(range(3), repeat=n - 1):
        assert exact_shuffled_divergence(rows, 0, 1, others, exp_epsilon) <= bound


@settings(max_examples=60)
@given(randomizers(), st.lists(st.integers(0, 2), max_size=3), exp_epsilons())
def test_shuffled_divergence_by_all_tuples(rows, others, exp_epsilon):
    crowd = [rows[x] for x in others]
    expected = hockey_stick(
        histogram_law([rows[0], *crowd]), histogram_law([rows[1], *crowd]), exp_epsilon
    )
    assert exact_shuffled_divergence(rows, 0, 1, others, exp_epsilon) == expected


@given(randomizers(), st.permutations([0, 1, 2, 2]), exp_epsilons())
def test_shuffled_divergence_ignores_the_order_of_users(rows, others, exp_epsilon):
    expected = exact_shuffled_divergence(rows, 0, 1, [0, 1, 2, 2], exp_epsilon)
    assert exact_shuffled_divergence(rows, 0, 1, others, exp_epsilon) == expected


def test_a_mixed_crowd_can_leak_more_than_a_constant_one():
    # Exact values for binary randomized response, odds 3, e^epsilon = 5/4, five users.
    rows = randomized_response(2, Fraction(3))

    def divergence(ones):
        return float(
            exact_shuffled_divergence(rows, 0, 1, [1] * ones + [0] * (4 - ones), Fraction(5, 4))
        )

    assert divergence(1) == pytest.approx(0.1582, abs=5e-5)
    assert divergence(0) == pytest.approx(0.1384, abs=5e-5)
    assert divergence(4) == pytest.approx(0.1191, abs=5e-5)


@given(coefficients(max_components=3, singular=True), exp_epsilons(4))
def test_more_users_never_hurt(parts, exp_epsilon):
    deltas = [parts.delta(n, exp_epsilon) for n in range(1, 7)]
    assert deltas == sorted(deltas, reverse=True)
    # With 1 as the mean of both ratios Jensen gives the limit as a lower bound.
    assert deltas[-1] >= max(1 - exp_epsilon, 0)
    assert deltas[0] <= 1


@given(
    coefficients(max_components=3, singular=True),
    st.integers(1, 5),
    st.tuples(exp_epsilons(1), exp_epsilons(1)),
)
def test_convex_decreasing_and_lipschitz_in_exp_epsilon(parts, n, ends):
    low, high = sorted(ends)
    at_low, at_middle, at_high = (parts.delta(n, x) for x in (low, (low + high) / 2, high))
    assert at_high <= at_middle <= at_low <= at_high + (high - low)
    assert 2 * at_middle <= at_low + at_high


@given(coefficients(max_components=3), st.integers(1, 4), exp_epsilons(4))
def test_splitting_a_component_changes_nothing(parts, n, exp_epsilon):
    ratios0 = [a / c for a, c in zip(parts.a, parts.c, strict=True)]
    ratios1 = [b / c for b, c in zip(parts.b, parts.c, strict=True)]
    first = parts.c[0] / 3
    weights = [first, *parts.c[1:], parts.c[0] - first]
    whole = exact_delta(ratios0, ratios1, parts.c, n, exp_epsilon)
    split = exact_delta([*ratios0, ratios0[0]], [*ratios1, ratios1[0]], weights, n, exp_epsilon)
    assert split == whole


def test_only_the_residual_means_no_leak():
    assert exact_delta([], [], [], 3, Fraction(1)) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n": 0}, "n must be an integer of at least 1, got 0"),
        ({"n": 1.5}, "n must be an integer of at least 1, got 1.5"),
        ({"weights": [HALF, Fraction(3, 4)]}, "weights must sum to at most 1, got 5/4"),
        ({"weights": [-HALF, HALF]}, "weights must be at least 0"),
        ({"weights": [HALF]}, "same length, got 2, 2 and 1"),
        ({"ratios0": [HALF]}, "same length, got 1, 2 and 2"),
        ({"ratios0": [-HALF, HALF]}, "ratios0 must be at least 0"),
        ({"ratios1": [HALF, -HALF]}, "ratios1 must be at least 0"),
        ({"exp_epsilon": Fraction(0)}, "exp_epsilon must be greater than 0, got 0"),
        ({"exp_epsilon": Fraction(-1)}, "exp_epsilon must be greater than 0, got -1"),
        ({"singular": [(HALF, -HALF)]}, "singular must be at least 0"),
    ],
)
def test_bad_decompositions_are_explained(changes, message):
    arguments = {
        "ratios0": [HALF, HALF],
        "ratios1": [HALF, HALF],
        "weights": [HALF, HALF],
        "n": 2,
        "exp_epsilon": Fraction(1),
    }
    with pytest.raises(ValueError, match=message):
        exact_delta(**(arguments | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": []}, "rows must be non-empty"),
        ({"rows": [[], []]}, "rows must be non-empty"),
        ({"rows": [[HALF, HALF], [Fraction(1)]]}, r"of equal length, got \[2, 1\]"),
        ({"rows": [[HALF, HALF], [HALF, HALF / 2]]}, "row 1 sums to 3/4"),
        ({"rows": [[HALF, HALF], [-HALF, 3 * HALF]]}, "rows must be at least 0"),
        ({"x0": 2}, "x0 must be an integer of at least 0 and at most 1, got 2"),
        ({"x1": -1}, "x1 must be an integer of at least 0 and at most 1, got -1"),
        ({"others": [0, 5]}, "others must be an integer of at least 0 and at most 1, got 5"),
        ({"exp_epsilon": Fraction(0)}, "exp_epsilon must be greater than 0"),
    ],
)
def test_bad_mechanisms_are_explained(changes, message):
    arguments = {
        "rows": [[HALF, HALF], [HALF, HALF]],
        "x0": 0,
        "x1": 1,
        "others": [0],
        "exp_epsilon": Fraction(1),
    }
    with pytest.raises(ValueError, match=message):
        exact_shuffled_divergence(**(arguments | changes))


def test_floats_are_rejected_because_they_are_not_what_they_look_like():
    with pytest.raises(TypeError, match=r"weights must hold fractions or integers, got 0\.1"):
        exact_delta([1], [1], [0.1], 2, Fraction(1))
    with pytest.raises(TypeError, match="exp_epsilon must hold fractions or integers"):
        exact_delta([1], [1], [1], 2, 1.5)
    with pytest.raises(TypeError, match=r"rows must hold fractions or integers, got 0\.5"):
        exact_shuffled_divergence([[0.5, 0.5]], 0, 0, [], Fraction(1))
