r"""What is known of the privacy amplification random variable of the privacy blanket.

:math:`L=(R(x)-e^\varepsilon R(x'))/\omega`, of an output drawn from the blanket :math:`\omega`;
see :mod:`shuffledp.baselines.blanket`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.baselines.decimals import precise
from shuffledp.decomposition import Decomposition
from shuffledp.decomposition.arithmetic import finite_or_zero

_SMALL = Decimal("1e-10")
_ZERO, _ONE = Decimal(0), Decimal(1)


@dataclass(frozen=True)
class Moments:
    """What the inequalities know of L at one epsilon, each number rounded to its safe side.

    Attributes:
        gamma_low: mass of the blanket, rounded down.
        gamma_high: the same, rounded up.
        drift: a = -E[L], rounded down.
        smallest: the smallest value of L, rounded down.
        largest: the largest value of L, rounded up.
        square: E[L^2], not centred, rounded up.
        singular: what outputs outside the blanket's support add to delta, rounded up.
    """

    gamma_low: Decimal
    gamma_high: Decimal
    drift: Decimal
    smallest: Decimal
    largest: Decimal
    square: Decimal
    singular: Decimal = _ZERO


class View(ABC):
    """L for one pair of inputs; at ``end`` and beyond delta is 0."""

    end: float

    @abstractmethod
    def at(self, epsilon: float) -> Moments:
        """Return the moments of L."""


class Measured(View):
    r"""L as the decomposition of the randomizer has it.

    On the blanket :math:`G=d-\mu r`, with the difference d and the second r of the two ratios and
    :math:`\mu=e^\varepsilon-1`: its second moment is a quadratic in mu and its extremes are
    envelopes of lines, so one pass over the components serves all epsilons.
    """

    def __init__(self, decomposition: Decomposition) -> None:
        self.end = max(decomposition.max_epsilon, 0.0)
        upper = decomposition.upper
        at_zero = decomposition.at(0.0).upper
        self.slack = (upper.size + 16) * UNIT
        difference, error = at_zero.values[: upper.size], at_zero.value_error[: upper.size]
        second = np.exp(upper.log_ratio1)
        relative = upper.log_ratio_error + UNIT * (8 + np.abs(finite_or_zero(upper.log_ratio1)))
        with np.errstate(over="ignore"):
            weight = upper.weight * (1 + upper.weight_error)
            self.square = tuple(
                float(weight @ product)
                for product in (difference**2, difference * second, second**2)
            )
            self.errors = tuple(math.sqrt(float(weight @ e**2)) for e in (error, relative * second))
        self.finite = all(map(math.isfinite, (*self.square, *self.errors)))
        self.top = _envelope(difference + error, second * (1 - relative))
        self.bottom = _envelope(error - difference, -second * (1 + relative))
        self.gamma = (
            Decimal(float((upper.weight * (1 - upper.weight_error)).sum()) * (1 - self.slack)),
            min(Decimal(float(weight.sum()) * (1 + self.slack)), _ONE),
        )
        self.exposed = decomposition if upper.singular0.size else None
        slack = upper.singular_error + (upper.singular0.size + 8) * UNIT
        self.lost = (
            Decimal(float(upper.singular0.sum()) * (1 - slack)),
            Decimal(float(upper.singular1.sum()) * (1 + slack)),
        )

    def at(self, epsilon: float) -> Moments:
        """Return the moments of L, which is gamma times G: its mean square is gamma times G's."""
        mu = math.expm1(epsilon)
        low, high = self.gamma
        singular = 0.0 if self.exposed is None else self.exposed.at(epsilon).singular_upper
        with precise():
            excess = _expm1(Decimal(epsilon))
            drift = excess - (1 + excess) * self.lost[1] + self.lost[0]
            return Moments(
                gamma_low=low,
                gamma_high=high,
                drift=drift if self.finite else _ZERO,
                smallest=-high * Decimal(_highest(self.bottom, mu)),
                largest=high * Decimal(_highest(self.top, mu)),
                square=high * self._mean_square(excess) if self.finite else _ZERO,
                singular=Decimal(singular),
            )

    def _mean_square(self, mu: Decimal) -> Decimal:
        """Bound E[G^2]: the root of the computed one plus those of its errors (Minkowski)."""
        square, mixed, other = map(Decimal, self.square)
        # |E[dr]| is at most the root of E[d^2] E[r^2], so the size of all terms is this square.
        size = (square.sqrt() + mu * other.sqrt()) ** 2
        computed = max(square - 2 * mu * mixed + mu**2 * other, _ZERO)
        exact = computed + 4 * Decimal(self.slack) * size
        own, second = map(Decimal, self.errors)
        return (exact.sqrt() + 2 * own + 2 * mu * second) ** 2


def _envelope(intercept: FloatArray, fall: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Keep the lines intercept - mu fall that are highest somewhere on mu >= 0, or nearly so."""
    order = np.lexsort((-intercept, fall))
    intercept, fall = intercept[order], fall[order]
    record = np.maximum.accumulate(intercept)
    kept = np.append(True, record[1:] > record[:-1])[: record.size]
    return intercept[kept], fall[kept]


def _highest(lines: tuple[FloatArray, FloatArray], mu: float) -> float:
    """Return the highest line at mu, rounded up; 0 if the blanket is empty and there is none."""
    intercept, fall = lines
    if not intercept.size:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        rounding = 8 * UNIT * (np.abs(intercept) + mu * np.abs(fall))
        return float((intercept - mu * fall + rounding).max())


class Assumed(View):
    r"""L as every randomizer of a given level has it.

    The blanket is scaled down to the mass :math:`\gamma=1/E` that every such randomizer reaches,
    which leaves L as it is; its ratios lie between those of Property 2 of the paper times the
    unscaled mass, which is at most 1. :math:`E[L^2]\le E(1+\lambda^2)-2\lambda` because
    ratios to the unscaled blanket r, r' have mean 1, are at most E, and :math:`E[rr']\ge E[r]`.
    """

    def __init__(self, level: float) -> None:
        self.end = level

    def at(self, epsilon: float) -> Moments:
        """Return the worst moments that the level allows."""
        with precise():
            E, excess = Decimal(self.end).exp(), _expm1(Decimal(epsilon))
            ratio = 1 + excess
            return Moments(
                gamma_low=1 / E,
                gamma_high=1 / E,
                drift=excess,
                smallest=1 - E * ratio,
                largest=E - ratio,
                square=E * (1 + ratio**2) - 2 * ratio,
            )


def _expm1(x: Decimal) -> Decimal:
    """Return e^x - 1 for x >= 0; for small x the lower bound of three terms."""
    return x + x**2 / 2 + x**3 / 6 if x < _SMALL else x.exp() - 1
