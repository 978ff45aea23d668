r"""Masses of outputs in balls of many digits, and the doubles that become of them.

A support mechanism computes its masses in balls of :data:`DIGITS` digits or more, so that neither
powers of large domains nor differences nor tiny probabilities cost accuracy. They are rounded
once, when they become the weights of a decomposition: to one unit round-off, plus one for all
digits lost before. Masses beyond the range of doubles are not rounded to 0 but enclosed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    localcontext,
)
from fractions import Fraction

import numpy as np
from flint import arb

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition import Decomposition
from shuffledp.engine.balls import precision

#: Significant digits of masses; the least difference of levels, 1e-12, leaves 48 of them.
DIGITS = 60

#: Relative error of a mass as a double: its rounding, and whatever happened to the digits before.
ROUNDING = 2 * UNIT

#: Masses below this one may leave the range of doubles when they are multiplied by a ratio.
_TINY = Decimal(2) ** -950

#: What a mass that only has to be large enough is raised to, so that it is a normal double.
_FLOOR = Decimal(2) ** -1000


def working_digits(digits: int = DIGITS) -> AbstractContextManager[None]:
    """Return a context in which balls have so many digits."""
    return precision(math.ceil(digits * math.log2(10)))


def decimal_digits(digits: int = DIGITS) -> AbstractContextManager[Context]:
    """Return a context in which ``Decimal`` has so many digits and practically no least number."""
    return localcontext(
        Context(
            prec=digits,
            Emin=MIN_EMIN,
            Emax=MAX_EMAX,
            traps=[InvalidOperation, DivisionByZero, Overflow],
        )
    )


def decimal_of(ball: arb) -> Decimal:
    """Return the middle of a ball, in a context of many digits."""
    mantissa, exponent = ball.mid().man_exp()
    return Decimal(int(mantissa)) * Decimal(2) ** int(exponent)


def fraction_of(ball: arb) -> Fraction:
    """Return the middle of a ball."""
    mantissa, exponent = ball.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@dataclass(frozen=True)
class Level:
    """The level of a support mechanism: all its log ratios are -1, 0 or 1 times this number.

    Attributes:
        log: its double.
        ratio: e to its exact value.
        log_error: bound on the absolute error of ``log``.
    """

    log: float
    ratio: Decimal
    log_error: float


@dataclass(frozen=True)
class _Atom:
    """One component: its masses a and b for the pair and c for the others, and its log ratios."""

    key: tuple[int, int]
    a: Decimal
    b: Decimal
    c: Decimal


def decompose(
    level: Level,
    masses: Mapping[tuple[int, int], Decimal],
    residual: Decimal,
    law_error: float,
) -> Decomposition:
    """Return the decomposition with the c-mass ``masses[i, j]`` at log ratios i and j levels.

    Atoms of tiny mass are enclosed. The contraction merges them with a large atom, at the mean of
    both, which moves that one by less than its stated error. The spread gives them away: their
    outputs name the input, and their c-mass goes to the residual. A smaller blanket is still an
    upper bound, so that both may be rounded up.

    Args:
        level: the level and its error.
        masses: c-masses; they must be at least 0, and those that are 0 are left out.
        residual: 1 minus the sum of the masses, computed without cancellation.
        law_error: relative difference between these masses and those of the reports as sampled.

    >>> with decimal_digits():
    ...     level = Level(log=1.0, ratio=Decimal(1).exp(), log_error=0.0)
    ...     one = 1 / (level.ratio + 1)  # randomized response of one bit
    ...     d = decompose(level, {(1, 0): one, (0, 1): one}, 1 - 2 * one, law_error=0.0)
    >>> d.log_ratio0.tolist(), round(d.residual, 12)
    ([1.0, 0.0], 0.46211715726)
    """
    if min(*masses.values(), residual) < 0:
        raise ValueError(f"masses must be at least 0, got {masses} and the residual {residual}")
    atoms = [
        _Atom(key, mass * level.ratio ** key[0], mass * level.ratio ** key[1], mass)
        for key, mass in masses.items()
        if mass > 0
    ]
    kept = [atom for atom in atoms if atom.c >= _TINY]
    lost = [atom for atom in atoms if atom.c < _TINY]
    if 0 < residual < _TINY:
        lost.append(_Atom((0, 0), Decimal(0), Decimal(0), residual))
    error = ROUNDING + law_error
    if not lost:
        return _rounded(level, kept, residual, error)
    moved = np.zeros(len(kept))
    shares = [
        max(sum((getattr(j, x) for j in lost), Decimal(0)) / getattr(i, x) for x in "abc")
        for i in kept
    ]
    nearest = shares.index(min(shares))
    moved[nearest] = 2 * float(shares[nearest]) + UNIT
    return _rounded(
        level,
        kept,
        Decimal(0) if residual < _TINY else residual,
        error,
        moved=moved,
        spread=_spread(level, kept, lost, residual if residual >= _TINY else Decimal(0), error),
    )


def _spread(
    level: Level, kept: list[_Atom], lost: list[_Atom], residual: Decimal, error: float
) -> Decomposition:
    given = []
    for atom in lost:
        if atom.a > 0:
            scale = max(Decimal(1), _FLOOR / min(atom.a, atom.b))
            given.append((float(atom.a * scale), float(atom.b * scale)))
    hidden = max(sum((atom.c for atom in lost), Decimal(0)), _FLOOR)
    return _rounded(level, kept, residual + hidden, error, singular=given)


def _rounded(
    level: Level,
    atoms: list[_Atom],
    residual: Decimal,
    error: float,
    *,
    moved: FloatArray | None = None,
    singular: list[tuple[float, float]] | None = None,
    spread: Decomposition | None = None,
) -> Decomposition:
    """Round the masses; ``moved`` is a further error of the logarithms of ratios and weights."""
    further = np.zeros(len(atoms)) if moved is None else moved
    steps = np.array([atom.key for atom in atoms], dtype=np.float64).reshape(-1, 2)
    exposed = np.array(singular or [], dtype=np.float64).reshape(-1, 2)
    return Decomposition(
        log_ratio0=level.log * steps[:, 0],
        log_ratio1=level.log * steps[:, 1],
        weight=np.array([float(atom.c) for atom in atoms]),
        residual=float(residual),
        log_ratio_error=level.log_error * steps.any(axis=1) + further,
        weight_error=error + further,
        residual_error=error,
        singular0=exposed[:, 0],
        singular1=exposed[:, 1],
        singular_error=error + 4 * UNIT,
        spread=spread,
    )
