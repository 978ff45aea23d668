"""Lower bound <= true divergence <= upper bound, the truth in exact integers on small cases.

The true side knows nothing of decompositions: it writes the whole composition as one matrix,
enumerates every pair of neighbouring datasets and every histogram of reports.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
import tiers
from rational import exact_shuffled_divergence

from shuffledp import KRR, MatrixRandomizer, ShuffleAccountant, joint, parallel, subsample
from shuffledp.mechanisms import Joint, LocalRandomizer, Parallel, Subsample

Row = tuple[Fraction, ...]
GRAIN = 16

#: Rounding of e^epsilon and of the entries of randomized response, not of the bounds.
SLACK = 1e-14


@dataclass(frozen=True)
class Case:
    """A randomizer and the same thing as one matrix; ``inputs`` names the rows."""

    randomizer: LocalRandomizer
    inputs: tuple
    rows: tuple[Row, ...]


def random_matrix(
    rng: np.random.Generator, inputs: int | None = None, *, zeros: bool = False
) -> Case:
    """A matrix whose rows differ: two or three inputs, two to four outputs."""
    inputs = inputs or int(rng.integers(2, 4))
    outputs = int(rng.integers(2, 5 if inputs == 2 else 4))
    low = 0 if zeros else 1
    while True:
        law = rng.dirichlet(np.ones(outputs))
        counts = rng.multinomial(GRAIN - low * outputs, law, inputs) + low
        if len({tuple(row) for row in counts.tolist()}) == inputs:
            return case_of_matrix([[Fraction(int(c), GRAIN) for c in row] for row in counts])


def case_of_matrix(rows: Sequence[Sequence[Fraction]]) -> Case:
    rows = tuple(tuple(map(Fraction, row)) for row in rows)
    floats = [list(map(float, row)) for row in rows]
    return Case(MatrixRandomizer(floats), tuple(range(len(rows))), rows)


def randomized_response(k: int, odds: int) -> Case:
    p = Fraction(1, odds + k - 1)
    rows = [tuple(odds * p if x == y else p for y in range(k)) for x in range(k)]
    return Case(KRR(k=k, epsilon0=math.log(odds)), tuple(range(k)), tuple(rows))


def joint_case(*parts: Case, **limits: int) -> Case:
    rows = tuple(
        tuple(math.prod(entries) for entries in product(*choice))
        for choice in product(*(part.rows for part in parts))
    )
    inputs = tuple(product(*(part.inputs for part in parts)))
    return Case(joint(*(part.randomizer for part in parts), **limits), inputs, rows)


def parallel_case(weights: Sequence[Fraction], *parts: Case) -> Case:
    rows = tuple(
        tuple(w * p for w, part in zip(weights, parts, strict=True) for p in part.rows[x])
        for x in range(len(parts[0].rows))
    )
    randomizer = Parallel(tuple(p.randomizer for p in parts), tuple(map(float, weights)))
    return Case(randomizer, parts[0].inputs, rows)


def subsample_case(part: Case, rate: Fraction) -> Case:
    rows = tuple((*(rate * p for p in row), 1 - rate) for row in part.rows)
    return Case(subsample(part.randomizer, float(rate)), part.inputs, rows)


def share(rng: np.random.Generator) -> Fraction:
    return Fraction(int(rng.integers(1, 8)), 8)


def small(rng: np.random.Generator) -> Case:
    """Two inputs and two outputs: for compositions that multiply sizes."""
    cuts = rng.choice(np.arange(1, GRAIN), 2, replace=False)
    return case_of_matrix(
        [[Fraction(int(c), GRAIN), Fraction(GRAIN - int(c), GRAIN)] for c in cuts]
    )


def parallel_of_two(rng: np.random.Generator) -> Case:
    inputs, weight = int(rng.integers(2, 4)), share(rng)
    parts = random_matrix(rng, inputs), random_matrix(rng, inputs)
    return parallel_case((weight, 1 - weight), *parts)


KINDS: dict[str, tuple[int, Callable[[np.random.Generator], Case]]] = {
    "matrix": (100, random_matrix),
    "matrix with zeros": (50, lambda rng: random_matrix(rng, zeros=True)),
    "joint": (50, lambda rng: joint_case(small(rng), small(rng))),
    "joint with zeros": (
        10,
        lambda rng: joint_case(small(rng), random_matrix(rng, 2, zeros=True)),
    ),
    "joint of one": (10, lambda rng: joint_case(random_matrix(rng))),
    "joint, one attribute changes": (20, lambda rng: joint_case(small(rng), small(rng), exactly=1)),
    "parallel": (40, parallel_of_two),
    "subsample": (60, lambda rng: subsample_case(random_matrix(rng), share(rng))),
    "subsample with zeros": (
        15,
        lambda rng: subsample_case(random_matrix(rng, zeros=True), share(rng)),
    ),
    "subsampled parallel": (15, lambda rng: subsample_case(parallel_of_two(rng), share(rng))),
    "subsampled joint": (
        10,
        lambda rng: subsample_case(joint_case(small(rng), small(rng)), share(rng)),
    ),
    "joint of a subsample": (
        10,
        lambda rng: joint_case(small(rng), subsample_case(small(rng), share(rng))),
    ),
    "joint of a parallel": (
        5,
        lambda rng: joint_case(
            small(rng), parallel_case((Fraction(1, 4), Fraction(3, 4)), small(rng), small(rng))
        ),
    ),
    "parallel of subsamples": (
        10,
        lambda rng: parallel_case(
            (Fraction(1, 2), Fraction(1, 2)),
            subsample_case(random_matrix(rng, 2), share(rng)),
            random_matrix(rng, 2),
        ),
    ),
    "joint with randomized response": (
        10,
        lambda rng: joint_case(randomized_response(2, int(rng.integers(2, 6))), small(rng)),
    ),
    "joint of randomized responses": (
        4,
        lambda rng: joint_case(randomized_response(2, 3), randomized_response(3, 2)),
    ),
    "parallel of randomized responses": (
        5,
        lambda rng: parallel_case(
            (Fraction(1, 4), Fraction(3, 4)),
            randomized_response(3, int(rng.integers(2, 6))),
            randomized_response(3, int(rng.integers(2, 6))),
        ),
    ),
    "parallel with randomized response": (
        30,
        lambda rng: parallel_case(
            (weight := share(rng), 1 - weight),
            randomized_response(3, int(rng.integers(2, 6))),
            random_matrix(rng, 3),
        ),
    ),
}


def scaled(rows: Sequence[Row]) -> tuple[list[list[int]], int]:
    unit = math.lcm(*(p.denominator for row in rows for p in row))
    return [[int(p * unit) for p in row] for row in rows], unit


def one_more(law: dict[tuple[int, ...], int], row: Sequence[int]) -> dict[tuple[int, ...], int]:
    longer: defaultdict[tuple[int, ...], int] = defaultdict(int)
    for histogram, mass in law.items():
        for y, p in enumerate(row):
            if p:
                longer[(*histogram[:y], histogram[y] + 1, *histogram[y + 1 :])] += mass * p
    return longer


def true_divergences(
    rows: Sequence[Row], n: int, exp_epsilons: Sequence[Fraction]
) -> dict[tuple, list[Fraction]]:
    """(x0, x1, inputs of the others) -> the divergence at each level; all pairs of datasets."""
    table, unit = scaled(rows)
    result = {}
    for others in combinations_with_replacement(range(len(table)), n - 1):
        crowd = {(0,) * len(table[0]): 1}
        for x in others:
            crowd = one_more(crowd, table[x])
        laws = [one_more(crowd, row) for row in table]
        for x0, x1 in product(range(len(table)), repeat=2):
            if x0 != x1:
                result[x0, x1, others] = [
                    Fraction(
                        sum(
                            gain
                            for h, mass in laws[x0].items()
                            if (
                                gain := mass * level.denominator
                                - level.numerator * laws[x1].get(h, 0)
                            )
                            > 0
                        ),
                        level.denominator * unit**n,
                    )
                    for level in exp_epsilons
                ]
    return result


def allowed(randomizer: LocalRandomizer, first: object, second: object) -> bool:
    """Whether two inputs are neighbours under the adjacency of the randomizer."""
    if isinstance(randomizer, Joint) and randomizer.exactly is not None:
        return sum(a != b for a, b in zip(first, second, strict=True)) == randomizer.exactly
    return True


def check(case: Case, n: int, exp_epsilons: Sequence[Fraction]) -> None:
    truth = {
        key: value
        for key, value in true_divergences(case.rows, n, exp_epsilons).items()
        if allowed(case.randomizer, case.inputs[key[0]], case.inputs[key[1]])
    }
    accountant = ShuffleAccountant(case.randomizer, n, rtol=1e-10)
    for i, level in enumerate(exp_epsilons):
        report = accountant.delta_report(math.log(level))
        worst = float(max((value[i] for value in truth.values()), default=Fraction(0)))
        where = f"{case.randomizer}, n = {n}, e^epsilon = {level}: {report}, truth {worst}"
        assert worst <= report.guarantee.upper + SLACK, where
        assert report.lower_bound <= worst + SLACK, where
        assert report.guarantee.lower <= report.guarantee.upper
        named = report.datasets
        if named is None:
            assert worst == 0, where
            continue
        x0, x1, other = map(case.inputs.index, (named.pair.first, named.pair.second, named.other))
        attained = float(truth[x0, x1, (other,) * (n - 1)][i])
        assert report.lower_bound <= attained + SLACK, where
        assert report.lower_bound >= attained * (1 - 1e-9) - SLACK, where


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("kind", KINDS)
def test_true_divergence_lies_between_the_bounds(kind):
    count, make = KINDS[kind]
    for seed in range(tiers.examples(count)):
        rng = np.random.default_rng([len(kind), seed])
        case = make(rng)
        n = 2 if len(case.rows) * len(case.rows[0]) > 16 else int(rng.integers(2, 5))
        level = Fraction(int(rng.integers(17, 40)), 16)
        check(case, n, [Fraction(1), level] if seed % 3 == 0 else [level])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_true_divergence_lies_between_the_bounds_on_many_cases(kind):
    count, make = KINDS[kind]
    for seed in range(1000, 1000 + 10 * count):
        rng = np.random.default_rng([len(kind), seed])
        case = make(rng)
        n = int(rng.integers(2, 5 if len(case.rows) <= 4 else 4))
        check(case, n, [Fraction(int(rng.integers(16, 64)), 16) for _ in range(2)])


def test_the_enumeration_agrees_with_the_rational_oracle():
    rng = np.random.default_rng(5)
    levels = [Fraction(9, 8), Fraction(2)]
    for case in (random_matrix(rng), joint_case(small(rng), small(rng)), parallel_of_two(rng)):
        for (x0, x1, others), values in true_divergences(case.rows, 3, levels).items():
            for level, value in zip(levels, values, strict=True):
                assert value == exact_shuffled_divergence(case.rows, x0, x1, others, level)


def test_the_matrix_of_a_composition_is_the_one_meant():
    """The written-out matrices have the LDP level and the inputs that the composition claims."""
    rng = np.random.default_rng(6)
    for _, make in KINDS.values():
        case = make(rng)
        if isinstance(case.randomizer, Joint) and case.randomizer.exactly is not None:
            continue
        whole = case_of_matrix(case.rows).randomizer
        assert case.randomizer.epsilon0 == pytest.approx(whole.epsilon0, abs=1e-12)
        assert all(case.randomizer.accepts(x) for x in case.inputs)


def test_parallel_with_inputs_that_only_some_parts_tell_apart():
    """Equal rows in one part: the pair differs in the other part alone, and can be the worst."""
    half = (Fraction(1, 2), Fraction(1, 2))
    left = case_of_matrix(
        [(Fraction(1, 2),) * 2, (Fraction(1, 2),) * 2, (Fraction(1, 8), Fraction(7, 8))]
    )
    right = case_of_matrix(
        [(Fraction(7, 8), Fraction(1, 8)), (Fraction(1, 8), Fraction(7, 8)), (Fraction(1, 2),) * 2]
    )
    check(parallel_case(half, left, right), 3, [Fraction(1), Fraction(5, 4)])


@pytest.mark.heavy
def test_parallel_of_parts_with_equal_rows_at_different_inputs():
    """As many distinct rows in both parts, but not of the same inputs."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        (a, b), (c, d) = small(rng).rows, small(rng).rows
        parts = case_of_matrix([a, b, b]), case_of_matrix([c, d, c])
        case = parallel_case((Fraction(1, 2), Fraction(1, 2)), *parts)
        check(case, 3, [Fraction(9, 8), Fraction(3, 2)])


