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
others. That is about 1/n above :math:`e_1`. A few others with a very small alpha would spoil it;
without them it is a bound, too.

Closer: :math:`e_1=\int_0^\infty h(v)\,dv` with :math:`h(v)=E[e^{-vM}(L_1+\dots+L_M)_+]`, a mixture
of falling exponentials. All its derivatives of even order are positive, so Gauss-Lobatto sums are
above the integral over a panel, and beyond V it is at most h(V), since M is at least 1. And
:math:`h(v)=e^{-v}\prod_j(1-\alpha_j+\alpha_je^{-v})\,E[(L_1+\sum B_jL_j)_+]` with the smaller
shares :math:`\alpha_je^{-v}/(1-\alpha_j+\alpha_je^{-v})`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from flint import arb

from shuffledp.bounds.curve import Curve, Proved
from shuffledp.engine.balls import precision, total, upper_log
from shuffledp.engine.coarsening import FEW, coarse, sorted_law
from shuffledp.engine.mean import log_mean
from shuffledp.engine.proposals import Doubles
from shuffledp.engine.sums import Block, Law, Sum
from shuffledp.interval import Interval
from shuffledp.newdec.decomposition import Decomposition

#: Times what leaving users out may gain is what they may be worth.
_WORTH = 2.0

#: Panels of the integral, in units of one over the mean size of the pool; one more follows.
_EDGES = (0, 2, 5, 9, 15, 25, 45)

#: Relative accuracy of delta: an epsilon of some width asks for no less and no more.
_FINEST, _COARSEST = 1e-5, 1e-2

#: Slopes are taken over this share of epsilon.
_SHIFT = 1e-3


