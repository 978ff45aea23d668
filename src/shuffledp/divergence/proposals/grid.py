"""How far apart the nodes of the contour lie, and how many there are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import FloatArray
from shuffledp.divergence.kernel import HINGE, Kernel
from shuffledp.divergence.tilt import LogMgfs, TiltedSum

# Where the bound on aliases is tried: below and above theta, in 1/deviation, and multiples of it.
NEAR = np.array([0.5, 1, 2, 3, 4, 6, 8])
FAR = np.array([0.5, 1, 2, 3, 4, 6, 8, 12])
FACTORS = np.array([0.15, 0.4, 0.7, 0.9, 1.5, 2, 3, 5])

FIRST_CUT = 3.0  # of the normal factor, in its deviations
_CUT_STEP = 0.25
MAX_COUNT = 2**52


@dataclass(frozen=True)
class Grid:
    """Nodes t_k = k step, k = 0..count; which tilts, on either side, bound its aliases well."""

    step: float
    count: int
    left: int
    right: int


def alias_points(tilted: TiltedSum, tau: float) -> FloatArray:
    """Return tilts on both sides of theta at which the bound on aliases is worth trying."""
    deviation = math.hypot(math.sqrt(tilted.variance), tau)
    below, above = tilted.theta - NEAR / deviation, tilted.theta + FAR / deviation
    together = np.concatenate([below, tilted.theta * FACTORS, above])
    return together[together > 0]


def choose_grid(
    mgfs: LogMgfs, tilted: TiltedSum, tau: float, allowance: float, kernel: Kernel = HINGE
) -> Grid | None:
    """Choose a grid whose aliases and truncation each cost at most ``allowance``.

    Args:
        mgfs: the moment generating function of S at points to choose from.
        tilted: S tilted by theta.
        tau: deviation of the noise.
        allowance: in units of F(theta).
        kernel: the function that is averaged.

    Returns:
        None if there would be too many nodes, or no tilt on some side is known well enough.
    """
    theta, points = tilted.theta, mgfs.points
    c = kernel.curvature
    heights = mgfs.values + mgfs.errors - tilted.log_mgf
    heights += 0.5 * tau**2 * (points * (points + c) - theta * (theta + c))
    heights += _log_peaks(points, c)
    # q/(1-q) e^height = allowance/2  =>  q = 1/(1 + 2 e^height/allowance)
    lengths = np.logaddexp(0.0, heights - math.log(allowance / 2)) / np.abs(points - theta)
    left = int(np.argmin(np.where(points < theta, lengths, math.inf)))
    right = int(np.argmin(np.where(points > theta, lengths, math.inf)))
    cut = FIRST_CUT
    while tau * math.exp(-cut * cut / 2) / (math.pi * cut**3) > allowance:
        cut += _CUT_STEP
    longest = max(float(lengths[right]), float(lengths[left]))
    if longest == math.inf:
        return None
    step = 2 * math.pi / longest
    count = cut / tau / step
    return Grid(step, max(math.ceil(count), 1), left, right) if count < MAX_COUNT else None


def _log_peaks(points: FloatArray, curvature: float) -> FloatArray:
    """Return the logarithm of the largest f(x) e^{-sx} at several s."""
    if curvature == 0:
        return -1 - np.log(points)
    ratio = curvature / points
    return -np.log1p(ratio) / ratio - np.log(points + curvature)
