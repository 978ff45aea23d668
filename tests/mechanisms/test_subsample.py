"""Poisson subsampling: a public silent output, not the residual."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from blankets import blanket_accountant
from enumeration import assert_dominated, assert_same_law, krr_matrix

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    AnyPureLDP,
    BinaryLocalHash,
    DiscreteLaplace,
    Laplace,
    MatrixRandomizer,
    ShuffleAccountant,
    joint,
    subsample,
)
from shuffledp.mechanisms import Pair

PARTS = (
    KRR(k=4, epsilon0=1.0),
    KRR(k=2, epsilon0=2.0),
    BinaryLocalHash(epsilon0=1.0),
    RAPPOR(epsilon0=1.0),
    OUE(epsilon0=3.0),
    DiscreteLaplace(epsilon0=1.0, bound=4),
)


def silenced(matrix: np.ndarray, rate: float) -> MatrixRandomizer:
    silent = np.full((matrix.shape[0], 1), 1 - rate)
    return MatrixRandomizer(np.hstack([rate * matrix, silent]))


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("rate", [0.001, 0.25, 0.5, 0.999])
def test_subsampling_adds_a_constant_output(rate):
    sampled, whole = subsample(KRR(k=3, epsilon0=1.0), rate), silenced(krr_matrix(3, 1.0), rate)
    pair = Pair(0, 1)
    assert_same_law(sampled.decomposition(pair), whole.decomposition(pair))
    for other in range(3):
        assert_same_law(sampled.decomposition(pair, other), whole.decomposition(pair, other))
    explicit = subsample(MatrixRandomizer(krr_matrix(3, 1.0)), rate)
    assert_same_law(explicit.decomposition(pair), whole.decomposition(pair))
    for n in (1, 30, 1000):
        mine, reference = (
            blanket_accountant(r, n, rtol=1e-5).delta_interval(0.05) for r in (sampled, whole)
        )
        assert mine.upper == pytest.approx(reference.upper, rel=3e-5)


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_the_silent_output_is_not_the_residual(part):
    pair, rate = part.neighbours()[0], 0.25
    before, after = part.decomposition(pair), subsample(part, rate).decomposition(pair)
    assert float(after.residual) == pytest.approx(rate * float(before.residual), rel=1e-12)
    same, neutral = (
        sum(float(c.weight) for c in d.components if c.log0 == 0 and c.log1 == 0)
        for d in (after, before)
    )
    assert same == pytest.approx(1 - rate + rate * neutral, rel=1e-12)


@pytest.mark.parametrize("part", [*PARTS, Laplace(epsilon0=1.0)], ids=str)
def test_rate_one_is_no_subsampling(part):
    pair = part.neighbours()[0]
    if part.decomposition(pair).spread is None:
        assert_same_law(subsample(part, 1).decomposition(pair), part.decomposition(pair))
    one, other = (blanket_accountant(r, 50).delta_interval(0.1) for r in (part, subsample(part, 1)))
    assert one == other


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_smaller_rates_reveal_less(part):
    pair = part.neighbours()[0]
    rates = (0.01, 0.1, 0.5, 0.9, 1.0)
    for epsilon in (0.0, 0.2):
        laws = [subsample(part, rate).decomposition(pair).at(epsilon).lower for rate in rates]
        for smaller, larger in pairwise(laws):
            assert_dominated(smaller, larger)
    deltas = [blanket_accountant(subsample(part, rate), 50).get_delta(0.05) for rate in rates]
    assert deltas == sorted(deltas)


def test_nested_rates_multiply():
    part = KRR(k=3, epsilon0=1.0)
    twice, once = subsample(subsample(part, 0.5), 0.5), subsample(part, 0.25)
    assert_same_law(twice.decomposition(Pair(0, 1)), once.decomposition(Pair(0, 1)))


def test_everything_else_is_inherited():
    part = joint(KRR(k=3, epsilon0=1.0), OUE(epsilon0=2.0), at_most=1)
    sampled = subsample(part, 0.5)
    assert sampled.epsilon0 == part.epsilon0 == 2.0
    assert sampled.neighbours() == part.neighbours()
    assert sampled.unchanged() == part.unchanged()
    assert not sampled.has_worst_pair
    assert sampled.monotone
    assert sampled.accepts((0, 1))
    proved = subsample(KRR(k=3, epsilon0=1.0), 0.5)
    assert ShuffleAccountant(proved, 20).delta_report(0.1).pairs == "proved"


def test_subsampling_any_pure_ldp_is_a_valid_bound():
    """Dominated for every mechanism of that level; what is not allowed is composing it further."""
    generic = blanket_accountant(subsample(AnyPureLDP(epsilon0=1.0), 0.5), 100).get_delta(0.1)
    for part in (KRR(k=2, epsilon0=1.0), KRR(k=5, epsilon0=1.0), OUE(epsilon0=1.0)):
        assert blanket_accountant(subsample(part, 0.5), 100).delta_interval(0.1).lower <= generic


@pytest.mark.parametrize("rate", [0, 0.0, -0.1, 1.0000001, 2, float("nan"), float("inf")])
def test_rates_out_of_range(rate):
    with pytest.raises(ValueError, match="rate must be"):
        subsample(KRR(k=2, epsilon0=1.0), rate)


@pytest.mark.parametrize("rate", [True, "0.5", None, 1j])
def test_rates_of_the_wrong_type(rate):
    with pytest.raises(TypeError, match="rate must be a real number"):
        subsample(KRR(k=2, epsilon0=1.0), rate)


def test_bad_part():
    with pytest.raises(TypeError, match=r"part must be a local randomizer .* got 3"):
        subsample(3, 0.5)
    with pytest.raises(ValueError, match="krr needs its parameters in parentheses"):
        subsample("krr", 0.5)


def test_tiny_rates_keep_their_accuracy():
    """delta falls in proportion to a tiny rate when there is one user."""
    part = KRR(k=3, epsilon0=1.0)
    alone = blanket_accountant(part, 1).get_delta(0.5)
    for rate in (1e-3, 1e-9):
        sampled = blanket_accountant(subsample(part, rate), 1).get_delta(0.5)
        assert sampled == pytest.approx(rate * alone, rel=1e-6)
