r"""Laws of counts of many users, cell by cell: the cost does not grow with n.

W is a sum of binomial variables with mean :math:`\mu` and variance :math:`\sigma^2`. Its
characteristic function, turned by the mean, falls like :math:`e^{-2\sigma^2\sin^2(\tau/2)}`, so a
few nodes :math:`\tau_k=2\pi k/L` give

.. math:: w(c)=\frac1L\sum_k\varphi(\tau_k)e^{-i\tau_kc},\qquad
   \sum_{c=e}^{e+s-1}w(c)=\frac1L\sum_k\varphi(\tau_k)e^{-i\tau_ke}\,
   \frac{1-e^{-i\tau_ks}}{1-e^{-i\tau_k}},

up to counts that are L apart. Those, and the counts that no cell holds, are far from the mean:
:math:`P(|W-\mu|\ge R)\le2e^{-R^2/(2\sigma^2+2R/3)}` (Bernstein). All errors are absolute, so deltas
below about 1e-11 remain unknown.

With one more bit the likelihood ratio of a count grows with it. Merging the counts of a cell hides
something, so that gives a lower bound on delta. Replacing them by two atoms with the ratios at the
ends of the cell and the same probabilities reveals more: delta is the mean of a convex function of
the ratio. That gives an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.divergence.two_counts import Bit, Bounds

_CELL = 0.05  # of the smallest standard deviation
_REACH = 9.0  # largest standard deviations on either side
_DEPTH = 46.0  # nodes at which the characteristic function is below e^-46 are left out
_SMALL_ANGLE = 0.1


@dataclass(frozen=True)
class Part:
    """So many independent bits of one law.

    Attributes:
        number: how many.
        bit: the law.
        exact: the probability of 1, to more digits.
    """

    number: int
    bit: Bit
    exact: Fraction

    @property
    def variance(self) -> float:
        """That of their sum."""
        return self.number * self.bit.one * self.bit.zero


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells around a centre, and nodes, for all laws of about the same variance.

    Attributes:
        width: how many counts are in a cell.
        half: how many cells are on either side of the centre.
        period: L.
        nodes: k from 0 on.
    """

    width: int
    half: int
    period: int
    nodes: NDArray[np.int64]
    _angles: dict[float, FloatArray] = field(default_factory=dict, repr=False)

    @staticmethod
    def between(least: float, largest: float) -> Grid | None:
        """Return a grid for standard deviations between these; None if cells would be single."""
        width = math.floor(_CELL * least)
        if width < 2:
            return None
        half = math.ceil(_REACH * largest / width)
        period = 2 * (half + 2) * width
        # 2 sin^2(tau/2) least^2 >= depth at the last node, which is far below half the period.
        sine = math.sqrt(_DEPTH / 2) / least
        last = math.ceil(math.asin(sine) / math.pi * period) + 1
        return Grid(width, half, period, np.arange(last + 1, dtype=np.int64))

    @cached_property
    def tau(self) -> FloatArray:
        """The nodes as angles."""
        return 2 * math.pi / self.period * self.nodes.astype(np.float64)

    @cached_property
    def turns(self) -> NDArray[np.complex128]:
        """The factors at all edges, relative to the centre; whole numbers are reduced exactly."""
        edges = np.arange(-self.half, self.half + 1, dtype=np.int64) * self.width
        steps = np.multiply.outer(edges, self.nodes) % self.period
        return np.exp(-2j * math.pi / self.period * steps)

    @cached_property
    def kernel(self) -> NDArray[np.complex128]:
        """The sum of the factors over a cell.

        A cell turns by half a radian at most, so that the sines have small relative errors.
        """
        tau, s = self.tau[1:], self.width
        rest = np.sin(s * tau / 2) / np.sin(tau / 2) * np.exp(-0.5j * (s - 1) * tau)
        return np.concatenate([np.array([complex(s)]), rest])

    def centred_angle(self, p: float) -> FloatArray:
        r"""Return :math:`\arg(1-p+pe^{i\tau})-p\tau`, which is like :math:`\tau^3` at 0."""
        if p in self._angles:
            return self._angles[p]
        tau = self.tau
        half = np.sin(tau / 2) ** 2
        tangent = p * np.sin(tau) / (1 - 2 * p * half)
        direct = np.arctan2(p * np.sin(tau), 1 - 2 * p * half) - p * tau
        # tan - p tau and atan - tan, both without cancellation.
        square = tau * tau
        series = np.ones_like(tau)
        for k in (14, 12, 10, 8, 6, 4):  # sin x - x = -x^3/6 (1 - x^2/20 (1 - x^2/42 (...)))
            series = 1 - square / (k * (k + 1)) * series
        sine = -tau * square / 6 * series
        first = p * (sine + 2 * p * tau * half) / (1 - 2 * p * half)
        squared = tangent * tangent
        tail = np.zeros_like(tau)
        for k in range(19, 1, -2):  # atan t - t = -t^3 (1/3 - t^2/5 + ...)
            tail = 1 / k - squared * tail
        second = -tangent * squared * tail
        self._angles[p] = np.where(tau < _SMALL_ANGLE, first + second, direct)
        return self._angles[p]


