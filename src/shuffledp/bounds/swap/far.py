r"""Slots of many types, nearly all of which are far from deciding, in doubles with slack.

With the tilted masses p, their mean m (any double near it) and c = g - m, a type has

.. math:: \log M(\theta)=\theta m+\log\Big(1+\sum w\,\mathrm{expm1}(\theta c)\Big),\qquad
          \varphi(t)-1=\sum p(e^{itc}-1),

sums without cancellation, whose terms are functions of one argument each. A term is off by some
units in the last place of itself, and by what rounding its argument moves it: a few units of
:math:`(\theta+t)(|g|+|m|)`. Here it is taken to be off by 64 units for itself and for every atom,
which is far more; a unit is 2**-53.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from flint import arb

from shuffledp.basics.arrays import UNIT, FloatArray
from shuffledp.bounds.swap.examined import UP, ComplexArray
from shuffledp.bounds.swap.nodes import Types, distance
from shuffledp.bounds.swap.plan import Stack
from shuffledp.engine.sums import Law

_UNITS = 64 * UNIT


class FarTypes(Types):
    """Many types, in doubles. The masses of their laws sum to 1."""

    def __init__(self, laws: Sequence[Law], theta: float) -> None:
        stack = Stack([(law.values, law.masses) for law in laws])
        values, masses = stack.values, stack.masses
        self._mean = mean = stack.cumulants(theta)[1]
        self._deviations = values - mean[:, None]
        radius, doubt = _radii(laws, values.shape)
        sizes = np.abs(values) + np.abs(mean)[:, None] + radius / _UNITS
        growth = np.expm1(theta * self._deviations)
        total = 1 + (masses * growth).sum(axis=1)
        self._tilted = masses * (1 + growth) / total[:, None]
        self._reach = (self._tilted * sizes).sum(axis=1)
        #: What each term is off by, relatively.
        self._wobble = _UNITS * (values.shape[1] + 1 + theta * sizes.max(axis=1)) + 4 * doubt
        lost = self._wobble * (masses * np.abs(growth)).sum(axis=1) / total
        self._error = lost + _UNITS * theta * self._reach
        logs = theta * mean + np.log1p((masses * growth).sum(axis=1))
        self.top = float((logs + self._error).max())
        self._shift = logs - self.top
        self._variance = (self._tilted * (np.abs(self._deviations) + radius) ** 2).sum(axis=1) * UP
        lead = int(logs.argmax())
        self._lead = slice(lead, lead + 1)
        self.deviation = math.sqrt(float(self._variance[lead]))
        self._slope_error = _UNITS * self._reach * values.shape[1]

    def _waves(
        self, t: float, rows: slice = slice(None)
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return real and imaginary part of phi - 1 of some types, their errors, and slopes."""
        deviations, tilted = self._deviations[rows], self._tilted[rows]
        half = 0.5 * t * deviations
        sine, cosine = np.sin(half), np.cos(half)
        turned = tilted * sine
        real, imag = -2 * (turned * sine).sum(axis=1), 2 * (turned * cosine).sum(axis=1)
        error = 2 * self._wobble[rows] * np.abs(turned).sum(axis=1)
        error += _UNITS * t * self._reach[rows]
        inward = -2 * (turned * cosine * deviations).sum(axis=1)
        onward = (deviations * (tilted - 2 * turned * sine)).sum(axis=1)
        slope = 2 * ((1 + real) * inward + imag * onward)
        return real, imag, error, np.abs(slope) + self._slope_error[rows]

    def at(self, t: arb) -> tuple[ComplexArray, FloatArray]:
        """Return L of every type, and bounds on the errors."""
        where = float(t)
        real, imag, error, _ = self._waves(where)
        square = 2 * real + real * real + imag * imag
        drift = where * self._mean
        angle = np.arctan2(imag, 1 + real) + drift
        with np.errstate(divide="ignore", invalid="ignore"):
            log_modulus = 0.5 * np.log1p(square)
            modulus = np.exp(log_modulus)
            lost = np.where(modulus > 2 * error, error / (modulus - error), math.inf)
        turns = np.round((angle - angle[0]) / math.tau)
        exponent = self._shift + log_modulus + 1j * (angle - math.tau * turns)
        parts = np.abs(drift) + np.abs(log_modulus) + np.abs(angle) + abs(self.top)
        return exponent, self._error + lost + _UNITS * (np.abs(self._shift) + parts)

    def highest_within(self, t: arb, r: float, enough: float = 0.0) -> float:
        """Bound them by the second-order bound on the square of each modulus."""
        if enough < 0 and self._highest(float(t), r, self._lead) > enough:
            return 0.0
        return self._highest(float(t), r, slice(None))

    def _highest(self, t: float, r: float, rows: slice) -> float:
        real, imag, error, slope = self._waves(t, rows)
        square = 2 * real + real * real + imag * imag + 4 * error
        bound = np.minimum(square + (slope * r + self._variance[rows] * r * r) * UP, 0.0)
        with np.errstate(divide="ignore"):
            logs = 0.5 * np.log1p(np.maximum(bound, -1.0)) * (1 - 8 * UNIT)
        return float((self._shift[rows] + self._error[rows] + logs).max())

    def reach(self, t: arb, real: float) -> float:
        """Solve the leading type's second-order bound for the distance."""
        x, y, _, slope = (float(part[0]) for part in self._waves(float(t), self._lead))
        room = math.expm1(2 * real) - (2 * x + x * x + y * y)
        return distance(room, slope, float(self._variance[self._lead][0]))


def _radii(laws: Sequence[Law], shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """Return the radii of all values, and the largest relative radius of a mass of each law."""
    radius, doubt = np.zeros(shape), np.zeros(shape[0])
    for row, law in enumerate(laws):
        radius[row, : len(law.atoms)] = [float(atom.value.rad()) for atom in law.atoms]
        doubt[row] = max(
            float((atom.mass.rad() / atom.mass.abs_lower()).abs_upper()) for atom in law.atoms
        )
    return radius * UP, doubt * UP
