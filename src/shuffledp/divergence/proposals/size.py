"""How large E[S_+]/n is, about."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import FloatArray, IntArray
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.proposals.saddle import saddle_point
from shuffledp.divergence.tilt import tilt

_LEVELS = 10.0 ** -np.array([3, 5, 7, 10, 14, 20, 30, 45, 70, 100, 150, 220])
_MAX_KURTOSIS = 0.7  # of the tilted sum, beyond which its law is far from normal
_SKETCH = 256  # atoms are merged to about so many before the tail is studied
_SETTLED = 0.1  # the estimate has converged if log delta changes by less
_FAR = 1e70  # in standard deviations; the fourth power must stay finite


@dataclass(frozen=True, eq=False)
class Estimate:
    """An uncertified estimate of log(E[S_+]/n) and the probabilities that give its slope.

    ``drift`` is the tilt times n: a change dG of the values changes the estimate by about
    ``drift`` times the sum of ``probability`` times dG. A saddle-point estimate is as good as the
    tilted sum is normal, which its ``kurtosis`` measures.
    """

    log_delta: float
    drift: float
    probability: FloatArray
    kurtosis: float = 0.0


def estimate_saddle(law: Law, n: int) -> Estimate:
    r"""Estimate by the saddle point.

    :math:`\log\delta\approx nK-2\log\theta-\log n-\frac12\log(2\pi(nK''+2/\theta^2))`.
    """
    tilted = tilt(law, saddle_point(law, n))
    theta = tilted.theta
    spread = n * tilted.variance + 2 / theta**2
    value = n * tilted.log_mgf - 2 * math.log(theta) - math.log(n)
    value -= 0.5 * math.log(2 * math.pi * spread)
    kurtosis = 0.0
    if tilted.variance > 0:
        standardised = np.minimum(np.abs(tilted.centred) / math.sqrt(tilted.variance), _FAR)
        kurtosis = float(tilted.probability @ standardised**4) / n
    return Estimate(value, n * theta, tilted.probability, kurtosis)


def estimate_jump(law: Law, n: int) -> Estimate:
    r"""Estimate by one jump: :math:`E[(G+(n-1)EG)_+]`."""
    excess = law.values + (n - 1) * float(law.weights @ law.values)
    jumps = law.weights * (excess > 0)
    value = float(jumps @ excess)
    if value <= 0:
        return Estimate(-math.inf, 0.0, law.weights)
    # All values move together with epsilon: those of the jump once, the mean n - 1 times.
    probability = (jumps + (n - 1) * float(jumps.sum()) * law.weights) / n
    return Estimate(math.log(value), n / value, probability)


def estimate_log_size(law: Law, n: int, order: IntArray, tail_mass: FloatArray) -> float:
    """Estimate log(E[S_+]/n): one jump, or moderate values together, whichever is larger.

    Deeper and deeper cuts are tried. If the saddle-point estimate settles, large values do not
    matter; if it keeps growing, it is believed as long as the tilted sum is nearly normal.

    Args:
        law: the law of G.
        n: number of summands.
        order: the atoms, largest value first.
        tail_mass: E[G; the atoms up to this one], in that order.
    """
    starts = np.arange(0, law.size, -(-law.size // _SKETCH))
    weights = np.add.reduceat(law.weights[order], starts)
    values = np.add.reduceat((law.weights * law.values)[order], starts) / weights
    believed = previous = -math.inf
    for level in _LEVELS * tail_mass[-1]:
        kept = np.where(tail_mass[starts] <= level, 0.0, values)
        moderate = Law(kept, weights, np.zeros_like(kept), np.zeros_like(kept))
        estimate = estimate_saddle(moderate, n)
        if abs(estimate.log_delta - previous) < _SETTLED:
            return estimate.log_delta
        if estimate.kurtosis <= _MAX_KURTOSIS:
            believed = estimate.log_delta
        previous = estimate.log_delta
    return max(believed, estimate_jump(law, n).log_delta)
