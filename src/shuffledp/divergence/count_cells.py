r"""Laws of counts of many users, cell by cell: the cost does not grow with n.

W is a sum of binomial variables. Tilted, :math:`\tilde w(c)=w(c)e^{\theta c}/M` with
:math:`M=E\,e^{\theta W}`, it is one again, with mean :math:`\mu` and variance :math:`\sigma^2`. Its
characteristic function, turned by the mean, falls like :math:`e^{-2\sigma^2\sin^2(\tau/2)}`, so a
few nodes :math:`\tau_k=2\pi k/L` give

.. math:: w(c)=\frac{Me^{-\theta c}}L\sum_k\tilde\varphi(\tau_k)e^{-i\tau_kc},\qquad
   \sum_{c=e}^{e+s-1}w(c)=\frac{Me^{-\theta e}}L\sum_k\tilde\varphi(\tau_k)e^{-i\tau_ke}\,
   \frac{1-e^{-(\theta+i\tau_k)s}}{1-e^{-(\theta+i\tau_k)}},

up to counts that are L apart. Those, and the counts that no cell holds, are far from the mean:
:math:`P(|W-\mu|\ge R)\le2e^{-R^2/(2\sigma^2+2R/3)}` (Bernstein). Errors of the sums are absolute,
those of the results a multiple of :math:`Me^{-\theta c}`. The count u is tilted up and v down, to
where delta comes from: there the two factors balance, so that deltas of any size are known.

With one more bit the likelihood ratio of a count grows with it. Merging the counts of a cell hides
something, so that gives a lower bound on delta. Replacing them by two atoms with the ratios at the
ends of the cell and the same probabilities reveals more: delta is the mean of a convex function of
the ratio. That gives an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.divergence.count_grid import REACH, SMALL_ANGLE, Grid, Part
from shuffledp.divergence.two_counts import Bit, Bounds
from shuffledp.interval import exp_down, exp_up
from shuffledp.threads import one_thread

#: Standard deviations by which a law is tilted at most, so that all weights are doubles.
MAX_TILT = 15.0


@dataclass(frozen=True, eq=False)
class Masses:
    """Probabilities of cells, in units of the scale, if the user's bit is the own or another one.

    Attributes:
        held: those with the bit of the own value.
        free: those with the bit of another value.
        error: bound on the error of each.
    """

    held: FloatArray
    free: FloatArray
    error: FloatArray


@dataclass(frozen=True, eq=False)
class Ratios:
    """Bounds on the likelihood ratios of all counts, which grow with the count.

    Attributes:
        low: lower bounds, for each cell.
        high: upper bounds, for each cell.
        before: upper bound for all counts below the first cell.
        after: lower bound for all counts above the last cell.
        least: the smallest possible one.
        most: the largest possible one.
    """

    low: FloatArray
    high: FloatArray
    before: float
    after: float
    least: float
    most: float


@dataclass(frozen=True, eq=False)
class CellLaw:
    """A count, the user's bit included, in cells.

    Attributes:
        cells: the probabilities of cells.
        ratios: those of all counts.
        weights: what the two atoms of each cell have at most, at the low ratio and at the high one.
        below: bound on the probability of all counts below the first cell.
        above: the same above the last cell.
        log_scale: the logarithm of the unit of all probabilities.
        scale_error: bound on its error.
    """

    cells: Masses
    ratios: Ratios
    weights: tuple[FloatArray, FloatArray]
    below: float
    above: float
    log_scale: float
    scale_error: float

    @cached_property
    def high_atoms(self) -> tuple[FloatArray, FloatArray]:
        """Ratios and probabilities of atoms that reveal more; ratios of other counts are high."""
        own = self.ratios
        ratios = np.concatenate([[own.before], own.low, own.high, [own.most]])
        return ratios, np.concatenate([[self.below], *self.weights, [self.above]])

    @cached_property
    def low_atoms(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sorted ratios, and what all atoms before have together, free and held.

        Ratios of other counts are low.
        """
        own = self.ratios
        ratios = np.concatenate([[own.least], own.low, own.high, [own.after]])
        weights = np.concatenate([[self.below], *self.weights, [self.above]])
        order = np.argsort(ratios, kind="stable")
        ratios, weights = ratios[order], weights[order]
        return ratios, _before(weights), _before(ratios * weights)

    @cached_property
    def middle(self) -> FloatArray:
        """A likelihood ratio for each cell, growing; any would do."""
        return 0.5 * (self.ratios.low + self.ratios.high)

    @cached_property
    def merged_before(self) -> tuple[FloatArray, FloatArray]:
        """Bounds on what all cells before have together: free from below, held from above."""
        cells = self.cells
        return _before(np.maximum(cells.free - cells.error, 0.0)), _before(cells.held + cells.error)


