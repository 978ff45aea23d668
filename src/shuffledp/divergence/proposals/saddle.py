"""Where to tilt: the saddle point of the contour integral."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.kernel import HINGE, Kernel

_MAX_NEWTON_STEPS = 200
_PRECISION = 0.05  # of the saddle point, in units of its local scale
_MAX_EXPONENT = 1e4  # of the largest value, at the start of the search
_LARGEST = 1e300  # where all values are below the normal doubles
_FAR = 1e100  # losses beyond it, in units of the largest value, are all the same
_SLOW = 0.5  # of the step before: Newton's step along an exponential, better halve the bracket
_LONGEST_STEP = 16  # at most so many times the tilt before
_STEP_BACK = 8  # the tilt is divided by it where Newton's step leads below 0


@lru_cache(maxsize=16)
def saddle_point(total: BlockSum, kernel: Kernel = HINGE) -> float:
    r"""Return the minimiser of the contour integrand on the real axis, to 5% of its local scale.

    Its logarithm :math:`\sum_bn_bK_b(\theta)-l\theta-\log\theta-\log(\theta+c)` is convex, so the
    root of its derivative is unique; it exists whenever the largest value of S is positive. Any
    theta > 0 gives a valid bound, this one a sharp one.
    """
    tilts = _Tilts(total)
    theta, curvature = tilts.gaussian_start(), kernel.curvature * tilts.unit
    low, high, last = 0.0, math.inf, math.inf
    for _ in range(_MAX_NEWTON_STEPS):
        mean, variance = tilts.moments(theta)
        slope = mean - 1 / theta - 1 / (theta + curvature)
        scale = math.hypot(math.sqrt(variance), 1 / theta, 1 / (theta + curvature))
        if slope > 0:
            high = theta
        else:
            low = theta
        if abs(slope) / scale <= _PRECISION:
            break
        poles = 1 + theta / (theta + curvature)
        proposal = _root(mean - theta * variance, variance, poles)
        step = proposal - theta
        slow = low > 0 and high < math.inf and abs(step) > _SLOW * abs(last)
        last = step
        if slow or not low < proposal < high:
            proposal = math.sqrt(low * high) if low > 0 and high < math.inf else 0.0
        if not 0 < proposal < math.inf:
            proposal = theta / _STEP_BACK if slope > 0 else math.inf
        # As far as the poles decide, or a few times as far as before.
        size = math.hypot(mean, math.sqrt(variance))
        theta = min(proposal, max(_LONGEST_STEP * theta, poles / max(size, 1 / _MAX_EXPONENT)))
    return min(theta / tilts.unit, _LARGEST)


class _Tilts:
    """A sum in units of its largest value, in which nothing that matters overflows."""

    def __init__(self, total: BlockSum) -> None:
        top = max(float(law.values.max()) for law in total.laws)
        self.unit = top if top > 0 else 1.0
        with np.errstate(over="ignore"):
            values = [np.maximum(law.values / self.unit, -_FAR) for law in total.laws]
        times = [block.times for block in total.blocks]
        weights = [law.weights for law in total.laws]
        self.offset = total.offset / self.unit
        self.parts = list(zip(times, values, weights, map(np.log, weights), strict=True))

    def moments(self, theta: float) -> tuple[float, float]:
        """Return mean and variance of the sum under the law tilted by theta."""
        mean, variance = -self.offset, 0.0
        for times, values, _, log_weights in self.parts:
            exponent = theta * values + log_weights
            probability = np.exp(exponent - exponent.max())
            probability /= probability.sum()
            centre = float(probability @ values)
            mean += times * centre
            variance += times * float(probability @ (values - centre) ** 2)
        return mean, variance

    def gaussian_start(self) -> float:
        """Return the root of mean + variance theta = 2/theta, exact for a normal law.

        Where all values but 0 are very rare it lies far beyond the saddle point, which is at most a
        few thousand over the largest value, here 1, because no weight is below 1e-308.
        """
        mean, variance = -self.offset, 0.0
        for times, values, weights, _ in self.parts:
            centre = float(weights @ values)
            mean += times * centre
            variance += times * float(weights @ (values - centre) ** 2)
        start = _root(mean, variance, 2.0)
        return min(start, _MAX_EXPONENT) if start < math.inf else 1.0


def _root(mean: float, variance: float, poles: float) -> float:
    """Return the root of mean + variance theta = poles/theta; infinite if there is none."""
    if variance == 0:
        return poles / mean if mean > 0 else math.inf
    root = math.hypot(mean, math.sqrt(4 * poles * variance))
    # The two forms of the quadratic formula; each is stable for one sign of the mean.
    return (root - mean) / (2 * variance) if mean < 0 else 2 * poles / (root + mean)
