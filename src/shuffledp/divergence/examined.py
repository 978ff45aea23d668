r"""Who is examined in vain: what an average over such users can differ from its central term.

With :math:`a_K=\sum_{J\notin K}L_{v_J}`, whose mean over the sets K of k users is
:math:`(M-k)\ell` and whose variance is at most k times that of L, Taylor's formula gives

.. math:: |\mathrm{avg}_K\,e^{a_K}-e^{(M-k)\ell}|
          \le\min(\tfrac k2\mathrm{Var}\,L,\,2)\max_K|e^{a_K}|,

and :math:`\mathrm{Re}\,a_K` is at most both :math:`(M-k)\max\mathrm{Re}\,L` and
:math:`M\,\mathrm{Re}\,\ell-k\min\mathrm{Re}\,L`. So the weights of k are :math:`\gamma q^k` times
one of two moduli, and :math:`\sum_kkq^k=q/(1-q)^2`. The variance is at most a third of the largest
squared distance of two L (Jung's theorem), and at most the mean squared distance from one of them:
the share of all other types, times that square. So it is small where nearly all hold the same. Of
many types not all pairs are compared. The variance is at most the mean squared distance from any
point whatever, so with all of them within r of one point it is at most :math:`r^2`, which is a
quarter of :math:`(2r)^2`, and no two are more than 2r apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import FloatArray, IntArray

_JUNG, _OF_A_DISC = 1 / 3, 1 / 4
_FEW = 5  # types of which all pairs are compared


@dataclass(frozen=True, eq=False)
class Extent:
    """How far apart the L of all types are at every node.

    Attributes:
        square: at least the largest squared distance of two of them.
        variance: that of any shares is at most so many times the square.
    """

    square: FloatArray
    variance: float

    @classmethod
    def of(cls, exponent: NDArray[np.complex128], error: FloatArray) -> Extent:
        """Return it for L, one row per type, that are off by at most the error.

        >>> Extent.of(np.array([[1.0], [1.0j], [-1.0]]), np.zeros(1)).square.tolist()
        [4.0]
        """
        if len(exponent) <= _FEW:
            pairs = [np.abs(one - other) for one, other in combinations(exponent, 2)]
            return cls((np.max(pairs, axis=0) + 2 * error) ** 2, _JUNG)
        real, imag = (
            0.5 * (part.min(axis=0) + part.max(axis=0)) for part in (exponent.real, exponent.imag)
        )
        radius = np.abs(exponent - (real + 1j * imag)).max(axis=0) + error
        return cls((2 * radius) ** 2, _OF_A_DISC)


@dataclass(frozen=True, eq=False)
class Spread:
    """The bound at every node, for variances in units of the largest squared distance of two L.

    Attributes:
        most: at most this.
        absolute: at most this per unit of the variance.
        relative: at most this per unit of the variance and of the bound on the central terms.
        variance: that of any shares is at most this.
    """

    most: FloatArray
    absolute: FloatArray
    relative: FloatArray
    variance: float

    @classmethod
    def of(
        cls,
        height: FloatArray,
        full: FloatArray,
        ends: tuple[FloatArray, FloatArray],
        extent: Extent,
        terms: float | FloatArray,
    ) -> Spread:
        """Return the bounds.

        Args:
            height: bounds on the whole sum over k, whatever the others hold.
            full: the same of its first term.
            ends: log q at the largest and at the smallest real part of L.
            extent: how far apart two L are.
            terms: how many k there are.
        """
        at_largest, at_smallest = map(_mean_terms, ends)
        half = extent.square / 2
        with np.errstate(invalid="ignore", over="ignore"):
            # Where a bound is 0 times infinity, the other one counts.
            absolute = np.fmin(height * (terms - 1), full * at_largest) * half
            return cls(2 * height, absolute, at_smallest * half, extent.variance)

    @property
    def everywhere(self) -> FloatArray:
        """The bound for any background."""
        return np.minimum(self.most, self.variance * self.absolute)

    def chosen(self, some: IntArray) -> Spread:
        """Return the bounds at some nodes."""
        bounds = self.most[some], self.absolute[some], self.relative[some]
        return Spread(*bounds, self.variance)

    def at(self, variance: FloatArray, height: FloatArray) -> FloatArray:
        """Return the bound for some variances.

        Args:
            variance: upper bounds on the variance, for every node or one for all of a row.
            height: bounds on the sum over k of the central terms, one or several for every node.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            bound = variance * np.fmin(self.absolute, height * self.relative)
        return np.where(variance > 0, np.fmin(self.most, bound), 0.0)


def most_variance(shares: FloatArray) -> FloatArray:
    """Bound the variance of points at most 1 apart for all shares in simplices.

    Args:
        shares: of all types, in the last axis, at the corners, in the one before.

    >>> most_variance(np.array([[[1.0, 0.0], [0.75, 0.25]], [[1.0, 0.0], [0.0, 1.0]]])).tolist()
    [0.25, 0.3333333333333333]
    """
    others: FloatArray = (1 - shares.min(axis=1)).min(axis=1)
    return np.minimum(others, _JUNG)


def _mean_terms(log_ratio: FloatArray) -> FloatArray:
    """Return the sum of k q^k over all k, infinite unless q < 1."""
    with np.errstate(divide="ignore", over="ignore"):
        total: FloatArray = np.where(
            log_ratio < 0,
            np.exp(np.minimum(log_ratio, 0.0)) / np.expm1(np.minimum(log_ratio, 0.0)) ** 2,
            np.inf,
        )
    return total
