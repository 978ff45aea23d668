r"""Exponential tilting: the law of G seen from where the sum is positive.

With :math:`M(\theta)=E e^{\theta G}` and :math:`K=\log M` the tilted law gives the atom g the
probability :math:`w e^{\theta g}/M(\theta)`. All sums below are taken over centred values g - m,
so nothing cancels when n is large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition.gparv import Law

_FAR = 1e100
_MAX_EXACT_SUM = 256


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


def log_mgf(law: Law, thetas: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return K at several tilts and bounds on its errors, those of the weights included."""
    exponents = np.multiply.outer(thetas, law.values)
    top = exponents.max(axis=1)
    scaled = np.exp(exponents - top[:, None])
    total = scaled @ law.weights
    with np.errstate(over="ignore"):
        growth = np.expm1(np.minimum(exponents, 1.0))
    small = growth @ law.weights
    sizes = np.abs(exponents)
    near = (sizes.max(axis=1) < 1.0) & (small > -0.5)
    small = np.where(near, small, 0.0)
    k = np.where(near, np.log1p(small), top + np.log(total))
    # Relative errors: 4 units of the exponential, 1 of a product, size of a sum, and what the
    # rounding of an exponent x does to it: 2 units of e^x - 1 for |x| < 1, otherwise |x| units,
    # and as many as |x - top| for the difference.
    rounded = law.weight_error + (law.size + 8) * UNIT
    near_error = np.abs(growth) @ (law.weights * rounded) / (1 + small)
    spread = (scaled * sizes) @ law.weights / total
    far_error = scaled @ (law.weights * rounded) / total
    far_error += UNIT * (2 * spread + np.abs(top) + 4 * np.abs(np.log(total)))
    return k, np.where(near, near_error, far_error) + 4 * UNIT * np.abs(k)


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


def in_units(law: Law, factor: float, n: int) -> Law:
    """Return the law of ``factor`` times the value, with losses that stay finite when squared.

    A loss that outweighs n - 1 copies of the largest gain makes every sum of n copies negative, so
    that losses beyond twice as much, and beyond 1e100, can all be taken for the same.
    """
    with np.errstate(over="ignore"):
        scaled = law.scaled(factor)
    farthest = -max(_FAR, 2 * n * float((scaled.values + scaled.value_error).max()))
    far = scaled.values < farthest
    if not far.any():
        return scaled
    return replace(
        scaled,
        values=np.where(far, farthest, scaled.values),
        value_error=np.where(far, 0.0, scaled.value_error),
    )
