r"""What is known of the privacy amplification random variable of the privacy blanket.

:math:`L=(R(x)-e^\varepsilon R(x'))/\omega`, of an output drawn from the blanket :math:`\omega`;
see :mod:`shuffledp.comparison.published.blanket`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from flint import arb

from shuffledp.basics.arrays import UNIT, FloatArray
from shuffledp.basics.balls import lower_double, precision, total, upper_double
from shuffledp.comparison.published.decimals import precise
from shuffledp.decomposition import Component, Decomposition

_SMALL = Decimal("1e-10")
_ZERO = Decimal(0)


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
        self.decomposition, self.end = decomposition, decomposition.max_epsilon
        upper = decomposition.upper
        with precision():
            parts = [(*_lines(c), c.weight) for c in upper.components]
            self.square = (
                total(d * d * weight for d, _, weight in parts),
                total(d * r * weight for d, r, weight in parts),
                total(r * r * weight for _, r, weight in parts),
            )
            self.top = _envelope([(upper_double(d), lower_double(r)) for d, r, _ in parts])
            self.bottom = _envelope([(upper_double(-d), lower_double(-r)) for d, r, _ in parts])
            self.lost = total(s.a for s in upper.singular), total(s.b for s in upper.singular)
            self.gamma = lower_double(upper.mass), min(upper_double(upper.mass), 1.0)

    def at(self, epsilon: float) -> Moments:
        """Return the moments of L, which is gamma times G: its mean square is gamma times G's."""
        low, high = map(Decimal, self.gamma)
        square, mixed, other = self.square
        with precision():
            mu = arb(epsilon).expm1()
            drift = lower_double(mu - (1 + mu) * self.lost[1] + self.lost[0])
            mean_square = upper_double(square - 2 * mu * mixed + mu**2 * other)
            top = _highest(self.top, lower_double(mu))
            bottom = _highest(self.bottom, upper_double(mu))
            singular = upper_double(self.decomposition.at(epsilon).exposed[1])
        if not all(map(math.isfinite, (mean_square, top, bottom))):
            drift = 0.0  # of which nobody makes a bound
        with precise():
            return Moments(
                gamma_low=low,
                gamma_high=high,
                drift=Decimal(drift),
                smallest=-high * Decimal(bottom),
                largest=high * Decimal(top),
                square=high * Decimal(mean_square),
                singular=Decimal(singular),
            )


def _lines(component: Component) -> tuple[arb, arb]:
    """Return a/c - b/c and b/c."""
    log0, log1, _ = component
    first, second = (arb(0) if log is None else log.exp() for log in (log0, log1))
    return (arb(0) if log0 is log1 else first - second), second


def _envelope(lines: Sequence[tuple[float, float]]) -> tuple[FloatArray, FloatArray]:
    """Keep the lines intercept - mu fall that are highest somewhere on mu >= 0, or nearly so."""
    intercept, fall = np.array(lines, dtype=np.float64).reshape(-1, 2).T
    order = np.lexsort((-intercept, fall))
    intercept, fall = intercept[order], fall[order]
    record = np.maximum.accumulate(intercept)
    kept = np.append(True, record[1:] > record[:-1])[: record.size]
    return intercept[kept], fall[kept]


def _highest(lines: tuple[FloatArray, FloatArray], mu: float) -> float:
    """Return the highest line at mu, rounded up; 0 if the blanket is empty and there is none.

    Three operations round; what underflows is less than 1e-300.
    """
    intercept, fall = lines
    if not intercept.size:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        rounding = 8 * UNIT * (np.abs(intercept) + mu * np.abs(fall)) + 1e-300
        highest = float((intercept - mu * fall + rounding).max())
    return math.inf if math.isnan(highest) else highest


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
