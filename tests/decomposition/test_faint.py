"""Components too light for doubles: exposed above, absorbed below, never lost."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from shuffledp import KRR, MatrixRandomizer, ShuffleAccountant, joint
from shuffledp.decomposition import Decomposition
from shuffledp.randomizers import Pair


def exact_alone(rows: list[list[Fraction]], level: Fraction, parts: int) -> Fraction:
    """The divergence of the reports of one user whose attributes all change."""
    total = Fraction(0)
    for outputs in product(range(len(rows[0])), repeat=parts):
        a = math.prod((rows[0][y] for y in outputs), start=Fraction(1))
        b = math.prod((rows[1][y] for y in outputs), start=Fraction(1))
        total += max(a - level * b, Fraction(0))
    return total


@pytest.mark.heavy
@pytest.mark.parametrize("tail", [1e-150, 1e-200, 1e-249])
@pytest.mark.parametrize("parts", [2, 3])
def test_products_of_which_nothing_is_a_normal_double(tail, parts):
    """All weights of the product underflow."""
    part = MatrixRandomizer([[1.0, tail], [tail, 1.0]])
    whole = joint(*[part] * parts)
    pair = Pair((0,) * parts, (1,) * parts)
    blanket = whole.blanket(pair)
    rows = [part.law(x) for x in (0, 1)]
    gparv = blanket.at(1.0)
    exact = float(exact_alone(rows, Fraction(math.e), parts))
    law = gparv.upper
    upper = float(law.weights @ np.maximum(law.values, 0.0)) + gparv.singular_upper
    assert exact <= upper <= 1 + 1e-9
    assert 0 <= ShuffleAccountant(whole, 3).get_delta(1.0) <= 1


def test_the_lightest_of_the_heavier_ones_takes_the_mean():
    a, b = 0.3, 0.2
    light, heavy = math.exp(-331.0), math.exp(-290.0)
    one = Decomposition.from_coefficients([a, b, 1 - a - b], [b, a, 1 - a - b], [light, heavy, 0.5])
    whole = one.product(one)
    # light*light and light*heavy have ratios above e^600; heavy*heavy is the lightest of the rest.
    lightest = int(np.argmin(whole.weight))
    assert whole.weight[lightest] == pytest.approx(
        math.exp(-580.0) + 2 * math.exp(-621.0) + math.exp(-662.0)
    )
    mass = b * b + 2 * a * b + a * a
    assert whole.weight[lightest] * whole.ratio0[lightest] == pytest.approx(mass)
    assert whole.upper.singular0.sum() == pytest.approx(2 * a * b + a * a)
    assert float(whole.weight.sum()) + whole.residual == pytest.approx(1, abs=1e-15)
    for side in (whole, whole.upper):
        masses = float(side.weight @ side.ratio0) + float(side.singular0.sum())
        assert masses == pytest.approx(1, abs=1e-13)


@pytest.mark.heavy
def test_ratios_beyond_the_range_of_doubles():
    """Weights of the product are normal doubles, their ratios are not."""
    whole = joint(*[KRR(k=3, epsilon0=210.0)] * 3)
    blanket = whole.blanket(whole.neighbours()[0])
    assert blanket.max_epsilon >= 630
    for side in (blanket, blanket.upper):
        masses = float(side.weight @ side.ratio0) + float(side.singular0.sum())
        assert masses == pytest.approx(1, abs=1e-10)
    assert ShuffleAccountant(whole, 100).get_delta(5.0) == pytest.approx(1, rel=1e-6)


def test_singular_masses_that_underflow_count_above():
    tiny = 1e-200
    one = Decomposition.from_coefficients([tiny, 1.0], [0.0, 1.0], [0.0, 0.5])
    whole = one.product(one)
    assert whole.spread is not None
    above, below = whole.upper.at(0.0), whole.at(0.0)
    assert above.singular_upper >= 2 * tiny
    assert (whole.upper.singular0[whole.upper.singular0 > 0] >= 2.0**-1022).all()
    assert below.singular_lower <= 2 * tiny * (1 + 1e-12)


def test_faint_corners_are_exposed():
    """A box from 1 to e^500: its far corner gets a share of e^-500 or so."""
    rng = np.random.default_rng(0)
    logs = np.concatenate([rng.uniform(1e-9, 1e-8, 80), [500.0]])
    weight = np.concatenate([np.full(80, 1e-60), [math.exp(-501.0)]])
    masses = weight * np.exp(logs)
    rest = 1 - masses.sum()
    c = np.append(weight, 0.5)
    a = np.append(masses, rest)
    fine = Decomposition.from_coefficients(a, np.append(weight, 1 - weight.sum()), c)
    coarse = fine.coarsen_to_lattice(500.0)
    for side in (coarse, coarse.upper):
        total = float(side.weight @ side.ratio0) + float(side.singular0.sum())
        assert total == pytest.approx(1, abs=1e-12)
    assert coarse.upper.weight.min() >= 1e-290
    assert coarse.upper.singular0.size > 0