@dataclass(frozen=True, eq=False)
class Atoms:
    """Probabilities of outputs if the user's bit is that of the own value, and if of another."""

    held: FloatArray
    free: FloatArray


@dataclass(frozen=True, eq=False)
class CellLaw:
    """A count, the user's bit included, in cells.

    Attributes:
        merged: one atom for each cell.
        spread: two atoms for each cell, which reveal more.
        error: bound on the absolute error of every probability of a merged cell.
        far: bound on the probability of all other counts, and on what cells have too much in all
            because of counts a period away.
    """

    merged: Atoms
    spread: Atoms
    error: float
    far: float


def cell_law(parts: Sequence[Part], grid: Grid, own: Bit, other: Bit) -> CellLaw:
    """Return the law of the sum of all bits and of one more, at the own value or at another."""
    parts = [part for part in parts if part.number > 0]
    mean = sum((part.number * part.exact for part in parts), Fraction(0))
    variance = sum(part.variance for part in parts)
    centre = math.floor(mean)
    tau = grid.tau
    sines = np.sin(tau / 2) ** 2
    log_modulus, phase = np.zeros(tau.size), np.zeros(tau.size)
    phase_error = np.zeros(tau.size)
    for part in parts:
        product = part.bit.one * part.bit.zero
        log_modulus += 0.5 * part.number * np.log1p(-4 * product * sines)
        phase += part.number * grid.centred_angle(part.bit.one)
        small = tau < _SMALL_ANGLE
        # Of small angles the cube is computed, of large ones the difference from the mean.
        phase_error += UNIT * part.number * np.where(small, 64 * tau**3, 16 * tau)
    offset = float(mean - centre)
    phase += tau * offset
    values = np.exp(log_modulus) * np.exp(1j * phase) * (2.0 / grid.period)
    values[0] = 1.0 / grid.period
    relative = UNIT * (64 + 32 * np.abs(log_modulus)) + phase_error
    size = np.abs(values)
    far = _beyond(grid.half * grid.width - grid.width, variance)
    # Every node that is left out is at most as large as the last one.
    missing = math.exp(-2 * variance * (1 - 1e-9) * float(sines[-1]) + 1e-9)
    relative += UNIT * (32 + tau.size)  # of the turns, and of adding up
    error = float((size * relative).sum())
    mass_error = float((size * np.abs(grid.kernel) * (relative + 64 * UNIT)).sum())
    backwards = np.exp(1j * tau)
    columns = np.stack([values * grid.kernel, values, values * backwards], axis=1)
    found = (grid.turns @ columns).real
    masses, at, before = found[:-1, 0], found[:, 1], found[:, 2]
    moved = before[:-1] - before[1:]
    merged = Atoms(*(np.maximum(masses + bit.one * moved, 0.0) for bit in (own, other)))
    error = 1.01 * (error + missing)
    low, high = _ratios(before, at, error + far, own, other)
    total = 1.01 * (mass_error + grid.width * missing) + 2 * error
    return CellLaw(merged, _spread(merged, low, high), total, far)


