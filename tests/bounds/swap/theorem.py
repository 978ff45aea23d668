"""The right-hand side of the swap bound's theorem in exact fractions, for every background."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import comb, lcm, prod

import numpy as np

from shuffledp.basics.balls import ball, precision
from shuffledp.bounds.swap.slots import Slots
from shuffledp.engine.sums import Law

#: Values and masses.
ExactLaw = dict[Fraction, Fraction]


@dataclass(frozen=True)
class ExactSlots:
    """Slot 0, one law per type, and the mass of the blanket."""

    first: ExactLaw
    types: tuple[ExactLaw, ...]
    gamma: Fraction

    @classmethod
    def of_rows(cls, rows: list[list[Fraction]], ratio: Fraction) -> ExactSlots:
        """The slots of a channel, at the pair of its first two inputs."""
        gain = [a - ratio * b for a, b in zip(rows[0], rows[1], strict=True)]
        common = [min(column) for column in zip(*rows, strict=True)]
        types = tuple(_slot(gain, row) for row in rows)
        return cls(_slot(gain, common), types, sum(common, Fraction(0)))

    @property
    def balls(self) -> Slots:
        with precision():
            first, *types = (
                Law.of((ball(x), ball(p)) for x, p in law.items())
                for law in (self.first, *self.types)
            )
            return Slots(first, tuple(types), ball(self.gamma), ball(1 - self.gamma))

    def largest(self, n: int) -> Fraction:
        """The bound on delta for the worst background of n - 1 others."""
        means = {kept: self._mean(kept) for kept in self._backgrounds(n - 1)}
        whole = (kept for kept in means if sum(kept) == n - 1)
        return max(self._bound(counts, means) for counts in whole) / n

    def _backgrounds(self, size: int) -> Iterator[tuple[int, ...]]:
        """Yield all counts of types of at most so many users."""
        for counts in product(range(size + 1), repeat=len(self.types)):
            if sum(counts) <= size:
                yield counts

    def _bound(self, counts: tuple[int, ...], means: dict[tuple[int, ...], Fraction]) -> Fraction:
        """Add up over all sets of users examined in vain, by how many of each type they hold."""
        others, total = sum(counts), Fraction(0)
        for kept in product(*(range(count + 1) for count in counts)):
            k = others - sum(kept)
            ways = prod(map(comb, counts, kept))
            weight = self.gamma * (1 - self.gamma) ** k / comb(others, k)
            total += weight * ways * means[kept]
        return total

    @cached_property
    def _scales(self) -> tuple[int, int]:
        """Common denominators of all values and of all masses."""
        laws = (self.first, *self.types)
        values = lcm(*(x.denominator for law in laws for x in law))
        return values, lcm(*(p.denominator for law in laws for p in law.values()))

    @cached_property
    def _powers(self) -> dict[tuple[int, int], Counter[int]]:
        return {}

    def _power(self, v: int, count: int) -> Counter[int]:
        """The law of a sum of slots of one type, in units of the common denominators."""
        if count == 0:
            return Counter({0: 1})
        known = self._powers.get((v, count))
        if known is None:
            known = _sum(self._power(v, count - 1), self._integers(self.types[v]))
            self._powers[v, count] = known
        return known

    def _integers(self, law: ExactLaw) -> Counter[int]:
        values, masses = self._scales
        return Counter({int(x * values): int(p * masses) for x, p in law.items()})

    def _mean(self, kept: tuple[int, ...]) -> Fraction:
        """The mean of the positive part of slot 0 and so many slots of each type."""
        total = self._integers(self.first)
        for v, count in enumerate(kept):
            total = _sum(total, self._power(v, count))
        values, masses = self._scales
        positive = sum(x * p for x, p in total.items() if x > 0)
        return Fraction(positive, values * masses ** (1 + sum(kept)))


def _sum(one: Counter[int], other: Counter[int]) -> Counter[int]:
    total: Counter[int] = Counter()
    for x, p in one.items():
        for y, q in other.items():
            total[x + y] += p * q
    return total


def _slot(gain: list[Fraction], law: list[Fraction]) -> ExactLaw:
    """The law of g/R under R."""
    total: ExactLaw = {}
    for g, p in zip(gain, law, strict=True):
        total[g / p] = total.get(g / p, Fraction(0)) + p / sum(law)
    return total


def random_rows(rng: np.random.Generator, inputs: int, outputs: int) -> list[list[Fraction]]:
    """Rows of a random channel with small denominators; every output has some mass."""
    size = int(rng.choice([8, 16, 32]))
    rows = []
    for _ in range(inputs):
        cuts = np.sort(rng.choice(np.arange(1, size), outputs - 1, replace=False))
        rows.append([Fraction(int(c), size) for c in np.diff([0, *cuts, size])])
    return rows
