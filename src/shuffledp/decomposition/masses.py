"""Exact masses: doubles that are divided by their exact sum, and logarithms of fractions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition.arithmetic import finite_or_zero, log_quotient, two_sum

#: Bounds on the relative errors of `log_quotient` and `log_of`, in units of UNIT.
_QUOTIENT_UNITS, LOG_ERROR_UNITS = 8.0, 12.0


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


def log_of(value: Fraction) -> float:
    """Return the logarithm of a fraction above 0, to 12 units of round-off of itself.

    >>> log_of(1 + Fraction(1, 2**60)) == 2.0**-60, log_of(Fraction(1, 2**2000)) < -1386
    (True, True)
    """
    if Fraction(1, 2) < value < 2:
        return math.log1p(float(value - 1))
    power = value.numerator.bit_length() - value.denominator.bit_length()
    scaled = value / Fraction(2) ** power  # between 1/2 and 2
    return math.log(float(scaled)) + power * math.log(2)


@dataclass(frozen=True, eq=False)
class Masses:
    """The numbers ``values`` times e**``log_scale``, the latter to 12 units of round-off.

    A row of doubles that sums to 1 up to rounding stands for the law that it is proportional to:
    ``log_scale`` is minus the logarithm of its exact sum.
    """

    values: FloatArray
    log_scale: FloatArray

    @classmethod
    def normalised(cls, values: FloatArray) -> Masses:
        """Return the masses that ``values`` are proportional to, with the sum 1.

        >>> row = Masses.normalised(np.array([0.1] * 10))
        >>> float(row.log_scale) == -(2.0**-54)
        True
        """
        return cls(values, np.array(-log_of(exact_sum(values.tolist()))))

    def of(self, chosen: NDArray[np.bool_]) -> Masses:
        """Return some of the masses."""
        scale = np.broadcast_to(self.log_scale, self.values.shape)
        return Masses(self.values[chosen], scale[chosen])

    def doubles(self) -> FloatArray:
        """Return the masses, to eight units of round-off; exactly where the scale is 1."""
        return self.values * np.exp(self.log_scale)

    def log_over(self, other: Masses) -> tuple[FloatArray, FloatArray]:
        """Return the logarithms of the ratios to ``other`` and bounds on their errors.

        Exactly 0, without error, where both the values and the scales agree.
        """
        logs = log_quotient(self.values, other.values)
        shift = self.log_scale - other.log_scale
        total, rounding = two_sum(logs, np.broadcast_to(shift, logs.shape))
        scales = np.where(shift == 0, 0.0, np.abs(self.log_scale) + np.abs(other.log_scale))
        # Both scales are logarithms, and their difference is rounded once.
        error = (LOG_ERROR_UNITS + 1) * UNIT * scales + rounding
        return total, error + _QUOTIENT_UNITS * UNIT * np.abs(finite_or_zero(logs))
