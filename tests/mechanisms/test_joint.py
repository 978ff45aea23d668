"""Joint composition: products of blankets, worst pairs, restricted adjacency."""

from __future__ import annotations

import math
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from blankets import blanket_accountant, enclose_epsilon, enclose_log_delta
from enumeration import assert_dominated, assert_same_law, clamped_geometric_matrix, krr_matrix

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    AnyPureLDP,
    BinaryLocalHash,
    Decomposition,
    DiscreteLaplace,
    Gaussian,
    HadamardResponse,
    Laplace,
    LocalHash,
    MatrixRandomizer,
    ShuffleAccountant,
    SubsetSelection,
    joint,
    subsample,
)
from shuffledp.decomposition import Component
from shuffledp.mechanisms import Pair

MECHANISMS = {
    "10-RR": lambda level: KRR(k=10, epsilon0=level),
    "BLH": lambda level: BinaryLocalHash(epsilon0=level),
    "RAPPOR": lambda level: RAPPOR(epsilon0=level),
    "OUE": lambda level: OUE(epsilon0=level),
    "Laplace": lambda level: Laplace(epsilon0=level),
}
FIVE_POINT = (
    KRR(k=4, epsilon0=1.3),
    BinaryLocalHash(epsilon0=0.7),
    LocalHash(epsilon0=1.0, buckets=4, domain_size=3),
    RAPPOR(epsilon0=2.0),
    OUE(epsilon0=0.4, domain_size=5),
    HadamardResponse(epsilon0=1.1),
    SubsetSelection(epsilon0=0.9, domain_size=6, size=2),
)


def random_matrix(rng: np.random.Generator, inputs: int, outputs: int) -> MatrixRandomizer:
    return MatrixRandomizer(rng.dirichlet(np.ones(outputs), inputs) * 0.75 + 0.25 / outputs)


def kron(*parts: MatrixRandomizer) -> MatrixRandomizer:
    matrix = np.ones((1, 1))
    for part in parts:
        matrix = np.kron(matrix, part.matrix)
    return MatrixRandomizer(matrix)


def blanket_delta(randomizer, pair: Pair, n: int, epsilon: float) -> float:
    value = enclose_log_delta(randomizer.decomposition(pair), n, epsilon, 1e-5)
    return math.exp((value.lower + value.upper) / 2)


def overlap(first, second, tolerance: float = 1e-8) -> bool:
    gap = max(first.lower, second.lower) - min(first.upper, second.upper)
    return gap <= tolerance * max(first.upper, second.upper)


def delta(randomizer, n: int, epsilon: float, rtol: float = 1e-5):
    return blanket_accountant(randomizer, n, rtol=rtol).delta_interval(epsilon)


def upper_delta(randomizer, n: int, epsilon: float) -> float:
    return delta(randomizer, n, epsilon).upper


# The product of the matrices


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(6))
def test_joint_of_matrices_is_the_kronecker_product(seed):
    rng = np.random.default_rng(seed)
    shapes = rng.integers(2, 4, (2, 2))
    a, b = (random_matrix(rng, *shape) for shape in shapes)
    both, whole = joint(a, b), kron(a, b)
    inputs = list(product(range(shapes[0][0]), range(shapes[1][0])))
    for (i, first), (j, second) in product(enumerate(inputs), repeat=2):
        if i != j:
            assert_same_law(
                both.decomposition(Pair(first, second)), whole.decomposition(Pair(i, j))
            )
            for k, other in enumerate(inputs):
                mine = both.decomposition(Pair(first, second), other)
                assert_same_law(mine, whole.decomposition(Pair(i, j), k))
    for n in (1, 5, 1000):
        assert overlap(delta(both, n, 0.1), delta(whole, n, 0.1))


