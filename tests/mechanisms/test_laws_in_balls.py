"""Every mechanism states laws, and encloses continuous ones."""

from __future__ import annotations

import numpy as np
import pytest
from enumeration import assert_masses_of_laws
from oracles import law_scale, stop_loss

from shuffledp import parse

#: Mechanisms whose laws are atoms.
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
    "discrete_laplace(epsilon0=3, bound=9)",
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
    "discrete_laplace(epsilon0=2, bound=5000)",
    "joint(laplace(epsilon0=1), krr(k=2, epsilon0=1))",
    "subsample(gaussian(sigma=1), rate=0.1)",
]


def laws_of(text):
    """Decompositions of some pairs of inputs, and what the others may hold."""
    randomizer = parse(text)
    pairs = [*randomizer.neighbours()[:3], *randomizer.unchanged()[:2]]
    for pair in dict.fromkeys(pairs):
        yield randomizer.decomposition(pair)
        for other in randomizer.common_inputs(pair):
            yield randomizer.decomposition(pair, other)


@pytest.mark.heavy(keep=8)
@pytest.mark.parametrize("text", [*ATOMS, *CELLS])
def test_masses_are_those_of_laws(text):
    """a and b sum to 1, c and the residual too, in both decompositions of cells."""
    laws = list(laws_of(text))
    for law in laws:
        assert_masses_of_laws(law)
    assert all(law.spread is None for law in laws) == (text in ATOMS)


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("text", CELLS)
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.7])
def test_cells_are_narrow(text, epsilon):
    """E (G - x)_+ of the mean cells is little below that of their ends."""
    for law in laws_of(text):
        for gains in (law.at(epsilon), law.swap().at(epsilon)):
            levels = np.linspace(-0.9, 0.9, 7)
            low, high = (stop_loss(side, levels) for side in (gains.lower, gains.upper))
            slack = law_scale(gains.lower, gains.upper)
            assert (low <= high + slack).all()
            assert (high - low <= 1e-2 * high + slack).all()
