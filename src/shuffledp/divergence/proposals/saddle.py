"""Where to tilt: the saddle point of the contour integral."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.arrays import FloatArray
from shuffledp.decomposition.gparv import Law

_MAX_NEWTON_STEPS = 200
_PRECISION = 0.05  # of the saddle point, in units of its local scale
_MAX_EXPONENT = 1e4  # of the largest value, at the start of the search
_FAR = 1e100  # losses beyond it, in units of the largest value, are all the same
_LONGEST_STEP = 16  # at most so many times the tilt before
_STEP_BACK = 8  # the tilt is divided by it where Newton's step leads below 0


def saddle_point(law: Law, n: int) -> float:
    r"""Return the minimiser of :math:`nK(\theta)-2\log\theta`, to 5% of its local scale.

    It is where the integrand :math:`M(\theta)^n/\theta^2` of the contour integral for
    :math:`E[(G_1+\dots+G_n)_+]` is smallest on the real axis. The function is convex, so the root
    of :math:`nK'(\theta)=2/\theta` is unique; it exists whenever the largest value is positive.
    Any theta > 0 gives a valid bound, this one a sharp one.
    """
    top = float(law.values.max())
    unit = top if top > 0 else 1.0  # units in which nothing that matters overflows
    with np.errstate(over="ignore"):
        values = np.maximum(law.values / unit, -_FAR)
    log_weights = np.log(law.weights)

    def derivatives(theta: float) -> tuple[float, float]:
        exponent = theta * values + log_weights
        probability = np.exp(exponent - exponent.max())
        probability /= probability.sum()
        mean = float(probability @ values)
        return mean, float(probability @ (values - mean) ** 2)

    theta = _gaussian_start(values, law.weights, n)
    low, high = 0.0, math.inf
    for _ in range(_MAX_NEWTON_STEPS):
        mean, variance = derivatives(theta)
        slope = n * mean - 2 / theta
        curvature = n * variance + 2 / theta**2
        if slope > 0:
            high = theta
        else:
            low = theta
        step = -slope / curvature
        if abs(step) * math.sqrt(curvature) <= _PRECISION:
            break
        proposal = theta + step
        if not low < proposal < high:
            proposal = math.sqrt(low * high) if low > 0 and high < math.inf else 0.0
        if proposal <= 0:
            proposal = theta / _STEP_BACK
        theta = min(proposal, _LONGEST_STEP * theta)
    return theta / unit


def _gaussian_start(values: FloatArray, weights: FloatArray, n: int) -> float:
    """Return the root of n (mu + v theta) = 2/theta, exact for a normal law.

    Where all values but 0 are very rare it lies far beyond the saddle point, which is at most a few
    thousand over the largest value, here 1, because no weight is below 1e-308.
    """
    mean = float(weights @ values)
    variance = float(weights @ (values - mean) ** 2)
    if variance == 0:
        return min(2 / (n * mean), _MAX_EXPONENT) if mean > 0 else 1.0
    root = math.hypot(n * mean, math.sqrt(8 * n * variance))
    # The two forms of the quadratic formula; each is stable for one sign of the mean.
    start = (root - n * mean) / (2 * n * variance) if mean < 0 else 4 / (root + n * mean)
    return min(start, _MAX_EXPONENT)