def _before(masses: FloatArray) -> FloatArray:
    """Return the sums of the masses before each place, and of all."""
    return np.concatenate([np.zeros(1), np.cumsum(masses)])


@one_thread
def cell_law(parts: Sequence[Part], grid: Grid, own: Bit, other: Bit, tilt: float = 0.0) -> CellLaw:
    r"""Return the law of the sum of all bits and of one more, at the own value or at another.

    Args:
        parts: the bits of all others.
        grid: cells and nodes.
        own: the law of the one more bit at the user's own value.
        other: its law at another value.
        tilt: :math:`e^\theta-1`; any will do.
    """
    plain = [part for part in parts if part.number > 0]
    parts = [_tilted(part, tilt) for part in plain]
    mean = sum((part.number * part.exact for part in parts), Fraction(0))
    variance = sum(part.variance for part in parts)
    centre = math.floor(mean)
    half = min(grid.half, math.ceil(REACH * math.sqrt(variance) / grid.width) + 1)
    reach = (half - 1) * grid.width
    tau = grid.tau
    values, relative = _at_nodes(parts, grid, float(mean - centre))
    size = np.abs(values)
    far = _beyond(reach, variance)
    # Every node that is left out is at most as large as the last one.
    missing = math.exp(-2 * variance * (1 - 1e-9) * math.sin(float(tau[-1]) / 2) ** 2 + 1e-9)
    error = float((size * relative).sum())
    log_tilt = math.log1p(tilt)
    kernel = grid.kernel(log_tilt)
    mass_error = float((size * np.abs(kernel) * (relative + 64 * UNIT)).sum())
    backwards = (1 + tilt) * np.exp(1j * tau)
    columns = np.stack([values * kernel, values, values * backwards], axis=1)
    found = (grid.turns(half) @ columns).real
    masses, at, before = found[:-1, 0], found[:, 1], found[:, 2]
    moved = before[:-1] - before[1:] * math.exp(-log_tilt * grid.width)
    bend = 1.1 * math.exp(abs(log_tilt) * (grid.width + 1))  # from one end of a cell to the other
    error = bend * (error + missing + far)
    total = bend * (mass_error + grid.width * missing + far) + 2 * bend * error
    held, free = (np.maximum(masses + bit.one * moved, 0.0) for bit in (own, other))
    number = sum(part.number for part in parts)
    edges = float(centre) + grid.width * np.arange(-half, half + 1, dtype=np.float64)
    ratios = _likelihoods(*_ratios(before, at, error, edges, number), own, other)
    low, high = _weights(held, free, total, ratios)
    exponents = -log_tilt * grid.width * np.arange(-half, half)
    scales = np.exp(exponents)
    rounding = UNIT * (32 + 8 * float(np.abs(exponents).max()))
    log_scale, scale_error = _log_scale(plain, tilt, centre)
    whole = exp_up(scale_error - log_scale)
    below, above = _outside(plain, reach, centre, far, log_tilt, whole)
    cells = Masses(
        held * scales, free * scales, scales * (1.01 * total + 2 * rounding * (held + free))
    )
    least, most = (np.minimum(x * scales * (1 + 2 * rounding), whole) for x in (low, high))
    return CellLaw(cells, ratios, (least, most), below, above, log_scale, scale_error)


