r"""Heavy tails: large values of G that are too rare to matter.

If large values are replaced by 0, the sum can only fall, and by no more than the large values
themselves: with :math:`G'=G\,1[G\le t]`

.. math:: E[S'_+] \le E[S_+] \le E[S'_+] + n\,E[G;\,G>t] .

A law whose exponential moments are dominated by such values (the Gaussian mechanism's, whose ratios
are unbounded) is cut where the last term is negligible. Which t that is depends on the size of
:math:`E[S_+]`, so that is estimated first: the sum is positive either because of one jump over the
drift or by the common effort of moderate values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from shuffledp.decomposition.arithmetic import UNIT, FloatArray, IntArray
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.tilt import saddle_point, tilt

_SHARE_OF_RTOL = 0.05
_LEVELS = 10.0 ** -np.array([3, 5, 7, 10, 14, 20, 30, 45, 70, 100, 150, 220])
_MAX_KURTOSIS = 0.7  # of the tilted sum, beyond which its law is far from normal
_SKETCH = 256
_SETTLED = 0.1


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


@dataclass(frozen=True, eq=False)
class CutLaw:
    """A law without its negligible large values.

    Attributes:
        law: the law with the large values set to 0.
        mass: upper bound on E[G; cut].
        log_delta: estimate of log(E[S_+]/n); infinite if nothing was cut.
    """

    law: Law
    mass: float = 0.0
    log_delta: float = math.inf


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
        standardised = np.minimum(np.abs(tilted.centred) / math.sqrt(tilted.variance), 1e70)
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


def cut_tail(law: Law, n: int, rtol: float) -> CutLaw:
    """Set large values to 0 while E[G; cut] stays below about ``rtol/20`` of E[S_+]/n.

    Most laws are returned as they are, because their largest value has enough probability.
    """
    parts = law.weights * np.maximum(law.values, 0.0)
    single = float(parts.sum())
    if parts[int(np.argmax(law.values))] >= _SHARE_OF_RTOL * rtol * single:
        return CutLaw(law)
    order = np.argsort(-law.values, kind="stable")
    tail_mass = np.cumsum(parts[order])
    log_delta = _estimate_size(law, n, order, tail_mass)
    size = math.exp(min(max(log_delta, -690.0), math.log(single)))
    return _cut(law, order, tail_mass, _SHARE_OF_RTOL * rtol * size, log_delta)


def tail_cuts(law: Law) -> Iterator[CutLaw]:
    """Yield the law cut at several depths, from a tenth of E[G_+] to nothing."""
    order = np.argsort(-law.values, kind="stable")
    tail_mass = np.cumsum((law.weights * np.maximum(law.values, 0.0))[order])
    for level in 10.0 ** -np.arange(1, 30, 2):
        yield _cut(law, order, tail_mass, level * tail_mass[-1], math.inf)


def _cut(
    law: Law, order: IntArray, tail_mass: FloatArray, limit: float, log_delta: float
) -> CutLaw:
    """Set the largest values to 0, as many as have E[G; cut] <= limit."""
    count = int(np.searchsorted(tail_mass, limit, side="right"))
    if count == 0:
        return CutLaw(law)
    removed = order[:count]
    values, error = law.values.copy(), law.value_error.copy()
    mass = float(law.weights[removed] @ (values[removed] + error[removed]))
    values[removed] = error[removed] = 0.0
    mass *= 1 + float(law.weight_error[removed].max()) + (count + 4) * UNIT
    return CutLaw(replace(law, values=values, value_error=error), mass, log_delta)


def _estimate_size(law: Law, n: int, order: IntArray, tail_mass: FloatArray) -> float:
    """Estimate log(E[S_+]/n): one jump, or moderate values together, whichever is larger.

    Deeper and deeper cuts are tried. If the saddle-point estimate settles, large values do not
    matter; if it keeps growing, it is believed as long as the tilted sum is nearly normal.
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
