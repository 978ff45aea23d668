"""General clones: the named instances, their order, and what an invalid one is told."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from blankets import blanket_accountant
from oracles import histogram_law, hockey_stick

from shuffledp import GeneralClone, MatrixRandomizer
from shuffledp.mechanisms import Pair

RESPONSE = MatrixRandomizer([[0.75, 0.25], [0.25, 0.75]])
PAIR = Pair(0, 1)
INSTANCES = ("primary", "simplified", "standard", "stronger")


def random_matrix(seed: int) -> MatrixRandomizer:
    rng = np.random.default_rng(seed)
    inputs, outputs = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    return MatrixRandomizer(rng.dirichlet(np.ones(outputs), inputs) * 0.8 + 0.2 / outputs)


def divergence(laws: list[list[Fraction]], others: list[int], level: Fraction) -> Fraction:
    """The hockey-stick divergence of the shuffled reports of inputs 0 and 1, by enumeration."""
    crowd = [laws[x] for x in others]
    return hockey_stick(histogram_law([laws[0], *crowd]), histogram_law([laws[1], *crowd]), level)


@pytest.mark.parametrize("seed", range(20))
def test_instances_are_ordered(seed):
    """The blanket is the best of all, and the standard clone is not below the stronger one."""
    randomizer = random_matrix(seed)
    rng = np.random.default_rng(seed)
    for n in (1, int(rng.integers(2, 10)), 1000):
        epsilon = float(rng.uniform(0, 0.5 * randomizer.epsilon0))
        bounds = {
            name: getattr(GeneralClone, name)(randomizer, PAIR).delta_interval(n, epsilon)
            for name in INSTANCES
        }
        for bound in bounds.values():
            assert bound.upper >= bounds["primary"].lower * (1 - 1e-12)
        assert bounds["simplified"].upper >= bounds["primary"].lower
        assert bounds["primary"].upper >= bounds["simplified"].lower
        assert bounds["stronger"].lower <= bounds["standard"].upper


@pytest.mark.parametrize("seed", range(10))
def test_random_decompositions_are_never_below_the_blanket(seed):
    """Any smaller common part, and any split of components, is valid and worse or equal."""
    randomizer = random_matrix(seed)
    rng = np.random.default_rng(100 + seed)
    matrix = randomizer.matrix
    outputs = matrix.shape[1]
    common = matrix.min(axis=0) * rng.uniform(0.2, 1.0, outputs)
    clone = GeneralClone(randomizer, PAIR, np.eye(outputs), matrix[0], matrix[1], common)
    split = GeneralClone(
        randomizer,
        PAIR,
        np.vstack([np.eye(outputs)] * 2),
        np.concatenate([matrix[0] * 0.25, matrix[0] * 0.75]),
        np.concatenate([matrix[1] * 0.25, matrix[1] * 0.75]),
        np.concatenate([common * 0.5, common * 0.5]),
    )
    blanket = GeneralClone.primary(randomizer, PAIR)
    for n, epsilon in ((1, 0.0), (3, 0.1), (500, 0.2)):
        best = blanket.delta_interval(n, epsilon)
        middle = clone.delta_interval(n, epsilon)
        assert middle.upper >= best.lower
        assert split.delta_interval(n, epsilon).upper >= middle.lower


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("seed", range(6))
def test_optimal_decompositions_are_the_accountants_bound(seed):
    randomizer = random_matrix(seed)
    pairs = randomizer.neighbours()
    for n, epsilon in ((2, 0.1), (200, 0.05)):
        whole = blanket_accountant(randomizer, n).get_delta(epsilon)
        for name in ("primary", "simplified"):
            make = getattr(GeneralClone, name)
            worst = max(make(randomizer, pair).delta_interval(n, epsilon).upper for pair in pairs)
            assert worst == pytest.approx(whole, rel=3e-4)


def test_simplified_merges_equal_ratios():
    matrix = [[0.25, 0.25, 0.25, 0.25], [0.125, 0.125, 0.375, 0.375]]
    randomizer = MatrixRandomizer(matrix)
    assert len(GeneralClone.primary(randomizer, PAIR).components) == 4
    assert len(GeneralClone.simplified(randomizer, PAIR).components) == 2


def reduction_pair(E: Fraction, n: int) -> tuple[dict, dict]:
    """The laws (A + D, C - A + 1 - D): C ~ Bin(n-1, 1/E), A ~ Bin(C, 1/2), D ~ Bernoulli."""
    laws: tuple[dict, dict] = ({}, {})
    for c in range(n):
        clones = math.comb(n - 1, c) / E**c * (1 - 1 / E) ** (n - 1 - c)
        for a in range(c + 1):
            crowd = clones * math.comb(c, a) * Fraction(1, 2**c)
            for law, high in zip(laws, (E / (E + 1), 1 / (E + 1)), strict=True):
                for d, share in ((1, high), (0, 1 - high)):
                    key = (a + d, c - a + 1 - d)
                    law[key] = law.get(key, Fraction(0)) + crowd * share
    return laws


@pytest.mark.parametrize("n", [1, 2, 5, 20])
@pytest.mark.parametrize("level", [Fraction(1), Fraction(5, 4), Fraction(2)])
def test_the_standard_clone_is_the_published_reduction(n, level):
    """The hockey-stick divergence of the pair of Feldman, McMillan and Talwar, both ways."""
    first, second = reduction_pair(Fraction(3), n)
    clone = GeneralClone.standard(RESPONSE, PAIR)
    bound = clone.delta_interval(n, math.log(level))
    for one, other in ((first, second), (second, first)):
        gains = (p - level * other.get(key, Fraction(0)) for key, p in one.items())
        exact = float(sum(gain for gain in gains if gain > 0))
        assert bound.lower * (1 - 1e-12) <= exact <= bound.upper * (1 + 1e-12)


def test_the_stronger_clone_of_randomized_response_is_its_blanket():
    for n, epsilon in ((5, 0.1), (1000, 0.1)):
        one = GeneralClone.stronger(RESPONSE, PAIR).delta_interval(n, epsilon)
        other = GeneralClone.primary(RESPONSE, PAIR).delta_interval(n, epsilon)
        assert one.upper == pytest.approx(other.upper, rel=3e-4)


def test_epsilon_of_a_clone():
    clone = GeneralClone.standard(RESPONSE, PAIR)
    interval = clone.epsilon_interval(1000, 1e-6)
    assert clone.delta_interval(1000, interval.upper).upper <= 1e-6 * (1 + 1e-3)
    blanket = GeneralClone.primary(RESPONSE, PAIR).epsilon_interval(1000, 1e-6)
    assert blanket.upper < interval.lower
    assert clone.epsilon_interval(1000, 0.0).upper == pytest.approx(math.log(3))


POINTS = np.eye(2)
FIRST, SECOND, COMMON = [0.75, 0.25], [0.25, 0.75], [0.25, 0.25]


def test_perturbed_coefficients_are_located():
    with pytest.raises(ValueError, match=r"a_j Q_j must equal R\(0\); at output 1 .* off by 0\.05"):
        GeneralClone(RESPONSE, PAIR, POINTS, [0.75, 0.3], SECOND, COMMON)
    with pytest.raises(ValueError, match=r"b_j Q_j must equal R\(1\); at output 0 .* off by 0\.1"):
        GeneralClone(RESPONSE, PAIR, POINTS, FIRST, [0.35, 0.75], COMMON)
    with pytest.raises(
        ValueError,
        match=r"c_j Q_j must stay below every R\(x\); at output 1 it exceeds R\(0\) by 0\.05",
    ):
        GeneralClone(RESPONSE, PAIR, POINTS, FIRST, SECOND, [0.25, 0.3])


def test_a_common_part_above_a_third_input_is_located():
    randomizer = MatrixRandomizer([[0.5, 0.5], [0.25, 0.75], [0.9, 0.1]])
    with pytest.raises(ValueError, match=r"at output 1 it exceeds R\(2\) by 0\.4"):
        GeneralClone(randomizer, PAIR, POINTS, [0.5, 0.5], [0.25, 0.75], [0.25, 0.5])


def test_perturbed_components_are_located():
    tilted = [[0.99, 0.01], [0.0, 1.0]]
    with pytest.raises(ValueError, match=r"sum of a_j Q_j must equal R\(0\); at output [01]"):
        GeneralClone(RESPONSE, PAIR, tilted, FIRST, SECOND, COMMON)


@pytest.mark.parametrize(
    "components",
    [[[0.5, 0.4], [0.0, 1.0]], [[1.5, -0.5], [0.0, 1.0]]],
)
def test_components_must_be_laws(components):
    with pytest.raises(ValueError, match="every component must be a probability distribution"):
        GeneralClone(RESPONSE, PAIR, components, FIRST, SECOND, COMMON)


def test_wrong_shapes():
    with pytest.raises(ValueError, match="rows over the 2 outputs"):
        GeneralClone(RESPONSE, PAIR, np.eye(3), FIRST, SECOND, COMMON)
    with pytest.raises(ValueError, match="components must be rows of numbers"):
        GeneralClone(RESPONSE, PAIR, np.ones(2), FIRST, SECOND, COMMON)
    for name in ("a", "b", "c"):
        coefficients = {"a": FIRST, "b": SECOND, "c": COMMON} | {name: [0.5, 0.25, 0.25]}
        with pytest.raises(ValueError, match=f"{name} must hold one coefficient"):
            GeneralClone(RESPONSE, PAIR, POINTS, **coefficients)


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_negative_coefficients(name):
    coefficients = {"a": FIRST, "b": SECOND, "c": COMMON} | {name: [1.25, -0.25]}
    with pytest.raises(ValueError, match=f"{name} must hold one coefficient of at least 0"):
        GeneralClone(RESPONSE, PAIR, POINTS, **coefficients)


@pytest.mark.parametrize("value", [math.inf, math.nan, "1", None])
@pytest.mark.parametrize("name", ["components", "a", "b", "c"])
def test_numbers_must_be_finite(name, value):
    arguments = {"components": [[1.0, 0.0], [0.0, 1.0]], "a": FIRST, "b": SECOND, "c": COMMON}
    row = [value, 0.25]
    arguments[name] = [row, [0.0, 1.0]] if name == "components" else row
    with pytest.raises(ValueError, match=f"{name} must hold finite numbers"):
        GeneralClone(RESPONSE, PAIR, **arguments)


def test_what_the_check_tolerates_is_part_of_the_answer():
    """An output of probability 9e-13 that only the differing user has is left out."""
    tail = 9e-13
    randomizer = MatrixRandomizer([[1 - tail, tail], [1.0, 0.0]])
    clone = GeneralClone(randomizer, PAIR, [[1.0, 0.0]], [1 - tail], [1.0], [1 - tail])
    truth = tail / (Fraction(1 - tail) + Fraction(tail))
    for n, epsilon in ((1, 0.1), (2, 0.5), (1000, 2.0)):
        interval = clone.delta_interval(n, epsilon)
        assert interval.lower <= truth <= interval.upper <= tail * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_perturbed_decompositions_are_still_bounds(seed):
    """Coefficients that miss by rounding: never below the divergence that enumeration finds."""
    rng = np.random.default_rng(seed)
    randomizer = random_matrix(seed)
    outputs = randomizer.matrix.shape[1]
    laws = [randomizer.law(x) for x in range(randomizer.matrix.shape[0])]
    noise = 1 + 3e-13 * rng.uniform(-1, 1, (3, outputs))
    clone = GeneralClone(
        randomizer,
        PAIR,
        np.eye(outputs),
        randomizer.matrix[0] * noise[0],
        randomizer.matrix[1] * noise[1],
        randomizer.matrix.min(axis=0) * noise[2],
    )
    other = int(rng.integers(len(laws)))
    for level in (Fraction(1), Fraction(11, 10), Fraction(2)):
        exact = divergence(laws, [other] * 2, level)
        bound = clone.delta_interval(3, math.log(level))
        assert exact <= Fraction(bound.upper) * (1 + Fraction(1, 10**14))


@pytest.mark.parametrize("tail", [1e-14, 1e-20, 1e-100])
@pytest.mark.parametrize("name", INSTANCES)
def test_named_instances_are_exact(name, tail):
    """All outputs count, however rare they are."""
    rows = [[0.5, 0.5 - tail, tail], [0.25, 0.75 - tail / 2, tail / 2], [0.3, 0.7, tail]]
    randomizer = MatrixRandomizer(rows)
    clone = getattr(GeneralClone, name)(randomizer, PAIR)
    laws = [randomizer.law(x) for x in range(3)]
    level = Fraction(199, 100)  # only the rare output, of ratio 2, and the first are above it
    exact = divergence(laws, [2], level)
    bound = clone.delta_interval(2, math.log(level))
    assert exact <= Fraction(bound.upper) * (1 + Fraction(1, 10**13))
    assert clone.epsilon_interval(2, 0.0).upper == pytest.approx(randomizer.epsilon0, rel=1e-12)


def test_clones_need_a_finite_level_and_different_rows():
    flat = MatrixRandomizer([[0.5, 0.5], [0.5, 0.5]])
    sharp = MatrixRandomizer([[1.0, 0.0], [0.5, 0.5]])
    for randomizer in (flat, sharp):
        for make in (GeneralClone.standard, GeneralClone.stronger):
            with pytest.raises(ValueError, match="finite LDP level above 0 and two different rows"):
                make(randomizer, PAIR)
    assert GeneralClone.primary(sharp, PAIR).delta_interval(2, 0.1).upper > 0


def test_bad_arguments():
    with pytest.raises(TypeError, match="must be a MatrixRandomizer"):
        GeneralClone(3, PAIR, POINTS, FIRST, SECOND, COMMON)
    with pytest.raises(ValueError, match="row numbers from 0 to 1"):
        GeneralClone(RESPONSE, Pair(0, 2), POINTS, FIRST, SECOND, COMMON)
    clone = GeneralClone.primary(RESPONSE, PAIR)
    with pytest.raises(ValueError, match="target_epsilon"):
        clone.delta_interval(10, -1.0)
    with pytest.raises(ValueError, match="n must be"):
        clone.delta_interval(0, 0.1)
    with pytest.raises(ValueError, match="target_delta"):
        clone.epsilon_interval(10, 2.0)
