"""Finite channels, exactly: the least and the largest probabilities of every output."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.decomposition.masses import Masses

#: Quotients are computed to this many binary digits. Entries and sums of rows are multiples of
#: 2**-883 (entries are 0 or at least 1e-250), so two different probabilities are 2**-1768 apart.
_DIGITS = 2048


def exact_sum(values: Iterable[float]) -> Fraction:
    """Return the sum of doubles without rounding.

    ``math.fsum`` returns 0 only if the sum is 0; until then what it returns is taken off.

    >>> exact_sum([0.1] * 10) - 1
    Fraction(1, 18014398509481984)
    """
    rest = list(values)
    total = Fraction(0)
    while (part := math.fsum(rest)) != 0:
        total += Fraction(part)
        rest.append(-part)
    return total


def extreme_rows(matrix: FloatArray, sums: Sequence[Fraction], *, largest: bool) -> IntArray:
    """Return for every column a row whose entry, divided by the sum of its row, is extreme.

    Doubles decide unless entries are so close that rounding could; then fractions do.
    """
    rounded = matrix / np.array([float(total) for total in sums])[:, None]
    choose = np.argmax if largest else np.argmin
    rows: IntArray = choose(rounded, axis=0)
    best = rounded[rows, np.arange(matrix.shape[1])]
    close = np.abs(rounded - best) <= 8 * UNIT * best
    select = max if largest else min
    for y in np.flatnonzero((close.sum(axis=0) > 1) & (best > 0)).tolist():
        # Most rows that are this close are equal; each pair of entry and sum is looked at once.
        different = {(matrix[x, y], sums[x]): x for x in np.flatnonzero(close[:, y]).tolist()}
        if len(different) > 1:
            quotients = {x: Fraction(entry) / total for (entry, total), x in different.items()}
            rows[y] = select(quotients, key=quotients.__getitem__)
        else:
            rows[y] = next(iter(different.values()))
    return rows


@dataclass(frozen=True, eq=False)
class Infimum:
    """The smallest probability of every output over all inputs.

    Attributes:
        rows: inputs that attain it.
        masses: the probabilities.
        residual: exactly 1 minus their sum, rounded once.
    """

    rows: IntArray
    masses: Masses
    residual: float

    @classmethod
    def of(
        cls, matrix: FloatArray, sums: Sequence[Fraction], rows: IntArray, masses: Masses
    ) -> Infimum:
        """Sum the entries that attain the infimum, row by row."""
        used = np.unique(rows).tolist()
        covered = sum(_digits(exact_sum(matrix[x, rows == x].tolist()) / sums[x]) for x in used)
        missing = (1 << _DIGITS) - covered
        # Every quotient was rounded down. If laws differ, far more than that is missing.
        if missing <= len(used):
            return cls(rows, masses, 0.0)
        return cls(rows, masses, float(Fraction(missing, 1 << _DIGITS)))


def _digits(value: Fraction) -> int:
    return (value.numerator << _DIGITS) // value.denominator
