"""Finite channels, exactly: the least and the largest probabilities of every output."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from shuffledp.basics.arrays import UNIT, FloatArray, IntArray


class Extreme(NamedTuple):
    """The smallest, or the largest, probability of every output over all inputs.

    Attributes:
        rows: inputs that attain it.
        law: the probabilities.
    """

    rows: IntArray
    law: list[Fraction]


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


def extreme(matrix: FloatArray, sums: Sequence[Fraction], *, largest: bool) -> Extreme:
    """Return for every column the extreme entry, divided by the sum of its row.

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
    entries = zip(rows.tolist(), matrix[rows, np.arange(rows.size)].tolist(), strict=True)
    return Extreme(rows, [Fraction(entry) / sums[x] for x, entry in entries])
