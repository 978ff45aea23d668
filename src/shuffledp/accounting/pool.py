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
others, and at most :math:`e_1` if it is the largest one. The two are about 1/n apart. A few others
with a very small alpha would spoil the upper one; without them it is a bound, too.

Closer, if that is asked for: :math:`e_1=\int_0^\infty h(v)\,dv` with
:math:`h(v)=E[e^{-vM}(L_1+\dots+L_M)_+]`, a mixture of falling exponentials. All its derivatives of
even order are positive, so Gauss-Legendre sums are below the integral over a panel, Gauss-Lobatto
sums above, and beyond V it is at most h(V), since M is at least 1. And
:math:`h(v)=e^{-v}\prod_j(1-\alpha_j+\alpha_je^{-v})\,E[(L_1+\sum B_jL_j)_+]` with the smaller
shares :math:`\alpha_je^{-v}/(1-\alpha_j+\alpha_je^{-v})`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from shuffledp.arrays import UNIT
from shuffledp.decomposition import GPARV, Decomposition, Law
from shuffledp.divergence import BlockSum, LogEnclosure, log_mean_bound, log_mean_positive
from shuffledp.divergence.enclosure import BEYOND_DOUBLES

#: Of log delta; if no more is asked for, no integral is worth its time.
COARSE = 1e-4

_CLOSE = 100  # times what is asked of log delta is enough for an epsilon
_FINEST = 5e-6  # of log delta: more would take too long

_WORTH = 2.0  # times what leaving users out may gain is what they may be worth

#: Panels of the integral, in units of one over the mean size of the pool; one more follows.
_EDGES = (0.0, 2.0, 5.0, 9.0, 15.0, 25.0, 45.0)

_LEGENDRE = tuple(zip(*(x.tolist() for x in np.polynomial.legendre.leggauss(6)), strict=True))