def _at_nodes(
    parts: Sequence[Part], grid: Grid, offset: float
) -> tuple[NDArray[np.complex128], FloatArray]:
    """Return the characteristic function at the nodes, over the period, and its relative error.

    It is that of the sum minus the centre, from which the mean is ``offset`` away. Nodes but the
    first stand for their conjugates, too.
    """
    tau = grid.tau
    sines = np.sin(tau / 2) ** 2
    log_modulus, phase = np.zeros(tau.size), tau * offset
    phase_error = np.zeros(tau.size)
    for part in parts:
        product = part.bit.one * part.bit.zero
        log_modulus += 0.5 * part.number * np.log1p(-4 * product * sines)
        phase += part.number * grid.centred_angle(part.bit.one)
        small = tau < SMALL_ANGLE
        # Of small angles the cube is computed, of large ones the difference from the mean.
        phase_error += UNIT * part.number * np.where(small, 64 * tau**3, 16 * tau)
    values = np.exp(log_modulus) * np.exp(1j * phase) * (2.0 / grid.period)
    values[0] = 1.0 / grid.period
    # The last terms are of the turns, and of adding up two real products for every node.
    relative = UNIT * (64 + 32 * np.abs(log_modulus)) + phase_error + UNIT * (48 + 2 * tau.size)
    return values, relative


def _tilted(part: Part, tilt: float) -> Part:
    """Return as many bits, each with the probability of 1 that the tilt gives it."""
    if tilt == 0:
        return part
    growth = 1 + Fraction(tilt)
    one = part.exact * growth / (1 + part.exact * Fraction(tilt))
    return Part(part.number, Bit(float(one), float(1 - one)), one)


def _log_scale(parts: Sequence[Part], tilt: float, centre: int) -> tuple[float, float]:
    r"""Return :math:`\log M-\theta\,\mathrm{centre}` and a bound on its error."""
    terms = [part.number * math.log1p(part.bit.one * tilt) for part in parts]
    terms.append(-centre * math.log1p(tilt))
    return math.fsum(terms), 16 * UNIT * sum(abs(term) for term in terms)


def _outside(
    parts: Sequence[Part], reach: int, centre: int, far: float, log_tilt: float, whole: float
) -> tuple[float, float]:
    """Bound the probabilities below the first cell and above the last one, in units of the scale.

    On the side to which the law is tilted, weights are small. On the other side there may be all
    of the probability, but not more than the law itself has there.
    """
    mean = float(sum((part.number * part.exact for part in parts), Fraction(0)) - centre)
    variance = sum(part.variance for part in parts)
    distance = reach + mean if log_tilt > 0 else reach - mean
    other = whole * (min(_beyond(distance - 1, variance), 1.0) if distance > 4 else 1.0)
    if log_tilt == 0:
        return far, far
    tilted = far * math.exp(-abs(log_tilt) * reach) * (1 + 1e-9)
    return (other, tilted) if log_tilt > 0 else (tilted, other)


def _ratios(
    before: FloatArray, at: FloatArray, error: float, edges: FloatArray, total: int
) -> tuple[FloatArray, FloatArray]:
    r"""Bound :math:`w(c-1)/w(c)` at the edges.

    The generating function of a sum of N bits has real roots only, so by Newton's inequalities
    :math:`w(c)/\binom Nc` is log-concave, and :math:`\frac{w(c-1)}{w(c)}\frac{N-c+1}c` grows. So
    what is known well at one edge helps at others, where w is too small to be known.
    """
    inside = (edges >= 1) & (edges <= total)
    turn = np.divide(total - edges + 1, edges, out=np.ones_like(edges), where=inside)
    low = np.maximum(before - error, 0.0) / (np.maximum(at, 0.0) + error)
    least = np.maximum(at - error, 0.0)
    high = np.full_like(at, np.inf)
    np.divide(np.maximum(before, 0.0) + error, least, out=high, where=least > 0)
    low = np.where(edges < 1, 0.0, np.where(inside, low, np.inf))
    high = np.where(edges < 1, 0.0, np.where(inside, high, np.inf))
    low = np.maximum.accumulate(low * turn * (1 - 16 * UNIT)) / turn
    high = np.minimum.accumulate((high * turn * (1 + 16 * UNIT))[::-1])[::-1] / turn
    return low * (1 - 4 * UNIT), high * (1 + 4 * UNIT)


