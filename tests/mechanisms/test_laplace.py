"""The Laplace mechanism against its densities and against the published law."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from enumeration import (
    assert_dominated,
    assert_masses_of_laws,
    assert_overlap,
    backgrounds,
    encloses,
    precision,
    recut,
    widest,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import law_of

from shuffledp.engine.sums import Law
from shuffledp.mechanisms import Laplace, Pair

mp = precision(30)

LEVELS = (0.01, 0.5, 1.0, 4.0, 12.0)
PAIR = Pair(0, 1)


def density(y, x, level):
    return level / 2 * mp.exp(-level * abs(y - x))


def place(log_ratio: float, level):
    """The output between 0 and 1 at which log R(0)/R(1) has this value."""
    return (1 - mp.mpf(log_ratio) / level) / 2


@pytest.mark.parametrize("level", [1e-9, *LEVELS, 100.0, 300.0])
def test_blanket_mass(level):
    blanket = Laplace(epsilon0=level).decomposition(PAIR)
    residual = -mp.expm1(-mp.mpf(level) / 2)
    assert encloses(blanket.residual, residual, 20)
    assert encloses(blanket.mass, mp.exp(-mp.mpf(level) / 2), 20)


@pytest.mark.parametrize("level", LEVELS)
def test_masses_of_cells_are_integrals_of_the_densities(level):
    cut, exact_level = Laplace(epsilon0=level).decomposition(PAIR).cut, mp.mpf(level)
    count = cut.c.size
    for i in sorted({0, 1, 2, count // 7, count // 3, count // 2, count - 2, count - 1}):
        ends = [mp.mpf(y) for y in cut.points[i : i + 2]]
        for x, found in ((0, cut.a[i]), (1, cut.b[i])):
            mass = mp.quad(lambda y, x=x: density(y, x, exact_level), ends)
            assert found == pytest.approx(float(mass), rel=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_outputs_below_zero_are_one_atom(level):
    exact_level = mp.mpf(level)
    far = mp.quad(lambda y: density(y, 1, exact_level), [-mp.inf, -1, 0])
    blanket = Laplace(epsilon0=level).decomposition(PAIR)
    for part in (blanket, blanket.upper):
        for top, bottom in ((0, 1), (1, 0)):
            masses = [c.weight for c in part.components if c[top] == level and c[bottom] == 0]
            assert float(sum(masses)) >= float(far) * (1 - 1e-14)
    (atom,) = (c for c in blanket.components if c.log0 == level)
    assert encloses(atom.weight, far, 20)


@settings(max_examples=30)
@given(level=st.floats(1e-6, 50))
def test_masses_add_up(level):
    randomizer = Laplace(epsilon0=level)
    decompositions = [randomizer.decomposition(PAIR)]
    decompositions += backgrounds(randomizer, PAIR)
    for decomposition in decompositions:
        assert_masses_of_laws(decomposition)
    assert [d.residual for d in decompositions[1:]] == [0, 0]


def published_cdf(t, level, epsilon):
    """P[L <= t] from the paper, L being the ratio's excess times the blanket mass."""
    gamma = mp.exp(-level / 2)
    if t < gamma * (1 - mp.exp(level + epsilon)):
        return mp.mpf(0)
    if t < gamma * (1 - mp.exp(epsilon)):
        return mp.sqrt(mp.exp(epsilon) / (1 - mp.exp(level / 2) * t)) / 2
    if t < gamma * (mp.exp(level) - mp.exp(epsilon)):
        return 1 - 1 / mp.sqrt(mp.exp(level / 2) * t + mp.exp(epsilon)) / 2
    return mp.mpf(1)


def published_excess(t: float, level: float, epsilon: float) -> float:
    """E(G - t)_+, integrated from the published distribution function of L = gamma G."""
    level, epsilon, t = mp.mpf(level), mp.mpf(epsilon), mp.mpf(t)
    gamma = mp.exp(-level / 2)
    stop = gamma * (mp.exp(level) - mp.exp(epsilon))
    kinks = [gamma * (1 - mp.exp(level + epsilon)), gamma * (1 - mp.exp(epsilon)), stop]
    start = gamma * t
    points = [start, *(k for k in kinks if k > start)]
    blanket = mp.mpf(0)
    for left, right in pairwise(points):
        middle = (left + right) / 2  # decides the branch, which is smooth inside
        if published_cdf(middle, level, epsilon) == 0:
            blanket += right - left
        else:
            blanket += mp.quad(lambda s: 1 - published_cdf(s, level, epsilon), [left, right])
    return float(blanket + (1 - gamma) * max(-t, 0))


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("share", [0.0, 0.2, 0.9])
@pytest.mark.parametrize("level", [0.1, 1.0, 4.0])
def test_cells_enclose_the_published_law_in_convex_order(level, share):
    epsilon = share * level
    low, high = 1 - math.exp(level + epsilon), math.exp(level) - math.exp(epsilon)
    middle = 1 - math.exp(epsilon)
    thresholds = [
        low - 0.5,
        *np.linspace(low, middle, 5)[1:-1],
        middle,
        -1e-3,
        0.0,
        1e-3,
        *np.linspace(middle, high, 5)[1:-1],
    ]
    exact = np.array([published_excess(t, level, epsilon) for t in thresholds])
    slack = 1e-13 * math.exp(level + epsilon)
    laws = recut(Laplace(epsilon0=level).decomposition(PAIR))
    width = {cut: widest(d.at(epsilon), thresholds, exact, slack) for cut, d in laws.items()}
    # Only the cell that holds the kink differs: its mass times its width.
    few = 1e-5 * math.exp(level / 2 + epsilon)
    assert width["own"] <= min(few, width["coarser"] + 1e-12)
    assert width["finer"] <= few / 2


