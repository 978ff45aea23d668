"""Types of normal noise against normal laws in fine cells: everything that they stand for."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from shuffledp.basics.balls import precision, total
from shuffledp.mechanisms import Gaussian, Pair
from shuffledp.mechanisms.noise.normal_types import normal_types

OUTPUTS = np.linspace(-10, 10, 20001)
MASSES = np.diff(norm.cdf(OUTPUTS))


def gains(first, second, held, sigma, ratio):
    """Gains of a slot whose user holds a number, with the mass of each, below in convex order."""
    means = [np.diff(norm.cdf(OUTPUTS + (held - x) / sigma)) / MASSES for x in (first, second)]
    return means[0] - ratio * means[1], MASSES


def above(law, places):
    """E(G - t)_+ at some places."""
    values, masses = law
    order = np.argsort(values)
    values, masses = values[order], masses[order]
    rest = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
    mean = np.append(np.cumsum((masses * values)[::-1])[::-1], 0.0)
    i = np.searchsorted(values, places)
    return mean[i] - places * rest[i]


def doubles(decomposition, epsilon):
    law = decomposition.at(epsilon).upper
    return law.values, law.masses


@pytest.mark.parametrize("sigma", [0.3, 0.8, 1.0, 3.0, 30.0, 1e6])
def test_types_are_laws_and_keep_the_means(sigma):
    """Masses sum to 1, none is negative; the ratios have the mean 1 but for what is far off."""
    laws = normal_types(Fraction(sigma))
    with precision():
        for part in (laws.blanket, *laws.backgrounds):
            assert all(component.weight > 0 for component in part.components)
            assert (total(c.weight for c in part.components) + part.residual - 1).contains(0)
            for place in (0, 1):
                mean = total(c.weight * c[place].exp() for c in part.components)
                assert abs(float(mean) - 1) < 1e-6
        assert (laws.blanket.mass - (arb(1) / (arb(8).sqrt() * sigma)).erfc()).contains(0)


def dominating_share(target, near, far, places, slack):
    """A share of one type with which a mixture of two dominates; None if there is none."""
    for share in np.concatenate([np.linspace(0, 1, 201), np.geomspace(1e-6, 0.5, 40)]):
        if (target <= share * near + (1 - share) * far + slack).all():
            return share
    return None


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("epsilon", [0.01, 0.17, 0.5])
@pytest.mark.parametrize("sigma", [0.72, 1.0, 3.0, 20.0])
def test_every_slot_is_dominated(sigma, epsilon):
    """All pairs x < x' and all v: T(x, x', v) is below a mixture of two neighbouring types."""
    laws = normal_types(Fraction(sigma))
    rest = laws.rest(epsilon)
    assert rest < 1e-15
    rng = np.random.default_rng(round(1000 * sigma + 100 * epsilon))
    types = [doubles(part, epsilon) for part in laws.backgrounds]
    size = 1.2 * max(abs(values).max() for values, _ in types)
    places = np.concatenate([-np.geomspace(size, 1e-7, 400), [0], np.geomspace(1e-7, size, 400)])
    bounds = [above(law, places) for law in types]
    for _ in range(40):
        first, second = sorted(rng.random(2) ** rng.choice([1, 4]))
        held = rng.choice([rng.random(), 0.0, 1.0, first, second])
        target = above(gains(first, second, held, sigma, math.exp(epsilon)), places)
        pairs = [(0, -1), *((i, i + 1) for i in range(len(types) - 1))]
        found = (
            dominating_share(target, bounds[i], bounds[j], places, 1e-9 + 1e-6 * target)
            for i, j in pairs
        )
        assert any(share is not None for share in found), (first, second, held)


@given(st.floats(0.72, 50), st.floats(1e-4, 0.3))
@settings(max_examples=20)
def test_little_is_left_out(sigma, epsilon):
    assert normal_types(Fraction(sigma)).rest(epsilon) < 1e-18


def test_little_noise_is_left_to_the_blanket():
    """Types on the left are dominated only from some epsilon on."""
    laws = normal_types(Fraction(0.4))
    assert laws.rest(0.1) == math.inf
    assert normal_types(Fraction(1)).rest(5.0) == math.inf


def test_a_class_of_its_own_has_no_types():
    class Other(Gaussian):
        """It may state another law."""

    assert Gaussian(sigma=1.0).slot_laws(Pair(0, 1)) is not None
    assert Other(sigma=1.0).slot_laws(Pair(0, 1)) is None
