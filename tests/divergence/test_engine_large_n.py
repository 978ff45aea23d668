"""Enclosures for many users against proved values: binomial tails, polynomials, quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import pytest
from exact_laws import (
    PRECISION,
    Atoms,
    binomial_mean,
    five_point_law,
    integral_mean,
    lattice_mean,
    law_of,
    trinomial_mean,
)
from flint import arb, ctx

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    BinaryLocalHash,
    Decomposition,
    HadamardResponse,
    LocalHash,
    SubsetSelection,
    UnaryEncoding,
)
from shuffledp.divergence import LogEnclosure, log_delta
from shuffledp.randomizers import LocalRandomizer

Masses = Callable[[arb], tuple[arb, arb, arb]]


def log_of(mean: arb, n: int) -> tuple[float, float]:
    """The ends of log(mean/n) as doubles."""
    with ctx.workprec(PRECISION):
        value = (mean / n).log()
        assert value.is_finite()
        return float(value.lower()), float(value.upper())


def check(enclosure: LogEnclosure, exact: tuple[float, float], rtol: float) -> None:
    below, above = exact
    one_ulp = 2.0**-52 * abs(below)
    assert enclosure.lower <= above + one_ulp
    assert enclosure.upper >= below - one_ulp
    assert enclosure.width <= rtol


def at_sigmas(atoms_at: Callable[[float], Atoms], n: int, sigmas: float) -> float:
    """The epsilon at which the mean of G is so many standard deviations of the average below 0."""
    variance = sum(float((g * g * w).mid()) for g, w in atoms_at(0.0))
    return math.log1p(sigmas * math.sqrt(variance / n))


@dataclass(frozen=True)
class Mechanism:
    """A randomizer and the masses (p, q, r) of its five-point law, from E = e^epsilon0."""

    randomizer: LocalRandomizer
    epsilon0: float
    masses: Masses

    def atoms(self, epsilon: float) -> Atoms:
        with ctx.workprec(PRECISION):
            level = arb(self.epsilon0).exp()
            return five_point_law(*self.masses(level), level, epsilon)

    def enclose(self, n: int, epsilon: float, rtol: float) -> LogEnclosure:
        pair = self.randomizer.neighbours()[0]
        return log_delta(self.randomizer.blanket(pair).at(epsilon), n, rtol=rtol)


def krr(k: int, epsilon0: float) -> Mechanism:
    return Mechanism(
        KRR(k=k, epsilon0=epsilon0),
        epsilon0,
        lambda e: (1 / (e + k - 1), arb(0), (k - 2) / (e + k - 1)),
    )


def olh(g: int, epsilon0: float) -> Mechanism:
    def masses(e: arb) -> tuple[arb, arb, arb]:
        share = 1 / (e + g - 1)
        return share * (g - 1) / g, share / g, share * (g - 1) ** 2 / g

    name = BinaryLocalHash(epsilon0=epsilon0) if g == 2 else LocalHash(epsilon0, buckets=g)
    return Mechanism(name, epsilon0, masses)


def _unary(a: arb, b: arb) -> tuple[arb, arb, arb]:
    return b * (1 - a), (1 - a) / (1 - b) * b**2, (1 - a) * (1 - b)


def rappor(epsilon0: float) -> Mechanism:
    def masses(e: arb) -> tuple[arb, arb, arb]:
        half = e.sqrt()
        return _unary(half / (half + 1), 1 / (half + 1))

    return Mechanism(RAPPOR(epsilon0=epsilon0), epsilon0, masses)


def oue(epsilon0: float) -> Mechanism:
    return Mechanism(OUE(epsilon0=epsilon0), epsilon0, lambda e: _unary(arb(1) / 2, 1 / (e + 1)))


def hadamard(domain_size: int, epsilon0: float) -> Mechanism:
    outputs = 2 ** domain_size.bit_length()

    def masses(e: arb) -> tuple[arb, arb, arb]:
        half = 1 / (2 * (e + 1))
        return half, half - 2 / (outputs * (e + 1)), half + 2 * e / (outputs * (e + 1))

    return Mechanism(HadamardResponse(epsilon0, domain_size), epsilon0, masses)


def subset(domain_size: int, size: int, epsilon0: float) -> Mechanism:
    rest = domain_size - size

    def masses(e: arb) -> tuple[arb, arb, arb]:
        total = (domain_size - 1) * (size * e + rest)
        return size * rest / total, size * (size - 1) / total, rest * (rest - 1) / total

    return Mechanism(SubsetSelection(epsilon0, domain_size, size), epsilon0, masses)


MECHANISMS = {
    "3-RR": krr(3, 2.0),
    "10-RR": krr(10, 4.0),
    "10-RR, weak": krr(10, 0.01),
    "1000-RR": krr(1000, 6.0),
    "BLH": olh(2, 1.0),
    "OLH": olh(4, 1.25),
    "RAPPOR": rappor(4.0),
    "OUE": oue(8.0),
    "Hadamard": hadamard(5, 0.5),
    "subset selection": subset(10, 3, 1.0),
}


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(("n", "sigmas"), [(10**7, 3.0), (10**9, 6.0), (10**12, 0.0)])
def test_support_mechanisms_by_quadrature(name: str, n: int, sigmas: float) -> None:
    mechanism = MECHANISMS[name]
    epsilon = at_sigmas(mechanism.atoms, n, sigmas)
    exact = log_of(integral_mean(mechanism.atoms(epsilon), n, 1e-7), n)
    for rtol in (1e-4, 1e-6):
        check(mechanism.enclose(n, epsilon, rtol), exact, rtol)


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_support_mechanisms_by_quadrature_at_length(name: str) -> None:
    mechanism = MECHANISMS[name]
    for n, sigmas in product([10**6, 10**8, 10**10, 10**12], [0.0, 1.0, 8.0, 20.0, 35.0]):
        epsilon = at_sigmas(mechanism.atoms, n, sigmas)
        exact = log_of(integral_mean(mechanism.atoms(epsilon), n, 1e-6), n)
        for rtol in (1e-4, 1e-6, 1e-8):
            enclosure = mechanism.enclose(n, epsilon, rtol)
            check(enclosure, exact, max(rtol, 2e-8 * math.sqrt(n / 1e12) * max(sigmas, 1)))


@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
@pytest.mark.parametrize("n", [2, 40, 130])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 0.9])
def test_binary_randomized_response_by_binomials(n: int, epsilon: float, rtol: float) -> None:
    mechanism = krr(2, 1.0)
    exact = log_of(trinomial_mean(mechanism.atoms(epsilon), n), n)
    check(mechanism.enclose(n, epsilon, rtol), exact, rtol)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon0", [0.01, 1.0, 5.0, 10.0])
@pytest.mark.parametrize("n", [3, 30, 300, 1000])
@pytest.mark.parametrize("sigmas", [0.0, 2.0, 10.0])
def test_binary_randomized_response_at_length(epsilon0: float, n: int, sigmas: float) -> None:
    mechanism = krr(2, epsilon0)
    epsilon = min(at_sigmas(mechanism.atoms, n, sigmas), 0.999 * epsilon0)
    exact = log_of(trinomial_mean(mechanism.atoms(epsilon), n), n)
    for rtol in (1e-4, 1e-6):
        check(mechanism.enclose(n, epsilon, rtol), exact, rtol)


def two_atoms(x: float, y: float, w: float) -> Decomposition:
    """A report that is 1 with probability x or y, and w for the others; exact doubles."""
    return Decomposition(
        log_ratio0=[math.log(x / w), math.log((1 - x) / (1 - w))],
        log_ratio1=[math.log(y / w), math.log((1 - y) / (1 - w))],
        weight=[w, 1 - w],
        residual=0.0,
        weight_error=[0.0],
        residual_error=0.0,
    )


TWO_ATOMS = [
    # x, y, w, n, epsilon: bulk, tail, rare atom, deep tail, close to the end, few users
    (0.75, 0.25, 0.75, 100_000, 0.01),
    (0.25, 0.75, 0.75, 10**6, 0.005),
    (0.5, 0.25, 0.5, 10**9, 1e-4),
    (0.75, 0.25, 0.25, 10**12, 4e-6),
    (0.625, 0.5, 0.5, 10**12, 0.0),
    (0.5, 0.375, 2.0**-20, 10**7, 0.01),
    (0.9375, 0.0625, 0.9375, 3000, 2.0),
    (0.75, 0.25, 0.25, 700, 1.0),
    (0.75, 0.25, 0.25, 1500, 1.09),
    (0.5, 0.25, 0.25, 17, 0.3),
]


@pytest.mark.heavy(keep=5)
@pytest.mark.parametrize(("x", "y", "w", "n", "epsilon"), TWO_ATOMS)
@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
def test_two_atoms_by_the_incomplete_beta_function(
    x: float, y: float, w: float, n: int, epsilon: float, rtol: float
) -> None:
    decomposition = two_atoms(x, y, w)
    exact = log_of(binomial_mean(law_of(decomposition, epsilon), n), n)
    check(log_delta(decomposition.at(epsilon), n, rtol=rtol), exact, rtol)


#: Odds E, number of values k with E + k - 1 a power of two, and e^epsilon: all values of G are
#: multiples of a unit, and sums hit 0 again and again.
LATTICES = [
    (3, 2, Fraction(1), 20),
    (3, 2, Fraction(1), 1000),
    (3, 2, Fraction(5, 4), 100),
    (3, 2, Fraction(5, 4), 900),
    (3, 2, Fraction(3, 2), 400),
    (7, 2, Fraction(4), 150),
    (3, 6, Fraction(1), 300),
    (3, 6, Fraction(9, 8), 300),
    (5, 4, Fraction(3, 2), 60),
    (5, 4, Fraction(2), 500),
]


@pytest.mark.parametrize(("odds", "k", "scale", "n"), LATTICES)
@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
def test_lattice_laws_by_polynomials(
    odds: int, k: int, scale: Fraction, n: int, rtol: float
) -> None:
    p = Fraction(1, odds + k - 1)
    others = [p] * (k - 2)
    decomposition = Decomposition.from_coefficients(
        [float(x) for x in (odds * p, p, *others)],
        [float(x) for x in (p, odds * p, *others)],
        [float(p)] * k,
    ).merge()
    unit = Fraction(1, scale.denominator)
    values = [odds - scale, 1 - odds * scale, 1 - scale, Fraction(0)]
    weights = [p, p, (k - 2) * p, 1 - k * p]
    mean = lattice_mean([int(v / unit) for v in values], weights, unit, n)
    below, above = log_of(mean, n)
    epsilon = math.log(scale)
    # epsilon is a double next to the logarithm of a fraction, unless it is 0.
    before = epsilon if scale == 1 else math.nextafter(epsilon, -1.0)
    after = epsilon if scale == 1 else math.nextafter(epsilon, 10.0)
    one_ulp = 2.0**-52 * abs(below)
    upper = log_delta(decomposition.at(before), n, rtol=rtol)
    lower = log_delta(decomposition.at(after), n, rtol=rtol)
    assert upper.upper >= below - one_ulp
    assert lower.lower <= above + one_ulp
    assert max(upper.width, lower.width) <= max(rtol, 2e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("odds", "k", "scale", "_n"), LATTICES)
def test_lattice_laws_with_2000_users(odds: int, k: int, scale: Fraction, _n: int) -> None:
    for rtol in (1e-4, 1e-6):
        test_lattice_laws_by_polynomials(odds, k, scale, 2000, rtol)


@pytest.mark.parametrize(("p", "q"), [(0.75, 0.25), (0.25, 0.5), (0.96875, 0.5)])
def test_unary_encoding_with_exact_probabilities(p: float, q: float) -> None:
    """The level itself is rounded here; its error is part of the decomposition."""
    randomizer = UnaryEncoding(p=p, q=q)
    with ctx.workprec(PRECISION):
        a, b = (arb(p), arb(q)) if p > q else (1 - arb(p), 1 - arb(q))
        level = a * (1 - b) / (b * (1 - a))
    n, epsilon = 10**9, 1e-4
    exact = log_of(integral_mean(five_point_law(*_unary(a, b), level, epsilon), n, 1e-7), n)
    pair = randomizer.neighbours()[0]
    check(log_delta(randomizer.blanket(pair).at(epsilon), n, rtol=1e-6), exact, 1e-6)
