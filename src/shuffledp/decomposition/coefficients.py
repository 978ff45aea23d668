"""Coefficients of a decomposition as they are given: exact numbers, checked."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from flint import fmpq
from numpy.typing import ArrayLike

#: Real numbers, each of which counts as the exact number that it is.
Numbers: TypeAlias = ArrayLike | Sequence[Fraction]

#: Sums further from 1 are a mistake, not rounding. What is tolerated is divided out.
_TOLERANCE = fmpq(1, 10**12)


def exact_coefficients(
    a: Numbers, b: Numbers, c: Numbers
) -> tuple[list[tuple[fmpq, fmpq, fmpq]], fmpq]:
    """Return rows of a, b and c, with a and b of sum 1, and 1 minus the sum of c.

    A c that rounding made too large is divided by its sum.
    """
    first, second, common = (_exact(name, x) for name, x in (("a", a), ("b", b), ("c", c)))
    if not len(first) == len(second) == len(common):
        raise ValueError(
            f"a, b and c must have the same length, got {len(first)}, {len(second)} and "
            f"{len(common)}"
        )
    tolerance = max(_TOLERANCE, fmpq(8 * len(first), 2**53))
    for name, masses in (("a", first), ("b", second)):
        if abs(_sum(masses) - 1) > tolerance:
            raise ValueError(f"the masses of {name} must sum to 1, got {_shown(_sum(masses))}")
    covered = _sum(common)
    if covered - 1 > tolerance:
        raise ValueError(f"the masses of c must sum to at most 1, got {_shown(covered)}")
    if covered > 1:
        common, covered = _normalised(common), fmpq(1)
    rows = zip(_normalised(first), _normalised(second), common, strict=True)
    return list(rows), 1 - covered


def exact_shares(weights: Sequence[float | Fraction], count: int) -> list[fmpq]:
    """Return the weights of so many parts, divided by their sum."""
    shares = _exact("weights", weights)
    if not count or len(shares) != count:
        raise ValueError(
            f"weights and parts must be non-empty and of equal length, got {len(shares)} and "
            f"{count}"
        )
    if min(shares) == 0 or abs(_sum(shares) - 1) > _TOLERANCE:
        shown = ", ".join(map(_shown, shares))
        raise ValueError(f"weights must be positive and sum to 1, got {shown}")
    return _normalised(shares)


def _exact(name: str, values: object) -> list[fmpq]:
    array = np.array(values, dtype=object)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    found = []
    for x in array.tolist():
        if not isinstance(x, numbers.Real):
            raise TypeError(f"{name} must be a sequence of real numbers, got the entry {x!r}")
        if not 0 <= float(x) < math.inf:
            raise ValueError(f"{name} must be at least 0 and finite, got the entry {x!r}")
        exact = Fraction(x) if isinstance(x, numbers.Rational) else Fraction(float(x))
        found.append(fmpq(exact.numerator, exact.denominator))
    return found


def _normalised(masses: list[fmpq]) -> list[fmpq]:
    total = _sum(masses)
    return masses if total == 1 else [x / total for x in masses]


def _sum(masses: list[fmpq]) -> fmpq:
    return sum(masses, fmpq(0))


def _shown(x: fmpq) -> str:
    return repr(int(x.p) / int(x.q))
