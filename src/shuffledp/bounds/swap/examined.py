r"""Who is examined in vain: sums over k, and what an average over such users differs from them.

With M others, L_v a logarithm of the transform of slot v in units of the largest one at the tilt,
whose logarithm is *top*, and :math:`\ell` the mean of L over the types, the sum is

.. math:: H(\ell)=\sum_{k<m}\gamma(1-\gamma)^ke^{-k\,top}e^{(M-k)\ell}
          =\gamma e^{M\ell}\sum_{k<m}q^k,\qquad q=(1-\gamma)e^{-top-\ell}.

The theorem has an average over the sets K of k users in place of :math:`e^{(M-k)\ell}`. With
:math:`a_K=\sum_{J\notin K}L_{v_J}`, whose mean over K is :math:`(M-k)\ell` and whose variance is at
most k times that of L, Taylor's formula gives

.. math:: |\mathrm{avg}_K\,e^{a_K}-e^{(M-k)\ell}|
          \le\min(\tfrac k2\mathrm{Var}\,L,\,2)\max_K|e^{a_K}|,

and :math:`\mathrm{Re}\,a_K` is at most both :math:`(M-k)\max\mathrm{Re}\,L` and
:math:`M\,\mathrm{Re}\,\ell-k\min\mathrm{Re}\,L`. So the weights of k are :math:`\gamma q^k` times
one of two moduli, and :math:`\sum_kkq^k\le q/(1-q)^2`. The variance is at most a third of the
largest squared distance of two L (Jung's theorem), and at most the mean squared distance from one
of them: the share of all other types, times that square. So it is small where nearly all hold the
same. Of many types not all pairs are compared: with all L within r of one point the variance is at
most :math:`r^2`, a quarter of :math:`(2r)^2`, and no two are more than 2r apart.

Doubles are enough here. Exponents come from balls, rounded once, with what that is off by; what
follows are well-conditioned functions of moderate numbers, and a relative slack of 1e-9 is ten
thousand times what their roundings can add up to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.arrays import FloatArray

ComplexArray = NDArray[np.complex128]

#: By how much bounds in doubles are raised, and terms in doubles may be off, relatively.
SLACK = 1e-9
UP = 1 + SLACK

#: Exponents of at most this size lose no more than a thousandth of the slack.
LARGEST_EXPONENT = 1e4

_JUNG, _OF_A_DISC = 1 / 3, 1 / 4
_FEW = 5  # types of which all pairs are compared
_NEAR_ONE = 1e-12  # m log q: below, a sum of m powers of q is m


@dataclass(frozen=True)
class Examined:
    r"""The weights of how many users are examined in vain, as doubles next to them.

    Attributes:
        others: M.
        terms: m, from 1 to M + 1.
        gamma: the mass of the blanket.
        log_ratio: the logarithm of :math:`(1-\gamma)e^{-top}`.
    """

    others: int
    terms: int
    gamma: float
    log_ratio: float

    @property
    def is_moderate(self) -> bool:
        """Whether the slack covers what powers of the ratio lose."""
        return self.terms == 1 or self.terms * abs(self.log_ratio) <= LARGEST_EXPONENT

    def height(self, real: FloatArray) -> FloatArray:
        """Bound the modulus of H, and the sum of those of its terms, for a real part of l."""
        power = self.others * real
        if self.terms > 1:
            log_q = self.log_ratio - real
            with np.errstate(divide="ignore"):
                series = np.minimum(math.log(self.terms), -np.log(-np.expm1(-np.abs(log_q))))
            power = power + series + (self.terms - 1) * np.maximum(log_q, 0.0)
        with np.errstate(over="ignore"):
            height: FloatArray = self.gamma * np.exp(power) * UP
        return height

    def crude_height(self, real: float) -> float:
        """Bound the same for one number, quickly: no term exceeds the first or the last."""
        power = self.others * real + (self.terms - 1) * max(self.log_ratio - real, 0.0)
        return self.gamma * self.terms * math.exp(power) * UP if power < 700 else math.inf

    def at(self, exponent: ComplexArray) -> ComplexArray:
        """Return H, up to the slack times its height and the errors of the exponents."""
        power = self.others * exponent
        if self.terms == 1:
            return np.asarray(self.gamma * np.exp(power))
        # The terms are added from the largest one on: the first, or the last where |q| > 1.
        log_q = self.log_ratio - exponent
        grows = log_q.real > 0
        power = np.where(grows, power + (self.terms - 1) * log_q, power)
        with np.errstate(under="ignore"):
            series = _powers(np.where(grows, -log_q, log_q), self.terms)
            return np.asarray(self.gamma * np.exp(power) * series)

    def spread(self, exponent: ComplexArray, relative: FloatArray) -> Spread:
        """Bound what averages over who is examined can differ from their central terms."""
        largest = (exponent.real + relative).max(axis=0)
        smallest = (exponent.real - relative).min(axis=0)
        extent = Extent.of(exponent, relative.max(axis=0))
        height, half = self.height(largest), extent.square / 2
        with np.errstate(invalid="ignore", over="ignore"):
            # Where a bound is 0 times infinity, the other one counts.
            full = self.gamma * np.exp(self.others * largest) * UP
            by_term = full * self._mean_terms(largest)
            absolute = np.fmin(height * (self.terms - 1), by_term) * half
            return Spread(2 * height, absolute, self._mean_terms(smallest) * half, extent.variance)

    def _mean_terms(self, real: FloatArray) -> FloatArray:
        """Return the sum of k q^k over all k, infinite unless q < 1."""
        log_q = np.minimum(self.log_ratio - real, 0.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            total: FloatArray = np.where(
                log_q < 0, np.exp(log_q) / np.expm1(log_q) ** 2 * UP, math.inf
            )
        return total


def _powers(log_q: ComplexArray, terms: int) -> ComplexArray:
    r"""Return :math:`\sum_{k<m}q^k` for |q| <= 1: the quotient of q^m - 1 and q - 1."""
    near = terms * np.abs(log_q) < _NEAR_ONE
    x: ComplexArray = np.where(near, -1.0, log_q)
    return np.where(near, terms, _expm1(terms * x) / _expm1(x))


def _expm1(x: ComplexArray) -> ComplexArray:
    r"""Return e^x - 1 without cancellation for a real part of at most 0.

    With s and c the sine and cosine of half the imaginary part and e the real
    :math:`e^{\mathrm{Re}\,x}-1` it is :math:`e-2(1+e)s^2+2i(1+e)sc`, and both
    |e| and 2(1+e)|s| are at most its modulus.
    """
    half = 0.5 * x.imag
    sine, growth = np.sin(half), np.expm1(x.real)
    turned = 2 * (1 + growth) * sine
    result: ComplexArray = growth - turned * sine + 1j * (turned * np.cos(half))
    return result


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
    def of(cls, exponent: ComplexArray, error: FloatArray) -> Extent:
        """Return it for L, one row per type, that are off by at most the error.

        >>> Extent.of(np.array([[1.0], [1.0j], [-1.0]]), np.zeros(1)).square.round(6).tolist()
        [4.0]
        """
        if len(exponent) == 1:
            return cls(np.zeros(exponent.shape[1]), _JUNG)
        if len(exponent) <= _FEW:
            pairs = [np.abs(one - other) for one, other in combinations(exponent, 2)]
            return cls((np.max(pairs, axis=0) + 2 * error) ** 2 * UP, _JUNG)
        real, imag = (
            0.5 * (part.min(axis=0) + part.max(axis=0)) for part in (exponent.real, exponent.imag)
        )
        radius = np.abs(exponent - (real + 1j * imag)).max(axis=0) + error
        return cls((2 * radius) ** 2 * UP, _OF_A_DISC)


@dataclass(frozen=True, eq=False)
class Spread:
    """The error of averages at every node, for variances in units of the largest squared distance.

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

    @property
    def everywhere(self) -> FloatArray:
        """The bound for any background."""
        bound: FloatArray = np.minimum(self.most, self.variance * self.absolute) * UP
        return bound

    def at(self, variance: FloatArray, height: FloatArray) -> FloatArray:
        """Return the bound for some variances.

        Args:
            variance: upper bounds on the variance, for every node or one for all of a row.
            height: bounds on the sum over k of the central terms, one or several for every node.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            bound = variance * np.fmin(self.absolute, height * self.relative)
        return np.where(variance > 0, np.fmin(self.most, bound), 0.0) * UP


def most_variance(shares: FloatArray) -> FloatArray:
    """Bound the variance of points at most 1 apart for all shares in simplices.

    Args:
        shares: of all types, in the last axis, at the corners, in the one before.

    >>> most_variance(np.array([[[1.0, 0.0], [0.75, 0.25]], [[1.0, 0.0], [0.0, 1.0]]])).tolist()
    [0.25, 0.3333333333333333]
    """
    others: FloatArray = (1 - shares.min(axis=1)).min(axis=1)
    return np.minimum(others, _JUNG)