def test_joint_of_matrices_with_zeros_is_the_kronecker_product():
    a = MatrixRandomizer([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])
    b = MatrixRandomizer([[0.75, 0.25], [0.25, 0.75]])
    for n, epsilon in product((1, 3, 50), (0.0, 0.3)):
        assert overlap(delta(joint(a, b), n, epsilon), delta(kron(a, b), n, epsilon))
    assert joint(a, b).epsilon0 == math.inf


@pytest.mark.parametrize("part", FIVE_POINT, ids=str)
@pytest.mark.parametrize("count", [2, 3, 5, 16])
def test_folds_of_a_five_point_mechanism_stay_small(part, count):
    whole = joint(*[part] * count)
    assert whole.decomposition(whole.neighbours()[0]).size <= (count + 1) ** 2


@pytest.mark.parametrize("part", FIVE_POINT, ids=str)
@pytest.mark.parametrize("count", [2, 3])
def test_folds_equal_the_product_component_by_component(part, count):
    single = part.decomposition(part.neighbours()[0])
    explicit = Decomposition(
        tuple(
            Component(
                sum(c.log0 for c in choice),
                sum(c.log1 for c in choice),
                math.prod(c.weight for c in choice),
            )
            for choice in product(single.components, repeat=count)
        ),
        1 - (1 - single.residual) ** count,
    )
    whole = joint(*[part] * count)
    folded = whole.decomposition(whole.neighbours()[0])
    assert_same_law(folded, explicit)
    assert_same_law(explicit.merged(), explicit)
    for n in (1, 100):
        one, other = (enclose_log_delta(d, n, 0.2) for d in (folded, explicit))
        assert one.lower == pytest.approx(other.lower, rel=3e-5)


@pytest.mark.heavy
def test_nesting_does_not_matter():
    rng = np.random.default_rng(3)
    for a, b, c in (
        [random_matrix(rng, 2, 2) for _ in range(3)],
        (KRR(k=3, epsilon0=0.5), random_matrix(rng, 2, 3), OUE(epsilon0=1.0)),
        (KRR(k=3, epsilon0=0.5), BinaryLocalHash(epsilon0=1.0), OUE(epsilon0=1.0)),
    ):
        flat, left, right = joint(a, b, c), joint(joint(a, b), c), joint(a, joint(b, c))
        for n in (2, 500):
            reference = delta(flat, n, 0.1)
            assert overlap(reference, delta(left, n, 0.1))
            assert overlap(reference, delta(right, n, 0.1))
        assert left.epsilon0 == pytest.approx(flat.epsilon0)


def test_order_does_not_matter():
    rng = np.random.default_rng(4)
    parts = (random_matrix(rng, 2, 3), KRR(k=3, epsilon0=0.5), OUE(epsilon0=1.0))
    results = [delta(joint(*order), 300, 0.1) for order in permutations(parts)]
    assert all(overlap(results[0], other) for other in results)


def test_a_joint_of_one_is_that_one():
    part = KRR(k=5, epsilon0=1.0)
    assert_same_law(joint(part).decomposition(Pair((0,), (1,))), part.decomposition(Pair(0, 1)))


# Which pair is worst

RESPONSE = MatrixRandomizer([[15 / 16, 1 / 16], [1 / 16, 15 / 16]])
UNEVEN = MatrixRandomizer([[0.5, 0.5], [0.01, 0.99]])


@pytest.mark.parametrize("response", [RESPONSE, KRR(k=2, epsilon0=math.log(15))], ids=str)
def test_an_attribute_that_does_not_change_can_be_the_worst(response):
    """Without marginal symmetry the everywhere-different pair is not the worst."""
    whole = joint(response, UNEVEN)
    expected = {(0, 0): 0.1598, (0, 1): 0.1205, (1, 0): 0.1228, (1, 1): 0.0302}
    for (second, changed), value in expected.items():
        pair = Pair((0, second), (1, changed))
        assert blanket_delta(whole, pair, 3000, 0.05) == pytest.approx(value, abs=5e-5)
    report = blanket_accountant(whole, 3000).delta_report(0.05)
    assert report.worst_pair in (Pair((0, 0), (1, 0)), Pair((1, 0), (0, 0)))
    assert report.pairs == f"compared {len(whole.neighbours())} pairs"
    assert report.guarantee.upper == pytest.approx(0.1598, abs=5e-5)


