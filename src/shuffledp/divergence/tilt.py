r"""Exponential tilting: laws seen from where the sum is positive.

With :math:`M(\theta)=E e^{\theta G}` and :math:`K=\log M` the tilted law gives the atom g the
probability :math:`w e^{\theta g}/M(\theta)`. All sums below are taken over centred values g - m,
so nothing cancels when n is large.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition.gparv import Law
from shuffledp.decomposition.transform import SmoothLaw
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.transform import TransformError, log_mgf_errors

_MAX_EXACT_SUM = 256
_MAX_LOG = 700.0
_UNDERFLOW = 1e-300
_MAX_DRIFT = 300.0  # of exponents whose exponentials are within doubles
_RARE, _LITTLE_GROWTH = 0.01, 0.5


@dataclass(frozen=True, eq=False)
class TiltedLaw:
    """The law of G tilted by ``theta``, centred at ``mean``, with its rounding errors.

    Attributes:
        theta: the tilt, greater than 0.
        log_mgf: K(theta).
        log_mgf_error: bound on the error of ``log_mgf``, those of the weights included.
        mean: the centre m; the mean of the tilted law up to rounding.
        variance: that of the tilted law, at least, up to the rounding of a sum.
        probability: tilted probability of each atom.
        probability_error: bound on the mean relative error of the probabilities.
        centred: value of each atom minus ``mean``.
        mean_deviation: E|G - m| under the tilted law.
        zero_probability: tilted probability of the value 0.
        zero_error: bound on the relative error of ``zero_probability``.
        value_shift: bound on the mean error of the values, under the tilted law.
        transform: the error of the characteristic function, if atoms are nodes of a quadrature.
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
    value_shift: float
    transform: TransformError | None = None

    @property
    def size(self) -> int:
        """Number of atoms."""
        return self.centred.size

    def parts(self, count: int, most: int) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield parts of so many t, with probabilities and centred values: these, for all."""
        step = max(most // self.size, 1)
        for begin in range(0, count, step):
            yield slice(begin, begin + step), self.probability, self.centred


def log_mgf(law: Law, thetas: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return K at several tilts and bounds on its errors, those of the weights included."""
    k, error = _log_mgf_of_atoms(law, thetas)
    if isinstance(law, SmoothLaw):
        error = error + log_mgf_errors(law, thetas, k)
    return k, error


def _log_mgf_of_atoms(law: Law, thetas: FloatArray) -> tuple[FloatArray, FloatArray]:
    exponents = np.multiply.outer(thetas, law.values)
    sizes = np.abs(exponents)
    # A sum of `size` products; 4 units of an exponential and 2 more for what follows.
    rounded = law.weights * (np.expm1(law.weight_error) + (law.size + 8) * UNIT)
    if sizes.max() < 1.0:
        # An exponent x is rounded once, which changes e^x - 1 by at most 2 units of itself.
        growth = np.expm1(exponents)
        small = growth @ law.weights  # above -0.64
        k = np.log1p(small)
        return k, _log_error(np.abs(growth) @ rounded / (1 + small)) + 4 * UNIT * np.abs(k)
    top = exponents.max(axis=1)
    scaled = np.exp(exponents - top[:, None])
    total = scaled @ law.weights
    log_total = np.log(total)
    k = top + log_total
    # An exponent x is rounded once, and so is its distance from the top.
    spread = (scaled * sizes) @ law.weights / total
    roundings = 2 * spread + np.abs(top) + 4 * np.abs(log_total) + np.abs(k)
    return k, scaled @ rounded / total + UNIT * roundings


def _log_error(relative: FloatArray) -> FloatArray:
    """Return how much a logarithm moves at most, given the relative error of its argument."""
    with np.errstate(divide="ignore"):
        error: FloatArray = -np.log1p(-np.minimum(relative, 1.0)) * (1 + 4 * UNIT)
    return error


