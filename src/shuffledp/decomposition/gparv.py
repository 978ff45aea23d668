"""The generalised privacy amplification random variable (GPARV) at one epsilon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import UNIT, FloatArray

_FAINT = 1e-290  # units of round-off of less may underflow
_UNDERFLOW = 2e-323  # what the product and the three parts of its error lose, at most


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
        values = factor * self.values
        error = factor * self.value_error + UNIT * factor * np.abs(self.values)
        faint = np.abs(values) < _FAINT
        if faint.any():  # products that underflow, unless they are 0
            error[faint & ((self.values != 0) | (self.value_error != 0))] += _UNDERFLOW
        return Law(values, self.weights, error, self.weight_error)


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