@pytest.mark.heavy
def test_the_number_of_compared_pairs():
    # All ordered pairs of four inputs.
    assert len(joint(RESPONSE, UNEVEN).neighbours()) == 12
    # Randomized response always changes; the other attribute takes its four pairs.
    assert len(joint(KRR(k=2, epsilon0=1.0), UNEVEN).neighbours()) == 4
    report = ShuffleAccountant(joint(RESPONSE, UNEVEN), 10).delta_report(0.1)
    assert report.pairs == "compared 12 pairs"


def location_family(
    core: list[float], outer: tuple[float, float], ratios: tuple[float, float]
) -> MatrixRandomizer:
    """Integer noise on the inputs 0, 1, 2 with geometric tails, which are merged into two outputs.

    Far out all ratios are constant, so merging loses nothing.
    """
    size = len(core)

    def weight(i: int) -> float:
        if i < 0:
            return outer[0] * ratios[0] ** -i
        return outer[1] * ratios[1] ** (i - size + 1) if i >= size else core[i]

    low, high = -2, size + 4
    rows = np.array(
        [
            [
                weight(low - x) / (1 - ratios[0]),
                *(weight(y - x) for y in range(low + 1, high)),
                weight(high - x) / (1 - ratios[1]),
            ]
            for x in range(3)
        ]
    )
    return MatrixRandomizer(rows / rows.sum(axis=1, keepdims=True))


def test_asymmetric_noise_is_worst_inside():
    noise = location_family([4, 8, 27, 1], (4, 1), (0.5, 0.9))
    expected = {(0, 2): 2.70e-3, (2, 0): 2.59e-3, (2, 1): 3.34e-3, (1, 2): 3.29e-3}
    for pair, value in expected.items():
        assert blanket_delta(noise, Pair(*pair), 10**4, 0.05) == pytest.approx(value, rel=3e-3)
    report = blanket_accountant(noise, 10**4).delta_report(0.05)
    assert report.worst_pair == Pair(2, 1)
    assert report.pairs == "compared 6 pairs"


def test_noise_with_two_modes_is_worst_inside():
    noise = location_family([6, 21, 1, 21, 6], (6, 6), (0.9, 0.9))
    assert blanket_delta(noise, Pair(0, 2), 1, 0.05) == pytest.approx(0.179, abs=5e-4)
    assert blanket_delta(noise, Pair(0, 1), 1, 0.05) == pytest.approx(0.232, abs=5e-4)
    assert blanket_accountant(noise, 1).delta_report(0.05).worst_pair != Pair(0, 2)


def test_retuned_mechanisms_are_not_monotone():
    """The default number of buckets, or size of a report, jumps with epsilon0."""
    below, above = LocalHash(epsilon0=1.25), LocalHash(epsilon0=1.253)
    assert (below.hash_buckets, above.hash_buckets) == (4, 5)
    assert upper_delta(below, 1000, 0.3) == pytest.approx(7.2e-18, rel=0.01)
    assert upper_delta(above, 1000, 0.3) == pytest.approx(4.6e-19, rel=0.01)
    assert not below.monotone
    assert not joint(below, below).monotone
    assert joint(LocalHash(epsilon0=1.25, buckets=4)).monotone
    two, one = (SubsetSelection(epsilon0=level, domain_size=10) for level in (1.72, 1.74))
    assert (two.subset_size, one.subset_size) == (2, 1)
    assert upper_delta(two, 1000, 0.3) == pytest.approx(1.17e-8, rel=0.01)
    assert upper_delta(one, 1000, 0.3) == pytest.approx(1.9e-10, rel=0.02)
    assert upper_delta(joint(below, below), 1000, 0.5) > upper_delta(joint(above, above), 1000, 0.5)


