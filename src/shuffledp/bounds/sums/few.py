r"""Sums of few two-sided geometric variables in balls: finite sums of positive terms.

Let S be the sum of n variables, :math:`P(Z=z)=\frac{1-\alpha}{1+\alpha}\alpha^{|z|}`. Partial
fractions of :math:`(1-\alpha x)^{-n}(1-\alpha/x)^{-n}` in powers of :math:`1-\alpha x` make its
positive half a mixture of negative binomial laws:

.. math:: P(S\ge t)=\sum_{r=1}^nq_r\alpha^t\sum_{i<r}\binom{t-1+i}i(1-\alpha)^i,\qquad
          q_{n-j}=(1+\alpha)^{-n-j}\sum_i\binom ni\binom{j-1}{i-1}\alpha^{2i},\quad t\ge1,

since :math:`\big(\frac{1-w}{1-\beta w}\big)^n`, :math:`\beta=1/(1-\alpha^2)`, has the coefficients
:math:`\sum_i\binom ni\binom{j-1}{i-1}(\beta-1)^i\beta^{j-i}`. S is symmetric, which gives the other
half.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb

from shuffledp.basics.balls import positive_part, total
from shuffledp.bounds.sums.shift import ShiftedSum
from shuffledp.engine.enclosure import Method

_METHOD = {"name": "finite sum"}


@dataclass(frozen=True)
class FewGeometric(ShiftedSum):
    """The sum of n two-sided geometric variables, moved by ``shift``.

    Attributes:
        n: how many there are.
        rate: minus the logarithm of alpha.
        shift: by how much the sum moves; thresholds are the integers from half of it on.
        growth: e^epsilon.
    """

    n: int
    rate: arb
    shift: int
    growth: arb

    @cached_property
    def weights(self) -> Sequence[arb]:
        """The weights q of the negative binomial laws of 1, 2, ..., n successes."""
        square, scale = (-2 * self.rate).exp(), 1 / (1 + (-self.rate).exp())
        weights = [
            scale ** (self.n + j)
            * total(
                math.comb(self.n, i) * math.comb(j - 1, i - 1) * square**i for i in range(1, j + 1)
            )
            for j in range(1, self.n)
        ]
        return [*reversed(weights), scale**self.n]

    @cached_property
    def _rests(self) -> Sequence[arb]:
        return _sums_from(self.weights)

    def tail(self, number: int) -> arb:
        """Enclose g."""
        t = self.shift // 2 + number
        return self._from(t - self.shift) - self.growth * self._from(t)

    def difference(self, number: int) -> arb:
        """Enclose D."""
        t = self.shift // 2 + number
        return self._mass(t - self.shift) - self.growth * self._mass(t)

    def between(self, low: int, high: int) -> arb:
        """Bound the sum of what is above 0."""
        return total(positive_part(self.difference(k)) for k in range(low + 1, high))

    @property
    def method(self) -> Method:
        """A finite sum."""
        return _METHOD

    def _from(self, t: int) -> arb:
        """Return P(S >= t)."""
        if t < 1:
            return 1 - self._from(1 - t)
        return (-self.rate * t).exp() * total(map(_product, self._terms(t - 1), self._rests))

    def _mass(self, t: int) -> arb:
        success = -(-self.rate).expm1()
        terms = self._terms(abs(t))
        return (-self.rate * abs(t)).exp() * success * total(map(_product, terms, self.weights))

    def _terms(self, t: int) -> list[arb]:
        """Return (t + i choose i) (1-alpha)^i for all i < n."""
        success = -(-self.rate).expm1()
        terms = [arb(1)]
        for i in range(1, self.n):
            terms.append(terms[-1] * (t + i) * success / i)
        return terms


def _product(x: arb, y: arb) -> arb:
    return x * y


def _sums_from(weights: Sequence[arb]) -> list[arb]:
    """Return for every i the sum of the weights from i on."""
    sums = [arb(0)]
    for weight in reversed(weights):
        sums.append(sums[-1] + weight)
    return sums[:0:-1]