def test_published_law_has_its_jumps():
    """The two end atoms, e^(-epsilon0)/2 of the outputs each, are jumps of the published law."""
    level, epsilon = mp.mpf(1), mp.mpf("0.1")
    gamma = mp.exp(-level / 2)
    low = gamma * (1 - mp.exp(level + epsilon))
    assert abs(gamma * published_cdf(low, level, epsilon) - mp.exp(-level) / 2) < 1e-25
    law = Laplace(epsilon0=1.0).decomposition(PAIR).at(0.1).lower
    jump = law.masses[law.values <= law.values.min() + 1e-9].sum()
    assert jump == pytest.approx(math.exp(-1) / 2, rel=1e-12)


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize("level", [0.1, 1.0, 4.0])
def test_backgrounds_enclose_the_law_of_two_datasets(level, share):
    """The others hold 0: E(G - t)_+ is the integral of ((1 - t) R(0) - e^epsilon R(1))_+."""
    epsilon = share * level
    first, second = backgrounds(Laplace(epsilon0=level), PAIR)

    def exact(t: float) -> float:
        keep, big = 1 - mp.mpf(t), mp.exp(epsilon)
        kinks = {mp.mpf(0), mp.mpf(1), mp.mpf(-2), mp.mpf(3)}
        if keep > 0:
            kinks.add((1 + mp.log(keep / big) / level) / 2)
        points = [-mp.inf, *sorted(kinks), mp.inf]

        def integrand(y):
            return max(keep * density(y, 0, level) - big * density(y, 1, level), 0)

        return float(mp.quad(integrand, points))

    thresholds = [-1.5, -0.5, -0.1, 0.0, 0.05, 0.3]
    expected = np.array([exact(t) for t in thresholds])
    slack = 1e-12 * math.exp(level + epsilon)
    width = {
        cut: widest(d.at(epsilon), thresholds, expected, slack) for cut, d in recut(first).items()
    }
    few = 1e-5 * math.exp(level + epsilon)
    assert width["own"] <= min(few, width["coarser"] + 1e-12)
    assert width["finer"] <= few / 2
    # By reflection the others at 1 are the reversed pair with the others at 0.
    assert_overlap(second.at(epsilon), first.swap().at(epsilon), thresholds, slack=slack)


@pytest.mark.parametrize("level", [0.5, 3.0])
def test_interval_and_binary_domain_have_the_same_bounds(level):
    binary, interval = Laplace(epsilon0=level), Laplace(epsilon0=level, domain="interval")
    assert binary != interval
    assert binary.neighbours() == interval.neighbours() == (PAIR,)
    one, other = binary.decomposition(PAIR), interval.decomposition(PAIR)
    for name in ("ratio0", "ratio1", "weight"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("level", [0.5, 2.0, 6.0])
def test_end_points_are_the_worst_pair_of_the_interval(level):
    """On a grid of outputs every pair of grid inputs is dominated by the end points."""
    steps, reach = 8, 40
    y = np.arange(-reach * steps, (reach + 1) * steps + 1) / steps
    decay = math.exp(-level / steps)
    scale = (1 - decay) / (1 + decay)
    rows = {x: scale * decay ** np.abs(steps * (y - x)) for x in np.linspace(0, 1, steps + 1)}
    common = np.minimum(rows[0.0], rows[1.0])

    def law(x: float, other: float, epsilon: float) -> Law:
        values = (rows[x] - math.exp(epsilon) * rows[other]) / common
        weights = np.append(common, 1 - common.sum())
        return law_of(np.append(values, 0.0), weights)

    for epsilon in (0.0, level / 3, level / 1.1):
        worst = law(0.0, 1.0, epsilon)
        for x in rows:
            for other in rows:
                assert_dominated(law(x, other, epsilon), worst, slack=1e-8)
