"""The generalised privacy amplification random variable (GPARV) at one epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import UNIT, FloatArray


@dataclass(frozen=True, eq=False)
class Law:
    """A finite law: ``values`` with probabilities ``weights`` that sum to 1 up to rounding.

    ``value_error`` bounds the absolute rounding error of each value, ``weight_error`` that of the
    logarithm of each weight.
    """

    values: FloatArray
    weights: FloatArray
    value_error: FloatArray
    weight_error: FloatArray

    @property
    def size(self) -> int:
        """Number of atoms."""
        return self.values.size

    def scaled(self, factor: float) -> Law:
        """Return the law of ``factor`` times the value, factor > 0."""
        error = factor * self.value_error + UNIT * factor * np.abs(self.values)
        return Law(factor * self.values, self.weights, error, self.weight_error)


@dataclass(frozen=True, eq=False)
class GPARV:
    r"""The law of :math:`G = (a_j - e^\varepsilon b_j)/c_j`, :math:`j \sim (c, \beta)`.

    ``lower`` and ``upper`` enclose the law in convex order, ``lower <=cx G <=cx upper``; they are
    the same object when the decomposition consists of atoms. ``singular`` holds the summands
    :math:`a_j - e^\varepsilon b_j` of components that no other user can produce (c = 0).
    The privacy bound is
    :math:`\delta = \frac1n E[(G_1+\dots+G_n)_+] + \sum_{c_j = 0} (a_j - e^\varepsilon b_j)_+`.
    """

    lower: Law
    upper: Law
    singular_lower: float
    singular_upper: float

    def scaled(self, factor: float) -> GPARV:
        """Return ``factor`` times the random variable, singular part included."""
        lower = self.lower.scaled(factor)
        upper = lower if self.upper is self.lower else self.upper.scaled(factor)
        above = factor * self.singular_upper * (1 + 4 * UNIT)
        if self.singular_upper > 0:
            above = math.nextafter(above, math.inf)  # also if it underflows
        return GPARV(lower, upper, factor * self.singular_lower * (1 - 4 * UNIT), above)