def tilt(law: Law, theta: float) -> TiltedLaw:
    """Tilt a law by ``theta`` > 0."""
    values, weights = law.values, law.weights
    exponent = theta * values
    sizes = np.abs(exponent)
    growth = _growth(weights, exponent, sizes)
    if growth is not None:
        excess = _sum(growth)  # above -0.64
        k = math.log1p(excess)
        # 4 units of expm1, one of the product, 32 of the sum, 4 of the logarithm; an exponent is
        # rounded once, which moves its exponential by as many units of max(e^x, 1), and more than
        # 1/3 is left of 1 + the sum.
        errors = 40 * UNIT + np.expm1(law.weight_error)
        k_error = float(_log_error(np.abs(growth) @ errors / (1 + excess)))
        k_error += 3 * UNIT * float(sizes @ (weights + np.maximum(growth, 0.0)))
        k_error += 2 * UNIT * abs(k)
        log_probability = exponent - k
        probability = weights * np.exp(log_probability)
        # 4 units of the exponential, one of the product; the exponent and its distance from k;
        # the error of k, which all probabilities share.
        errors = law.weight_error + UNIT * (6 + 2 * sizes + abs(k)) + k_error
    else:
        log_weights = np.log(weights)
        total = exponent + log_weights
        top = float(total.max())
        k = top + math.log(_sum(np.exp(total - top)))
        log_probability = total - k
        probability = np.exp(log_probability)
        # The logarithm and the exponential are good to 4 units, the product, the sum, at most
        # |log w| + |theta g|, and its distance from k to one; the sum over the atoms to 32.
        # What underflows does not matter.
        sizes = 5 * np.abs(log_weights) + 2 * sizes
        k_error = UNIT * (40 + float(probability @ sizes) + 2 * abs(k))
        k_error += float(probability @ np.expm1(law.weight_error))
        sizes = np.where(probability > 0, sizes + np.abs(log_probability), 0.0)
        errors = law.weight_error + UNIT * (4 + sizes) + k_error
    mean = float(probability @ values)
    centred = values - mean
    distance = np.abs(centred)
    deviation = float(probability @ distance)
    # Errors of probabilities act through sums of p |e^{itc} - 1| <= p min(t|c|, 2). They are those
    # of logarithms.
    weighted = probability * np.expm1(np.minimum(errors, _MAX_DRIFT))
    probability_error = float(weighted.sum())
    if deviation > 0:
        probability_error = max(probability_error, float(weighted @ distance) / deviation)
    zero = np.flatnonzero(values == 0)
    tilted = TiltedLaw(
        theta=theta,
        log_mgf=k,
        log_mgf_error=k_error,
        mean=mean,
        variance=float((probability + weighted) @ (centred * centred)),
        probability=probability,
        probability_error=probability_error,
        centred=centred,
        mean_deviation=deviation,
        zero_probability=float(probability[zero].sum()),
        zero_error=float(errors[zero].max()) + values.size * UNIT if zero.size else 0.0,
        value_shift=_value_shift(law, probability, errors, theta, k),
    )
    return _with_transform(tilted, law) if isinstance(law, SmoothLaw) else tilted


def _growth(weights: FloatArray, exponent: FloatArray, sizes: FloatArray) -> FloatArray | None:
    """Return w (e^x - 1) of all atoms where log(1 + their sum) is better than a sum of w e^x.

    That is where exponents are small, or where large ones are so rare that they hardly count.
    """
    # Below 1 no exponential is less than 1/e, and the sum of w (e^x - 1) is above -0.64.
    if (drift := float(sizes.max())) < 1.0:
        return weights * np.expm1(exponent)
    if drift > _MAX_DRIFT or float(weights @ np.minimum(sizes, 1.0)) > _RARE:
        return None
    growth: FloatArray = weights * np.expm1(exponent)
    return growth if float(np.abs(growth).sum()) < _LITTLE_GROWTH else None


def _with_transform(tilted: TiltedLaw, law: SmoothLaw) -> TiltedLaw:
    """Add the error of the transform, which takes in that of the values."""
    deviation = math.sqrt(tilted.variance)
    found = TransformError(law, tilted.theta, tilted.log_mgf, tilted.value_shift, deviation)
    return replace(
        tilted,
        log_mgf_error=tilted.log_mgf_error + found.log_mgf_error,
        zero_error=tilted.zero_error + found.log_mgf_error,
        value_shift=0.0,
        transform=found,
    )


