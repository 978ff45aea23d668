"""The generic bound: binary randomized response dominates every mechanism of its level."""

from __future__ import annotations

import math

import numpy as np
import pytest
from enumeration import (
    assert_dominated,
    assert_same_law,
    backgrounds,
    excess,
    hadamard_matrix,
    krr_matrix,
    local_hash_matrix,
    subset_matrix,
    unary_matrix,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shuffledp.mechanisms import KRR, AnyPureLDP, Laplace, MatrixRandomizer, Pair

PAIR = Pair(0, 1)


@pytest.mark.parametrize("level", [1e-6, 0.1, 1.0, 4.0, 50.0])
def test_blanket_is_that_of_binary_randomized_response(level):
    generic = AnyPureLDP(epsilon0=level)
    assert generic.neighbours() == (PAIR,)
    blanket = generic.decomposition(PAIR)
    assert blanket.size == 2
    assert blanket.weight == pytest.approx([1 / (math.exp(level) + 1)] * 2, rel=1e-14)
    assert float(blanket.residual) == pytest.approx(math.tanh(level / 2), rel=1e-14)
    assert sorted((float(c.log0), float(c.log1)) for c in blanket.components) == [
        (0.0, level),
        (level, 0.0),
    ]


def test_blanket_is_that_of_the_matrix():
    matrix = MatrixRandomizer(krr_matrix(2, 1.5))
    assert_same_law(AnyPureLDP(epsilon0=1.5).decomposition(PAIR), matrix.decomposition(PAIR))


def test_backgrounds_are_those_of_binary_and_ternary_randomized_response():
    made = backgrounds(AnyPureLDP(epsilon0=1.5), PAIR)
    binary, ternary = (MatrixRandomizer(krr_matrix(k, 1.5)) for k in (2, 3))
    wanted = [*backgrounds(binary, PAIR), ternary.decomposition(PAIR, 2)]
    for ours, theirs in zip(made, wanted, strict=True):
        assert ours.residual == 0
        assert_same_law(ours, theirs)


def assert_generic_bound_dominates(matrix: MatrixRandomizer, shares=(-1, -0.4, 0, 0.3, 0.9, 1)):
    level = matrix.epsilon0
    generic = AnyPureLDP(epsilon0=level).decomposition(PAIR)
    for pair in matrix.neighbours():
        blanket = matrix.decomposition(pair)
        for share in shares:
            smaller, larger = blanket.at(share * level).upper, generic.at(share * level).upper
            assert_dominated(smaller, larger, slack=1e-12)


@settings(max_examples=60)
@given(data=st.data(), inputs=st.integers(2, 4), outputs=st.integers(2, 5))
def test_generic_bound_dominates_any_channel(data, inputs, outputs):
    logs = st.floats(-2, 2)
    rows = [
        np.exp(data.draw(st.lists(logs, min_size=outputs, max_size=outputs))) for _ in range(inputs)
    ]
    matrix = MatrixRandomizer([row / row.sum() for row in rows])
    assume(matrix.epsilon0 > 1e-3)
    assert_generic_bound_dominates(matrix)


@pytest.mark.parametrize("level", [0.3, 2.0])
def test_generic_bound_dominates_the_named_mechanisms(level):
    half = math.exp(level / 2)
    for matrix in (
        krr_matrix(4, level),
        local_hash_matrix(3, 2, level),
        unary_matrix(3, half / (half + 1), 1 / (half + 1)),
        hadamard_matrix(5, level),
        subset_matrix(5, 2, level),
    ):
        assert_generic_bound_dominates(MatrixRandomizer(matrix))


@pytest.mark.parametrize("level", [0.3, 2.0])
def test_generic_bound_dominates_laplace(level):
    generic = AnyPureLDP(epsilon0=level).decomposition(PAIR)
    laplace = Laplace(epsilon0=level).decomposition(PAIR)
    for share in (-1, 0, 0.5, 1):
        assert_dominated(laplace.at(share * level).lower, generic.at(share * level).upper)


def test_generic_bound_is_attained_and_not_below_it():
    """A slightly smaller level no longer dominates binary randomized response."""
    binary = KRR(k=2, epsilon0=1.0).decomposition(PAIR).at(0.2).upper
    too_small = AnyPureLDP(epsilon0=0.99).decomposition(PAIR).at(0.2).upper
    thresholds = np.linspace(-2, 2, 41)
    assert (excess(binary, thresholds) > excess(too_small, thresholds) + 1e-4).any()
    assert_dominated(binary, AnyPureLDP(epsilon0=1.0).decomposition(PAIR).at(0.2).upper)


@settings(max_examples=50)
@given(level=st.floats(1e-3, 20), factor=st.floats(1, 2), share=st.floats(-1, 1))
def test_generic_bound_grows_with_the_level(level, factor, share):
    smaller = AnyPureLDP(epsilon0=level).decomposition(PAIR).at(share * level)
    larger = AnyPureLDP(epsilon0=level * factor).decomposition(PAIR).at(share * level)
    assert_dominated(smaller.upper, larger.upper)
