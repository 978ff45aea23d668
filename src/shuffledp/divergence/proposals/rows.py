"""Where to tilt many sums at once, one in each row, and where their nodes lie.

The same choices as for a single sum, for all rows together; nothing here is trusted either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import FloatArray, IntArray
from shuffledp.decomposition.law_rows import LawRows
from shuffledp.divergence.proposals.grid import FACTORS, FAR, FIRST_CUT, MAX_COUNT, NEAR
from shuffledp.divergence.proposals.stretches import GROWTH, MAIN_LOBE, WIDTH

_MAX_NEWTON_STEPS = 60
_PRECISION = 0.05  # of the saddle point, in units of its local scale
_LONGEST_STEP, _STEP_BACK = 16, 8
_MAX_EXPONENT = 1e4
_MAX_GROWING = 64  # stretches that grow, of one row
_LEAST_EXCESS = 1e-9 - 1  # of a transform over 1; below, nothing is left of it


def saddle_points(laws: LawRows, times: IntArray) -> FloatArray:
    r"""Return the minimisers of :math:`nK(\theta)-2\log\theta`, to 5% of their local scale."""
    return saddle_points_of([(laws, times)])


def saddle_points_of(blocks: Sequence[tuple[LawRows, IntArray]]) -> FloatArray:
    r"""Do as ``saddle_points`` for :math:`\sum_bn_bK_b(\theta)-2\log\theta`."""
    top = np.max([laws.values.max(axis=1) for laws, _ in blocks], axis=0)
    unit = np.where(top > 0, top, 1.0)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        tilts = [_Tilts(laws.values / unit[:, None], laws.weights, times) for laws, times in blocks]
        mean, variance = _added([block.start() for block in tilts])
        root = np.hypot(mean, np.sqrt(8 * variance))
        start = np.where(mean < 0, (root - mean) / (2 * variance), 4 / (root + mean))
        theta = np.fmin(start, _MAX_EXPONENT)
        low, high = np.zeros_like(theta), np.full_like(theta, math.inf)
        for _ in range(_MAX_NEWTON_STEPS):
            mean, variance = _added([block.moments(theta) for block in tilts])
            slope = mean - 2 / theta
            scale = np.sqrt(variance + 2 / theta**2)
            open_ = np.abs(slope) > _PRECISION * scale
            if not open_.any():
                break
            high, low = np.where(slope > 0, theta, high), np.where(slope > 0, low, theta)
            proposal = theta - slope / scale**2
            middle = np.where((low > 0) & (high < math.inf), np.sqrt(low * high), 0.0)
            proposal = np.where((low < proposal) & (proposal < high), proposal, middle)
            proposal = np.where(proposal > 0, proposal, theta / _STEP_BACK)
            theta = np.where(open_, np.fmin(proposal, _LONGEST_STEP * theta), theta)
    points: FloatArray = theta / unit
    return points


class _Tilts:
    """One block of every sum."""

    def __init__(self, values: FloatArray, weights: FloatArray, times: IntArray) -> None:
        self.values, self.weights, self.times = values, weights, times
        self.log_weights = np.log(weights)

    def start(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of the block in every row."""
        return self._moments(self.weights)

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the same under the laws that are tilted by theta."""
        exponent = theta[:, None] * self.values + self.log_weights
        probability = np.exp(exponent - exponent.max(axis=1)[:, None])
        return self._moments(probability / probability.sum(axis=1)[:, None])

    def _moments(self, probability: FloatArray) -> tuple[FloatArray, FloatArray]:
        centre = (probability * self.values).sum(axis=1)
        spread = (probability * (self.values - centre[:, None]) ** 2).sum(axis=1)
        return self.times * centre, self.times * spread


def _added(moments: Sequence[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    means, variances = zip(*moments, strict=True)
    return np.sum(means, axis=0), np.sum(variances, axis=0)


def estimate_log_mgfs(laws: LawRows, points: FloatArray) -> FloatArray:
    """Estimate K of every row at the points of its row; infinite where that is in vain."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        raised = np.expm1(points[:, :, None] * laws.values[:, None, :])
        excess = np.matmul(raised, laws.weights[:, :, None])[:, :, 0]
        return np.where(excess > _LEAST_EXCESS, np.log1p(excess), math.inf)