def _value_shift(law: Law, tilted: FloatArray, errors: FloatArray, theta: float, k: float) -> float:
    """Bound the sum of p e^(theta d) d for values with errors d and p with its relative errors."""
    exponent = errors + theta * law.value_error
    most = float(exponent.max())
    if most < 1:
        shift = float(tilted @ law.value_error) * math.exp(most)
    else:  # an atom may be so vague that its probability, which underflowed, matters
        log_probability = theta * law.values + np.log(law.weights) - k
        shift = float(np.exp(np.minimum(log_probability + exponent, _MAX_LOG)) @ law.value_error)
    return shift * (1 + 1e-9) + _UNDERFLOW  # roundings: of sums of `size` terms, of exponents


def _sum(values: FloatArray) -> float:
    """Sum exactly if that is quick, else pairwise, with an error of at most 32 units."""
    return math.fsum(values) if values.size <= _MAX_EXACT_SUM else float(values.sum())


@dataclass(frozen=True, eq=False)
class TiltedSum:
    """A sum S of independent blocks less an offset, tilted by ``theta``, with totals over summands.

    Attributes:
        theta: the tilt.
        laws: the tilted law of each block.
        times: the number of copies in each block.
        log_mgf: the logarithm of E e^{theta S}.
        log_mgf_error: bound on its error.
        mean: sum of all centres, less the offset.
        mean_size: sum of the absolute values of all these.
        variance: variance of S under the tilted law.
        log_zero: logarithm of the tilted probability that all summands are 0; minus infinity if
            there is an offset.
        zero_error: bound on its error.
        value_shift: bound on the mean error of S, under the tilted law.
    """

    theta: float
    laws: tuple[TiltedLaw, ...]
    times: tuple[int, ...]
    log_mgf: float
    log_mgf_error: float
    mean: float
    mean_size: float
    variance: float
    log_zero: float
    zero_error: float
    value_shift: float

    @property
    def atoms(self) -> int:
        """Number of atoms of all laws together."""
        return sum(law.probability.size for law in self.laws)

    @property
    def deviation(self) -> float:
        """Standard deviation of a summand, on average."""
        return math.sqrt(self.variance / sum(self.times))


@dataclass(frozen=True, eq=False)
class LogMgfs:
    """The logarithm of E e^{sS} at several ``points`` s, with bounds on the errors."""

    points: FloatArray
    values: FloatArray
    errors: FloatArray


def log_mgf_of_sum(total: BlockSum, points: FloatArray) -> LogMgfs:
    """Evaluate the logarithm of E e^{sS} at several points s."""
    values = -total.offset * points
    errors, sizes = np.zeros(points.size), np.abs(values)
    for block in total.blocks:
        k, error = log_mgf(block.law, points)
        values += block.times * k
        errors += block.times * error
        sizes += np.abs(block.times * k)
    # A sum of products has a rounding per term and one more.
    return LogMgfs(points, values, errors + (len(total.blocks) + 2) * UNIT * sizes)


def tilt_sum(total: BlockSum, theta: float) -> TiltedSum:
    """Tilt every block by ``theta`` > 0."""
    laws = tuple(tilt(law, theta) for law in total.laws)
    times = tuple(block.times for block in total.blocks)
    log_mgf = -theta * total.offset
    log_size, log_error = abs(log_mgf), 0.0
    mean, mean_size, variance = -total.offset, abs(total.offset), 0.0
    log_zero, zero_error = (0.0 if total.offset == 0 else -math.inf), 0.0
    shift = total.offset_error
    for n, law in zip(times, laws, strict=True):
        log_mgf += n * law.log_mgf
        log_size += n * abs(law.log_mgf)
        log_error += n * law.log_mgf_error
        mean += n * law.mean
        mean_size += n * abs(law.mean)
        variance += n * law.variance
        log_zero += n * math.log(law.zero_probability) if law.zero_probability > 0 else -math.inf
        zero_error += n * law.zero_error
        shift += n * law.value_shift
    # A sum of products has a rounding per term and one more; a logarithm has 4 units of its own.
    roundings = (len(laws) + 2) * UNIT
    return TiltedSum(
        theta=theta,
        laws=laws,
        times=times,
        log_mgf=log_mgf,
        log_mgf_error=log_error + roundings * log_size,
        mean=mean,
        mean_size=mean_size,
        variance=variance,
        log_zero=log_zero,
        zero_error=zero_error + (roundings + 4 * UNIT) * abs(log_zero),
        value_shift=shift,
    )
