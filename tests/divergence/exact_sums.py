"""Sums of blocks in exact fractions, outcome by outcome: an oracle that shares nothing."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import mpmath
import numpy as np

from shuffledp.decomposition import Law
from shuffledp.divergence import BlockSum, LogEnclosure

#: A law as (value, probability) pairs, and how many copies there are.
ExactBlock = tuple[Sequence[tuple[Fraction, Fraction]], int]


@dataclass(frozen=True)
class ExactSum:
    """Independent blocks whose values and probabilities are fractions that doubles can hold."""

    blocks: Sequence[ExactBlock]
    offset: Fraction = Fraction(0)

    def law(self) -> dict[Fraction, Fraction]:
        """The law of the sum, by convolution."""
        total = {Fraction(0): Fraction(1)}
        for atoms, times in self.blocks:
            for _ in range(times):
                after: defaultdict[Fraction, Fraction] = defaultdict(Fraction)
                for value, probability in total.items():
                    for step, weight in atoms:
                        after[value + step] += probability * weight
                total = dict(after)
        return total

    def mean_positive(self) -> Fraction:
        """E[S_+], S less its offset."""
        return sum(
            ((v - self.offset) * p for v, p in self.law().items() if v > self.offset), Fraction(0)
        )

    def mean(self, curvature: float) -> mpmath.mpf:
        """E f_c(S), at 60 digits."""
        with mpmath.workdps(60):
            return mpmath.fsum(
                number(p) * hinge(number(v - self.offset), curvature)
                for v, p in self.law().items()
                if v > self.offset
            )

    def doubles(self) -> BlockSum:
        """The same sum as the engine sees it, without errors."""
        assert Fraction(float(self.offset)) == self.offset
        blocks = ((double_law(atoms), times) for atoms, times in self.blocks)
        return BlockSum.of(*blocks, offset=float(self.offset))


def number(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def hinge(x: mpmath.mpf, curvature: float) -> mpmath.mpf:
    """(1 - e^{-cx})/c for x > 0, from its definition."""
    return -mpmath.expm1(-mpmath.mpf(curvature) * x) / mpmath.mpf(curvature) if curvature else x


def double_law(atoms: Sequence[tuple[Fraction, Fraction]]) -> Law:
    values, weights = (np.array([float(x) for x in part]) for part in zip(*atoms, strict=True))
    for number, atom in zip(
        [*values, *weights], [a[i] for i in (0, 1) for a in atoms], strict=True
    ):
        assert Fraction(number) == atom
    return Law(values, weights, np.zeros(len(atoms)), np.zeros(len(atoms)))


def contains(enclosure: LogEnclosure, exact: Fraction | mpmath.mpf) -> bool:
    """Whether the logarithm of an exact number lies in the enclosure, at 60 digits."""
    if exact == 0:
        return enclosure.lower == -math.inf
    with mpmath.workdps(60):
        log = mpmath.log(number(exact) if isinstance(exact, Fraction) else exact)
        return bool(enclosure.lower <= log <= enclosure.upper)