def alias_points(variance: FloatArray, taus: FloatArray) -> FloatArray:
    """Return tilts on both sides of 1 at which the bound on aliases is worth trying."""
    deviation = np.hypot(np.sqrt(variance), taus)[:, None]
    factors = np.broadcast_to(FACTORS, (taus.size, FACTORS.size))
    points = np.hstack([1 - NEAR / deviation, factors, 1 + FAR / deviation])
    return np.where(points > 0, points, FACTORS[0])


@dataclass(frozen=True, eq=False)
class RowGrids:
    """The nodes of every row, as in ``Grid``; ``count`` is 0 where there would be too many."""

    step: FloatArray
    count: IntArray
    left: IntArray
    right: IntArray


def choose_grids(
    points: FloatArray,
    log_mgfs: FloatArray,
    log_mgf: FloatArray,
    taus: FloatArray,
    allowances: FloatArray,
) -> RowGrids:
    """Choose grids whose aliases and truncation each cost at most the allowance of the row.

    Args:
        points: tilts to choose from, for every row.
        log_mgfs: about the logarithms of the transform there, or more where they are not known.
        log_mgf: the same at the tilt 1.
        taus: deviations of the noise.
        allowances: in units of the transform at 1.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        heights = log_mgfs - log_mgf[:, None]
        heights += 0.5 * taus[:, None] ** 2 * (points**2 - 1) - 1 - np.log(points)
        lengths = np.logaddexp(0.0, heights - np.log(allowances / 2)[:, None])
        lengths = np.nan_to_num(lengths / np.abs(points - 1), nan=math.inf, posinf=math.inf)
    left_lengths = np.where(points < 1, lengths, math.inf)
    right_lengths = np.where(points > 1, lengths, math.inf)
    left, right = np.argmin(left_lengths, axis=1), np.argmin(right_lengths, axis=1)
    longest = np.maximum(left_lengths.min(axis=1), right_lengths.min(axis=1))
    step = 2 * math.pi / longest
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        count = np.ceil(_cuts(taus, allowances) / taus / step)
    usable = (longest < math.inf) & (count < MAX_COUNT)
    return RowGrids(step, np.where(usable, np.maximum(count, 1), 0).astype(np.int64), left, right)


def _cuts(taus: FloatArray, allowances: FloatArray) -> FloatArray:
    """Return where the normal factor, in its deviations, leaves no more than is allowed."""
    cut = np.full(taus.size, FIRST_CUT)
    for _ in range(4):  # of e^(-x^2/2) = c x^3 by iteration, which oscillates and closes in
        log_left = np.log(taus / (math.pi * allowances * cut**3))
        cut = np.sqrt(np.maximum(2 * log_left, FIRST_CUT**2))
    return cut + 0.1


def main_lobes(sigma: FloatArray, step: FloatArray) -> IntArray:
    """Return how many nodes next to 0 are surely needed; sigma is the deviation of each sum."""
    with np.errstate(divide="ignore"):
        nodes = np.minimum(MAIN_LOBE / (sigma * step), MAX_COUNT)
    return nodes.astype(np.int64) + 1


def stretch_starts(
    deviation: FloatArray, step: FloatArray, begin: IntArray, count: IntArray
) -> tuple[IntArray, IntArray]:
    """Return rows and starts of stretches: they grow and then keep the width 0.7/s."""
    rows = np.arange(begin.size)
    widest = np.maximum(WIDTH / (deviation * step), 1.0)
    start, found_rows, found = begin.astype(np.float64), [], []
    growing = start <= count
    for _ in range(_MAX_GROWING):
        width = np.floor((GROWTH - 1) * start) + 1
        growing &= (width < widest) & (start <= count)
        if not growing.any():
            break
        found_rows.append(rows[growing])
        found.append(start[growing])
        start = np.where(growing, start + width, start)
    width = np.floor(widest)
    more = np.maximum(np.ceil((count - start + 1) / width), 0).astype(np.int64)
    tail_rows = np.repeat(rows, more)
    place = np.arange(tail_rows.size) - np.repeat(np.cumsum(more) - more, more)
    found_rows.append(tail_rows)
    found.append(start[tail_rows] + place * width[tail_rows])
    return np.concatenate(found_rows), np.concatenate(found).astype(np.int64)
