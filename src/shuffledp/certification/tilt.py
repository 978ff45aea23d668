r"""Exponential tilting in balls.

In units of 1/theta, theta the saddle point, the tilted law of :math:`X=\theta G` has probabilities
:math:`p=we^{x}/M(\theta)`. Where theta lies is a matter of speed, not of proof, and is found in
doubles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from flint import arb
from numpy.typing import NDArray

from shuffledp.certification.balls import rounded
from shuffledp.certification.law import Law
from shuffledp.engine.balls import logarithm, total

_MAX_NEWTON_STEPS = 200
_FAR = -1e100

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class TiltedLaw:
    """A law in units in which its saddle point is 1, tilted by 1.

    Attributes:
        theta: the tilt, exact.
        values: theta times the values, 0 left out.
        probability: tilted probabilities of ``values``.
        zero: tilted probability of 0.
        log_mgf: log E exp(theta G).
        mean: the mean of the tilted law.
        variance: its variance.
    """

    theta: arb
    values: tuple[arb, ...]
    probability: tuple[arb, ...]
    zero: arb
    log_mgf: arb
    mean: arb
    variance: arb

    def mgf(self, s: float) -> arb:
        """Return M(s)/M(1) in the units of the law."""
        shift = arb(s) - 1
        terms = zip(self.values, self.probability, strict=True)
        return self.zero + total(p * (shift * x).exp() for x, p in terms)


def tilt(law: Law, n: int) -> TiltedLaw:
    """Tilt a law whose largest value is positive by its saddle point for n summands."""
    return tilt_by(law, saddle_point(law, n))


def tilt_by(law: Law, theta: arb) -> TiltedLaw:
    """Tilt a law by a number."""
    values = tuple(theta * atom.value for atom in law.atoms)
    grown = [atom.weight * x.exp() for atom, x in zip(law.atoms, values, strict=True)]
    mgf = law.zero + total(grown)
    probability = tuple(mass / mgf for mass in grown)
    terms = list(zip(values, probability, strict=True))
    mean = total(p * x for x, p in terms)
    square = total(p * x * x for x, p in terms)
    return TiltedLaw(
        theta, values, probability, law.zero / mgf, mgf.log(), mean, square - mean * mean
    )


def saddle_point(law: Law, n: int) -> arb:
    r"""Return a number of 12 bits near the minimiser of :math:`nK(\theta)-2\log\theta`.

    It is where the integrand :math:`M(\theta)^n/\theta^2` is smallest on the real axis. The
    function is convex, so safeguarded Newton steps find its minimum.
    """
    top = law.atoms[-1].value
    values, logs = relative_values(law)
    theta, low, high = 1.0, 0.0, math.inf
    for _ in range(_MAX_NEWTON_STEPS):
        exponent = theta * values + logs
        probability = np.exp(exponent - exponent.max())
        probability /= probability.sum()
        mean = float(probability @ values)
        variance = float(probability @ np.minimum((values - mean) ** 2, 1e200))
        slope = n * mean - 2 / theta
        low, high = (low, theta) if slope > 0 else (theta, high)
        curvature = n * variance + 2 / theta**2
        if abs(slope) <= 0.05 * math.sqrt(curvature):
            break
        proposal = theta - slope / curvature
        if not low < proposal < high:
            proposal = math.sqrt(low * high) if low > 0 and high < math.inf else theta / 8
        theta = min(proposal, 16 * theta)
    return rounded(arb(theta) / top, 12)


def relative_values(law: Law) -> tuple[FloatArray, FloatArray]:
    """Return the values in units of the largest and the logs of their weights, 0 included."""
    top = law.atoms[-1].value
    values = [max(float((atom.value / top).mid()), _FAR) for atom in law.atoms]
    logs = [logarithm(atom.weight) for atom in law.atoms]
    return np.array([*values, 0.0]), np.array([*logs, logarithm(law.zero)])
