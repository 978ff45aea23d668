r"""How large E[S_+] is, about, where a single large value may decide.

Values above a level, of which there is hardly ever one, are jumps. Beside a jump x the sum R of all
other values has a saddle point: that of :math:`E[(x+R)_+]` is the :math:`\theta` with
:math:`x=2/\theta-nK'(\theta)`. So a row of tilts gives the logarithm of that mean, L(x), at a row
of x, and

.. math:: E[S_+]\approx e^{-\lambda}\Big(e^{L(0)}+n\sum_ip_ie^{L(x_i)}\Big),

with the jumps :math:`x_i`, their probabilities and :math:`\lambda=n\sum p_i`. Every saddle-point
estimate, and its derivative :math:`\theta`, is corrected by what is exact for a normal sum.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.arrays import FloatArray, IntArray
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.proposals.size import Estimate, estimate_jump

_JUMPS = 0.03  # how many jumps there are, on average
_USUAL = 0.5  # how many values, on average, are larger than those that give the scale
_NEVER = 1e-9  # how often losses occur, on average, that are left out
_TILTS = 48
_LEAST_TILT, _LARGEST_TILT = 0.03, 60.0  # over the deviation of the sum
_MAX_EXPONENT = 600.0
_SMALL = 1e-6  # of the largest value: a rest that does not vary
_ROOT = math.sqrt(2 * math.pi)
_FAR = -40.0  # deviations below which a saddle point needs no correction


def estimate_with_jumps(law: Law, n: int) -> Estimate:
    """Estimate by the values that are usual, alone and beside one that is not.

    >>> law = Law(np.array([-0.1, 20.0]), np.array([1 - 1e-6, 1e-6]), np.zeros(2), np.zeros(2))
    >>> f"{math.exp(estimate_with_jumps(law, 100).log_mean):.4f}"  # 100e-6 (20 - 9.9), about
    '0.0010'
    """
    order = np.argsort(law.values, kind="stable")
    values, counts = law.values[order], n * law.weights[order]
    above = np.append(np.cumsum(counts[::-1])[::-1], 0.0)  # how many from each on
    first = int(np.searchsorted(-above, -_JUMPS))
    losses = int(np.searchsorted(np.cumsum(counts[:first]), _NEVER))
    with np.errstate(all="ignore"):
        rest = _Rest(values[losses:first], counts[losses:first] / n, n, _SMALL * float(values[-1]))
        logs, slopes, places, shares = rest.beside(np.append(0.0, values[first:]))
        logs[1:] += np.log(counts[first:])
    if rest.x[0] > 0:
        logs[0] = -math.inf  # without a jump the sum is hardly ever positive
    top = float(logs.max())
    if not abs(top) < math.inf:
        return estimate_jump(BlockSum.of((law, n)))
    parts = np.exp(logs - top)
    whole = float(parts.sum())
    parts *= slopes / whole
    probability = np.zeros(law.size)
    probability[order[first:]] = parts[1:] / n
    weights = np.bincount(places, parts * (1 - shares), _TILTS)
    weights += np.bincount(places + 1, parts * shares, _TILTS)
    probability[order[losses:first]] = weights @ rest.probabilities
    return Estimate(top + math.log(whole) - float(above[first]), 1.0, [probability])


class _Rest:
    """The sum of the values that are usual, tilted in many ways; what is left out is 0."""

    def __init__(self, values: FloatArray, weights: FloatArray, n: int, some_spread: float) -> None:
        sizes = np.abs(values)
        order = np.argsort(-sizes, kind="stable")
        usual = int(np.searchsorted(n * np.cumsum(weights[order]), _USUAL))
        size = float(sizes[order[min(usual, order.size - 1)]]) if order.size else 0.0
        spread = math.sqrt(n * float(weights @ np.minimum(sizes, size) ** 2))
        tilts = np.geomspace(_LARGEST_TILT, _LEAST_TILT, _TILTS) / (spread or some_spread)
        exponents = np.minimum(np.multiply.outer(tilts, values), _MAX_EXPONENT)
        masses = weights * np.exp(exponents)
        whole = masses.sum(axis=1) + max(1 - float(weights.sum()), 0.0)
        self.probabilities = masses / whole[:, None]
        means = self.probabilities @ values
        variances = n * np.maximum(self.probabilities @ values**2 - means**2, 0.0)
        self.drift = n * float(weights @ values)
        self.x = 2 / tilts - n * means
        scales = np.hypot(np.sqrt(variances), math.sqrt(2) / tilts)
        logs = n * np.log(whole) + tilts * self.x - 2 * np.log(tilts)
        more, slopes = _corrections(tilts * np.sqrt(variances))
        self.logs = logs - np.log(_ROOT * scales) + more
        self.slopes = tilts * slopes

    def beside(self, x: FloatArray) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
        """Return L(x) and its derivative, and between which tilts x lies, at which share."""
        place = np.clip(np.searchsorted(self.x, x) - 1, 0, _TILTS - 2)
        left, right = self.x[place], self.x[place + 1]
        step = right - left
        share = np.clip((x - left) / step, 0.0, 1.0)
        slopes = self.slopes[place], self.slopes[place + 1]
        # Hermite's cubic between two tilts.
        ends = self.logs[place] * (1 + 2 * share), self.logs[place + 1] * (3 - 2 * share)
        bends = step * slopes[0] * share, step * slopes[1] * (share - 1)
        logs = (ends[0] + bends[0]) * (1 - share) ** 2 + (ends[1] + bends[1]) * share**2
        logs += np.minimum(x - left, 0.0) * slopes[0]
        slope = slopes[0] ** (1 - share) * slopes[1] ** share
        decisive = x > right  # it makes the sum positive, whatever the rest is
        sums = np.where(decisive, np.maximum(x + self.drift, right), 1.0)
        return (
            np.where(decisive, np.log(sums), logs),
            np.where(decisive, 1 / sums, slope),
            place,
            share,
        )


def _corrections(deviation: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Return log E[(z+N)_+] of a standard normal N less its saddle-point estimate.

    And its derivative in z over that of the estimate, the tilt. That is :math:`a`, the deviation
    in units of it, and :math:`z=2/a-a`.
    """
    from scipy.special import erfcx, ndtr

    a = np.maximum(deviation, 1e-9)
    z = np.maximum(2 / a - a, _FAR)
    estimate = a * (a / 2 + z) - 2 * np.log(a) - np.log(_ROOT * np.sqrt(1 + 2 / a**2))
    # In units of the density of N at z: the probability of z + N > 0, and the mean.
    below = np.minimum(z, 0.0)
    chance = math.sqrt(math.pi / 2) * erfcx(-below / math.sqrt(2))
    mean = 1 + below * chance
    above = np.maximum(z, 0.0) * ndtr(z) + np.exp(-(np.maximum(z, 0.0) ** 2) / 2) / _ROOT
    logs = np.where(z < 0, np.log(mean) - z**2 / 2 - math.log(_ROOT), np.log(above)) - estimate
    slopes = np.where(z < 0, chance / mean, ndtr(z) / above) / a
    far = z == _FAR
    return np.where(far, 0.0, logs), np.where(far, 1.0, slopes)
