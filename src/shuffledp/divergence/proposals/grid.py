"""How far apart the nodes of the contour lie, and how many there are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import FloatArray

#: Where the bound on aliases is tried: distances from theta in 1/deviation, and multiples of it.
_DISTANCES = np.array([0.5, 1, 2, 3, 4, 6, 8])
_FARTHEST = np.array([12.0])
_LARGER = np.array([1.5, 2, 3, 5])
_SMALLER = np.array([0.9, 0.7, 0.4, 0.15])

_FIRST_CUT = 3.0  # of the normal factor, in its deviations
_CUT_STEP = 0.25
_MAX_COUNT = 2**52


@dataclass(frozen=True)
class Grid:
    """Nodes t_k = k step, k = 0..count."""

    step: float
    count: int


def alias_points(theta: float, deviation: float) -> FloatArray:
    """Return tilts on both sides of theta at which the bound on aliases is worth trying."""
    near, far = _DISTANCES / deviation, _FARTHEST / deviation
    points = [theta - near, theta * _SMALLER, theta + near, theta + far, theta * _LARGER]
    together = np.concatenate(points)
    return together[together > 0]


def choose_grid(
    theta: float, tau: float, points: FloatArray, log_heights: FloatArray, allowance: float
) -> Grid | None:
    """Choose step and count so that aliases and truncation both stay within ``allowance``.

    Args:
        theta: the tilt.
        tau: deviation of the noise.
        points: tilts s at which the aliases are bounded.
        log_heights: log of F(s)/(e s F(theta)).
        allowance: in units of F(theta).

    Returns:
        None if there would be too many nodes.
    """
    # q/(1-q) e^height = allowance/2  =>  q = 1/(1 + 2 e^height/allowance)
    log_q = -np.logaddexp(0.0, log_heights - math.log(allowance / 2))
    lengths = -log_q / np.abs(points - theta)
    length = max(float(lengths[points > theta].min()), float(lengths[points < theta].min()))
    cut = _FIRST_CUT
    while tau * math.exp(-cut * cut / 2) / (math.pi * cut**3) > allowance:
        cut += _CUT_STEP
    step = 2 * math.pi / length
    count = cut / tau / step
    return Grid(step, max(math.ceil(count), 1)) if count < _MAX_COUNT else None
