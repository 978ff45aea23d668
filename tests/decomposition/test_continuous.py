"""Continuous laws whose cells are made when they are asked for."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle

import numpy as np
import pytest

from shuffledp.decomposition import Atom, Continuous, Decomposition, Piece, Smooth
from shuffledp.divergence import log_delta_at
from shuffledp.randomizers import Gaussian, Laplace, Pair
from shuffledp.randomizers.noise import SymmetricNoise

PAIR = Pair(0, 1)
FIELDS = [field.name for field in dataclasses.fields(Decomposition) if field.init]


def made(noise: SymmetricNoise, holder: int | None = None) -> Continuous:
    found = noise.blanket(PAIR) if holder is None else noise.background(PAIR, holder)
    assert isinstance(found, Continuous)
    return found


def test_questions_that_quadrature_answers_make_no_cells() -> None:
    law = made(Laplace(epsilon0=2.0))
    assert log_delta_at(law, 10_000, 0.05).width < 1e-3
    assert law.max_epsilon == 2.0
    assert (law.is_singular, law.exposed) == (False, 0.0)
    assert law.start.values.size > 1
    assert law.swap().max_epsilon == 2.0
    assert not law.cells_are_made
    assert not made(Gaussian(sigma=1.0)).cells_are_made


@pytest.mark.parametrize("holder", [None, 0, 1])
@pytest.mark.parametrize("noise", [Laplace(epsilon0=1.5), Gaussian(sigma=1.0)])
def test_cells_are_what_they_would_have_been(noise: SymmetricNoise, holder: int | None) -> None:
    """Whichever field is asked for first, all come from the same cells."""
    cells = dataclasses.replace(made(noise, holder))
    assert cells.smooth is None
    for first in ("spread", "singular0", "residual_error", "log_ratio_error"):
        law = made(noise, holder)
        getattr(law, first)
        for name in FIELDS:
            if name != "spread":
                np.testing.assert_array_equal(getattr(law, name), getattr(cells, name))
        assert law.upper.size == cells.upper.size > law.size / 2
    assert law.at(0.3).upper.values.size == cells.upper.size + (cells.upper.residual > 0)


def test_cells_are_made_once() -> None:
    calls = []
    smooth = made(Laplace(epsilon0=1.0)).smooth
    assert smooth is not None

    def cells() -> Decomposition:
        calls.append(1)
        return Decomposition.silent()

    law = Continuous.of(smooth, cells)
    assert (law.size, law.residual, law.weight.tolist()) == (1, 0.0, [1.0])
    assert law.spread is None
    assert len(calls) == 1


def test_copies_know_the_law() -> None:
    for law in (made(Laplace(epsilon0=1.0)), made(Gaussian(sigma=1.0), 0)):
        for twin in (
            copy.deepcopy(law),
            copy.copy(law),
            pickle.loads(pickle.dumps(law)),  # noqa: S301
        ):
            assert twin.smooth == law.smooth
            assert not twin.cells_are_made
            assert twin.size == law.size


def test_what_there_is_not_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="'Continuous' object has no attribute 'colour'"):
        made(Laplace(epsilon0=1.0)).colour  # noqa: B018
    with pytest.raises(AttributeError, match="weight"):
        object.__new__(Continuous).weight  # noqa: B018


def test_the_reversed_pair_has_the_reversed_cells() -> None:
    law = made(Laplace(epsilon0=1.5), 1)
    swapped = law.swap()
    np.testing.assert_array_equal(swapped.log_ratio0, law.log_ratio1)
    np.testing.assert_array_equal(swapped.upper.log_ratio1, law.upper.log_ratio0)
    assert swapped.smooth == (law.smooth and law.smooth.swap())
    cells = dataclasses.replace(law).swap()
    assert isinstance(cells, Continuous)
    assert cells.smooth is None
    np.testing.assert_array_equal(swapped.log_ratio0, cells.log_ratio0)


def test_cells_alone_answer_for_themselves() -> None:
    """What is made from a continuous law knows its cells only."""
    cells = dataclasses.replace(made(Laplace(epsilon0=2.0)))
    assert cells.max_epsilon == cells.max_epsilon_interval().upper >= 2.0
    assert (cells.is_singular, cells.exposed) == (False, 0.0)
    normal = dataclasses.replace(made(Gaussian(sigma=1.0)))
    assert normal.is_singular
    assert normal.upper.exposed > 0
    assert made(Gaussian(sigma=1.0)).is_singular
    assert made(Gaussian(sigma=1.0)).max_epsilon == math.inf


@pytest.mark.parametrize("holder", [None, 0, 1])
def test_delta_vanishes_where_the_law_ends(holder: int | None) -> None:
    law = made(Laplace(epsilon0=1.5), holder)
    nothing = log_delta_at(law, 1000, 1.5)
    assert (nothing.lower, nothing.upper) == (-math.inf, -math.inf)
    assert log_delta_at(law, 1000, math.nextafter(1.5, 0.0)).upper > -math.inf
    assert log_delta_at(law, 1000, 0.2).lower > -math.inf


def test_the_largest_ratio_is_rounded_up() -> None:
    """Pieces count as well as atoms, and a product that may be rounded is."""

    def end(rate0: float, rate1: float, length: float, *atoms: Atom) -> float:
        pieces = (Piece(0.0, 0.0, 1.0, rate0, rate1), Piece(0.0, 0.0, 1.0, rate1, rate0))
        return Smooth(pieces, length, atoms, 0.1, 1.0).max_epsilon

    assert end(1.0, 0.0, 0.7) == 0.7
    assert end(0.0, -1.0, 0.7) == 0.7
    assert end(1.0, 0.0, 0.7, Atom(0.9, 0.0, 0.1)) == 0.9
    assert end(1.0, 0.0, 0.7, Atom(0.0, -0.8, 0.1), Atom(0.0, 0.9, 0.1)) == 0.8
    assert end(0.3, 0.0, 0.7) == math.nextafter(0.3 * 0.7, 1.0)
    assert Smooth((Piece(0.0, 1.0, 1.0, 1.0, 0.0),), 5.0, (), 0.1, 1.0).max_epsilon == math.inf


def test_exposed_masses_count_by_what_is_certain_of_them() -> None:
    """What the other input may produce does not count."""
    parts = Decomposition(
        log_ratio0=np.log([0.45]),
        log_ratio1=np.log([0.6]),
        weight=np.array([1.0]),
        residual=0.0,
        singular0=np.array([0.02, 0.03, 0.5, 0.0]),
        singular1=np.array([0.0, 0.0, 0.1, 0.3]),
        singular_error=0.01,
    )
    assert parts.exposed == pytest.approx(0.05 * (1 - 0.01))
    assert parts.exposed < 0.05 * (1 - 0.01)
    assert parts.is_singular
    assert dataclasses.replace(parts, singular_error=math.nextafter(1.0, 0.0)).exposed == 0.0
    assert Decomposition.silent().exposed == 0.0