SYMMETRIC = (*FIVE_POINT, Laplace(epsilon0=0.5), DiscreteLaplace(epsilon0=1.0, bound=4))


@pytest.mark.heavy(keep=7)
@pytest.mark.parametrize("part", SYMMETRIC, ids=str)
def test_joints_of_symmetric_mechanisms_have_a_proved_worst_pair(part):
    whole = joint(part, KRR(k=3, epsilon0=0.5))
    assert whole.has_worst_pair
    assert len(whole.neighbours()) == 1
    if not isinstance(part, Laplace):  # its lower bound takes long
        assert ShuffleAccountant(whole, 50).delta_report(0.1).pairs == "proved"
    first, second = whole.neighbours()[0].first, whole.neighbours()[0].second
    assert all(x != y for x, y in zip(first, second, strict=True))


def test_gaussian_parts_are_proved_too():
    whole = joint(Gaussian(sigma=2.0), KRR(k=3, epsilon0=0.5))
    assert whole.has_worst_pair
    assert whole.neighbours() == (Pair((0, 0), (1, 1)),)
    assert whole.epsilon0 == math.inf


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(
    ("proved", "parts"),
    [
        (
            joint(KRR(k=3, epsilon0=1.0), KRR(k=2, epsilon0=0.5)),
            (krr_matrix(3, 1.0), krr_matrix(2, 0.5)),
        ),
        (
            joint(DiscreteLaplace(epsilon0=1.0, bound=2), KRR(k=2, epsilon0=0.5)),
            (clamped_geometric_matrix(2, 1.0), krr_matrix(2, 0.5)),
        ),
        (
            joint(DiscreteLaplace(epsilon0=1.5, bound=3), DiscreteLaplace(epsilon0=0.5, bound=2)),
            (clamped_geometric_matrix(3, 1.5), clamped_geometric_matrix(2, 0.5)),
        ),
    ],
    ids=str,
)
def test_no_pair_of_the_product_exceeds_the_proved_one(proved, parts):
    """In convex order, hence for every n; also pairs that agree in an attribute."""
    explicit = kron(*map(MatrixRandomizer, parts))
    claimed = proved.decomposition(proved.neighbours()[0])
    rows = range(explicit.matrix.shape[0])
    for epsilon in (0.0, 0.2, 1.2):
        law = claimed.at(epsilon).upper
        for x, y in product(rows, repeat=2):
            assert_dominated(explicit.decomposition(Pair(x, y)).at(epsilon).lower, law)
    for n, epsilon in ((2, 0.1), (200, 0.1)):
        assert overlap(delta(proved, n, epsilon), delta(explicit, n, epsilon))


# Restricted adjacency


@pytest.mark.heavy
@pytest.mark.parametrize("part", SYMMETRIC[:-2], ids=str)
def test_more_changed_attributes_reveal_more(part):
    count, n, epsilon = 4, 200, 0.1
    exactly = [upper_delta(joint(*[part] * count, exactly=d), n, epsilon) for d in range(1, 5)]
    at_most = [upper_delta(joint(*[part] * count, at_most=d), n, epsilon) for d in range(1, 5)]
    assert all(less < more for less, more in pairwise(exactly))
    assert at_most == pytest.approx(exactly, rel=3e-5)
    unrestricted = upper_delta(joint(*[part] * count), n, epsilon)
    assert exactly[-1] == pytest.approx(unrestricted, rel=3e-5)


def test_more_changed_noisy_attributes_reveal_more():
    parts = (DiscreteLaplace(epsilon0=1.0, bound=3), Laplace(epsilon0=0.5), KRR(k=3, epsilon0=0.5))
    accountants = [blanket_accountant(joint(*parts, exactly=d), 100, rtol=1e-3) for d in (1, 2, 3)]
    values = [accountant.get_delta(0.1) for accountant in accountants]
    assert values == sorted(values)
    whole = blanket_accountant(joint(*parts), 100, rtol=1e-3).get_delta(0.1)
    assert values[-1] == pytest.approx(whole, rel=2e-3)


