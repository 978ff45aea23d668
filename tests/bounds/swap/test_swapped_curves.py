"""The swap bound as a curve: searched, next to attacks, refused where it does not apply."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from bounds.swap.theorem import ExactSlots

from shuffledp.bounds.decomposed import Decomposed
from shuffledp.bounds.root import epsilon_above, epsilon_below
from shuffledp.bounds.swap.curve import Swapped
from shuffledp.bounds.swap.slots import Slots
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms import Laplace, Pair
from shuffledp.mechanisms.base import SlotLaws
from shuffledp.mechanisms.finite.any_pure_ldp import ldp_types
from shuffledp.mechanisms.noise.discrete_laplace import lattice_types
from shuffledp.mechanisms.noise.interval_types import interval_types

ROWS = [[Fraction(x, 20) for x in row] for row in ([10, 4, 6], [4, 10, 6], [4, 4, 12])]


def decompositions(rows: list[list[Fraction]]) -> tuple[Decomposition, list[Decomposition]]:
    """The blanket of the first two rows, and all backgrounds."""
    common = [min(column) for column in zip(*rows, strict=True)]
    return Decomposition.from_coefficients(rows[0], rows[1], common), [
        Decomposition.from_coefficients(rows[0], rows[1], row) for row in rows
    ]


@pytest.mark.parametrize("n", [10**3, 10**6, 10**12])
def test_guarantees_are_next_to_attacks(n):
    blanket, backgrounds = decompositions(ROWS)
    swap = Swapped(SlotLaws(blanket, tuple(backgrounds)), n, 1e-4)
    delta = 1e-6 if n < 10**12 else 1e-9
    found = epsilon_above(swap, delta, 1e-4)
    attack = max(
        epsilon_below(Decomposed(part, n, 1e-4), delta, 1e-4).epsilon for part in backgrounds
    )
    assert attack <= found.epsilon <= attack * (1 + (3e-3 if n == 1000 else 1e-3))
    assert found.proved.proof == "swap"


def test_slots_are_those_of_the_theorem():
    blanket, backgrounds = decompositions(ROWS)
    slots, exact = Slots.of(blanket, backgrounds, 0.0), ExactSlots.of_rows(ROWS, Fraction(1)).balls
    assert slots.gamma.overlaps(exact.gamma)
    for law, other in zip((slots.first, *slots.types), (exact.first, *exact.types), strict=True):
        found = {round(float(x), 12): float(p) for x, p in law.atoms}
        assert found == pytest.approx({round(float(x), 12): float(p) for x, p in other.atoms})


def test_outputs_that_give_an_input_away_are_refused():
    rows = [
        [Fraction(1, 2), Fraction(1, 2), Fraction(0)],
        *([[Fraction(0), Fraction(1, 2), Fraction(1, 2)]] * 2),
    ]
    blanket, backgrounds = decompositions(rows)
    with pytest.raises(ValueError, match="singular"):
        Slots.of(blanket, backgrounds, 0.1)


def test_few_users_in_the_blanket_leave_it_to_the_blanket():
    blanket, backgrounds = decompositions(ROWS)
    laws = SlotLaws(blanket, tuple(backgrounds))
    assert Swapped(laws, 2, 1e-4).above(0.1).log == math.inf
    assert Swapped(laws, 1, 1e-4).above(0.1).log == math.inf


def test_pairs_that_reveal_nothing_need_no_bound():
    types, levels = lattice_types(Fraction(1, 2), 3)
    laws = SlotLaws(types[-1], types, levels)
    assert (
        len(laws.revealing(1.2)) < len(laws.revealing(0.7)) < len(types) == len(laws.revealing(0.2))
    )
    assert not laws.revealing(1.5)


@pytest.mark.parametrize(("n", "low", "high"), [(100, 0.40886, 0.4105), (1000, 0.11047, 0.11065)])
def test_noise_on_the_interval(n, low, high):
    """All pairs and all inputs at once, next to what two inputs reveal."""
    types, levels = interval_types(1.0)
    blanket = Laplace(epsilon0=1.0).decomposition(Pair(0, 1))
    swap = Swapped(SlotLaws(blanket, types, levels), n, 1e-4)
    assert low < epsilon_above(swap, 1e-6, 1e-4).epsilon < high


@pytest.mark.parametrize(
    ("n", "low", "high"), [(1000, 0.13056, 0.13075), (10**6, 0.0030789, 0.0030793)]
)
def test_anything_of_a_level(n, low, high):
    """Next to what ternary randomized response reveals."""
    blanket, types = ldp_types(1.0)
    assert (
        low < epsilon_above(Swapped(SlotLaws(blanket, types), n, 1e-4), 1e-6, 1e-4).epsilon < high
    )