@pytest.mark.parametrize("seed", range(5))
def test_parallel_of_randomized_response_and_a_matrix_with_equal_rows(seed):
    a, b = small(np.random.default_rng(seed)).rows
    case = parallel_case(
        (Fraction(1, 2), Fraction(1, 2)), randomized_response(3, 4), case_of_matrix([a, a, b])
    )
    check(case, 3, [Fraction(1), Fraction(3, 2)])


def test_parallel_with_a_constant_matrix():
    constant = case_of_matrix([(Fraction(1),)] * 2)
    for part in (randomized_response(2, 3), case_of_matrix(randomized_response(2, 3).rows)):
        check(parallel_case((Fraction(1, 2), Fraction(1, 2)), part, constant), 3, [Fraction(5, 4)])


@pytest.mark.parametrize("count", [1, 2])
def test_joint_with_an_attribute_whose_inputs_look_alike(count):
    """An attribute that reveals nothing still counts as changed."""
    flat = case_of_matrix([(Fraction(1, 2), Fraction(1, 2))] * 2)
    informative = case_of_matrix(randomized_response(2, 3).rows)
    check(joint_case(informative, flat, exactly=count), 3, [Fraction(1), Fraction(5, 4)])


def test_compositions_are_what_the_kinds_say():
    rng = np.random.default_rng(8)
    types = {name: type(make(rng).randomizer) for name, (_, make) in KINDS.items()}
    assert types["parallel"] is Parallel
    assert types["subsample"] is types["subsampled joint"] is Subsample
    assert types["joint of a parallel"] is Joint
    assert types["matrix"] is MatrixRandomizer
    assert parallel({MatrixRandomizer([[1.0]]): 1.0}).weights == (1.0,)
