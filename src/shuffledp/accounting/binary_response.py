r"""Binary randomized response exactly: the largest delta over all datasets of up to 2000 users.

Each value is reported truly with probability p = E/(E + 1), else the other one, q = 1 - p. If m of
the others hold the value of the user in question, :math:`Q_m` is the law of the number of their
reports of it, :math:`\mathrm{Bin}(m,p)+\mathrm{Bin}(n-1-m,q)`, and with :math:`\lambda=e^\epsilon`

.. math:: \delta(m)=\max_{1\le k\le n}\big((p-\lambda q)Q_m(k-1)-(\lambda-1)P(N_m\ge k)\big)_+,

because :math:`Q_m` is log-concave, so that the outputs at which the first law exceeds lambda times
the second one are those from some k on. The laws of all m take some n log n products of polynomials
with positive coefficients, so each has a relative error of a few n units round-off.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from shuffledp.arrays import UNIT, FloatArray

#: With more users the laws take too long.
MOST_USERS = 2000

#: Relative error of a probability or a sum of them, in units round-off per user: p and q have 4
#: units, a power as many per factor, every product and sum one more.
_UNITS_PER_USER = 16

#: What may underflow, times the number of users.
_UNDERFLOW = 1e-290


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
        rows: list[FloatArray] = []
        _fill(rows, np.ones(1), n - 1, np.array([self._q, p]), np.array([p, self._q]))
        self._law = np.array(rows)
        self._above = np.zeros_like(self._law)  # P(N > k), k from 0 on
        self._above[:, :-1] = np.cumsum(self._law[:, :0:-1], axis=1)[:, ::-1]

    def log_delta(self, epsilon: float) -> float:
        """Return an upper bound on the logarithm of the largest delta, good to some n units.

        Infinite from epsilon0 on, where the blanket says that delta is 0.
        """
        if epsilon >= self.epsilon0:
            return math.inf
        # p - lambda q = q lambda (E/lambda - 1)
        gain = self._q * math.exp(epsilon) * math.expm1(self.epsilon0 - epsilon)
        cost = math.expm1(epsilon)
        error = (self.n + 2) * _UNITS_PER_USER * UNIT
        difference = self._law * (gain * (1 + error))
        difference -= self._above * (cost * (1 - error))
        largest = float(difference.max())
        return math.log(max(largest, 0.0) + self.n * _UNDERFLOW) + 4 * UNIT * (1 + abs(epsilon))


def _fill(
    rows: list[FloatArray], common: FloatArray, count: int, true: FloatArray, false: FloatArray
) -> None:
    """Append the laws with m = 0, ..., ``count`` factors ``true`` and the rest ``false``."""
    if count == 0:
        rows.append(common)
        return
    half = (count + 1) // 2
    _fill(rows, np.convolve(common, _power(false, half)), count - half, true, false)
    _fill(rows, np.convolve(common, _power(true, count - half + 1)), half - 1, true, false)


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