def brute_force(parts: list[np.ndarray], distances: range, n: int, epsilon: float) -> float:
    """The largest bound over the pairs of the product that are so far apart."""
    whole = kron(*map(MatrixRandomizer, parts))
    inputs = list(product(*(range(part.shape[0]) for part in parts)))
    return max(
        blanket_delta(whole, Pair(i, j), n, epsilon)
        for (i, x), (j, y) in product(enumerate(inputs), repeat=2)
        if sum(a != b for a, b in zip(x, y, strict=True)) in distances
    )


@pytest.mark.heavy
@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("kind", ["symmetric", "matrices", "mixed"])
def test_restricted_adjacency_is_the_restricted_matrix(kind, limit):
    rng = np.random.default_rng(11)
    uneven = np.array([[0.5, 0.5], [0.05, 0.95]])
    parts, matrices = {
        "symmetric": (
            (
                KRR(k=2, epsilon0=1.0),
                DiscreteLaplace(epsilon0=0.8, bound=2),
                KRR(k=2, epsilon0=0.3),
            ),
            [krr_matrix(2, 1.0), clamped_geometric_matrix(2, 0.8), krr_matrix(2, 0.3)],
        ),
        "matrices": (
            tuple(three := [random_matrix(rng, 2, 2) for _ in range(3)]),
            [part.matrix for part in three],
        ),
        "mixed": (
            (KRR(k=2, epsilon0=2.0), MatrixRandomizer(uneven), KRR(k=2, epsilon0=0.5)),
            [krr_matrix(2, 2.0), uneven, krr_matrix(2, 0.5)],
        ),
    }[kind]
    n, epsilon = 20, 0.1
    exactly = upper_delta(joint(*parts, exactly=limit), n, epsilon)
    brute = brute_force(matrices, range(limit, limit + 1), n, epsilon)
    assert exactly == pytest.approx(brute, rel=3e-5)
    at_most = upper_delta(joint(*parts, at_most=limit), n, epsilon)
    assert at_most == pytest.approx(
        brute_force(matrices, range(1, limit + 1), n, epsilon), rel=3e-5
    )


def test_restricted_level_is_that_of_the_strongest_attributes():
    parts = (KRR(k=2, epsilon0=1.0), KRR(k=2, epsilon0=3.0), KRR(k=2, epsilon0=2.0))
    assert [joint(*parts, at_most=d).epsilon0 for d in (1, 2, 3)] == [3.0, 5.0, 6.0]
    for d in (1, 2, 3):
        end = ShuffleAccountant(joint(*parts, exactly=d), 10).get_epsilon(0.0)
        assert end == pytest.approx(joint(*parts, exactly=d).epsilon0)


