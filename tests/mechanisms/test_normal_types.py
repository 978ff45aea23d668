"""Types of normal noise against normal laws in fine cells: everything that they stand for."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from shuffledp import ShuffleAccountant
from shuffledp.basics.balls import precision, total
from shuffledp.bounds.swap.curve import Swapped
from shuffledp.engine.sums import Atom, Law
from shuffledp.mechanisms import Gaussian, Pair
from shuffledp.mechanisms.noise import normal_types as normal_types_module
from shuffledp.mechanisms.noise.normal_types import normal_types

OUTPUTS = np.linspace(-10, 10, 20001)


def masses(edges):
    """Of the standard normal law between edges, from the side where it is small."""
    return np.where(edges[:-1] > 0, -np.diff(norm.sf(edges)), np.diff(norm.cdf(edges)))


def gains(first, second, held, sigma, ratio):
    """Gains of a slot whose user holds a number, with the mass of each, below in convex order."""
    own = masses(OUTPUTS)
    means = [masses(OUTPUTS + (held - x) / sigma) / own for x in (first, second)]
    return means[0] - ratio * means[1], own


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
@pytest.mark.parametrize("level", [0.01, 0.1, 0.2])
@pytest.mark.parametrize("sigma", [0.72, 1.0, 3.0, 20.0])
def test_every_slot_is_dominated(sigma, level):
    """All pairs x < x' and all v: T(x, x', v) is below a mixture of two neighbouring types."""
    laws, epsilon = normal_types(Fraction(sigma)), level / sigma
    assert laws.rest(epsilon) < 1e-30
    rng = np.random.default_rng(round(1000 * sigma + 100 * level))
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


ATOMS = st.lists(st.tuples(st.integers(-64, 64), st.integers(1, 64)), min_size=1, max_size=6)


@given(ATOMS, ATOMS, ATOMS, st.sampled_from([0, 1, 4, 16]))
def test_the_excess_over_a_mixture_is_that_of_fractions(one, other, target, part):
    """The largest excess of E(G - t)_+ over that of a mixture, at t >= 0, also between atoms."""

    def mean_above(atoms, t):
        return sum((p * max(x - t, 0) for x, p in atoms), Fraction(0))

    with precision():
        laws = [
            Law(tuple(Atom(arb(x), arb(p)) for x, p in atoms)) for atoms in (one, other, target)
        ]
        ends = normal_types_module._Ends.of(laws[:2], 1)
        means, lost = ends.means_of(laws[2].atoms)
        found = ends.excess(means, arb(part) / 16)
    share = Fraction(part, 16)
    largest = max(
        mean_above(target, t) - share * mean_above(one, t) - (1 - share) * mean_above(other, t)
        for t in (Fraction(i, 4) for i in range(4 * 65))
    )
    assert lost == 0
    assert found == float(largest)


@given(st.floats(0.72, 1e4), st.floats(1e-6, 0.2))
@settings(max_examples=10)
def test_little_is_left_out(sigma, level):
    assert normal_types(Fraction(sigma)).rest(level / sigma) < 1e-30


def truth(rows, first, second, others, ratio):
    """What two datasets reveal, in exact fractions."""
    laws = []
    for x in (first, second):
        law = Counter({(0,) * len(rows[0]): Fraction(1)})
        for v in (x, *others):
            grown: Counter[tuple[int, ...]] = Counter()
            for counts, p in law.items():
                for y, q in enumerate(rows[v]):
                    grown[(*counts[:y], counts[y] + 1, *counts[y + 1 :])] += p * q
            law = grown
        laws.append(law)
    return sum(max(p - ratio * laws[1][counts], Fraction(0)) for counts, p in laws[0].items())


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("seed", range(12))
def test_no_dataset_reveals_more(seed):
    """All datasets of up to six users who hold one of four inputs; outputs in three cells."""
    rng = np.random.default_rng(seed)
    cases = 0
    while cases < 90:
        sigma, n = rng.choice([0.8, 1.0, 2.0, 4.0]), rng.integers(5, 7)
        level = rng.choice([0.02, 0.1, 0.2]) / sigma
        bound = Swapped(normal_types(Fraction(sigma)), int(n), 1e-4).above(level).log
        if bound == math.inf:
            continue
        inputs = [0.0, *sorted(rng.random(2)), 1.0]
        edges = np.sort(rng.normal(0.5, sigma, 2))
        rows = [
            [Fraction(p) for p in np.diff([0, *norm.cdf((edges - x) / sigma), 1])] for x in inputs
        ]
        ratio = Fraction(math.exp(level))
        for others in [rng.integers(0, 4, n - 1) for _ in range(4)] + [
            [0] * (n - 1),
            [3] * (n - 1),
        ]:
            for first, second in ((0, 3), (3, 0), tuple(rng.choice(4, 2, replace=False))):
                assert truth(rows, first, second, others, ratio) <= math.exp(bound) * (1 + 1e-9)
                cases += 1


@pytest.mark.parametrize(("sigma", "n", "ratio"), [(1.0, 10_000, 1.01), (3.0, 1000, 1.01)])
def test_guarantees_are_next_to_attacks(sigma, n, ratio):
    found = ShuffleAccountant(Gaussian(sigma=sigma), n).epsilon_interval(1e-6)
    assert found.upper <= ratio * found.lower


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