def _likelihoods(low: FloatArray, high: FloatArray, own: Bit, other: Bit) -> Ratios:
    """Return bounds on the likelihood ratios of all counts, given those of neighbours."""
    low, high = _likelihood(low, own, other), _likelihood(high, own, other)
    low = np.maximum.accumulate(low * (1 - 16 * UNIT))
    high = np.maximum(np.minimum.accumulate((high * (1 + 16 * UNIT))[::-1])[::-1], low)
    least, most = own.zero / other.zero, own.one / other.one
    return Ratios(
        low[:-1],
        high[1:],
        float(high[0]),
        float(low[-1]),
        min(least * (1 - 16 * UNIT), float(low[0])),
        max(most * (1 + 16 * UNIT), float(high[-1])),
    )


def _likelihood(ratio: FloatArray, own: Bit, other: Bit) -> FloatArray:
    r"""Return :math:`\frac{a\,q+1-a}{b\,q+1-b}`, which grows with q."""
    finite = np.minimum(ratio, 1e300)
    found: FloatArray = (own.one * finite + own.zero) / (other.one * finite + other.zero)
    return np.where(np.isinf(ratio), own.one / other.one, found)


def _weights(
    held: FloatArray, free: FloatArray, error: float, ratios: Ratios
) -> tuple[FloatArray, FloatArray]:
    r"""Bound what two atoms have that stand for a cell, one at each of its ratios.

    They have :math:`(f_+q-p)/(f_+-f_-)` and :math:`(p-f_-q)/(f_+-f_-)`, p with the own bit and q
    without, neither less than 0 nor more than q.
    """
    gap = ratios.high - ratios.low
    all_of_it = (free + error) * (1 + 4 * UNIT)

    def share(part: FloatArray, ratio: FloatArray) -> FloatArray:
        part = np.maximum(part, 0.0) + error * (1 + ratio) + 8 * UNIT * (held + ratio * free)
        found = np.divide(part, gap, out=all_of_it.copy(), where=gap > 0)
        return np.minimum(found * (1 + 8 * UNIT), all_of_it)

    low, high = ratios.low, ratios.high
    return share(high * free - held, high), share(held - low * free, low)


def _beyond(distance: float, variance: float) -> float:
    """Bound the probability of counts so far from the mean, by Bernstein's inequality."""
    reach = distance - 2.0  # the centre is the mean rounded down
    return 2 * math.exp(-reach * reach / (2 * variance + 2 * reach / 3) * (1 - 1e-9))


def cells_delta(u: CellLaw, v: CellLaw, epsilon: float) -> Bounds:
    """Enclose delta, given the laws of the two counts."""
    return Bounds(_merged_delta(u, v, math.exp(epsilon)), cells_bound(u, v, epsilon))


def cells_bound(u: CellLaw, v: CellLaw, epsilon: float) -> float:
    """Return the upper end alone."""
    growth = math.exp(epsilon)
    ratio, weight = u.high_atoms
    ratios, free, held = v.low_atoms
    # A few pairs too many are worth next to nothing.
    cut = np.searchsorted(ratios, ratio / growth * (1 + 16 * UNIT))
    gain, cost = ratio * weight * free[cut], growth * weight * held[cut]
    size = float(gain.sum() + cost.sum())
    value = float((gain - cost).sum()) + UNIT * (8 * (ratio.size + ratios.size) + 256) * size
    log_scale = u.log_scale + v.log_scale
    slack = u.scale_error + v.scale_error + 4 * UNIT * (1 + abs(log_scale))
    return min(max(value, 0.0) * exp_up(log_scale + slack) * (1 + 4 * UNIT), 1.0)


def _merged_delta(u: CellLaw, v: CellLaw, growth: float) -> float:
    """Return what some set of pairs of cells gives: no set gives more than delta."""
    cut = np.searchsorted(v.middle, u.middle / growth)
    free, held = v.merged_before
    cells = u.cells
    gain = np.maximum(cells.held - cells.error, 0.0) * free[cut]
    cost = growth * (cells.free + cells.error) * held[cut]
    size = float(gain.sum() + cost.sum())
    value = float((gain - cost).sum()) - UNIT * (8 * (u.middle.size + v.middle.size) + 256) * size
    log_scale = u.log_scale + v.log_scale
    slack = u.scale_error + v.scale_error + 4 * UNIT * (1 + abs(log_scale))
    return max(value, 0.0) * exp_down(log_scale - slack) * (1 - 4 * UNIT)
