"""The swap bound against its formula in exact rationals, for every background."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import comb

import numpy as np
import pytest

from shuffledp.decomposition import Decomposition
from shuffledp.divergence import swap
from shuffledp.divergence.slots import Slots
from shuffledp.divergence.swap import swap_log_delta

Sum = dict[Fraction, Fraction]
ONE: Sum = {Fraction(0): Fraction(1)}


def plus(total: Sum, slot: Sum) -> Sum:
    result: Counter[Fraction] = Counter()
    for x, p in total.items():
        for y, q in slot.items():
            result[x + y] += p * q
    return dict(result)


def positive_part(total: Sum) -> Fraction:
    return sum((p * x for x, p in total.items() if x > 0), Fraction(0))


def slot(gain: list[Fraction], law: list[Fraction]) -> Sum:
    """The law of g/R under R; mass that g does not touch has the value 0."""
    total, mass = Counter(), sum(law)
    for g, p in zip(gain, law, strict=True):
        if p:
            total[g / p] += p / mass
    return dict(total)


def swap_bound(rows: list[list[Fraction]], others: tuple[int, ...], ratio: Fraction) -> Fraction:
    """Theorem G' for one background, the average over K spelt out."""
    gain = [a - ratio * b for a, b in zip(rows[0], rows[1], strict=True)]
    common = [min(column) for column in zip(*rows, strict=True)]
    gamma, size = sum(common), len(others)
    slots = [slot(gain, row) for row in rows]
    total = Fraction(0)
    for k in range(size + 1):
        sets = list(combinations(range(size), k))
        for examined in sets:
            kept = slot(gain, common)
            for j in range(size):
                if j not in examined:
                    kept = plus(kept, slots[others[j]])
            weight = gamma * (1 - gamma) ** k / comb(size, k)
            total += weight * positive_part(kept)
    return total / (size + 1)


def make_slots(rows: list[list[Fraction]], epsilon: float) -> Slots:
    first, second = ([float(p) for p in row] for row in rows[:2])
    common = [float(min(column)) for column in zip(*rows, strict=True)]
    return Slots.of(
        Decomposition.from_coefficients(first, second, common),
        [Decomposition.from_coefficients(first, second, [float(p) for p in r]) for r in rows],
        epsilon,
    )


def random_rows(rng: np.random.Generator, inputs: int, outputs: int) -> list[list[Fraction]]:
    """Rows over a power of two, so that doubles hold them exactly."""
    rows = []
    for _ in range(inputs):
        cuts = np.sort(rng.choice(np.arange(1, 64), outputs - 1, replace=False))
        counts = np.diff(np.concatenate([[0], cuts, [64]]))
        shared = Fraction(3, 4) / outputs
        rows.append([Fraction(int(c), 256) + shared for c in counts])
    return rows


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("seed", range(12))
def test_all_backgrounds_are_covered(seed):
    rng = np.random.default_rng(seed)
    inputs, n = int(rng.integers(2, 4)), int(rng.integers(5, 8))
    rows = random_rows(rng, inputs, 2 if inputs == 3 else 4)
    epsilon = float(rng.choice([0.0, 0.01, 0.05, 0.1]))
    exact = [
        swap_bound(rows, others, Fraction(math.exp(epsilon)))
        for others in combinations_with_replacement(range(inputs), n - 1)
    ]
    largest = float(max(exact))
    if largest == 0:
        return
    found = math.exp(swap_log_delta(make_slots(rows, epsilon), n, 1e-3))
    assert largest * (1 - 1e-12) <= found
    assert found <= largest * 1.05, (found, largest)


def largest_of_many_types(rows: list[list[Fraction]], size: int, ratio: Fraction) -> Fraction:
    """Theorem G' for the worst background of so many others; equal sums are added up once."""
    gain = [a - ratio * b for a, b in zip(rows[0], rows[1], strict=True)]
    common = [min(column) for column in zip(*rows, strict=True)]
    gamma, slots = sum(common), [slot(gain, row) for row in rows]
    sums = {(): slot(gain, common)}
    for k in range(1, size + 1):
        for held in combinations_with_replacement(range(len(rows)), k):
            sums[held] = plus(sums[held[:-1]], slots[held[-1]])
    parts = {held: positive_part(total) for held, total in sums.items()}
    return max(
        sum(
            gamma
            * (1 - gamma) ** k
            / comb(size, k)
            * sum(map(parts.get, combinations(held, size - k)))
            for k in range(size + 1)
        )
        for held in combinations_with_replacement(range(len(rows)), size)
    ) / (size + 1)


