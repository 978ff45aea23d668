"""Weighted sums of frequencies: means of levels, shares of groups of values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.basics.arrays import FloatArray
from shuffledp.collection.moments import Moments
from shuffledp.mechanisms.finite.masses import working_digits
from shuffledp.mechanisms.support.support import SupportRandomizer


def combination(randomizer: SupportRandomizer, shares: Moments, weights: ArrayLike) -> Moments:
    r"""Return the estimate of :math:`\sum_xw_xf_x` from those of all frequencies.

    A report that supports the set s has :math:`T=\sum_{x\in s}w_x`. Given the input z its variance
    follows from the probabilities that one or two values are supported,

    .. math:: w_z^2p(1-p)+(Q-w_z^2)q(1-q)+2w_z(W-w_z)c_1+((W-w_z)^2-Q+w_z^2)c_0,

    with :math:`W=\sum w`, :math:`Q=\sum w^2`, and the covariances :math:`c_1=E\,W_2[2]-pq` of the
    true value and another one, :math:`c_0=E\,W_3[3]+W_3[2]-q^2` of two others. It is linear in the
    frequencies, so that it is estimated without bias.

    >>> from shuffledp import KRR, Aggregator
    >>> aggregator = Aggregator(KRR(k=3, epsilon0=300.0))
    >>> aggregator.add(np.array([0, 1, 1, 2], dtype=np.uint8))
    >>> aggregator.weighted([0.0, 0.5, 1.0]).values.tolist()
    [0.5]

    Raises:
        TypeError: if it depends on the values how often three of them are supported together.
        ValueError: if there is not one weight for every value of the domain.
    """
    if not randomizer.triples_look_alike:
        raise TypeError(f"the errors of weighted sums are not known for {randomizer}")
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != shares.values.shape or not shares.whole_domain:
        raise ValueError(
            f"weights must be one number for each of {shares.values.size} values of a whole "
            f"domain, got shape {w.shape}"
        )
    unit = unit_variances(randomizer, w)
    n = 1 / shares.concentration
    value = float(w @ shares.values)
    return Moments(
        values=np.array([value]),
        noise_variance=np.array([max(float(unit @ shares.values), 0.0) / n]),
        concentration=shares.concentration,
        spread=max(float(np.square(w) @ shares.values) - value**2, 0.0),
        unit_variance=float(unit.mean() + w.var()),
        whole_domain=False,
    )


class Covariances(NamedTuple):
    """Of the estimates from one report: whether its user holds a value, for two values.

    Attributes:
        held: variance of the one for the value that is held.
        other: variance of the one for another value.
        with_held: covariance of these two.
        of_others: covariance of those for two other values.
    """

    held: float
    other: float
    with_held: float
    of_others: float

    @classmethod
    def of(cls, randomizer: SupportRandomizer, size: int) -> Covariances:
        """Return those of a mechanism for so many values."""
        with working_digits(randomizer.digits):
            E, mass = randomizer.ratio, randomizer.support_mass
            own, other = E * mass(1, 1), E * mass(2, 2) + mass(1, 2)
            with_own = E * mass(2, 2) - own * other
            without = E * mass(3, 3) + mass(2, 3) - other**2 if size > 2 else 0 * other
            scale = ((E - 1) * mass(1, 2)) ** 2
            four = (own * (1 - own), other * (1 - other), with_own, without)
            return cls(*(float(x / scale) for x in four))

    def weighted(self, own: FloatArray, total: FloatArray, squares: FloatArray) -> FloatArray:
        """Return the variance of a weighted sum, from the weight of the value that is held.

        The other numbers are the sum of all weights, and that of their squares.
        """
        rest, further = total - own, squares - own**2
        pairs = 2 * own * rest * self.with_held + (rest**2 - further) * self.of_others
        unit: FloatArray = own**2 * self.held + further * self.other + pairs
        return unit


def unit_variances(randomizer: SupportRandomizer, w: FloatArray) -> FloatArray:
    """Return for every input the variance of the estimate from one report."""
    return Covariances.of(randomizer, w.size).weighted(w, w.sum(), np.square(w).sum())
