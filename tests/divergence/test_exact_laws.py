"""The oracles of this directory agree with each other where two of them apply."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from exact_laws import (
    PRECISION,
    Atoms,
    ball,
    binomial_mean,
    enumerated_mean,
    five_point_law,
    integral_mean,
    lattice_mean,
    law_of,
    mean_of,
    trinomial_mean,
)
from flint import arb, ctx
from rational import exact_delta

from shuffledp import Decomposition


def agree(first: arb, second: arb, rtol: float = 1e-60) -> bool:
    with ctx.workprec(PRECISION):
        gap = abs(first - second)
        return first.overlaps(second) and bool(gap < ball(rtol) * abs(second))


@pytest.fixture
def binary() -> Atoms:
    """Binary randomized response with odds 3 at e^epsilon = 5/4."""
    quarter = ball(Fraction(1, 4))
    return [
        (ball(Fraction(7, 4)), quarter),
        (ball(Fraction(-11, 4)), quarter),
        (arb(0), 2 * quarter),
    ]


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_four_ways_to_the_same_fraction(binary: Atoms, n: int) -> None:
    quarter = Fraction(1, 4)
    exact = ball(
        n
        * exact_delta(
            [Fraction(3), Fraction(1)], [Fraction(1), Fraction(3)], [quarter] * 2, n, Fraction(5, 4)
        )
    )
    assert agree(enumerated_mean(binary, n), exact)
    assert agree(trinomial_mean(binary, n), exact)
    assert agree(lattice_mean([7, -11, 0], [quarter, quarter, 2 * quarter], quarter, n), exact)


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_two_atoms(n: int) -> None:
    atoms = [(ball(0.75), ball(0.25)), (ball(-0.375), ball(0.75))]
    with ctx.workprec(PRECISION):
        assert agree(binomial_mean(atoms, n), enumerated_mean(atoms, n))
        assert agree(
            binomial_mean([(-g, w) for g, w in atoms], n),
            n * arb(0.09375) + 0 * arb(n) + enumerated_mean([(g, w) for g, w in atoms], n),
        )


def test_many_draws_of_two_atoms(binary: Atoms) -> None:
    weights = [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    assert agree(
        trinomial_mean(binary, 120), lattice_mean([7, -11, 0], weights, Fraction(1, 4), 120)
    )


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(
    ("n", "sigmas"), [(10**8, 0.0), (10**9, 2.0), (10**12, 0.0), (10**12, 6.0)]
)
def test_quadrature_meets_the_incomplete_beta_function(n: int, sigmas: float) -> None:
    shift = sigmas / math.sqrt(n)  # minus the mean, whose standard deviation is 1 per draw
    with ctx.workprec(PRECISION):
        atoms = [(arb(1) - shift, arb(0.5)), (arb(-1) - shift, arb(0.5))]
    quadrature, exact = integral_mean(atoms, n, 1e-6), binomial_mean(atoms, n)
    # A lattice law comes back to modulus 1 again and again, the worst case for the tail bound.
    assert quadrature.overlaps(exact)
    assert float((quadrature / exact).rad()) < 1e-3


def test_laws_have_the_mean_of_a_decomposition() -> None:
    decomposition = Decomposition.from_coefficients(
        [0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25] * 3
    )
    assert abs(float(mean_of(law_of(decomposition, 0.5)).mid()) - (1 - math.exp(0.5))) < 1e-14
    with ctx.workprec(PRECISION):
        level = arb(2).exp()
        p = 1 / (level + 4)
        law = five_point_law(p, arb(0), 3 * p, level, 0.25)
        assert mean_of(law).overlaps(1 - arb(0.25).exp())
