"""Every mechanism states the same law in balls as in doubles, up to the doubles' stated errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb

from shuffledp import newdec, parse
from shuffledp.decomposition import Decomposition
from shuffledp.engine.balls import precision, total
from shuffledp.newdec import Component, Singular

#: Mechanisms whose laws are atoms: these are the same numbers, and not only the same bounds.
ATOMS = [
    "krr(k=2, epsilon0=1)",
    "krr(k=10, epsilon0=0.5)",
    "blh(epsilon0=1, domain_size=5)",
    "olh(epsilon0=1, buckets=4)",
    "rappor(epsilon0=1)",
    "rappor(epsilon0=3, domain_size=4)",
    "oue(epsilon0=2)",
    "unary(p=0.75, q=0.25)",
    "unary(p=0.1, q=0.3, domain_size=3)",
    "hadamard(epsilon0=1, domain_size=7)",
    "subset(epsilon0=1, domain_size=5, size=2)",
    "discrete_laplace(epsilon0=1, bound=3)",
    "discrete_laplace(epsilon0=1, bound=4)",
    "any_pure_ldp(epsilon0=1)",
    "matrix([[0.5, 0.5], [0.25, 0.75]])",
    "matrix([[0.1, 0.2, 0.7], [0.2, 0.1, 0.7], [0, 0.5, 0.5]])",
    "matrix([[1, 0], [0, 1]])",
    "joint(krr(k=2, epsilon0=1), oue(epsilon0=1))",
    "parallel(0.5*krr(k=3, epsilon0=1), 0.5*blh(epsilon0=1))",
    "one_of(0.5*krr(k=3, epsilon0=1), 0.5*blh(epsilon0=1))",
    "subsample(krr(k=3, epsilon0=1), rate=0.5)",
]

CELLS = [
    "laplace(epsilon0=1)",
    "laplace(epsilon0=5)",
    "gaussian(sigma=1)",
    "gaussian(sigma=5)",
    "discrete_laplace(epsilon0=3, bound=9)",
    "discrete_laplace(epsilon0=2, bound=5000)",
    "joint(laplace(epsilon0=1), krr(k=2, epsilon0=1))",
    "subsample(gaussian(sigma=1), rate=0.1)",
]


def from_doubles(decomposition: Decomposition) -> newdec.Decomposition:
    """The same decomposition, every number with its stated error as its radius."""

    def log(value: float, error: float) -> arb | None:
        return None if value == -math.inf else arb(value, error)

    def mass(value: float, error: float) -> arb:
        return arb(value) * arb(1, error)

    with precision():
        columns = ("log_ratio0", "log_ratio1", "weight", "log_ratio_error", "weight_error")
        rows = zip(*(getattr(decomposition, name).tolist() for name in columns), strict=True)
        exposed = zip(decomposition.singular0, decomposition.singular1, strict=True)
        spread, error = decomposition.spread, decomposition.singular_error
        return newdec.Decomposition(
            tuple(Component(log(x, e), log(y, e), mass(w, f)) for x, y, w, e, f in rows),
            mass(decomposition.residual, decomposition.residual_error),
            tuple(Singular(*(mass(float(x), error) for x in pair)) for pair in exposed),
            None if spread is None else from_doubles(spread),
        ).merged()


def law_pairs(text):
    randomizer = parse(text)
    pairs = [*randomizer.neighbours()[:3], *randomizer.unchanged()[:2]]
    for pair in dict.fromkeys(pairs):
        yield randomizer.decomposition(pair), randomizer.blanket(pair)
        for other in randomizer.common_inputs(pair):
            yield randomizer.decomposition(pair, other), randomizer.background(pair, other)


def moments(decomposition: newdec.Decomposition) -> list[arb]:
    """Some means of functions of the ratios, the residual, and what is singular."""
    with precision():
        parts = decomposition.components
        first = [arb(0) if c.log0 is None else c.log0.exp() for c in parts]
        second = [arb(0) if c.log1 is None else c.log1.exp() for c in parts]
        found = [
            total(c.weight * x**i * y**j for c, x, y in zip(parts, first, second, strict=True))
            for i in range(4)
            for j in range(4)
        ]
        singular = [total(s[i] for s in decomposition.singular) for i in (0, 1)]
        return [*found[1:], decomposition.residual, *singular]


@pytest.mark.parametrize("text", ATOMS)
def test_atoms_are_the_same(text):
    for proved, doubles in law_pairs(text):
        for one, other in zip(moments(proved), moments(from_doubles(doubles)), strict=True):
            assert one.overlaps(other)
            assert float(one.rad()) <= 1e-13 * (1 + abs(float(one)))


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("text", CELLS)
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.7])
def test_cells_enclose_the_same_law(text, epsilon):
    """E (G - x)_+ of the mean cells is below that of the end points, in either statement."""
    for proved, doubles in law_pairs(text):
        for decomposition in (proved, proved.swap()):
            other = doubles if decomposition is proved else doubles.swap()
            gains, old = decomposition.at(epsilon), other.at(epsilon)
            for x in np.linspace(-0.9, 0.9, 7):
                low, high = (
                    excess(law.values, law.masses, x) for law in (gains.lower, gains.upper)
                )
                assert low <= excess(old.upper.values, old.upper.weights, x) + 1e-9
                assert high >= excess(old.lower.values, old.lower.weights, x) - 1e-9
                assert high - low <= 1e-2 * high + 1e-9


def excess(values, masses, x):
    return float(masses @ np.maximum(values - x, 0))


@pytest.mark.heavy(keep=8)
@pytest.mark.parametrize("text", [*ATOMS, *CELLS])
def test_masses_are_those_of_laws(text):
    """a and b sum to 1, c and the residual too, in both decompositions of cells."""
    for proved, _ in law_pairs(text):
        for part in (proved, proved.upper):
            a, b, rest = (moments(part)[i] for i in (3, 0, -3))
            outside = moments(part)[-2:]
            assert (a + outside[0]).overlaps(arb(1, 1e-25))
            assert (b + outside[1]).overlaps(arb(1, 1e-25))
            assert (part.mass + rest).overlaps(arb(1, 1e-25))
