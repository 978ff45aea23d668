r"""Rare reports: sums in which at most two summands count.

Let :math:`w_b=P(G_b\ne0)` in block b, of :math:`n_b` copies. If :math:`\sum_bn_bw_b` is small, few
summands add anything; of two summands, no more than two. With :math:`E_b=E[G_{b,+}]`,
:math:`E_{bc}=E[(G_b+G_c)_+;\,G_b,G_c\ne0]`, :math:`n_{bc}` the number of pairs of summands from b
and c, and q the probability that all summands are 0 but those in the index, two of b for bb,

.. math:: E[S_+] = \sum_bn_bq_bE_b+\sum_{b\le c}n_{bc}q_{bc}E_{bc}+\rho,
          \qquad 0\le\rho\le\tfrac12\sum_bn_bE_bC_b^2,

where :math:`C_b` is how many others count, on average, next to a summand of block b:
:math:`S_+\le\sum G_{i,+}`, and next to a given summand two more have to count; if there are no two
more, :math:`\rho=0`. Also :math:`E[S_+]\le\sum_bn_bE_b`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations_with_replacement

import numpy as np

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.enclosure import LogEnclosure

#: Means below it, in units of the largest gain, are of products that may have underflowed.
_FAINT = 1e-290

_UNDERFLOW = 1e-322  # more than what a product loses that is no normal double

#: Beyond these, units or losses leave the range of doubles: nothing is said.
_EXTREME, _LARGEST_LOSS = 1000, 1e200


def rare_log_mean(total: BlockSum) -> LogEnclosure:
    """Enclose log E[S_+] by how many summands count; S must have no offset."""
    gains = [float((law.values + law.value_error).max()) for law in total.laws]
    gain = max(gains)
    if gain <= 0:
        return LogEnclosure(-math.inf, -math.inf)
    # In units near the largest gain, products of weights and gains are about weights; powers of two
    # are exact.
    exponent = math.frexp(gain)[1]
    loss = max(float(np.abs(law.values).max()) for law in total.laws)
    if abs(exponent) > _EXTREME or loss > _LARGEST_LOSS * gain:
        return LogEnclosure(-math.inf, math.inf)
    times = [block.times for block in total.blocks]
    sides = [_sides(law, 0.5**exponent) for law in total.laws]
    low, high = _Few([side for side, _ in sides], times), _Few([side for _, side in sides], times)
    if any(side.single < _FAINT for side, top in zip(high.sides, gains, strict=True) if top > 0):
        return LogEnclosure(-math.inf, math.inf)
    lower, upper, crowd = low.alone(high), high.single, max(high.crowds)
    if crowd < 1 or total.summands <= 2:
        lower += low.pairs(high)[0]
        upper = min(upper, high.alone(low) + high.pairs(low)[1] + high.crowded)
    # A dozen operations on positive numbers, sums over pairs of blocks, and powers whose exponents
    # are rounded.
    log_n = math.log(total.summands)
    shift = exponent * math.log(2)
    rounding = 40 + len(times) ** 2 + 8 * min(crowd, 1000.0) + 4 * (log_n + abs(exponent))
    return LogEnclosure.rounded(
        shift + math.log(lower) if lower > 0 else -math.inf,
        shift + math.log(upper),
        UNIT * rounding,
    )


class _Side:
    """Atoms whose weights and values are all too small, or all too large."""

    def __init__(self, weights: FloatArray, values: FloatArray) -> None:
        self.weights, self.values = weights, values
        self.mass = float(weights.sum())
        self.single = float(weights @ np.maximum(values, 0.0))

    def pairs(self, other: _Side) -> tuple[float, float]:
        """Return bounds on the sum of w_i w_j (g_i + g_j)_+, from sums over the largest values."""
        w, g = self.weights, self.values
        order = np.argsort(-other.values)
        weights, values = other.weights[order], other.values[order]
        above = np.searchsorted(-values, g)
        mass, mean, size = (
            np.append(0.0, np.cumsum(terms))[above]
            for terms in (weights, weights * values, weights * np.abs(values))
        )
        total = float(w @ (g * mass + mean))
        count = w.size + weights.size + 16
        error = count * UNIT * float(w @ (np.abs(g) * mass + size))
        error += count * _UNDERFLOW  # each of the products, and each of their sums with the others
        return max(total - error, 0.0), max(total + error, 0.0)


def _sides(law: Law, unit: float) -> tuple[_Side, _Side]:
    """Return the atoms that count, in the given units, with all errors downwards and upwards."""
    counts = (law.values != 0) | (law.value_error > 0)
    slack = np.expm1(law.weight_error[counts]) + (law.size + 8) * UNIT
    values = law.values[counts] * unit
    error = law.value_error[counts] * unit + UNIT * np.abs(values)
    weights = law.weights[counts]
    return _Side(weights * (1 - slack), values - error), _Side(
        weights * (1 + slack), values + error
    )


class _Few:
    """One side of all laws, each so many times."""

    def __init__(self, sides: Sequence[_Side], times: Sequence[int]) -> None:
        self.sides, self.times = sides, times

    @property
    def single(self) -> float:
        """The sum of all E[G_+]."""
        return sum(n * side.single for n, side in zip(self.times, self.sides, strict=True))

    @property
    def crowds(self) -> list[float]:
        """How many others count, on average, next to a summand of each block."""
        return [
            sum((n - (b == c)) * self.sides[c].mass for c, n in enumerate(self.times))
            for b in range(len(self.sides))
        ]

    @property
    def crowded(self) -> float:
        """A bound on the mean of S_+ where three summands or more count: 0 if there are but two."""
        if sum(self.times) <= 2:
            return 0.0
        parts = zip(self.times, self.sides, self.crowds, strict=True)
        return sum(n * side.single * crowd**2 / 2 for n, side, crowd in parts)

    def alone(self, others: _Few) -> float:
        """Return the mean of S_+ where one summand counts; ``others`` says how often they do."""
        return sum(
            n * side.single * others.still(b)
            for b, (n, side) in enumerate(zip(self.times, self.sides, strict=True))
        )

    def pairs(self, others: _Few) -> tuple[float, float]:
        """Return bounds on the mean of S_+ where two summands count."""
        lower = upper = 0.0
        for b, c in combinations_with_replacement(range(len(self.sides)), 2):
            n, m = self.times[b], self.times[c]
            if count := n * (n - 1) / 2 if b == c else n * m:
                still = others.still(b, c)
                least, most = self.sides[b].pairs(self.sides[c])
                lower += count * least * still
                upper += count * most * still
        return lower, upper

    def still(self, *apart: int) -> float:
        """Return the probability that no summand counts, apart from one of each block given."""
        exponent = 0.0
        for b, (n, side) in enumerate(zip(self.times, self.sides, strict=True)):
            if users := n - apart.count(b):
                if side.mass >= 1:
                    return 0.0
                exponent += users * math.log1p(-side.mass)
        return math.exp(exponent)
