"""Bounds of the prover's own laws against exact fractions, and these laws against definitions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb
from rational import exact_delta

from shuffledp.basics.balls import precision, total
from shuffledp.bounds.decomposed import Decomposed
from shuffledp.certificates.derivation import background, blanket
from shuffledp.certificates.worst import Candidate
from shuffledp.decomposition.decomposition import Decomposition
from shuffledp.engine.sums import Law
from shuffledp.mechanisms import Input, LocalRandomizer, Pair, parse

ROWS = [[0.5, 0.25, 0.25], [0.125, 0.5, 0.375], [0.25, 0.25, 0.5]]
LAMBDA = Fraction(5, 4)

#: Doubles on both sides of the logarithm of LAMBDA.
BELOW, ABOVE = math.log(1.25) - 1e-15, math.log(1.25) + 1e-15


@pytest.fixture(autouse=True)
def few_cells(monkeypatch):
    """Cells are exact laws of the same kind, however many there are."""
    monkeypatch.setattr("shuffledp.certificates.noise._CELLS", 10)
    monkeypatch.setattr("shuffledp.certificates.noise._CELLS_PER_LEVEL", 10)
    with precision():
        yield


def exact(n: int, pair: Pair, other: int | None) -> Fraction:
    rows = [[Fraction(p) for p in row] for row in ROWS]
    c = [min(column) for column in zip(*rows, strict=True)] if other is None else rows[other]
    first, second = rows[pair.first], rows[pair.second]  # type: ignore[index]
    ratios0 = [a / x for a, x in zip(first, c, strict=True)]
    ratios1 = [b / x for b, x in zip(second, c, strict=True)]
    return exact_delta(ratios0, ratios1, c, n, LAMBDA)


def law_of(randomizer: LocalRandomizer, pair: Pair, other: Input | None) -> Decomposition:
    return blanket(randomizer, pair) if other is None else background(randomizer, pair, other)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("n", [1, 2, 5, 11])
@pytest.mark.parametrize("other", [None, 0, 2])
@pytest.mark.parametrize("pair", [Pair(0, 1), Pair(2, 0)], ids=str)
def test_against_fractions(n: int, other: int | None, pair: Pair) -> None:
    law, value = law_of(parse(f"matrix({ROWS})"), pair, other), exact(n, pair, other)
    for rtol in (1e-3, 1e-5):
        curve = Decomposed(law, n, rtol)
        upper, lower = curve.above(BELOW).log, curve.below(ABOVE).log
        assert arb(lower).exp() <= arb(value.numerator) / value.denominator <= arb(upper).exp()
        assert upper - lower < 20 * rtol
    cheap = Candidate(pair, law).cheap(n, BELOW)
    assert arb(cheap).exp() >= arb(value.numerator) / value.denominator


MECHANISMS = [
    "krr(k=2, epsilon0=1)",
    "krr(k=10, epsilon0=3)",
    "blh(epsilon0=1, domain_size=2)",
    "blh(epsilon0=1)",
    "olh(epsilon0=2, buckets=5, domain_size=7)",
    "rappor(epsilon0=2, domain_size=2)",
    "rappor(epsilon0=2)",
    "oue(epsilon0=1, domain_size=5)",
    "unary(p=0.7, q=0.2, domain_size=3)",
    "unary(p=0.2, q=0.7)",
    "hadamard(epsilon0=1, domain_size=2)",
    "hadamard(epsilon0=1, domain_size=6)",
    "hadamard(epsilon0=1)",
    "subset(epsilon0=1, domain_size=10)",
    "subset(epsilon0=1, domain_size=2)",
    "any_pure_ldp(epsilon0=1)",
    "laplace(epsilon0=1)",
    "laplace(epsilon0=1e-9)",
    "discrete_laplace(epsilon0=1, bound=1)",
    "discrete_laplace(epsilon0=1, bound=8)",
    "discrete_laplace(epsilon0=2, bound=100001)",
    "gaussian(sigma=0.5)",
    "gaussian(sigma=3)",
    f"matrix({ROWS})",
    "matrix([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])",
    "joint(krr(k=3, epsilon0=1), oue(epsilon0=0.5))",
    "joint(laplace(epsilon0=1), laplace(epsilon0=1))",
    "parallel(0.1*krr(k=2, epsilon0=1), 0.9*laplace(epsilon0=2))",
    "subsample(krr(k=3, epsilon0=1), rate=0.1)",
    "subsample(krr(k=3, epsilon0=1), rate=1)",
]


def masses(found: Decomposition) -> list[arb]:
    """The total masses of c and the residual, of a and of b."""
    zero = arb(0)
    weight, first, second = found.residual, zero, zero
    for c in found.components:
        weight += c.weight
        first += zero if c.log0 is None else c.weight * c.log0.exp()
        second += zero if c.log1 is None else c.weight * c.log1.exp()
    for a, b in found.singular:
        first, second = first + a, second + b
    return [weight, first, second]


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("text", MECHANISMS)
def test_both_sides_keep_all_masses(text: str) -> None:
    randomizer = parse(text)
    # Balls of hashing hold what random polynomials do to a mass: 2**-48 of it.
    width = 2.0**-47 if randomizer.name in ("blh", "olh") else 1e-20
    for pair in (randomizer.neighbours()[0], randomizer.unchanged()[0]):
        for other in (None, *randomizer.common_inputs(pair)):
            law = law_of(randomizer, pair, other)
            for mass in (*masses(law), *masses(law.upper)):
                assert mass.contains(1)
                assert mass.rad() < width


@pytest.mark.heavy(keep=5)
@pytest.mark.parametrize("text", MECHANISMS)
def test_laws_are_those_that_the_mechanisms_state(text: str) -> None:
    """Derived twice, whatever the cells: each lower side is below the other one's upper side."""
    randomizer = parse(text)
    pair = randomizer.neighbours()[0]
    for other in (None, *randomizer.common_inputs(pair)):
        sides = [
            law.at(0.1)
            for law in (law_of(randomizer, pair, other), randomizer.decomposition(pair, other))
        ]
        for t in (-3.0, -0.5, -0.1, 0.0, 0.05, 0.3, 1.0):
            lower = [stop_loss(side.lower, t) + side.exposed[0] for side in sides]
            upper = [stop_loss(side.upper, t) + side.exposed[1] for side in sides]
            assert not max(lower) > min(upper) + arb(2) ** -80


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("text", ["laplace(epsilon0=2)", "gaussian(sigma=1)"])
def test_cells_may_lie_anywhere(text: str) -> None:
    """Points in any number, beyond the inputs or none: laws stay ordered, and nothing is lost."""
    randomizer = parse(text)
    for other in (None, 0, 1):
        law = law_of(randomizer, Pair(0, 1), other)
        assert law.cut is not None
        for points in ([], [0.5], [-3.0, 0.1, 0.5, 0.500001, 4.0], [0.25], [0.75, 0.8]):
            again = law.cut.again(points)
            assert all(mass.contains(1) for mass in (*masses(again), *masses(again.upper)))
            fine, coarse = law.at(0.3), again.at(0.3)
            for t in (-2.0, -0.3, 0.0, 0.4):
                above = stop_loss(coarse.upper, t) + coarse.exposed[1]
                assert not stop_loss(fine.lower, t) + fine.exposed[0] > above
                below = stop_loss(coarse.lower, t) + coarse.exposed[0]
                assert not below > stop_loss(fine.upper, t) + fine.exposed[1]


def stop_loss(law: Law, t: float) -> arb:
    """E(G - t)_+."""
    return total(mass * (value - t).max(arb(0)) for value, mass in law.atoms)
