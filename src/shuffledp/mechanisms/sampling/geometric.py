r"""Geometric variables, sampled exactly.

:math:`P(Y=y)=(1-\alpha)\alpha^y` for :math:`y\ge0`, :math:`\alpha=e^{-r}`, r rational. Write
:math:`y=\sum_ib_i2^i`; then :math:`\alpha^y=\prod_i\alpha^{b_i2^i}`, so the binary digits of Y are
independent, and digit i is 1 with probability :math:`1/(1+e^{r2^i})`. Likewise Y mod
:math:`2^m` and :math:`\lfloor Y/2^m\rfloor` are independent, and the latter is geometric with
:math:`\alpha^{2^m}`: the number of successes, each of that probability, before the first failure.
Exact decisions with such probabilities go back to Canonne, Kamath and Steinke (2020), who build
them from rational ones; here the digits of the probability itself are used.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shuffledp.mechanisms.sampling.bernoulli import decide
from shuffledp.mechanisms.sampling.bits import Bits
from shuffledp.mechanisms.sampling.probability import Exponential, Logistic


def geometric(bits: Bits, rate: Fraction, size: int) -> NDArray[np.int64]:
    """Return geometric variables with the decay ``rate`` = r > 0.

    >>> 9 < geometric(Bits(None), Fraction(1, 10), 100_000).mean().item() < 10  # 1/(e^0.1 - 1)
    True
    """
    digits = 0
    while rate * 2**digits < 1:
        digits += 1
    whole = np.zeros(size, dtype=np.int64)
    success = Exponential(rate * 2**digits)
    running = np.arange(size)
    while running.size:
        running = running[decide(bits, success, running.size)]
        whole[running] += 1
    for i in reversed(range(digits)):
        whole = 2 * whole + decide(bits, Logistic(rate * 2**i), size)
    return whole


def two_sided_geometric(bits: Bits, rate: Fraction, size: int) -> NDArray[np.int64]:
    r"""Return the difference of two geometric variables.

    It is z with probability :math:`\sum_y(1-\alpha)^2\alpha^{2y+|z|}=
    \frac{1-\alpha}{1+\alpha}\alpha^{|z|}`.

    >>> -1 < two_sided_geometric(Bits(None), Fraction(1, 10), 100_000).mean().item() < 1
    True
    """
    return geometric(bits, rate, size) - geometric(bits, rate, size)
