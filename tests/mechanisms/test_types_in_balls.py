"""Types of background have the masses of laws."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from shuffledp.basics.balls import precision, total
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms.finite.any_pure_ldp import ldp_types
from shuffledp.mechanisms.noise.discrete_laplace import lattice_types


def moments(decomposition: Decomposition) -> tuple[float, float, float]:
    """The masses of both inputs and of c, which are 1 if c is a law."""
    with precision():
        c = decomposition.components
        masses = [
            total(x.weight * x.log0.exp() for x in c),
            total(x.weight * x.log1.exp() for x in c),
        ]
        return (
            float(masses[0]),
            float(masses[1]),
            float(decomposition.mass + decomposition.residual),
        )


@pytest.mark.parametrize(("epsilon0", "bound"), [(0.3, 1), (2.0, 4), (5.0, 3)])
def test_lattice_types_are_laws_of_the_noise(epsilon0, bound):
    types, levels = lattice_types(Fraction(epsilon0) / bound, bound)
    assert len(types) == len(levels) == bound * (3 * bound + 1) // 2
    for kind in types:
        assert moments(kind) == pytest.approx((1, 1, 1), abs=1e-12)


@pytest.mark.parametrize("epsilon0", [0.01, 1.0, 6.0])
def test_ldp_types_are_spread_laws(epsilon0):
    blanket, types = ldp_types(epsilon0)
    assert moments(blanket) == pytest.approx((1, 1, 1), abs=1e-12)
    assert float(blanket.mass) == pytest.approx(math.exp(-epsilon0))
    for kind in types:
        assert moments(kind) == pytest.approx((1, 1, 1), abs=1e-12)
        assert kind.max_epsilon <= epsilon0 * (1 + 1e-15)
