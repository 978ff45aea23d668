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

This one bound is computed in doubles. Probabilities are sums of products of positive numbers, some
n log n of them, each rounded once, and so is each sum; 1e-9 covers more than a thousand roundings
for each of the 2000 users. Only a window of every law is kept. Beyond its ends a law is at most
what it is there, since it has one maximum, inside; where that is not below the largest difference
found, all is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from flint import arb
from numpy.lib.stride_tricks import sliding_window_view

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.balls import ball, precision, upper_log
from shuffledp.basics.interval import Interval
from shuffledp.bounds.curve import Curve, Proved

#: With more users the laws take too long.
MOST_USERS = 2000

#: Relative error of a probability, a sum of them, or what they are multiplied by, generously.
_SLACK = 1e-9

#: What may underflow, times the number of users.
_UNDERFLOW = 1e-290

#: Of so many of the users the laws with each number of true reports come from one matrix product.
_LEAF = 16

#: Of its largest probability, what a law has at the ends of its window.
_CUT = 1e-50


class BinaryResponse(Curve):
    """The largest delta of all datasets of n <= 2000 users.

    >>> truth = BinaryResponse(math.log(3), 5)
    >>> round(math.exp(truth.above(math.log(5 / 4)).log), 6) == round(81 / 512, 6)
    True
    """

    def __init__(self, epsilon0: float, n: int, where: object = None) -> None:
        self.epsilon0, self.n, self.where = epsilon0, n, where

    def above(self, epsilon: float) -> Proved:
        """Prove an upper bound on log delta."""
        if epsilon >= self.epsilon0:
            return Proved(-math.inf, self.where, "exact")
        with precision():
            level, loss = ball(self.epsilon0), ball(epsilon)
            gain = (level - loss).expm1() * loss.exp() / (level.exp() + 1)
            factors = float(gain) * (1 + _SLACK), float(loss.expm1()) * (1 - _SLACK)
            largest = max(_laws(self.epsilon0, self.n).largest(*factors), 0.0)
            delta = arb(largest) * (1 + arb(_SLACK)) + self.n * arb(_UNDERFLOW)
            return Proved(min(upper_log(delta), upper_log(gain)), self.where, "exact")

    def below(self, epsilon: float) -> Proved:
        """Prove nothing: datasets that attain it are looked at elsewhere."""
        return Proved(-math.inf, self.where, "exact")

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return the bound: once the laws are made it takes less than a millisecond."""
        return self.above(epsilon).log

    @property
    def end(self) -> Interval:
        """The level of one report."""
        return Interval(self.epsilon0, self.epsilon0)

    def __str__(self) -> str:
        """Name it."""
        return f"exact({self.where})"


class _Laws:
    """The laws of half of the backgrounds, as others are these in reverse."""

    def __init__(self, epsilon0: float, n: int) -> None:
        self.n = n
        self._p = 1 / (1 + math.exp(-epsilon0))
        self._q = math.exp(-epsilon0) / (1 + math.exp(-epsilon0))
        self._windows = self._within(_CUT)

    def largest(self, gain: float, cost: float) -> float:
        """Return the largest difference of multiples of a probability and of rarer ones."""
        found = max(window.largest(gain, cost) for window in self._windows)
        if gain * max(window.beyond for window in self._windows) > found:
            self._windows = self._within(0.0)
            found = max(window.largest(gain, cost) for window in self._windows)
        return found

    def _within(self, cut: float) -> list[_Window]:
        p, q, most = self._p, self._q, (self.n - 1) // 2
        products = _Products(np.array([p, q]), np.array([q, p]), cut)
        return list(products.windows(most, products.power(False, self.n - 1 - most)))


@lru_cache(maxsize=4)
def _laws(epsilon0: float, n: int) -> _Laws:
    """Return the laws; those of the last few questions are kept."""
    return _Laws(epsilon0, n)


@dataclass(frozen=True, eq=False)
class _Window:
    """Some neighbouring probabilities of the laws of several backgrounds.

    Attributes:
        law: of N, one row for each background.
        rarer: the smaller one of P(N > i) and P(N < i).
        beyond: what no probability beyond the window is above.
    """

    law: FloatArray
    rarer: FloatArray
    beyond: float

    def largest(self, gain: float, cost: float) -> float:
        """Return the largest difference of multiples of the two."""
        return float((gain * self.law - cost * self.rarer).max())


class _Products:
    """The coefficients of true^m false^(count - m), each power made once."""

    def __init__(self, false: FloatArray, true: FloatArray, cut: float) -> None:
        self.cut = cut
        self.power = lru_cache(maxsize=None)(lambda hit, m: _power(true if hit else false, m))
        self.few = lru_cache(maxsize=None)(self._few)

    def _few(self, count: int) -> FloatArray:
        """Return them for a small count from all m, the highest coefficients first."""
        rows = [
            np.convolve(self.power(True, m), self.power(False, count - m)) for m in range(count + 1)
        ]
        return np.array(rows)[:, ::-1].copy()

    def windows(self, count: int, common: FloatArray) -> Iterator[_Window]:
        """Yield the laws of N for all m up to a count, times what they have in common."""
        if count >= _LEAF:
            half = (count + 1) // 2
            rest = count - half
            yield from self.windows(rest, np.convolve(common, self.power(False, half)))
            yield from self.windows(half - 1, np.convolve(common, self.power(True, rest + 1)))
            return
        equal = np.pad(common, count)
        more = np.append(np.cumsum(equal[:0:-1])[::-1], 0.0)
        less = np.append(0.0, np.cumsum(equal[:-1]))
        inside = np.flatnonzero(common >= self.cut * common.max())
        begin, width = int(inside[0]), int(inside[-1]) - int(inside[0]) + 1 + count
        few, part = self.few(count), slice(begin, begin + width + count)
        law, above, below = (
            few @ sliding_window_view(whole[part], width).copy() for whole in (equal, more, less)
        )
        yield _Window(law, np.minimum(above, below), self._beyond(law, begin, common.size + count))

    def _beyond(self, law: FloatArray, begin: int, size: int) -> float:
        """Bound what lies beyond a window of laws of that size."""
        ends = np.zeros(len(law))
        if begin > 0:
            ends = np.maximum(ends, law[:, 0])
        if begin + law.shape[1] < size:
            ends = np.maximum(ends, law[:, -1])
        # A law has one maximum: inside, if something is clearly larger there than at the ends.
        return float(np.where(law.max(axis=1) > 2 * ends, ends, 1.0).max())


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
