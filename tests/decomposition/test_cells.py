"""Cells: the two laws of a continuous one, between which it lies in convex order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from comparing import EPSILONS, assert_below, assert_between
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from oracles import enumerated_delta

from shuffledp.basics.balls import precision
from shuffledp.decomposition import Component, Decomposition
from shuffledp.decomposition.cells import Cell, decompose_cells

#: Components that stand for what is inside a cell.
FINE = 24


def drawn(seed: int, count: int) -> tuple[Decomposition, Decomposition]:
    """Random cells, in each of which the ratios run along a segment; and all that is inside them.

    The masses of a and b are those of no law, for which nothing here asks.
    """
    rng = np.random.default_rng(seed)
    cells, parts = [], []
    with precision():
        for _ in range(count):
            start, stop = np.exp(rng.uniform(-1, 1, (2, 2)))
            shares, weights = rng.uniform(0, 1, FINE), rng.uniform(0, 1, FINE) / (FINE * count)
            masses = [arb(0), arb(0), arb(0)]
            for share, weight in zip(map(arb, shares), map(arb, weights), strict=True):
                ratios = [
                    arb(x) + share * (arb(y) - arb(x)) for x, y in zip(start, stop, strict=True)
                ]
                parts.append(Component(ratios[0].log(), ratios[1].log(), weight))
                masses[2] += weight
                for place in (0, 1):
                    masses[place] += weight * ratios[place]
            ends = [tuple(arb(x).log() for x in end) for end in (start, stop)]
            cells.append(Cell(*masses, *ends))
        d = decompose_cells(cells, is_law=False)
        return d, Decomposition(tuple(parts), d.residual)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_cells_enclose_what_is_inside(seed, count):
    assert_between(*drawn(seed, count))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_cells_enclose_the_bound(n):
    d, exact = drawn(n, 1)
    for epsilon in EPSILONS:
        gains, law = d.at(epsilon), exact.at(epsilon).lower
        low, middle, high = (enumerated_delta(x, n) for x in (gains.lower, law, gains.upper))
        assert low <= middle + 1e-12 <= high + 2e-12


def test_atoms_need_no_spread_of_their_own():
    logs = arb(0.25), arb(-0.5)
    a, b = (log.exp() / 2 for log in logs)
    d = decompose_cells([Cell(a, b, arb(0.5), logs)], is_law=False)
    gains = d.at(0.1)
    assert d.residual == 0.5
    assert_below(gains.upper, gains.lower)


def test_ends_that_cannot_be_told_apart_are_one_ball():
    start, stop = (arb(0.3, 1e-20), arb(0)), (arb(0.3, 2e-20), arb(0))
    mass = arb(0.5)
    d = decompose_cells([Cell(mass * start[0].exp(), mass, mass, start, stop)], is_law=False)
    (one,) = d.upper.components
    assert one.log0.contains(start[0])
    assert one.log0.contains(stop[0])
    assert one.weight == mass


def test_tails_are_given_away_above():
    a, b, c = arb(1e-9), arb(1e-12), arb(1e-12)
    logs = arb(0), arb(0)
    rest = 1 - c
    d = decompose_cells([], [Cell(rest, rest, rest, logs)], [(a, b, c)], is_law=True)
    assert d.residual == 0
    assert d.upper.residual.overlaps(c)
    assert [(s.a, s.b) for s in d.upper.singular] == [(a, 0), (0, b)]
    assert not d.singular
    gains = d.at(0.5)
    assert gains.exposed[0] == 0
    assert gains.exposed[1] == a
    assert d.max_epsilon == math.inf
