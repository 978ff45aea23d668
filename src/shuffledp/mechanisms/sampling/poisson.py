r"""Poisson variables, sampled exactly.

Count upwards: the number stops at k, if it got there, with probability

.. math:: P(N=k\mid N\ge k)=1\Big/\sum_{j\ge0}\frac{\lambda^jk!}{(k+j)!},

which is irrational for rational :math:`\lambda>0`, as :math:`e^\lambda` is, so that its binary
digits decide (:mod:`shuffledp.mechanisms.sampling.probability`). Larger means are those of sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from shuffledp.basics.arrays import IntArray
from shuffledp.mechanisms.sampling.bernoulli import decide
from shuffledp.mechanisms.sampling.bits import Bits
from shuffledp.mechanisms.sampling.probability import Irrational


@dataclass(frozen=True)
class Stop(Irrational):
    """The probability that a Poisson number that is at least k is k.

    Attributes:
        mean: above 0, at most 1.
        k: at least 0.

    >>> round(Stop(Fraction(1), 0).scaled(50) / 2**50, 9)
    0.367879441
    """

    mean: Fraction
    k: int

    def _approximate(self, context: Context) -> tuple[Decimal, Fraction]:
        # Terms fall by at least a half from the second one on: what is left out after one below a
        # unit of the last place is less than that unit; all operations are off by a unit each.
        mean = context.divide(Decimal(self.mean.numerator), Decimal(self.mean.denominator))
        whole = term = Decimal(1)
        j = 0
        while context.multiply(term, Decimal(10) ** context.prec) > 1:
            j += 1
            term = context.divide(context.multiply(term, mean), Decimal(self.k + j))
            whole = context.add(whole, term)
        return context.divide(Decimal(1), whole), Fraction(4 * (j + 2) ** 2)


def poisson(bits: Bits, mean: Fraction, size: int) -> IntArray:
    """Return Poisson variables of a rational mean of at least 0.

    >>> 2.9 < poisson(Bits(None), Fraction(3), 20_000).mean().item() < 3.1
    True
    """
    parts = max(math.ceil(mean), 1)
    found = np.zeros(size * parts, dtype=np.int64)
    running, k = np.arange(found.size if mean else 0), 0
    while running.size:
        running = running[~decide(bits, Stop(mean / parts, k), running.size)]
        found[running] += 1
        k += 1
    total: IntArray = found.reshape(size, parts).sum(axis=1)
    return total
