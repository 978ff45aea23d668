r"""Exponential tilting: the law of G seen from where the sum is positive.

With :math:`M(\theta)=E e^{\theta G}` and :math:`K=\log M` the tilted law gives the atom g the
probability :math:`w e^{\theta g}/M(\theta)`. All sums below are taken over centred values g - m,
so nothing cancels when n is large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from shuffledp.decomposition.arithmetic import UNIT, FloatArray
from shuffledp.decomposition.gparv import Law

_MAX_NEWTON_STEPS = 200
_FAR = 1e100
_MAX_EXACT_SUM = 256
_MAX_EXPONENT = 1e4  # of the largest value, at the start of the search for the saddle point


@dataclass(frozen=True, eq=False)
class TiltedLaw:
    """The law of G tilted by ``theta``, centred at ``mean``, with its rounding errors.

    Attributes:
        theta: the tilt, greater than 0.
        log_mgf: K(theta).
        log_mgf_error: bound on the error of ``log_mgf``, errors of the law's data included.
        mean: the centre m; the mean of the tilted law up to rounding.
        variance: variance of the tilted law.
        probability: tilted probability of each atom.
        probability_error: bound on the mean relative error of the probabilities.
        centred: value of each atom minus ``mean``.
        mean_deviation: E|G - m| under the tilted law.
        zero_probability: tilted probability of the value 0.
        zero_error: bound on the relative error of ``zero_probability``.
    """

    theta: float
    log_mgf: float
    log_mgf_error: float
    mean: float
    variance: float
    probability: FloatArray
    probability_error: float
    centred: FloatArray
    mean_deviation: float
    zero_probability: float
    zero_error: float


def log_mgf(law: Law, thetas: FloatArray) -> FloatArray:
    """Return K at several tilts, to a few ulps of the largest summand."""
    exponents = np.multiply.outer(thetas, law.values)
    top = exponents.max(axis=1)
    scaled = np.exp(exponents - top[:, None]) @ law.weights
    large = top + np.log(scaled)
    with np.errstate(over="ignore"):
        small = np.expm1(np.minimum(exponents, 1.0)) @ law.weights
    near = (np.abs(exponents).max(axis=1) < 1.0) & (small > -0.5)
    return np.where(near, np.log1p(np.where(near, small, 0.0)), large)


def tilt(law: Law, theta: float) -> TiltedLaw:
    """Tilt a law by ``theta`` > 0."""
    values, weights = law.values, law.weights
    exponent = theta * values
    log_weights = np.log(weights)
    drift = float(np.abs(exponent).max())
    growth = weights * np.expm1(np.minimum(exponent, 1.0))
    excess = _sum(growth)
    if drift < 1.0 and excess > -0.5:
        k = math.log1p(excess)
        size = np.abs(growth)
        k_error = float(size @ (40 * UNIT + law.weight_error)) / (1 + excess) + 2 * UNIT * abs(k)
        k_error += 3 * UNIT * float(weights @ np.abs(exponent)) * math.exp(drift)
        probability = weights * np.exp(exponent - k)
        errors = law.weight_error + UNIT * (4 + drift + abs(k))
    else:
        total = exponent + log_weights
        top = float(total.max())
        k = top + math.log(_sum(np.exp(total - top)))
        probability = np.exp(total - k)
        spread = probability @ (4 * np.abs(log_weights) + 2 * np.abs(exponent))
        k_error = float(probability @ law.weight_error)
        k_error += UNIT * (40 + float(spread) + 2 * abs(k))
        # The logarithm and the exponential are good to 4 units, the product, the sum, at most
        # |log w| + |theta g|, and its distance from k to one. What underflows does not matter.
        sizes = 5 * np.abs(log_weights) + 2 * np.abs(exponent) + np.abs(total - k)
        errors = law.weight_error + UNIT * (4 + np.where(probability > 0, sizes, 0.0))
    k_error += 3 * theta * float(probability @ law.value_error)
    mean = float(probability @ values)
    centred = values - mean
    deviation = float(probability @ np.abs(centred))
    # Errors of probabilities act through sums of p |e^{itc} - 1| <= p min(t|c|, 2).
    probability_error = float(probability @ errors)
    if deviation > 0:
        weighted = float(probability @ (errors * np.abs(centred))) / deviation
        probability_error = max(probability_error, weighted)
    zero = values == 0
    return TiltedLaw(
        theta=theta,
        log_mgf=k,
        log_mgf_error=k_error,
        mean=mean,
        variance=float(probability @ (centred * centred)),
        probability=probability,
        probability_error=probability_error,
        centred=centred,
        mean_deviation=deviation,
        zero_probability=float(probability[zero].sum()),
        zero_error=float(errors[zero].max()) + zero.size * UNIT if zero.any() else 0.0,
    )


def _sum(values: FloatArray) -> float:
    """Sum exactly if that is quick, else pairwise, with an error of at most 32 units."""
    return math.fsum(values) if values.size <= _MAX_EXACT_SUM else float(values.sum())


def standardise(law: Law, n: int) -> tuple[Law, float]:
    """Return the law in units in which its saddle point is 1, and the factor that takes it there.

    In these units nothing overflows or underflows that matters, whatever the units of the values
    were. Values below -1e100, whose tilted probability is less than exp(-1e100), become -1e100.
    """
    top = float(law.values.max())
    factor = saddle_point(_in_units(law, 1 / top), n) / top
    return _in_units(law, factor), factor


def _in_units(law: Law, factor: float) -> Law:
    with np.errstate(over="ignore"):
        scaled = law.scaled(factor)
    far = scaled.values < -_FAR
    if not far.any():
        return scaled
    return replace(
        scaled,
        values=np.where(far, -_FAR, scaled.values),
        value_error=np.where(far, 0.0, scaled.value_error),
    )


def saddle_point(law: Law, n: int, start: float | None = None) -> float:
    r"""Return the minimiser of :math:`nK(\theta)-2\log\theta`, to 5% of its local scale.

    It is where the integrand :math:`M(\theta)^n/\theta^2` of the contour integral for
    :math:`E[(G_1+\dots+G_n)_+]` is smallest on the real axis. The function is convex, so the root
    of :math:`nK'(\theta)=2/\theta` is unique; it exists whenever the largest value is positive.
    Any theta > 0 gives a valid bound, this one a sharp one.
    """
    values, log_weights = law.values, np.log(law.weights)

    def derivatives(theta: float) -> tuple[float, float]:
        exponent = theta * values + log_weights
        probability = np.exp(exponent - exponent.max())
        probability /= probability.sum()
        mean = float(probability @ values)
        return mean, float(probability @ (values - mean) ** 2)

    theta = start if start is not None else _gaussian_start(law, n)
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
        if abs(step) * math.sqrt(curvature) <= 0.05:
            break
        proposal = theta + step
        if not low < proposal < high:
            proposal = math.sqrt(low * high) if low > 0 and high < math.inf else 0.0
        if proposal <= 0:
            proposal = theta / 8
        theta = min(proposal, 16 * theta)
    return theta


def _gaussian_start(law: Law, n: int) -> float:
    """Return the root of n (mu + v theta) = 2/theta, exact for a normal law.

    Where all values but 0 are very rare it lies far beyond the saddle point, which is at most a few
    thousand over the largest value, because no weight is below 1e-308.
    """
    mean = float(law.weights @ law.values)
    variance = float(law.weights @ (law.values - mean) ** 2)
    top = float(law.values.max())
    farthest = _MAX_EXPONENT / top if top > 0 else math.inf
    if variance == 0:
        return min(2 / (n * mean), farthest) if mean > 0 else 1.0
    root = math.hypot(n * mean, math.sqrt(8 * n * variance))
    # The two forms of the quadratic formula; each is stable for one sign of the mean.
    start = (root - n * mean) / (2 * n * variance) if mean < 0 else 4 / (root + n * mean)
    return min(start, farthest)
