r"""Who is examined in vain: what an average over such users can differ from its central term.

With :math:`a_K=\sum_{J\notin K}L_{v_J}`, whose mean over the sets K of k users is
:math:`(M-k)\ell` and whose variance is at most k times that of L, Taylor's formula gives

.. math:: |\mathrm{avg}_K\,e^{a_K}-e^{(M-k)\ell}|
          \le\min(\tfrac k2\mathrm{Var}\,L,\,2)\max_K|e^{a_K}|,

and :math:`\mathrm{Re}\,a_K` is at most both :math:`(M-k)\max\mathrm{Re}\,L` and
:math:`M\,\mathrm{Re}\,\ell-k\min\mathrm{Re}\,L`. So the weights of k are :math:`\gamma q^k` times
one of two moduli, and :math:`\sum_kkq^k=q/(1-q)^2`. The variance is at most a third of the largest
squared distance of two L (Jung's theorem), and at most the mean squared distance from one of them:
the share of all other types, times that square. So it is small where nearly all hold the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import FloatArray

_JUNG = 1 / 3


@dataclass(frozen=True, eq=False)
class Spread:
    """The bound at every node, for variances in units of the largest squared distance of two L.

    Attributes:
        most: at most this.
        absolute: at most this per unit of the variance.
        relative: at most this per unit of the variance and of the bound on the central terms.
    """

    most: FloatArray
    absolute: FloatArray
    relative: FloatArray

    @classmethod
    def of(
        cls,
        height: FloatArray,
        full: FloatArray,
        ends: tuple[FloatArray, FloatArray],
        square: FloatArray,
        terms: int,
    ) -> Spread:
        """Return the bounds.

        Args:
            height: bounds on the whole sum over k, whatever the others hold.
            full: the same of its first term.
            ends: log q at the largest and at the smallest real part of L.
            square: the largest squared distance of two L.
            terms: how many k there are.
        """
        at_largest, at_smallest = map(_mean_terms, ends)
        half = square / 2
        with np.errstate(invalid="ignore", over="ignore"):
            # Where a bound is 0 times infinity, the other one counts.
            absolute = np.fmin(height * (terms - 1), full * at_largest) * half
            return cls(most=2 * height, absolute=absolute, relative=at_smallest * half)

    @property
    def everywhere(self) -> FloatArray:
        """The bound for any background."""
        return np.minimum(self.most, _JUNG * self.absolute)

    def at(self, variance: FloatArray, height: FloatArray) -> FloatArray:
        """Return the bound for several variances, one row of nodes for each.

        Args:
            variance: upper bounds on the variance.
            height: one row of bounds on the sum over k of the central terms for each.
        """
        column = variance[:, None]
        with np.errstate(invalid="ignore", over="ignore"):
            bound = column * np.fmin(self.absolute, height * self.relative)
        return np.where(column > 0, np.fmin(self.most, bound), 0.0)


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
