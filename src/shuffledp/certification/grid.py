"""Where to put the nodes of a contour sum, chosen in doubles: a matter of width, not of proof."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.certification.tilt import FloatArray
from shuffledp.engine.balls import short

_MAX_NODES = 2**52
#: Candidates for s: distances from 1 in standard deviations of the sum, and factors of 1.
_STEPS = np.array([0.5, 1, 2, 3, 4, 6, 8, 12])
_FACTORS = np.array([0.15, 0.4, 0.7, 0.9, 1.5, 2, 3, 5])


@dataclass(frozen=True)
class Grid:
    """The nodes k step, k = 0..count, and the s > 1 and s < 1 that bound their aliases best."""

    step: float
    count: int
    right: float
    left: float


def alias_points(sigma: float) -> FloatArray:
    """Return candidates for the s of a sum whose standard deviation is sigma."""
    spread = _STEPS / max(sigma, 0.1)
    points = np.concatenate([1 - spread, 1 + spread, _FACTORS])
    return np.array([short(s, 40) for s in points if s > 1e-3])


def choose_grid(tau: float, points: FloatArray, growth: FloatArray, allowance: float) -> Grid:
    """Return nodes whose aliases and truncation add about ``allowance`` at most.

    Args:
        tau: standard deviation of the smoothing.
        points: candidates for s.
        growth: the logarithm of F(s)/F(1) before smoothing at each of them.
        allowance: in units of F(1).
    """
    log_factor = growth + 0.5 * tau**2 * (points**2 - 1)
    log_factor -= np.log(math.e * points)
    # q/(1-q) e^factor = allowance/2  =>  q = 1/(1 + 2 e^factor/allowance)
    log_q = -np.logaddexp(0.0, log_factor - math.log(allowance / 2))
    lengths = -log_q / np.abs(points - 1)
    right = np.where(points > 1, lengths, math.inf)
    left = np.where(points < 1, lengths, math.inf)
    length = max(float(right.min()), float(left.min()))
    cut = 3.0
    while tau * math.exp(-cut * cut / 2) / (math.pi * cut**3) > allowance:
        cut += 0.25
    step = short(2 * math.pi / length)
    count = max(math.ceil(min(cut / tau / step, _MAX_NODES)), 1)
    best = float(points[int(np.argmin(right))]), float(points[int(np.argmin(left))])
    return Grid(step, count, *best)