_INNER = [
    (math.sqrt((7 + sign * 2 * math.sqrt(7)) / 21), (14 - sign * math.sqrt(7)) / 30)
    for sign in (1, -1)
]
_LOBATTO = (
    (-1.0, 1 / 15),
    (1.0, 1 / 15),
    *((sign * node, weight) for node, weight in _INNER for sign in (1, -1)),
)


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

    def damped(self, v: float) -> tuple[Share, float, float]:
        r"""Return the share with :math:`\alpha e^{-v}` for alpha, as a part of all that is left.

        Also return the logarithm of what is left, and a bound on the error of that.
        """
        if self.rest == 0:
            return self, -v, 2 * UNIT * v
        lost = self.alpha * -math.expm1(-v)
        left = self.rest + self.alpha * math.exp(-v)
        share = Share(
            self.alpha * math.exp(-v) / left, self.rest / left, 3 * self.error + 16 * UNIT
        )
        if lost < 0.5:
            log = math.log1p(-lost)
            return share, log, 2 * (self.error + 8 * UNIT) * abs(log)
        log = math.log(left)
        return share, log, 2 * self.error + 8 * UNIT * (1 + abs(log))


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
        first, *fewer = (
            self._mean(gparv, _with_one_more(self.others[i:], 0), rtol) for i in self._starts
        )
        if len(self.others) == 1:
            return first
        lower = self._mean(gparv, _with_one_more(self.others, -1), rtol)
        value = LogEnclosure(lower.lower, min(bound.upper for bound in (first, *fewer)))
        if rtol >= COARSE or value.width <= _CLOSE * rtol:
            return value
        integral = self._integral(gparv, max(0.1 * _CLOSE * rtol, _FINEST))
        return LogEnclosure(max(value.lower, integral.lower), min(value.upper, integral.upper))

    def _integral(self, gparv: GPARV, rtol: float) -> LogEnclosure:
        """Enclose log e_1 as an integral."""
        pool = 1 + math.fsum(share.alpha * n for share, n in self.others)
        edges = [edge / pool for edge in _EDGES]
        edges.append(edges[-1] + math.log(pool) / pool)
        known: dict[float, LogEnclosure] = {}

        def height(v: float) -> LogEnclosure:
            if v not in known:
                known[v] = self._height(gparv, v, rtol)
            return known[v]

        below, above = [], [height(edges[-1]).upper]
        for start, end in pairwise(edges):
            half = 0.5 * (end - start)
            for node, weight in _LEGENDRE:
                below.append(height(start + half * (1 + node)).lower + math.log(half * weight))
            for node, weight in _LOBATTO:
                place = {-1.0: start, 1.0: end}.get(node, start + half * (1 + node))
                above.append(height(place).upper + math.log(half * weight))
        # Nodes are off by a few units, and h falls by at most M, which all users together are.
        most = 1 + sum(n for _, n in self.others)
        slack = 64 * UNIT * (edges[-1] * most + len(above) + 16)
        mean = LogEnclosure.rounded(_log_sum(below), _log_sum(above), slack)
        return mean.plus(gparv.singular_lower, gparv.singular_upper)

    def _height(self, gparv: GPARV, v: float, rtol: float) -> LogEnclosure:
        """Enclose log h(v), without outputs that only one of the two inputs has."""
        exponent, error = [-v, math.log(self.own.alpha)], self.own.error + 4 * UNIT
        blocks = [(WHOLE, 1)]
        for share, n in self.others:
            smaller, log_mass, own_error = share.damped(v)
            blocks.append((smaller, n))
            exponent.append(n * log_mass)
            error += n * own_error
        value = self._log_mean(gparv, blocks, rtol)
        factor = math.fsum(exponent)
        error += 4 * UNIT * sum(map(abs, exponent))
        error += max(share.error for share, _ in blocks) + self.own.error
        return LogEnclosure(value.lower + factor, value.upper + factor).widen(error)

    @cached_property
    def _starts(self) -> list[int]:
        r"""From which of the others on, smallest alpha first, an upper bound is worth its time.

        More users never hurt, so each is a bound. Up to :math:`\max\alpha_j-\alpha_1` of a user is
        lost by a small :math:`\alpha_1`; the users left out are worth the sum of their alphas.
        """
        starts, left_out = [0], 0.0
        smallest = self.others[0][0].alpha
        for i, ((share, n), (following, _)) in enumerate(pairwise(self.others), 1):
            left_out += n * share.alpha
            if left_out <= _WORTH * (following.alpha - smallest):
                starts.append(i)
        return starts

    def _mean(self, gparv: GPARV, blocks: Sequence[tuple[Share, int]], rtol: float) -> LogEnclosure:
        r"""Enclose the logarithm of :math:`E[(\sum B_iL_i)_+]/\sum\alpha_i`.

        In units of the own alpha, with which values of G are divided:
        :math:`L=\alpha G` and :math:`\sum\alpha_i=\alpha\sum\kappa_i`.
        """
        total = math.fsum(n * (share.alpha / self.own.alpha) for share, n in blocks)
        log_total = math.log(total)
        error = max(share.error for share, _ in blocks) + self.own.error + 6 * UNIT
        error += 4 * UNIT * abs(log_total)
        value = self._log_mean(gparv, blocks, rtol)
        above = LogEnclosure(value.lower - log_total, math.inf).widen(error)
        below = LogEnclosure(-math.inf, value.upper - log_total).widen(error)
        singular = gparv.singular_lower, gparv.singular_upper
        return LogEnclosure(above.plus(*singular).lower, below.plus(*singular).upper)

    def _log_mean(
        self, gparv: GPARV, blocks: Sequence[tuple[Share, int]], rtol: float
    ) -> LogEnclosure:
        r"""Enclose the logarithm of :math:`E[(\sum B_iG_i)_+]`, up to errors of shares."""
        lower = BlockSum.of(*((self._law(gparv.lower, share), n) for share, n in blocks))
        upper = lower
        if gparv.upper is not gparv.lower:
            upper = BlockSum.of(*((self._law(gparv.upper, share), n) for share, n in blocks))
        most = log_mean_bound(upper)
        try:
            sides = log_mean_positive(lower, upper, rtol=rtol)
        except BEYOND_DOUBLES:
            return LogEnclosure(-math.inf, most)  # the bound of one tilt is left
        return LogEnclosure(sides.lower, min(sides.upper, most))

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


def _with_one_more(others: Sequence[tuple[Share, int]], index: int) -> list[tuple[Share, int]]:
    blocks = list(others)
    share, count = blocks[index]
    blocks[index] = share, count + 1
    return blocks


def _log_sum(logs: Sequence[float]) -> float:
    """Return the logarithm of a sum of exponentials."""
    top = max(logs)
    return top + math.log(math.fsum(math.exp(x - top) for x in logs)) if top > -math.inf else top


def _between(lower: LogEnclosure, upper: LogEnclosure) -> LogEnclosure:
    return LogEnclosure(lower.lower, upper.upper)
