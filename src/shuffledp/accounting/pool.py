r"""Bounds for a user among others of different levels, whose blankets share one law.

Let :math:`\omega` be a law, and let the other users' reports have laws of at least
:math:`\alpha_j\omega`. Tell the analyst whose report was drawn from that part, and all other
reports: the pool that is left holds one user and M - 1 others, M = 1 + the number of successes with
the probabilities :math:`\alpha_j`, and :math:`\delta\le e_1=E\varphi(M)` with the bound
:math:`\varphi(m)=\frac1mE[(L_1+\dots+L_m)_+]` for a pool of m. For every :math:`\alpha_1`, with
:math:`B_i=1` with probability :math:`\alpha_i` and else 0,

.. math:: \frac1{\sum\alpha_i}E\Big[\Big(\sum_iB_iL_i\Big)_+\Big]
          =\sum_i\frac{\alpha_i}{\sum\alpha_i}E\varphi(1+\text{successes of all but }i),

because both are :math:`E[K\varphi(K)]/EK` for the number K of all successes. The first summand has
:math:`e_1`. The others have :math:`e_1` with one :math:`\alpha_j` replaced by :math:`\alpha_1`, and
:math:`\varphi` falls: all are at least :math:`e_1` if :math:`\alpha_1` is the smallest one of the
others, and at most :math:`e_1` if it is the largest one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import UNIT
from shuffledp.decomposition import GPARV, Decomposition, Law
from shuffledp.divergence import BlockSum, LogEnclosure, log_mean_bound, log_mean_positive
from shuffledp.divergence.enclosure import BEYOND_DOUBLES


@dataclass(frozen=True)
class Share:
    """How much of the common law is in a user's report: at least ``alpha``, exactly in the bound.

    Attributes:
        alpha: its probability.
        rest: 1 - alpha, computed without cancellation.
        error: bound on the relative error of both.
    """

    alpha: float
    rest: float
    error: float

    @classmethod
    def of(cls, blanket: Decomposition) -> Share:
        """Return the mass of a blanket."""
        error = max(float(blanket.weight_error.max()), blanket.residual_error)
        alpha = math.fsum(blanket.weight)
        return cls(alpha, blanket.residual, error + 2 * UNIT)


#: The share of a report that is drawn from the common law.
WHOLE = Share(1.0, 0.0, 0.0)


def can_share(blanket: Decomposition) -> bool:
    """Whether the blanket is a whole multiple of a law on both sides of its enclosure."""
    upper = blanket.upper
    if blanket.size == 0 or upper is blanket:
        return blanket.size > 0
    return upper.residual == blanket.residual and upper.singular0.size == 0


class Pool:
    """Bounds on the delta of one user, from a blanket and the shares of all others.

    Args:
        blanket: the decomposition at the pair of inputs between which the user's changes.
        others: how many others have which share, in the exact order of alpha, smallest first.
    """

    def __init__(self, blanket: Decomposition, others: Sequence[tuple[Share, int]]) -> None:
        self.blanket, self.own = blanket, Share.of(blanket)
        self.others = [(share, count) for share, count in others if count > 0]

    def log_delta(self, epsilon: float, rtol: float) -> LogEnclosure:
        """Enclose log e_1: from below with the largest alpha, from above with the smallest."""
        gparv = self.blanket.at(epsilon)
        if not self.others:
            blocks = [(self.own, 1)]
            return _between(self._mean(gparv, blocks, rtol), self._mean(gparv, blocks, rtol))
        upper = self._mean(gparv, self._with_one_more(0), rtol)
        if len(self.others) == 1:
            return upper
        lower = self._mean(gparv, self._with_one_more(-1), rtol)
        return _between(lower, upper)

    def _with_one_more(self, index: int) -> list[tuple[Share, int]]:
        blocks = list(self.others)
        share, count = blocks[index]
        blocks[index] = share, count + 1
        return blocks

    def _mean(self, gparv: GPARV, blocks: Sequence[tuple[Share, int]], rtol: float) -> LogEnclosure:
        r"""Enclose the logarithm of :math:`E[(\sum B_iL_i)_+]/\sum\alpha_i`.

        In units of the own alpha, with which values of G are divided:
        :math:`L=\alpha G` and :math:`\sum\alpha_i=\alpha\sum\kappa_i`.
        """
        lower = BlockSum.of(*((self._law(gparv.lower, share), n) for share, n in blocks))
        upper = lower
        if gparv.upper is not gparv.lower:
            upper = BlockSum.of(*((self._law(gparv.upper, share), n) for share, n in blocks))
        total = math.fsum(n * (share.alpha / self.own.alpha) for share, n in blocks)
        log_total = math.log(total)
        error = max(share.error for share, _ in blocks) + self.own.error + 6 * UNIT
        error += 4 * UNIT * abs(log_total)
        most = log_mean_bound(upper)
        least = -math.inf
        try:
            sides = log_mean_positive(lower, upper, rtol=rtol)
        except BEYOND_DOUBLES:
            pass  # the bound of one tilt is left
        else:
            least, most = sides.lower, min(sides.upper, most)
        above = LogEnclosure(least - log_total, math.inf).widen(error)
        below = LogEnclosure(-math.inf, most - log_total).widen(error)
        singular = gparv.singular_lower, gparv.singular_upper
        return LogEnclosure(above.plus(*singular).lower, below.plus(*singular).upper)

    def _law(self, law: Law, share: Share) -> Law:
        """Return the law of B G for another share: other weights, and another mass at 0."""
        if share == self.own:
            return law
        inside = law.size - (self.blanket.residual > 0)
        kappa = share.alpha / self.own.alpha
        values, weights = law.values[:inside], kappa * law.weights[:inside]
        further = -math.log1p(-share.error - self.own.error - 4 * UNIT)
        error = law.weight_error[:inside] + further
        value_error = law.value_error[:inside]
        if share.rest > 0:
            values, value_error = np.append(values, 0.0), np.append(value_error, 0.0)
            weights = np.append(weights, share.rest)
            error = np.append(error, -math.log1p(-share.error))
        return Law(values, weights, value_error, error)


def _between(lower: LogEnclosure, upper: LogEnclosure) -> LogEnclosure:
    return LogEnclosure(lower.lower, upper.upper)