class Pool(Curve):
    """The bound for one user, from a blanket and the shares of all others.

    Args:
        blanket: the decomposition at the pair of inputs between which the user's changes; c is a
            multiple of the common law.
        others: how many others have which share of it.
        rtol: relative width of epsilon to aim for.
        where: what the curve belongs to.
    """

    def __init__(
        self,
        blanket: Decomposition,
        others: Sequence[tuple[arb, int]],
        rtol: float,
        where: object = None,
    ) -> None:
        self.blanket, self.rtol, self.where = blanket, rtol, where
        kept = [(share, count) for share, count in others if count > 0]
        #: The smallest shares first.
        self.others = sorted(kept, key=lambda other: float(other[0]))

    def above(self, epsilon: float) -> Proved:
        """Prove the smallest of some bounds on e_1."""
        if epsilon >= self.end.upper:
            return Proved(-math.inf, self.where)
        rtol = self._accuracy(epsilon)
        with precision():
            gains = self.blanket.at(epsilon)
            law = self._common(gains.upper, rtol)
            best = min(
                (self._mean(law, self.others[i:], rtol) for i in self._starts), key=upper_log
            )
            if self.others and rtol * self._users < 1:  # about 1/n is more than rtol
                best = min(best, self._integral(law, rtol), key=upper_log)
            return Proved(upper_log(best + gains.exposed[1]), self.where)

    def below(self, epsilon: float) -> Proved:
        """Prove nothing: what a bound leaves open may be 0."""
        return Proved(-math.inf, self.where)

    def _accuracy(self, epsilon: float) -> float:
        """Return which relative accuracy of delta an epsilon of width ``rtol`` needs."""
        if epsilon == 0:
            return max(self.rtol, _FINEST)
        change = self.estimate(epsilon * (1 - _SHIFT)) - self.estimate(epsilon)
        return min(max(self.rtol / _SHIFT * change / 2, _FINEST), _COARSEST)

    @cached_property
    def _users(self) -> float:
        """The mean size of the pool."""
        return 1 + sum(float(share) * count for share, count in self.others)

    def _common(self, gains: Law, rtol: float) -> Law:
        """Return the law of L, or one of fewer atoms above it: that of the gains given c."""
        mass = self.blanket.upper.mass
        inside = len(self.blanket.upper.components)
        atoms = ((mass * value, weight / mass) for value, weight in gains.atoms[:inside])
        law = Law.of(atoms)
        if len(law.atoms) <= FEW:
            return law
        return coarse(sorted_law(law), max(round(self._users), 1), rtol, "upper")

    @cached_property
    def _starts(self) -> list[int]:
        r"""From which of the others on, smallest share first, an upper bound is worth its time.

        More users never hurt, so each is a bound. Up to :math:`\max\alpha_j-\alpha_1` of a user is
        lost by a small :math:`\alpha_1`; the users left out are worth the sum of their shares.
        """
        starts, left_out = [0], 0.0
        for i, ((share, count), (following, _)) in enumerate(pairwise(self.others), 1):
            left_out += count * float(share)
            if left_out <= _WORTH * float(following - self.others[0][0]):
                starts.append(i)
        return starts

    def _mean(self, law: Law, others: Sequence[tuple[arb, int]], rtol: float) -> arb:
        r"""Bound :math:`E[(\sum B_iL_i)_+]/\sum\alpha_i`, :math:`\alpha_1` the smallest share."""
        if not others:
            return _positive([(law, 1)], rtol)
        shares = [share for share, _ in others]
        counts = [1 + others[0][1], *(count for _, count in others[1:])]
        blocks = [(_thinned(law, share), n) for share, n in zip(shares, counts, strict=True)]
        return _positive(blocks, rtol) / total(
            share * n for share, n in zip(shares, counts, strict=True)
        )

    def _integral(self, law: Law, rtol: float) -> arb:
        """Bound the integral of h."""
        scale = arb(self._users)
        edges = [arb(edge) / scale for edge in _EDGES]
        edges.append(edges[-1] + scale.log() / scale)
        heights = [self._height(law, edge, rtol) for edge in edges]
        sums = [heights[-1]]
        for (start, end), ends in zip(pairwise(edges), pairwise(heights), strict=True):
            half = (end - start) / 2
            sums.append(half * (ends[0] + ends[1]) / 15)
            for node, weight in _lobatto():
                for sign in (1, -1):
                    place = start + half * (1 + sign * node)
                    sums.append(half * weight * self._height(law, place, rtol))
        return total(sums)

    def _height(self, law: Law, v: arb, rtol: float) -> arb:
        """Bound h(v)."""
        shrunk = (-v).exp()
        blocks, log_left = [(law, 1)], -v
        for share, count in self.others:
            left = 1 + share * (-v).expm1()
            blocks.append((_thinned(law, share * shrunk / left), count))
            log_left += count * left.log()
        return log_left.exp() * _positive(blocks, rtol)

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return the saddle-point formula of the first bound."""
        upper = self.blanket.upper
        mass = float(upper.mass)
        values = mass * (upper.ratio0 - math.exp(epsilon) * upper.ratio1)
        if values.max() <= 0:
            return -math.inf
        shares = [(float(share), count) for share, count in self.others] or [(1.0, 0)]
        (least, first), *rest = shares
        shares = [(least, first + 1), *rest]
        masses = upper.weight / mass
        blocks = [
            (np.append(values, 0.0), np.append(share * masses, 1 - share), n) for share, n in shares
        ]
        return Doubles(blocks).log_estimate - math.log(sum(share * n for share, n in shares))

    @cached_property
    def end(self) -> Interval:
        """Enclose where delta becomes 0."""
        return Interval(self.blanket.min_end, self.blanket.max_epsilon)

    def __str__(self) -> str:
        """Name it."""
        return f"pool({self.where})"


def _thinned(law: Law, share: arb) -> Law:
    """Return the law of B L."""
    return Law.of([*((value, share * mass) for value, mass in law.atoms), (arb(0), _rest(share))])


def _rest(share: arb) -> arb:
    """Return 1 - share, which is at least 0."""
    rest = 1 - share
    return rest if rest >= 0 else arb(0).union(rest.upper())


def _positive(blocks: Sequence[tuple[Law, int]], rtol: float) -> arb:
    """Bound the mean of the positive part of a sum."""
    found = log_mean(Sum(tuple(Block(law, n) for law, n in blocks)), rtol).upper
    return arb(found).exp() if found > -math.inf else arb(0)


def _lobatto() -> list[tuple[arb, arb]]:
    """Return the inner nodes above 0 and the weights of six points; the ends have 1/15."""
    root = arb(7).sqrt()
    return [(((7 + sign * 2 * root) / 21).sqrt(), (14 - sign * root) / 30) for sign in (1, -1)]
