r"""Binary randomized response exactly: the largest delta over all datasets of up to 2000 users.

Each value is reported truly with probability p = E/(E + 1), else the other one, q = 1 - p. If m of
the others hold the value of the user in question, :math:`Q_m` is the law of the number of their
reports of it, :math:`\mathrm{Bin}(m,p)+\mathrm{Bin}(n-1-m,q)`, and with :math:`\lambda=e^\epsilon`

.. math:: \delta(m)=\max_{1\le k\le n}\big((p-\lambda q)Q_m(k-1)-(\lambda-1)P(N_m\ge k)\big)_+,

because :math:`Q_m` is log-concave, so that the outputs at which the first law exceeds lambda times
the second one are those from some k on. The law of n - 1 - m is that of m in reverse, so with half
of the m and i = k - 1, or n - k in reverse,

.. math:: \max(\delta(m),\delta(n-1-m))
          =\max_i\big((p-\lambda q)Q_m(i)-(\lambda-1)\min(P(N_m>i),P(N_m<i))\big)_+ .

The laws take some n log n products of polynomials with positive coefficients, so each has a
relative error of a few n units round-off.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from shuffledp.arrays import UNIT, FloatArray

#: With more users the laws take too long.
MOST_USERS = 2000

#: Relative error of a probability or a sum of them, in units round-off per user: p and q have 4
#: units; a square of 2h factors has twice the error of h and h + 1 units for adding up, so a power
#: up to 5 units per factor more; other products, leaves and sums of probabilities have one each.
_UNITS_PER_USER = 16

#: What may underflow, times the number of users.
_UNDERFLOW = 1e-290

#: Of so many of the users the laws with each number of true reports come from one matrix product.
_LEAF = 16

#: Backgrounds that are looked at together.
_ROWS = 64


class BinaryResponse:
    """The laws of all backgrounds of n <= 2000 users.

    >>> truth = BinaryResponse(math.log(3), 5)
    >>> round(math.exp(truth.log_delta(math.log(5 / 4))), 12) == 81 / 512
    True
    """

    def __init__(self, epsilon0: float, n: int) -> None:
        self.epsilon0, self.n = epsilon0, n
        self._q = math.exp(-epsilon0) / (1 + math.exp(-epsilon0))
        p = 1 / (1 + math.exp(-epsilon0))
        most = (n - 1) // 2
        self._law, self._rarer = np.empty((most + 1, n)), np.empty((most + 1, n))
        products = _Products(np.array([p, self._q]), np.array([self._q, p]))
        products.fill(self._law, self._rarer, products.power(False, n - 1 - most))

    def log_delta(self, epsilon: float) -> float:
        """Return an upper bound on the logarithm of the largest delta, good to some n units.

        Infinite from epsilon0 on, where the blanket says that delta is 0.
        """
        if epsilon >= self.epsilon0:
            return math.inf
        # p - lambda q = q lambda (E/lambda - 1); the exponent is rounded, which moves the
        # exponential by as many units as it is large.
        exponent = self.epsilon0 - epsilon
        gain = self._q * math.exp(epsilon) * math.expm1(exponent)
        cost = math.expm1(epsilon)
        error = ((self.n + 2) * _UNITS_PER_USER + 2 * exponent) * UNIT
        largest = 0.0
        for begin in range(0, len(self._law), _ROWS):
            difference = self._law[begin : begin + _ROWS] * (gain * (1 + error))
            difference -= self._rarer[begin : begin + _ROWS] * (cost * (1 - error))
            largest = max(largest, float(difference.max()))
        bound = math.log(largest + self.n * _UNDERFLOW)
        return bound + 8 * UNIT * (1 + abs(bound))  # the logarithm is good to 4 units


class _Products:
    """The coefficients of true^m false^(count - m), each power made once."""

    def __init__(self, false: FloatArray, true: FloatArray) -> None:
        self.power = lru_cache(maxsize=None)(lambda hit, m: _power(true if hit else false, m))
        self.few = lru_cache(maxsize=None)(self._few)

    def _few(self, count: int) -> FloatArray:
        """Return them for a small count from all m, the highest coefficients first."""
        rows = [
            np.convolve(self.power(True, m), self.power(False, count - m)) for m in range(count + 1)
        ]
        return np.array(rows)[:, ::-1].copy()

    def fill(self, laws: FloatArray, rarer: FloatArray, common: FloatArray) -> None:
        """Set the rows to the laws of N for all m, and to the smaller one of P(N > i) and P(N < i).

        All laws are multiplied by what they have in common.
        """
        count = len(laws) - 1
        if count >= _LEAF:
            half = (count + 1) // 2
            rest = count - half + 1
            self.fill(laws[:rest], rarer[:rest], np.convolve(common, self.power(False, half)))
            self.fill(laws[rest:], rarer[rest:], np.convolve(common, self.power(True, rest)))
            return
        equal = np.pad(common, count)
        more = np.append(np.cumsum(equal[:0:-1])[::-1], 0.0)
        less = np.append(0.0, np.cumsum(equal[:-1]))
        few, users = self.few(count), laws.shape[1]
        laws[:], above, below = (
            few @ sliding_window_view(law, users).copy() for law in (equal, more, less)
        )
        np.minimum(above, below, out=rarer)


def _power(factor: FloatArray, exponent: int) -> FloatArray:
    """Return the coefficients of a power by repeated squaring."""
    result, square = np.ones(1), factor
    while exponent:
        if exponent & 1:
            result = np.convolve(result, square)
        exponent >>= 1
        if exponent:
            square = np.convolve(square, square)
    return result


@lru_cache(maxsize=4)
def binary_response(epsilon0: float, n: int) -> BinaryResponse:
    """Return the laws; those of the last few questions are kept."""
    return BinaryResponse(epsilon0, n)
