"""The discrete Laplace mechanism against its matrix, closed forms and direct sums."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from enumeration import (
    assert_dominated,
    assert_masses_of_laws,
    assert_overlap,
    assert_same_law,
    backgrounds,
    clamped_geometric_matrix,
    encloses,
    excess,
    levels,
    precision,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import law_of

from shuffledp.engine.sums import Law
from shuffledp.mechanisms import DiscreteLaplace, Laplace, MatrixRandomizer, Pair
from shuffledp.mechanisms.base import SlotLaws
from shuffledp.mechanisms.noise.discrete_laplace import lattice_types

mp = precision(50)

LEVELS = (0.1, 1.0, 4.0)
BOUNDS = range(1, 7)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("level", LEVELS)
class TestSmallBound:
    def test_level_is_that_of_the_matrix(self, level, bound):
        matrix = MatrixRandomizer(clamped_geometric_matrix(bound, level))
        assert DiscreteLaplace(epsilon0=level, bound=bound).epsilon0 == pytest.approx(
            matrix.epsilon0, rel=1e-12
        )

    def test_blanket_is_that_of_the_clamped_matrix(self, level, bound):
        randomizer = DiscreteLaplace(epsilon0=level, bound=bound)
        assert randomizer.neighbours() == (Pair(0, bound),)
        matrix = MatrixRandomizer(clamped_geometric_matrix(bound, level))
        blanket = randomizer.decomposition(Pair(0, bound))
        assert_same_law(blanket, matrix.decomposition(Pair(0, bound)))
        # Single outputs are atoms, so spreading moves nothing.
        assert_same_law(blanket.upper, matrix.decomposition(Pair(0, bound)))

    def test_backgrounds_are_those_of_the_clamped_matrix(self, level, bound):
        pair = Pair(0, bound)
        closed = backgrounds(DiscreteLaplace(epsilon0=level, bound=bound), pair)
        enumerated = backgrounds(MatrixRandomizer(clamped_geometric_matrix(bound, level)), pair)
        for made, expected in ((closed[0], enumerated[0]), (closed[1], enumerated[bound])):
            assert_same_law(made, expected)
            assert_same_law(made.upper, expected)

    @pytest.mark.heavy(keep=5)
    def test_end_points_are_the_universally_worst_pair(self, level, bound):
        worst = DiscreteLaplace(epsilon0=level, bound=bound).decomposition(Pair(0, bound))
        matrix = MatrixRandomizer(clamped_geometric_matrix(bound, level))
        for pair in matrix.neighbours():
            blanket = matrix.decomposition(pair)
            # Also beyond the range in which privacy levels make sense.
            for epsilon in (-1.5 * level, -0.5 * level, 0.0, 0.3 * level, level, 2 * level):
                assert_dominated(blanket.at(epsilon).upper, worst.at(epsilon).lower, slack=1e-13)


def test_clamping_keeps_the_blanket_of_the_unbounded_report():
    """The same atoms from reports that are not clamped, on a long stretch of the integers."""
    bound, level = 3, 2.0
    alpha = math.exp(-level / bound)
    y = np.arange(-80, 84)
    rows = np.array([(1 - alpha) / (1 + alpha) * alpha ** np.abs(y - x) for x in range(bound + 1)])
    common = rows.min(axis=0)
    unclamped = {}
    for column, c in zip(rows.T, common, strict=True):
        key = round(math.log(column[0] / c), 9), round(math.log(column[-1] / c), 9)
        unclamped[key] = unclamped.get(key, 0.0) + c
    blanket = DiscreteLaplace(epsilon0=level, bound=bound).decomposition(Pair(0, bound))
    found = {(round(float(a), 9), round(float(b), 9)): float(c) for a, b, c in blanket.components}
    assert found == pytest.approx(unclamped, rel=1e-12)


def blanket_mass(bound: int, level: float):
    """alpha^(B/2) for even B, 2 alpha^((B+1)/2) / (1 + alpha) for odd B."""
    alpha = mp.exp(-mp.mpf(level) / bound)
    if bound % 2 == 0:
        return alpha ** (bound // 2)
    return 2 * alpha ** ((bound + 1) // 2) / (1 + alpha)


@pytest.mark.parametrize("bound", [1, 2, 3, 4, 5, 6, 101, 102, 20000, 20001])
@pytest.mark.parametrize("level", [0.01, 1.0, 10.0, 50.0, 300.0])
def test_blanket_mass(level, bound):
    blanket = DiscreteLaplace(epsilon0=level, bound=bound).decomposition(Pair(0, bound))
    assert encloses(blanket.mass, blanket_mass(bound, level), 20)


@pytest.mark.parametrize(
    "bounds", [(2, 4, 6, 102, 20000), (1, 3, 5, 101, 20001)], ids=["even", "odd"]
)
@pytest.mark.parametrize("level", [1e-12, 1e-6, 0.01, 1.0, 10.0, 50.0])
def test_residual(level, bounds):
    for bound in bounds:
        blanket = DiscreteLaplace(epsilon0=level, bound=bound).decomposition(Pair(0, bound))
        assert encloses(blanket.residual, 1 - blanket_mass(bound, level), 20)


@pytest.mark.parametrize("level", [1e-6, 0.01, 1.0, 10.0, 50.0])
@pytest.mark.parametrize("bound", [1, 2, 3, 8, 9])
def test_masses_and_ratios(level, bound):
    alpha = mp.exp(-mp.mpf(level) / bound)
    kappa, beyond = (1 - alpha) / (1 + alpha), 1 / (1 + alpha)
    expected = {(0, bound): beyond * alpha**bound, (bound, 0): beyond * alpha**bound}
    for y in range(1, bound):
        far = max(y, bound - y)
        expected[far - y, far - (bound - y)] = kappa * alpha**far
    blanket = DiscreteLaplace(epsilon0=level, bound=bound).decomposition(Pair(0, bound))
    assert blanket.size == len(expected)
    for log0, log1, weight in blanket.components:
        steps = round(float(log0) * bound / level), round(float(log1) * bound / level)
        assert encloses(weight, expected.pop(steps), 20)
        assert encloses(log0, mp.mpf(level) * steps[0] / bound, 20)
        assert encloses(log1, mp.mpf(level) * steps[1] / bound, 20)
    assert not expected


@settings(max_examples=60)
@given(level=st.floats(1e-6, 50), bound=st.integers(1, 30) | st.integers(1, 10**9))
def test_masses_add_up(level, bound):
    randomizer = DiscreteLaplace(epsilon0=level, bound=bound)
    pair = Pair(0, bound)
    decompositions = [randomizer.decomposition(pair)]
    decompositions += backgrounds(randomizer, pair)
    for decomposition in decompositions:
        assert_masses_of_laws(decomposition)
    assert decompositions[0].size <= 20_000


def direct_law(bound: int, level: float, epsilon: float) -> Law:
    """The law of G for the end points, output by output."""
    y = np.arange(bound + 1)
    rate = level / bound
    near = math.tanh(rate / 2) * np.exp(-rate * y)
    near[0], near[-1] = 1 / (1 + math.exp(-rate)), math.exp(-level) / (1 + math.exp(-rate))
    far = near[::-1]
    common = np.minimum(near, far)
    values = np.append((near - math.exp(epsilon) * far) / common, 0.0)
    weights = np.append(common, 1 - common.sum())
    return law_of(values, weights)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
@pytest.mark.parametrize(("level", "bound"), [(0.5, 20000), (8.0, 20000), (2.0, 30001)])
def test_runs_enclose_the_law_in_convex_order(level, bound, share):
    epsilon = share * level
    exact = direct_law(bound, level, epsilon)
    law = DiscreteLaplace(epsilon0=level, bound=bound).decomposition(Pair(0, bound)).at(epsilon)
    thresholds = np.concatenate([levels(exact, count=101), exact.values[:: bound // 50]])
    lower, upper = excess(law.lower, thresholds), excess(law.upper, thresholds)
    middle = excess(exact, thresholds)
    slack = 1e-12 * math.exp(level + epsilon)
    assert (lower <= middle + slack).all()
    assert (middle <= upper + slack).all()
    assert (upper - lower <= 1e-5 * math.exp(level + epsilon)).all()


def test_fine_grids_tend_to_the_laplace_mechanism():
    level, epsilon = 2.0, 0.4
    fine = DiscreteLaplace(epsilon0=level, bound=10**8).decomposition(Pair(0, 10**8)).at(epsilon)
    limit = Laplace(epsilon0=level).decomposition(Pair(0, 1)).at(epsilon)
    thresholds = np.linspace(-8, 6, 57)
    assert_overlap(fine, limit, thresholds, slack=1e-7)
    np.testing.assert_allclose(
        excess(fine.lower, thresholds), excess(limit.lower, thresholds), atol=2e-5
    )


def test_slot_laws_are_those_of_the_clamped_matrix():
    """All triples of inputs, whose laws depend on two distances alone."""
    bound, rate = 3, 0.5
    mechanism = DiscreteLaplace(epsilon0=rate * bound, bound=bound)
    alpha = math.exp(-rate)
    rows = np.array([[alpha ** abs(x - y) for y in range(bound + 1)] for x in range(bound + 1)])
    rows[:, 1:-1] *= 1 - alpha  # reports beyond an end count as the end
    matrix = MatrixRandomizer(rows / rows.sum(axis=1, keepdims=True))
    blanket = mechanism.decomposition(Pair(0, bound))
    laws = SlotLaws(blanket, *lattice_types(Fraction(rate), bound))
    places = [(d, e) for d in range(1, bound + 1) for e in range(d - bound, bound + 1)]
    for x, other, v in itertools.product(range(bound + 1), repeat=3):
        if x < other:
            place = places.index((other - x, v - x))
            assert laws.levels[place] == pytest.approx(rate * (other - x))
            found = laws.backgrounds[place].at(0.2).upper
            law = matrix.decomposition(Pair(x, other), v).at(0.2).upper
            for strike in np.linspace(-3, 3, 25):
                own = float(np.maximum(found.values - strike, 0) @ found.masses)
                expected = float(np.maximum(law.values - strike, 0) @ law.masses)
                assert own == pytest.approx(expected, abs=1e-12)


def test_pairs_that_reveal_nothing_are_left_out():
    mechanism = DiscreteLaplace(epsilon0=3.0, bound=12)
    laws = mechanism.slot_laws(Pair(0, 12))
    assert laws is not None
    assert len(laws.backgrounds) == len(laws.revealing(0.0)) == sum(range(13, 25))
    assert len(laws.revealing(1.5)) == sum(range(13, 19))
    assert laws.revealing(3.1) == ()
    assert DiscreteLaplace(epsilon0=3.0, bound=21).slot_laws(Pair(0, 21)) is None
    assert mechanism.slot_laws(Pair(0, 2)) is None


def test_few_inputs_are_looked_at_pair_by_pair():
    mechanism = DiscreteLaplace(epsilon0=3.0, bound=3)
    pairs = mechanism.pairs_to_swap()
    assert pairs is not None
    assert len(pairs) == 6
    for pair in pairs:
        laws = mechanism.slot_laws(pair)
        assert laws is not None
        assert len(laws.backgrounds) == 4
