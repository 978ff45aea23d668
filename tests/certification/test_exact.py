"""Enumeration and contour against exact fractions, and laws against their definitions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx, fmpq
from rational import exact_delta

from shuffledp.certification.bound import cheap_upper_bound
from shuffledp.certification.contour import contour_mean
from shuffledp.certification.decomposition import BallDecomposition
from shuffledp.certification.derivation import background, blanket
from shuffledp.certification.enumeration import enumerate_mean
from shuffledp.certification.law import Law
from shuffledp.engine.balls import ball
from shuffledp.engine.enclosure import Enclosure
from shuffledp.engine.progress import silent
from shuffledp.randomizers import Pair, parse

ROWS = [[0.5, 0.25, 0.25], [0.125, 0.5, 0.375], [0.25, 0.25, 0.5]]
LAMBDA = Fraction(5, 4)


@pytest.fixture(autouse=True)
def few_bits_and_cells(monkeypatch):
    """Cells are exact laws of the same kind, however many there are."""
    monkeypatch.setattr("shuffledp.certification.noise._CELLS", 40)
    with ctx.workprec(128):
        yield


def exact(n: int, pair: Pair, other: int | None) -> Fraction:
    rows = [[Fraction(p) for p in row] for row in ROWS]
    c = [min(column) for column in zip(*rows, strict=True)] if other is None else rows[other]
    first, second = rows[pair.first], rows[pair.second]  # type: ignore[index]
    ratios0 = [a / x for a, x in zip(first, c, strict=True)]
    ratios1 = [b / x for b, x in zip(second, c, strict=True)]
    return exact_delta(ratios0, ratios1, c, n, LAMBDA)


def law_of(pair: Pair, other: int | None) -> Law:
    randomizer = parse(f"matrix({ROWS})")
    found = (
        blanket(randomizer, pair, "upper")
        if other is None
        else background(randomizer, pair, other, "upper")
    )
    return found.at(ball(LAMBDA).log())


def contains(enclosure: Enclosure, value: Fraction) -> bool:
    number = fmpq(value.numerator, value.denominator)
    return bool(enclosure.lower <= number and enclosure.upper >= number)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("n", [1, 2, 5, 11])
@pytest.mark.parametrize("other", [None, 0, 2])
@pytest.mark.parametrize("pair", [Pair(0, 1), Pair(2, 0)], ids=str)
def test_against_fractions(n: int, other: int | None, pair: Pair) -> None:
    law, value = law_of(pair, other), exact(n, pair, other)
    listed = enumerate_mean(law, n).plus(law.extra)
    assert contains(listed, value)
    assert listed.is_narrow(1e-25)
    assert cheap_upper_bound(law, n) >= fmpq(value.numerator, value.denominator)
    if n > 1:
        summed = contour_mean(law, n, 1e-4, ball(value), 1e8, silent)
        assert summed is not None
        assert contains(summed.plus(law.extra), value)
        assert summed.is_narrow(1e-3)


@pytest.mark.parametrize("hint", [1e-30, 1e-3, 1.0])
def test_a_bad_guess_is_no_less_true(hint: float) -> None:
    law, value = law_of(Pair(0, 1), None), exact(11, Pair(0, 1), None)
    summed = contour_mean(law, 11, 1e-3, arb(hint), 1e8, silent)
    assert summed is not None
    assert contains(summed.plus(law.extra), value)


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
]


def masses(found: BallDecomposition) -> list[arb]:
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
@pytest.mark.parametrize("side", ["lower", "upper"])
def test_both_sides_keep_all_masses(text: str, side: str) -> None:
    randomizer = parse(text)
    for pair in (randomizer.neighbours()[0], randomizer.unchanged()[0]):
        found = [blanket(randomizer, pair, side)]
        found += [background(randomizer, pair, x, side) for x in randomizer.common_inputs(pair)]
        for decomposition in found:
            for mass in masses(decomposition):
                assert mass.contains(1)
                assert mass.rad() < 1e-20


@pytest.mark.heavy(keep=5)
@pytest.mark.parametrize("text", MECHANISMS)
def test_doubles_agree_with_balls(text: str) -> None:
    """The laws of the mechanism classes, in doubles, lie between the two sides."""
    randomizer = parse(text)
    pair = randomizer.neighbours()[0]
    lower, upper = (blanket(randomizer, pair, side).at(arb(0.1)) for side in ("lower", "upper"))
    double = randomizer.blanket(pair).at(0.1)
    for t in (-3.0, -0.5, -0.1, 0.0, 0.05, 0.3, 1.0):
        ends = [float((stop_loss(law, t) + law.extra).mid()) for law in (lower, upper)]
        means = [
            float(side.weights @ (side.values - t).clip(0.0)) + extra
            for side, extra in (
                (double.lower, double.singular_lower),
                (double.upper, double.singular_upper),
            )
        ]
        assert ends[0] <= ends[1] + 1e-12
        assert means[0] <= ends[1] + 1e-9
        assert ends[0] <= means[1] + 1e-9


def stop_loss(law: Law, t: float) -> arb:
    """E(G - t)_+."""
    total = law.zero * max(-t, 0.0)
    for value, weight in law.atoms:
        total += weight * (value - t).max(arb(0))
    return total


@pytest.mark.parametrize("count", [2, 5, 40])
def test_fewer_atoms_stay_ordered(count: int) -> None:
    randomizer = parse("discrete_laplace(epsilon0=2, bound=80)")
    law = blanket(randomizer, randomizer.neighbours()[0], "upper").at(arb(0.2))
    last = len(law.atoms) - 1
    edges = sorted({0, last, *range(0, last, count)})
    lower, upper = law.on(edges, "lower"), law.on(edges, "upper")
    for t in (-2.0, -0.3, 0.0, 0.1, 0.7, 3.0):
        below, exactly, above = (stop_loss(x, t).mid() for x in (lower, law, upper))
        assert below <= exactly + 1e-30
        assert exactly <= above + 1e-30
    assert len(upper.atoms) <= len(edges)
