r"""Rare reports: sums in which at most two users count.

Let w = P(G != 0). If nw is small, few users add anything. The number of those who do is binomial,
and with :math:`E_1=E[G_+]`, :math:`E_2=E[(G_1+G_2)_+;\,G_1,G_2\ne0]`

.. math:: E[S_+] = n(1-w)^{n-1}E_1+\tbinom n2(1-w)^{n-2}E_2+\rho,
          \qquad 0\le\rho\le nE_1\tbinom{n-1}2w^2,

because :math:`S_+\le\sum G_{i,+}` and, next to a given user, two more have to count. Also
:math:`E[S_+]\le nE_1`.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.enclosure import LogEnclosure

#: Means below it, in units of the largest gain, are of products that may have underflowed.
_FAINT = 1e-290

#: Beyond these, units or losses leave the range of doubles: nothing is said.
_EXTREME, _LARGEST_LOSS = 1000, 1e200


def rare_log_mean(law: Law, n: int) -> LogEnclosure:
    """Enclose log E[(G_1+...+G_n)_+], n > 1, by how many users count; narrow if nw is small."""
    counts = (law.values != 0) | (law.value_error > 0)
    slack = np.expm1(law.weight_error[counts]) + (law.size + 8) * UNIT
    gain = float((law.values + law.value_error).max())
    if gain <= 0:
        return LogEnclosure(-math.inf, -math.inf)
    # In units near the largest gain, products of weights and gains are about weights; powers of two
    # are exact.
    exponent = math.frexp(gain)[1]
    if abs(exponent) > _EXTREME or float(np.abs(law.values).max()) > _LARGEST_LOSS * gain:
        return LogEnclosure(-math.inf, math.inf)
    values = law.values[counts] * 0.5**exponent
    error = law.value_error[counts] * 0.5**exponent + UNIT * np.abs(values)
    low = _Side(law.weights[counts] * (1 - slack), values - error)
    high = _Side(law.weights[counts] * (1 + slack), values + error)
    if high.single < _FAINT:
        return LogEnclosure(-math.inf, math.inf)
    lower, upper = low.single * _none(high.mass, n - 1), high.single
    crowd = (n - 1) * high.mass
    if crowd < 1:
        least, most = (n - 1) / 2 * low.pairs()[0], (n - 1) / 2 * high.pairs()[1]
        lower += least * _none(high.mass, n - 2)
        few = high.single * _none(low.mass, n - 1) + most * _none(low.mass, n - 2)
        upper = min(upper, few + high.single * crowd**2 / 2)
    # A dozen operations on positive numbers, and powers whose exponents are rounded.
    shift = math.log(n) + exponent * math.log(2)
    rounding = UNIT * (40 + 8 * min(crowd, 1000.0) + 4 * (math.log(n) + abs(exponent)))
    return LogEnclosure(
        shift + math.log(lower) if lower > 0 else -math.inf, shift + math.log(upper)
    ).widen(rounding)


class _Side:
    """Atoms whose weights and values are all too small, or all too large."""

    def __init__(self, weights: FloatArray, values: FloatArray) -> None:
        order = np.argsort(values)
        self.weights, self.values = weights[order], values[order]
        self.mass = float(weights.sum())
        self.single = float(self.weights @ np.maximum(self.values, 0.0))

    def pairs(self) -> tuple[float, float]:
        """Return bounds on the sum of w_i w_j (g_i + g_j)_+, from sums over the largest values."""
        w, g = self.weights, self.values
        above = np.searchsorted(g, -g, side="right")
        mass, mean, size = (
            np.append(np.cumsum(terms[::-1])[::-1], 0.0)[above]
            for terms in (w, w * g, w * np.abs(g))
        )
        total = float(w @ (g * mass + mean))
        error = 2 * (w.size + 8) * UNIT * float(w @ (np.abs(g) * mass + size))
        return max(total - error, 0.0), max(total + error, 0.0)


def _none(mass: float, users: int) -> float:
    """Return the probability that none of the users counts."""
    return math.exp(users * math.log1p(-mass)) if mass < 1 else 0.0