@pytest.mark.parametrize("seed", range(8))
def test_all_backgrounds_of_many_types_are_covered(seed):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, int(rng.integers(6, 9)), int(rng.integers(2, 4)))
    epsilon = float(rng.choice([0.0, 0.01, 0.05, 0.1]))
    exact = float(largest_of_many_types(rows, 4, Fraction(math.exp(epsilon))))
    found = math.exp(swap_log_delta(make_slots(rows, epsilon), 5, 1e-3))
    assert exact * (1 - 1e-12) <= found


def test_total_mass_is_one():
    """At e^epsilon = 0 the formula has mass 1, whatever the others hold."""
    rows = random_rows(np.random.default_rng(1), 3, 4)
    for others in ((0, 1, 2), (2, 2, 2), (0, 0, 1)):
        assert swap_bound(rows, others, Fraction(0)) == 1


def test_reference_values():
    """Binary and ternary response with odds of 3 and 5, computed by two programs."""

    def response(k: int, odds: int) -> list[list[Fraction]]:
        total = Fraction(1, odds + k - 1)
        return [[total * (odds if x == y else 1) for y in range(k)] for x in range(k)]

    lam = Fraction(5, 4)
    assert swap_bound(response(2, 3), (0, 0, 1), lam) == Fraction(99, 512)
    assert swap_bound(response(2, 3), (0, 0, 0), lam) == Fraction(387, 2048)
    assert swap_bound(response(3, 3), (2, 2, 0), lam) == Fraction(2539, 15000)
    assert swap_bound(response(3, 3), (2, 2, 2), Fraction(3, 2)) == Fraction(157, 1250)
    assert swap_bound(response(2, 5), (0,) * 4, Fraction(6, 5)) == Fraction(12511, 38880)
    assert swap_bound(response(4, 4), (2, 3, 0), Fraction(6, 5)) == Fraction(2841, 12005)


def test_one_type_is_a_plain_sum():
    """With a single type nothing has to be covered; no users to swap with, nothing is said."""
    rows = random_rows(np.random.default_rng(3), 2, 3)
    slots = make_slots(rows, 0.05)
    one = Slots(slots.first, slots.types[:1], slots.blanket_mass)
    assert swap_log_delta(one, 500, 1e-3) <= swap_log_delta(slots, 500, 1e-3) + 1e-12
    assert swap_log_delta(slots, 1, 1e-3) == math.inf


@pytest.mark.parametrize("n", [200, 10**4, 10**8, 10**12])
def test_a_smaller_tolerance_gives_less(n):
    rows = random_rows(np.random.default_rng(5), 3, 3)
    slots = make_slots(rows, 1 / math.sqrt(n))
    coarse, fine = (swap_log_delta(slots, n, tolerance) for tolerance in (2e-2, 1e-3))
    assert fine <= coarse + 1e-3
    assert coarse - fine < 2e-2


@pytest.mark.parametrize("seed", range(6))
def test_a_ceiling_saves_work_and_nothing_else(seed):
    """A bound at or below the ceiling is the same without it; any other is above it, and holds."""
    rng = np.random.default_rng(seed)
    slots = make_slots(random_rows(rng, 3, 3), 0.02)
    n = int(rng.integers(50, 5000))
    whole = swap_log_delta(slots, n, 1e-3)
    for ceiling in (whole + 1, whole + 1e-9, whole, whole - 1e-9, whole - 0.01, whole - 1, -1e3):
        found = swap_log_delta(slots, n, 1e-3, ceiling)
        assert found >= whole
        assert found == whole if whole <= ceiling else found > ceiling


def three_types(epsilon: float = 0.02) -> Slots:
    return make_slots(random_rows(np.random.default_rng(3), 3, 3), epsilon)


def test_tables_in_parts_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = swap_log_delta(three_types(), 30, 1e-4)
    monkeypatch.setattr(swap, "_AT_ONCE", 1.0)
    parts = swap_log_delta(three_types(), 30, 1e-4)
    assert parts == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_cuts_that_end_early_still_cover_all_backgrounds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is known when cuts are given up is a bound, and no smaller one."""
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, 3, 3)
    exact = float(largest_of_many_types(rows, 6, Fraction(math.exp(0.05))))
    slots = make_slots(rows, 0.05)
    whole = swap_log_delta(slots, 7, 1e-3)
    monkeypatch.setattr(swap, "_STUCK", math.inf)
    monkeypatch.setattr(swap, "_NEARLY", 0.0)
    ended = swap_log_delta(slots, 7, 1e-3)
    assert math.log(exact) - 1e-12 <= whole <= ended
