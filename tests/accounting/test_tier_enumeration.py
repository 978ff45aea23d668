"""Tiers, dummies and corrupted users against all datasets of few users, in 50 digits."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement, permutations, product

import mpmath
import pytest

from shuffledp import (
    KRR,
    Group,
    LocalRandomizer,
    MatrixRandomizer,
    MixedAccountant,
    SubsetSelection,
    UnaryEncoding,
)
from shuffledp.basics.errors import AccuracyWarning

Law = Sequence[mpmath.mpf]

NOISE = mpmath.mpf(10) ** -40  # of 50 digits


@pytest.fixture(autouse=True)
def _wide_is_fine():
    with warnings.catch_warnings(), mpmath.workdps(50):
        warnings.simplefilter("ignore", AccuracyWarning)
        yield


def laws_of(randomizer: LocalRandomizer) -> list[Law]:
    """Return the output law of every input."""
    if isinstance(randomizer, MatrixRandomizer):
        rows = range(randomizer.matrix.shape[0])
        return [[mpmath.mpf(p.numerator) / p.denominator for p in randomizer.law(x)] for x in rows]
    if isinstance(randomizer, UnaryEncoding):
        size, bits = randomizer.domain_size, (mpmath.mpf(randomizer.q), mpmath.mpf(randomizer.p))
        return [
            [
                mpmath.fprod(
                    bits[x == i] if bit else 1 - bits[x == i] for i, bit in enumerate(output)
                )
                for output in product((0, 1), repeat=size)
            ]
            for x in range(size)
        ]
    if isinstance(randomizer, SubsetSelection):
        outputs = list(combinations(range(randomizer.domain_size), randomizer.subset_size))
    else:
        outputs = [(y,) for y in range(randomizer.k)]
    ratio = mpmath.exp(randomizer.epsilon0)
    inputs = range(randomizer.inputs)
    weights = [[ratio if x in y else mpmath.mpf(1) for y in outputs] for x in inputs]
    return [[weight / mpmath.fsum(row) for weight in row] for row in weights]


def blanket_law(laws: list[Law]) -> Law:
    common = [min(column) for column in zip(*laws, strict=True)]
    return [p / mpmath.fsum(common) for p in common]


def with_report(seen: dict[tuple[int, ...], mpmath.mpf], law: Law) -> dict:
    after: dict[tuple[int, ...], mpmath.mpf] = {}
    for histogram, mass in seen.items():
        for y, p in enumerate(law):
            key = (*histogram[:y], histogram[y] + 1, *histogram[y + 1 :])
            after[key] = after.get(key, mpmath.mpf(0)) + mass * p
    return after


def true_deltas(
    accountant: MixedAccountant, victim: int, epsilons: Sequence[float]
) -> list[mpmath.mpf]:
    """The largest deltas of a user over all datasets and all choices of the corrupted."""
    tiers = [laws_of(group.randomizer) for group in accountant.groups]
    outputs = max(len(law) for tier in tiers for law in tier)
    tiers = [[[*law, *[mpmath.mpf(0)] * (outputs - len(law))] for law in tier] for tier in tiers]
    own = tiers[victim]
    others = [i for i, g in enumerate(accountant.groups) for _ in range(g.n - (i == victim))]
    worst = [mpmath.mpf(0)] * len(epsilons)
    for left in set(combinations(others, len(others) - accountant.crowd.corrupted)):
        held = [
            combinations_with_replacement(range(len(tiers[i])), left.count(i))
            for i in sorted(set(left))
        ]
        for inputs in product(*held):
            seen = {(0,) * outputs: mpmath.mpf(1)}
            for i, xs in zip(sorted(set(left)), inputs, strict=True):
                for x in xs:
                    seen = with_report(seen, tiers[i][x])
            for _ in range(accountant.dummies):
                seen = with_report(seen, blanket_law(own))
            for x, y in permutations(range(len(own)), 2):
                first, second = with_report(seen, own[x]), with_report(seen, own[y])
                for place, epsilon in enumerate(epsilons):
                    growth = mpmath.exp(min(epsilon, 500.0))
                    delta = mpmath.fsum(max(p - growth * second[h], 0) for h, p in first.items())
                    worst[place] = max(worst[place], delta)
    return worst


def check(accountant: MixedAccountant, epsilon: float, delta: float) -> None:
    """What is proved is not below the truth, what is attained not above, and words are kept."""
    deltas, epsilons = accountant.delta_tiers(epsilon), accountant.epsilon_tiers(delta)
    for victim, (proved, found) in enumerate(zip(deltas, epsilons, strict=True)):
        upper = found.guarantee.upper
        truth, at_upper, at_lower = true_deltas(
            accountant, victim, (epsilon, upper, found.lower_bound)
        )
        assert proved.lower_bound - NOISE <= truth <= proved.guarantee.upper + NOISE
        if upper <= 300:
            assert at_upper <= delta + NOISE
            assert accountant.deltas(upper)[victim] <= delta
        if found.lower_bound > 0:
            assert at_lower >= delta - NOISE


def random_matrix(rng: random.Random, rows: int, columns: int) -> MatrixRandomizer:
    """Return rows of any numbers, or of few, among them zeros."""
    few = rng.random() < 0.3
    entries = []
    for _ in range(rows):
        row = [rng.choice([0, 1, 3, 8]) if few else rng.random() for _ in range(columns)]
        row[rng.randrange(columns)] += 1
        entries.append([p / sum(row) for p in row])
    return MatrixRandomizer(entries)


def random_tier(rng: random.Random, kind: str, size: int) -> LocalRandomizer:
    level = rng.choice([rng.uniform(0.01, 1), rng.uniform(0.1, 4), rng.uniform(0.1, 10), 1.0])
    if kind == "odd":
        kind = rng.choice(["krr", "matrix"])
        size = rng.choice([2, 3])
    if kind == "krr":
        return KRR(size, level)
    if kind == "subset":
        return SubsetSelection(level, domain_size=3, size=size - 1)
    return random_matrix(rng, rng.choice([2, 3]), size)


def random_crowd(rng: random.Random, kind: str) -> MixedAccountant:
    size = rng.choice([2, 3])
    groups = [Group(random_tier(rng, kind, size), 1) for _ in range(rng.choice([2, 2, 3]))]
    groups[0] = Group(groups[0].randomizer, rng.choice([1, 2]))
    n = sum(group.n for group in groups)
    dummies = rng.choice([0, 0, 1, 2]) if kind in ("krr", "subset") else 0
    corrupted = rng.choice([0, 0, rng.randrange(n)])
    return MixedAccountant(groups, dummies=dummies, corrupted=corrupted)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["krr", "subset", "matrix", "odd"])
def test_random_tiers(kind, seed):
    rng = random.Random(f"{kind} {seed}")
    epsilon = rng.choice([0.0, rng.uniform(0, 0.5), rng.uniform(0, 3)])
    check(random_crowd(rng, kind), epsilon, rng.choice([0.3, rng.uniform(0.01, 0.5), 1e-4]))


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("dummies", [1, 2])
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize(
    "randomizer",
    [
        UnaryEncoding(0.75, 0.25, 2),
        UnaryEncoding(0.5, 0.125, 3),
        MatrixRandomizer([[0.75, 0.25], [0.5, 0.5]]),
        MatrixRandomizer([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5], [0.25, 0.5, 0.25]]),
    ],
)
def test_dummies_of_other_mechanisms(randomizer, n, dummies):
    """Where an output supports every value the blanket law is not that of the supports."""
    check(MixedAccountant([Group(randomizer, n)], dummies=dummies), math.log(1.25), 0.1)