@pytest.mark.heavy
def test_restricted_adjacency_of_a_nested_joint():
    inner = joint(KRR(k=2, epsilon0=1.0), KRR(k=2, epsilon0=1.0))
    whole = joint(inner, KRR(k=2, epsilon0=1.5), exactly=1)
    # Either the whole inner pair changes, or the other attribute.
    changed = {pair.first[1] != pair.second[1] for pair in whole.neighbours()}
    assert changed == {True, False}
    rows = kron(*(MatrixRandomizer(krr_matrix(2, level)) for level in (1.0, 1.0, 1.5)))
    pairs = [
        (i, j) for i, j in product(range(8), repeat=2) if (i // 2 == j // 2) != (i % 2 == j % 2)
    ]
    brute = max(blanket_delta(rows, Pair(i, j), 20, 0.1) for i, j in pairs)
    assert upper_delta(whole, 20, 0.1) == pytest.approx(brute, rel=3e-5)


@pytest.mark.parametrize("name", ["at_most", "exactly"])
@pytest.mark.parametrize("bad", [0, -1, 3, 1.5, math.nan])
def test_limits_out_of_range(name, bad):
    part = KRR(k=2, epsilon0=1.0)
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1 and at most 2"):
        joint(part, part, **{name: bad})


@pytest.mark.parametrize("bad", [True, "1", 1j])
def test_limits_of_the_wrong_type(bad):
    part = KRR(k=2, epsilon0=1.0)
    with pytest.raises(TypeError, match="at_most must be an integer"):
        joint(part, part, at_most=bad)


def test_both_limits():
    with pytest.raises(ValueError, match="at_most and exactly cannot both be given"):
        joint(KRR(k=2, epsilon0=1.0), at_most=1, exactly=1)


def test_bad_parts():
    with pytest.raises(ValueError, match="joint needs at least one randomizer"):
        joint()
    with pytest.raises(TypeError, match=r"every part of joint must be a local .* got 3"):
        joint(KRR(k=2, epsilon0=1.0), 3)
    with pytest.raises(ValueError, match="use any_pure_ldp with the LDP level of the whole"):
        joint(AnyPureLDP(epsilon0=1.0), KRR(k=2, epsilon0=1.0))
    with pytest.raises(ValueError, match="cannot be a part of joint"):
        joint(subsample(AnyPureLDP(epsilon0=1.0), 0.5))


def test_inputs_must_be_tuples():
    whole = joint(KRR(k=2, epsilon0=1.0), KRR(k=2, epsilon0=1.0))
    with pytest.raises(TypeError, match="tuples"):
        whole.decomposition(Pair(0, 1))
    with pytest.raises(TypeError, match="tuples"):
        whole.decomposition(Pair((0, 0), (1, 1)), 0)
    assert not whole.accepts(0)
    assert not whole.accepts((0,))
    assert not whole.accepts((0, 2))
    assert whole.accepts((0, 1))


# What joint composition gains


def standard_clone_epsilon(epsilon0: float, n: int, target: float) -> float:
    """The standard clone as a decomposition of binary randomized response."""
    E = math.exp(epsilon0)
    high, low = E / (E + 1), 1 / (E + 1)
    clone = Decomposition.from_coefficients([high, low], [low, high], [0.5 / E] * 2)
    return enclose_epsilon(clone, n, target).upper


def check_gain(name: str, level: float, count: int, n: int) -> None:
    make = MECHANISMS[name]
    whole = joint(*[make(level / count)] * count)
    target = 1e-6
    epsilon = blanket_accountant(whole, n, rtol=1e-3).epsilon_interval(target).upper
    generic = blanket_accountant(AnyPureLDP(epsilon0=level), n).epsilon_interval(target)
    assert whole.epsilon0 == pytest.approx(level)
    assert epsilon < generic.lower
    assert generic.upper <= standard_clone_epsilon(level, n, target) * (1 + 1e-6)
    single = blanket_accountant(make(level), n).epsilon_interval(target).upper
    # The one exception: two binary hashes at 2 + 2 hide a little less than one at 4 if n is large.
    exception = name == "BLH" and (level, count) == (4.0, 2) and n >= 10**4
    assert (epsilon > single) == exception
    assert epsilon < 1.01 * single


@pytest.mark.heavy(keep=3)
@pytest.mark.filterwarnings("ignore::shuffledp.basics.errors.AccuracyWarning")
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(
    ("level", "count", "n"), [(0.1, 2, 10**4), (4.0, 4, 10**3), (4.0, 2, 10**5)]
)
def test_joint_beats_the_generic_bounds(name, level, count, n):
    check_gain(name, level, count, n)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::shuffledp.basics.errors.AccuracyWarning")
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("level", [0.1, 4.0])
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("n", [10**3, 10**4, 10**5])
def test_joint_beats_the_generic_bounds_everywhere(name, level, count, n):
    check_gain(name, level, count, n)
