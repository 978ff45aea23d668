r"""What two independent counts reveal about one user's value.

A bit is 1 with probability a at the user's own value and b < a elsewhere. The other users' bits at
the values u and v add up to W, two sums of binomial variables. If the user holds u, the counts have
the laws :math:`P_u(c)=a\,w_{c-1}+(1-a)\,w_c` and :math:`B_v(c)=b\,w_{c-1}+(1-b)\,w_c`; if v, it is
the other way round. So

.. math:: \delta=\sum_{c,c'}\big(P_u(c)B_v(c')-e^\varepsilon B_u(c)P_v(c')\big)_+ .

W is log-concave, so P/B grows with the count, and for each c the pairs that count are those with c'
below a threshold: one pass and one search.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from shuffledp.arrays import UNIT, FloatArray


@dataclass(frozen=True)
class Bit:
    """The probabilities of 1 and 0 of a bit, each to two units round-off."""

    one: float
    zero: float

    @property
    def variance(self) -> float:
        """That of the bit."""
        return self.one * self.zero


@dataclass(frozen=True, eq=False)
class CountLaw:
    """Probabilities of a sum of bits: of ``first``, ``first`` + 1, and so on.

    Attributes:
        first: the smallest count.
        masses: the probabilities.
        error: bound on their relative error.
        lost: bound on the probability of all other counts.
    """

    first: int
    masses: FloatArray
    error: float
    lost: float


@dataclass(frozen=True)
class Bounds:
    """Delta from below and from above."""

    lower: float
    upper: float


def count_law(parts: Iterable[tuple[int, Bit]], cut: float) -> CountLaw:
    """Return the law of the sum of so many bits each, without counts rarer than about ``cut``.

    >>> law = count_law([(2, Bit(0.5, 0.5)), (1, Bit(0.25, 0.75))], 1e-40)
    >>> law.masses.round(6).tolist()
    [0.1875, 0.4375, 0.3125, 0.0625]
    """
    laws = [_binomial(m, bit, cut) for m, bit in parts if m > 0]
    return reduce(_plus, laws, CountLaw(0, np.ones(1), 0.0, 0.0))


def _binomial(m: int, bit: Bit, cut: float) -> CountLaw:
    """Multiply ratios of neighbours, away from the mode, and divide by the sum."""
    mode = min(m, math.floor((m + 1) * bit.one))
    odds = bit.one / bit.zero
    reach = math.ceil(math.sqrt(-2.2 * math.log(cut) * (m * bit.one * bit.zero + 1))) + 4
    reach += math.ceil(-1.5 * math.log(cut))  # beyond the normal range, tails are lighter
    low, high = max(mode - reach, 0), min(mode + reach, m)
    up = np.arange(mode, high, dtype=np.float64)
    down = np.arange(mode, low, -1, dtype=np.float64)
    rises = np.cumprod((m - up) / (up + 1) * odds)
    falls = np.cumprod(down / (m - down + 1) / odds)
    masses = np.concatenate([falls[::-1], np.ones(1), rises])
    total = float(masses.sum())
    lost = 0.0
    # Ratios fall away from the mode, so what is cut off is less than a geometric series.
    if high < m:
        ratio = (m - high) / (high + 1) * odds
        lost += float(masses[-1]) * ratio / (1 - ratio)
    if low > 0:
        ratio = low / (m - low + 1) / odds
        lost += float(masses[0]) * ratio / (1 - ratio)
    kept = np.flatnonzero(masses >= cut)  # so that products of a few stay within doubles
    first, last = int(kept[0]), int(kept[-1]) + 1
    lost += float(masses[:first].sum() + masses[last:].sum())
    lost = lost / total * (1 + 1e-6)
    # Per step: odds to 6 units, 4 operations.
    error = 12 * UNIT * (high - low + 2) + lost
    return CountLaw(low + first, masses[first:last] / total, 2 * error, lost)


def _plus(first: CountLaw, second: CountLaw) -> CountLaw:
    size = min(first.masses.size, second.masses.size)
    return CountLaw(
        first.first + second.first,
        np.convolve(first.masses, second.masses),
        first.error + second.error + (size + 4) * UNIT,
        first.lost + second.lost,
    )


def counts_delta(u: CountLaw, v: CountLaw, own: Bit, other: Bit, epsilon: float) -> Bounds:
    """Enclose delta, given the laws of what the other users add to the two counts.

    >>> nobody = count_law([], 1e-40)
    >>> alone = counts_delta(nobody, nobody, Bit(0.75, 0.25), Bit(0.25, 0.75), 0.0)
    >>> alone.lower <= 0.5 <= alone.upper
    True
    """
    growth = math.exp(epsilon)
    held_u, free_u = _with_bit(u, own), _with_bit(u, other)
    held_v, free_v = _with_bit(v, own), _with_bit(v, other)
    # Errors of masses, of sums of positive numbers, and of a few operations.
    error = 2 * (u.error + v.error) + UNIT * (2 * (free_v.size + free_u.size) + 64)
    ratio_u, ratio_v = held_u / free_u / growth, np.maximum.accumulate(held_v / free_v)
    cut = np.searchsorted(ratio_v, ratio_u)
    beyond = np.searchsorted(ratio_v, ratio_u * (1 + 4 * error))
    below_held = np.concatenate([np.zeros(1), np.cumsum(held_v)])
    below_free = np.concatenate([np.zeros(1), np.cumsum(free_v)])
    gain, cost = held_u * below_free[cut], growth * free_u * below_held[cut]
    value = float((gain - cost).sum())
    # Pairs on the wrong side of the threshold are worth next to nothing.
    size = float((held_u * below_free[beyond]).sum() + cost.sum())
    slack = 8 * error * size
    lost = u.lost + v.lost
    # What is lost may be as likely as that under the first law, and under the second one.
    return Bounds(max(value - slack - 2 * growth * lost, 0.0), value + slack + lost)


def _with_bit(law: CountLaw, bit: Bit) -> FloatArray:
    """Return the probabilities with one more bit added."""
    masses = np.zeros(law.masses.size + 1)
    masses[1:] = bit.one * law.masses
    masses[:-1] += bit.zero * law.masses
    return masses
