"""Orders between laws of G that hold for every randomizer, or for whole families."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from enumeration import assert_dominated, excess, normalised
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import thresholds
from random_mechanisms import channels, ldp_matrices

from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms import MatrixRandomizer, Pair

exp_epsilons = st.floats(0.2, 8.0)


def law_of(matrix: MatrixRandomizer, pair: Pair, exp_epsilon: float):
    return matrix.decomposition(pair).at(math.log(exp_epsilon)).upper


@settings(max_examples=100)
@given(data=st.data(), level=exp_epsilons)
def test_processing_a_report_reveals_less(data, level):
    """Whatever is computed from a report, with or without more randomness."""
    matrix, _ = data.draw(ldp_matrices())
    kernel = data.draw(channels(matrix.shape[1], zeros=True))
    before, after = MatrixRandomizer(matrix), MatrixRandomizer(np.minimum(matrix @ kernel, 1.0))
    for pair in before.neighbours():
        # The bound holds for the exact product; its entries are rounded.
        assert_dominated(law_of(after, pair, level), law_of(before, pair, level), slack=1e-11)


@settings(max_examples=100)
@given(data=st.data(), level=exp_epsilons)
def test_fewer_inputs_reveal_less(data, level):
    """The blanket of some inputs is larger than that of all."""
    matrix, _ = data.draw(ldp_matrices(rows=4))
    whole, part = MatrixRandomizer(matrix), MatrixRandomizer(matrix[:3])
    for pair in part.neighbours():
        assert_dominated(law_of(part, pair, level), law_of(whole, pair, level), slack=1e-12)


@settings(max_examples=100)
@given(data=st.data(), level=exp_epsilons, share=st.floats(0, 1))
def test_any_smaller_common_part_is_a_weaker_bound(data, level, share):
    matrix, _ = data.draw(ldp_matrices())
    common = matrix.min(axis=0)
    weaker = common * (share + (1 - share) * np.linspace(0.1, 1, common.size))
    best, other = (Decomposition.from_coefficients(*matrix[:2], c) for c in (common, weaker))
    epsilon = math.log(level)
    assert_dominated(best.at(epsilon).upper, other.at(epsilon).upper, slack=1e-12)


@settings(max_examples=100)
@given(case=ldp_matrices(), level=exp_epsilons)
def test_two_moments_bound_the_law(case, level):
    """Spread every pair of ratios to the corners of the square [1, E] x [1, E]."""
    matrix, epsilon0 = case
    assume(epsilon0 > 0.01)
    E = math.exp(epsilon0) * (1 + 1e-12)
    common = matrix.min(axis=0)
    for first, second in ((matrix[0], matrix[1]), (matrix[1], matrix[0])):
        u, v = first / common, second / common
        q = float(common @ ((u - 1) * (v - 1))) / (E - 1) ** 2
        p = float(common @ ((u - 1) * (E - v))) / (E - 1) ** 2
        mirrored = float(common @ ((E - u) * (v - 1))) / (E - 1) ** 2
        assert mirrored == pytest.approx(p, abs=1e-12)  # the means are equal
        r = 1 - (E + 1) * p - E * q
        assert r >= -1e-12
        weight = np.array([p, p, q, max(r, 0.0)])
        ratios = np.array([[E, 1, E, 1], [1, E, E, 1]])
        bound = Decomposition.from_coefficients(*(ratios * weight), weight)
        own = Decomposition.from_coefficients(first, second, common)
        epsilon = math.log(level)
        assert_dominated(own.at(epsilon).upper, bound.at(epsilon).upper, slack=1e-11)


def around_a_circle(noise: list[float]) -> MatrixRandomizer:
    """Input x and output y in a circle of points; ``noise`` by distance."""
    k = 2 * (len(noise) - 1)
    return MatrixRandomizer(
        normalised([noise[min((y - x) % k, (x - y) % k)] for y in range(k)] for x in range(k))
    )


@settings(max_examples=60)
@given(
    falls=st.lists(st.floats(1.0, 3.0), min_size=2, max_size=5),
    level=exp_epsilons,
)
def test_opposite_points_of_a_circle_are_the_worst_pair(falls, level):
    """Noise that falls with the distance: the further apart two inputs, the more is revealed."""
    noise = np.cumprod([1.0, *falls])[::-1].tolist()
    circle = around_a_circle(noise)
    laws = [law_of(circle, Pair(0, d), level) for d in range(1, len(noise))]
    for nearer, farther in pairwise(laws):
        assert_dominated(nearer, farther, slack=1e-12)


def test_noise_that_rises_again_has_another_worst_pair():
    circle = around_a_circle([1.0, 9.0, 1.0, 9.0, 1.0])  # opposite points have the same law
    laws = [law_of(circle, Pair(0, d), 1.05) for d in range(1, 5)]
    levels = thresholds(*laws)
    assert any((excess(law, levels) > excess(laws[-1], levels) + 1e-3).any() for law in laws[:-1])