def _ratios(
    before: FloatArray, at: FloatArray, error: float, own: Bit, other: Bit
) -> tuple[FloatArray, FloatArray]:
    """Return bounds on the likelihood ratio of all counts of each cell, which grows with them."""
    low = _ratio(np.maximum(before - error, 0.0), np.maximum(at, 0.0) + error, own, other)
    high = _ratio(np.maximum(before, 0.0) + error, np.maximum(at - error, 0.0), own, other)
    low = np.maximum.accumulate(low * (1 - 16 * UNIT))[:-1]
    high = np.minimum.accumulate((high * (1 + 16 * UNIT))[::-1])[::-1][1:]
    return low, np.maximum(high, low)


def _ratio(before: FloatArray, at: FloatArray, own: Bit, other: Bit) -> FloatArray:
    ratio: FloatArray = (own.one * before + own.zero * at) / (other.one * before + other.zero * at)
    return ratio


def _spread(cells: Atoms, low: FloatArray, high: FloatArray) -> Atoms:
    """Return two atoms for each cell, with the ratios at its ends and the same probabilities."""
    gap = high - low
    held = np.clip(cells.held, low * cells.free, high * cells.free)
    part = np.divide(held - low * cells.free, gap, out=np.zeros_like(gap), where=gap > 0)
    upper = np.clip(part, 0.0, cells.free)
    free = np.concatenate([cells.free - upper, upper])
    ratios = np.concatenate([low, high])
    order = np.argsort(ratios, kind="stable")
    return Atoms((ratios * free)[order], free[order])


def _beyond(distance: float, variance: float) -> float:
    """Bound the probability of counts so far from the mean, by Bernstein's inequality."""
    reach = distance - 2.0  # the centre is the mean rounded down
    return 2 * math.exp(-reach * reach / (2 * variance + 2 * reach / 3) * (1 - 1e-9))


def cells_delta(u: CellLaw, v: CellLaw, own: Bit, other: Bit, epsilon: float) -> Bounds:
    """Enclose delta, given the laws of the two counts."""
    growth = math.exp(epsilon)
    upper, above = _hockey_stick(u.spread, v.spread, growth)
    lower, below = _hockey_stick(u.merged, v.merged, growth)
    slack = _slack(u, v, own, other, growth)
    return Bounds(max(lower - below - slack, 0.0), min(upper + above + slack, 1.0))


def cells_bound(u: CellLaw, v: CellLaw, own: Bit, other: Bit, epsilon: float) -> float:
    """Return the upper end alone."""
    growth = math.exp(epsilon)
    upper, above = _hockey_stick(u.spread, v.spread, growth)
    return min(upper + above + _slack(u, v, own, other, growth), 1.0)


def _slack(u: CellLaw, v: CellLaw, own: Bit, other: Bit, growth: float) -> float:
    """Bound what errors of probabilities do to delta.

    It is a sum of terms that are linear in the probabilities of every cell, with coefficients of at
    most (1 + growth) (1 + largest ratio), or twice that where they are moved between the ratios.
    """
    cells = u.merged.held.size + v.merged.held.size + 4
    factor = (1 + growth) * (1 + own.one / other.one)
    return factor * (2 * cells * (u.error + v.error) + 4 * (u.far + v.far))


def _hockey_stick(u: Atoms, v: Atoms, growth: float) -> tuple[float, float]:
    """Return the sum of all positive terms, and a bound on its rounding error."""
    ratio_u = np.divide(u.held, u.free, out=np.zeros_like(u.held), where=u.free > 0) / growth
    ratio_v = np.divide(v.held, v.free, out=np.zeros_like(v.held), where=v.free > 0)
    order = np.argsort(ratio_v, kind="stable")
    ratio_v, held_v, free_v = ratio_v[order], v.held[order], v.free[order]
    cut = np.searchsorted(ratio_v, ratio_u)
    below_held = np.concatenate([np.zeros(1), np.cumsum(held_v)])
    below_free = np.concatenate([np.zeros(1), np.cumsum(free_v)])
    gain, cost = u.held * below_free[cut], growth * u.free * below_held[cut]
    size = float(gain.sum() + cost.sum())
    # Sums of positive numbers; pairs on the wrong side of a threshold are worth next to nothing.
    rounding = UNIT * ((8 * (u.held.size + v.held.size) + 256) * size + 64)
    return float((gain - cost).sum()), rounding
