"""Parallel composition: mixtures of blankets are blankets of the stacked matrix."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from blankets import blanket_accountant
from enumeration import assert_same_law, krr_matrix

from shuffledp import (
    KRR,
    OUE,
    AnyPureLDP,
    BinaryLocalHash,
    DiscreteLaplace,
    MatrixRandomizer,
    ShuffleAccountant,
    joint,
    parallel,
    subsample,
)
from shuffledp.mechanisms import Pair, Parallel


def random_matrix(rng: np.random.Generator, inputs: int, outputs: int) -> MatrixRandomizer:
    return MatrixRandomizer(rng.dirichlet(np.ones(outputs), inputs) * 0.75 + 0.25 / outputs)


def stack(weights, *matrices) -> MatrixRandomizer:
    rows = np.hstack([w * np.asarray(m) for w, m in zip(weights, matrices, strict=True)])
    return MatrixRandomizer(rows)


def delta(randomizer, n: int, epsilon: float):
    return blanket_accountant(randomizer, n, rtol=1e-5).delta_interval(epsilon)


def overlap(first, second) -> bool:
    gap = max(first.lower, second.lower) - min(first.upper, second.upper)
    return gap <= 1e-8 * max(first.upper, second.upper)


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("seed", range(6))
def test_parallel_of_matrices_is_the_stacked_matrix(seed):
    rng = np.random.default_rng(seed)
    inputs, weight = int(rng.integers(2, 4)), float(rng.uniform(0.1, 0.9))
    a, b = (random_matrix(rng, inputs, int(rng.integers(2, 5))) for _ in range(2))
    mixed = parallel({a: weight, b: 1 - weight})
    whole = stack((weight, 1 - weight), a.matrix, b.matrix)
    for x, y in product(range(inputs), repeat=2):
        if x != y:
            assert_same_law(mixed.decomposition(Pair(x, y)), whole.decomposition(Pair(x, y)))
            for z in range(inputs):
                mine = mixed.decomposition(Pair(x, y), z)
                assert_same_law(mine, whole.decomposition(Pair(x, y), z))
    for n in (1, 5, 1000):
        assert overlap(delta(mixed, n, 0.1), delta(whole, n, 0.1))
    assert mixed.epsilon0 == pytest.approx(whole.epsilon0)


def test_parallel_of_randomized_responses_is_the_stacked_matrix():
    mixed = parallel({KRR(k=3, epsilon0=1.0): 0.25, KRR(k=3, epsilon0=2.0): 0.75})
    whole = stack((0.25, 0.75), krr_matrix(3, 1.0), krr_matrix(3, 2.0))
    assert_same_law(mixed.decomposition(Pair(0, 1)), whole.decomposition(Pair(0, 1)))
    report = blanket_accountant(mixed, 40).delta_report(0.1)
    assert report.pairs == "proved"
    reference = blanket_accountant(whole, 40).delta_report(0.1)
    assert report.guarantee.upper == pytest.approx(reference.guarantee.upper, rel=2e-4)
    assert report.lower_bound == pytest.approx(reference.lower_bound, rel=2e-4)


@pytest.mark.heavy
def test_randomized_response_beside_a_matrix_is_the_stacked_matrix():
    """The guarantee is valid, and the datasets of the lower bound exist."""
    rng = np.random.default_rng(2)
    for _ in range(5):
        other = random_matrix(rng, 3, 3)
        mixed = parallel({KRR(k=3, epsilon0=2.0): 0.5, other: 0.5})
        whole = stack((0.5, 0.5), krr_matrix(3, 2.0), other.matrix)
        mine = blanket_accountant(mixed, 5).delta_report(0.1)
        reference = blanket_accountant(whole, 5).delta_report(0.1)
        assert mine.guarantee.upper == pytest.approx(reference.guarantee.upper, rel=3e-4)
        assert mine.lower_bound == pytest.approx(reference.lower_bound, rel=3e-4)


def test_order_does_not_matter():
    a, b = KRR(k=4, epsilon0=1.0), OUE(epsilon0=0.5)
    one, other = parallel({a: 0.25, b: 0.75}), parallel({b: 0.75, a: 0.25})
    assert overlap(delta(one, 100, 0.05), delta(other, 100, 0.05))


def test_mixing_a_randomizer_with_itself_changes_nothing():
    """Equal ratios merge; naming the part that was used reveals nothing."""
    part = KRR(k=4, epsilon0=1.0)
    mixed = Parallel((part, part, part), (0.5, 0.25, 0.25))
    assert_same_law(mixed.decomposition(Pair(0, 1)), part.decomposition(Pair(0, 1)))
    assert mixed.decomposition(Pair(0, 1)).size == part.decomposition(Pair(0, 1)).size
    assert_same_law(
        Parallel((part,), (1.0,)).decomposition(Pair(0, 1)), part.decomposition(Pair(0, 1))
    )


def test_nested_parallels_multiply_their_weights():
    a, b, c = KRR(k=3, epsilon0=1.0), BinaryLocalHash(epsilon0=0.5), OUE(epsilon0=1.5)
    nested = parallel({parallel({a: 0.5, b: 0.5}): 0.5, c: 0.5})
    flat = parallel({a: 0.25, b: 0.25, c: 0.5})
    assert overlap(delta(nested, 200, 0.1), delta(flat, 200, 0.1))
    assert nested.epsilon0 == flat.epsilon0 == 1.5


def test_a_constant_part_is_subsampling():
    part = MatrixRandomizer(krr_matrix(2, 1.0))
    silent = MatrixRandomizer([[1.0], [1.0]])
    mixed = parallel({part: 0.25, silent: 0.75})
    assert overlap(delta(mixed, 20, 0.1), delta(subsample(part, 0.25), 20, 0.1))


def test_a_part_without_pairs_does_not_hide_the_others():
    """A constant part reveals nothing; the others still do."""
    mixed = parallel({KRR(k=2, epsilon0=1.0): 0.25, MatrixRandomizer([[1.0], [1.0]]): 0.75})
    reference = delta(subsample(KRR(k=2, epsilon0=1.0), 0.25), 20, 0.1)
    assert overlap(delta(mixed, 20, 0.1), reference)


def test_a_part_with_a_single_input_is_refused():
    with pytest.raises(ValueError, match="domains must agree, got the integers 0 to 1 and"):
        parallel({KRR(k=2, epsilon0=1.0): 0.5, MatrixRandomizer([[1.0]]): 0.5})


def test_weights():
    a, b = KRR(k=3, epsilon0=1.0), OUE(epsilon0=1.0)
    for weights in ((0.5, 0.4), (0.5, 0.6), (0.5,), (0.2, 0.3, 0.5), (0.5, 0.5 + 1e-9)):
        with pytest.raises(ValueError, match="weights of parallel must sum to 1"):
            Parallel((a, b), weights)
    for weights in ((0.0, 1.0), (-0.5, 1.5), (float("nan"), 1.0), (float("inf"), 1.0)):
        with pytest.raises(ValueError, match="weights must be"):
            Parallel((a, b), weights)
    for weights in ((True, 0.5), ("0.5", 0.5), (None, 1.0)):
        with pytest.raises(TypeError, match="weights must be a real number"):
            Parallel((a, b), weights)
    assert Parallel((a,) * 10, (0.1,) * 10).weights == (0.1,) * 10


def test_bad_parts():
    with pytest.raises(ValueError, match="parallel needs at least one randomizer"):
        parallel({})
    with pytest.raises(TypeError, match="must map randomizers to their weights"):
        parallel([KRR(k=2, epsilon0=1.0)])
    with pytest.raises(TypeError, match="parts of parallel must be local randomizers"):
        Parallel((3,), (1.0,))
    with pytest.raises(ValueError, match="use any_pure_ldp with the LDP level of the whole"):
        parallel({AnyPureLDP(epsilon0=1.0): 1.0})
    rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match="their domains must agree"):
        parallel({random_matrix(rng, 2, 2): 0.5, random_matrix(rng, 3, 2): 0.5})


def test_level_and_monotonicity():
    mixed = parallel({KRR(k=3, epsilon0=1.0): 0.9, DiscreteLaplace(epsilon0=2.5, bound=2): 0.1})
    assert mixed.epsilon0 == 2.5
    assert mixed.has_worst_pair
    assert mixed.monotone
    assert ShuffleAccountant(mixed, 10).get_epsilon(0.0) == pytest.approx(2.5)


def test_a_parallel_part_in_a_joint_is_proved():
    whole = joint(parallel({KRR(k=3, epsilon0=1.0): 0.5, OUE(epsilon0=1.0): 0.5}), OUE(epsilon0=1))
    assert ShuffleAccountant(whole, 30).delta_report(0.1).pairs == "proved"
