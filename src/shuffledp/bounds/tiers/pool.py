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

Closer: for few others the mean over M, term by term. For many :math:`e_1=\int_0^\infty h(v)\,dv`
with :math:`h(v)=E[e^{-vM}(L_1+\dots+L_M)_+]`, a mixture of falling exponentials. All its
derivatives of even order are positive, so Gauss-Lobatto sums are above the integral over a panel,
Gauss-Legendre sums below, and beyond V it is at most h(V), since M is at least 1. And
:math:`h(v)=e^{-v}\prod_j(1-\alpha_j+\alpha_je^{-v})\,E[(L_1+\sum B_jL_j)_+]` with the smaller
shares :math:`\alpha_je^{-v}/(1-\alpha_j+\alpha_je^{-v})`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import itemgetter

import numpy as np
from flint import arb

from shuffledp.basics.balls import lower_log, precision, total, upper_log
from shuffledp.basics.interval import Interval
from shuffledp.bounds.curve import Curve, Proved
from shuffledp.decomposition.decomposition import Component, Decomposition
from shuffledp.engine.coarsening import FEW, Side, coarse, sorted_law
from shuffledp.engine.mean import log_mean
from shuffledp.engine.proposals import Doubles
from shuffledp.engine.sums import Block, Law, Sum

#: How many others have which share of the common law, the smallest share first.
Others = Sequence[tuple[arb, int]]

#: Times what leaving users out may gain is what they may be worth.
_WORTH = 2.0

#: Up to so many others, every size of the pool is summed over: that takes less time than nodes.
_FEW_OTHERS = 36

#: Panels of the integral, in units of one over the mean size of the pool; one more follows.
_EDGES = (0, 2, 5, 9, 15, 25, 45)

#: Nodes in each panel.
_NODES = 6

#: Relative accuracy of delta: an epsilon of some width asks for no less and no more.
_FINEST, _COARSEST = 1e-5, 1e-2

#: Slopes are taken over this share of epsilon.
_SHIFT = 1e-3


class Pool(Curve):
    """The bound :math:`e_1` for one user, from a blanket and the shares of all others.

    Args:
        blanket: the decomposition at the pair of inputs between which the user's changes; c is a
            multiple of the common law, see :func:`has_common_law`.
        others: how many others have which share of it.
        rtol: relative width of epsilon to aim for.
        where: what the curve belongs to.
    """

    def __init__(
        self,
        blanket: Decomposition,
        others: Others,
        rtol: float,
        where: object = None,
    ) -> None:
        self.blanket, self.rtol, self.where = blanket, rtol, where
        with precision():
            self._lower, self._upper = _within_common(blanket), _within_common(blanket.upper)
            self._fewer = _sorted((share.lower(), n) for share, n in others)
            self._more = _sorted((min(share.upper(), arb(1)), n) for share, n in others)

    def above(self, epsilon: float) -> Proved:
        """Prove an upper bound on log e_1."""
        if epsilon >= self.end.upper:
            return Proved(-math.inf, self.where)
        with precision():
            mean, rest = self._mean(epsilon, "upper")
            best = min((mean.biased(self._fewer[i:], 0) for i in self._starts), key=upper_log)
            if mean.rtol < self._gap(epsilon):
                best = min(best, mean.closer(self._fewer), key=upper_log)
            return Proved(upper_log(best + rest), self.where)

    def below(self, epsilon: float) -> Proved:
        """Prove a lower bound on log e_1."""
        with precision():
            mean, rest = self._mean(epsilon, "lower")
            best = mean.biased(self._more, -1)
            if mean.rtol < self._gap(epsilon):
                best = max(best, mean.closer(self._more), key=lower_log)
            return Proved(lower_log(best + rest), self.where)

    def _mean(self, epsilon: float, side: Side) -> tuple[_PooledMean, arb]:
        """Return the law of L or one beside it, and what is to be added to bounds on delta."""
        rtol = self._accuracy(epsilon)
        gains = (self._lower if side == "lower" else self._upper).at(epsilon)
        law = gains.lower
        if len(law.atoms) > FEW:
            law = coarse(sorted_law(law), max(round(self._users), 1), rtol, side)
        return _PooledMean(law, side, rtol), gains.exposed[0]

    def _accuracy(self, epsilon: float) -> float:
        """Return which relative accuracy of delta an epsilon of width ``rtol`` needs."""
        here = self.estimate(epsilon)
        if epsilon == 0 or here == -math.inf:
            return max(self.rtol, _FINEST)
        change = self.estimate(epsilon * (1 - _SHIFT)) - here
        return min(max(self.rtol / _SHIFT * change / 2, _FINEST), _COARSEST)

    @cached_property
    def _users(self) -> float:
        """The mean size of the pool."""
        return 1 + sum(float(share) * count for share, count in self._fewer)

    @cached_property
    def _starts(self) -> list[int]:
        r"""From which of the others on, smallest share first, an upper bound is worth its time.

        More users never hurt, so each is a bound. Up to :math:`\max\alpha_j-\alpha_1` of a user is
        lost by a small :math:`\alpha_1`; the users left out are worth the sum of their shares.
        """
        starts, left_out = [0], 0.0
        for i, ((share, count), (following, _)) in enumerate(pairwise(self._fewer), 1):
            left_out += count * float(share)
            if left_out <= _WORTH * float(following - self._fewer[0][0]):
                starts.append(i)
        return starts

    def _gap(self, epsilon: float) -> float:
        """Return about how far apart the logarithms of the biased bounds are."""
        if len(self._fewer) < 2:
            return 0.0
        most = self.estimate(epsilon)
        return most - self._estimate(epsilon, self._fewer, -1) if most > -math.inf else 0.0

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return the saddle-point formula of the smallest biased bound."""
        return min(self._estimate(epsilon, self._fewer[i:], 0) for i in self._starts)

    def _estimate(self, epsilon: float, others: Others, index: int) -> float:
        values = self._upper.rough_gains(epsilon)
        if values.max() <= 0:
            return -math.inf
        values, masses = np.append(values, 0.0), self._upper.weight
        shares = [(float(share), n) for share, n in _with_one_more(others, index)]
        blocks = [(values, np.append(share * masses, 1 - share), n) for share, n in shares]
        return Doubles(blocks).log_estimate - math.log(sum(share * n for share, n in shares))

    @cached_property
    def end(self) -> Interval:
        """Enclose where delta becomes 0."""
        return Interval(self.blanket.min_end, self.blanket.max_epsilon)

    def __str__(self) -> str:
        """Name it."""
        return f"pool({self.where})"


def has_common_law(blanket: Decomposition) -> bool:
    """Whether c is a multiple of one law, also where cells are spread to their ends.

    Cells of unbounded ratios are not: outputs of the tails count as if they gave the input away.
    """
    spread = blanket.spread
    return blanket.size > 0 and (spread is None or not spread.singular)


@dataclass(frozen=True)
class _PooledMean:
    r"""Bounds from one side on :math:`E\varphi(M)`, by a law of L on that side of the true one."""

    law: Law
    side: Side
    rtol: float

    def biased(self, others: Others, index: int) -> arb:
        r"""Bound :math:`E[(\sum B_iL_i)_+]/\sum\alpha_i`, with the share of one of the others."""
        everybody = _with_one_more(others, index)
        blocks = [Block(_thinned(self.law, share), n) for share, n in everybody]
        return self._positive(blocks) / total(share * n for share, n in everybody)

    def closer(self, others: Others) -> arb:
        r"""Bound :math:`E\varphi(M)` itself."""
        few = sum(n for _, n in others) <= _FEW_OTHERS
        return self._sum_over_sizes(others) if few else self._integral(others)

    def _sum_over_sizes(self, others: Others) -> arb:
        """Bound the mean over how many others are in the pool."""
        sizes = [arb(1)]
        for share in (share for share, n in others for _ in range(n)):
            stay, join = _rest(share), share
            pairs = zip([*sizes, arb(0)], [arb(0), *sizes], strict=True)
            sizes = [stay * as_before + join * one_less for as_before, one_less in pairs]
        means = (self._positive([Block(self.law, m)]) / m for m in range(1, len(sizes) + 1))
        return total(p * phi for p, phi in zip(sizes, means, strict=True))

    def _integral(self, others: Others) -> arb:
        """Bound the integral of h."""
        scale = arb(1 + sum(float(share) * n for share, n in others))
        edges = [arb(edge) / scale for edge in _EDGES]
        edges.append(edges[-1] + scale.log() / scale)
        panels = list(pairwise(edges))
        if self.side == "lower":
            return total(self._panel(others, panel, _legendre()) for panel in panels)
        heights = [self._height(others, edge) for edge in edges]
        ends = 2 / arb(_NODES * (_NODES - 1))
        sums = [
            (stop - start) / 2 * ends * (left + right)
            for (start, stop), (left, right) in zip(panels, pairwise(heights), strict=True)
        ]
        inner = [self._panel(others, panel, _inner_lobatto()) for panel in panels]
        return total([heights[-1], *sums, *inner])

    def _panel(
        self, others: Others, panel: tuple[arb, arb], rule: Iterator[tuple[arb, arb]]
    ) -> arb:
        half, middle = (panel[1] - panel[0]) / 2, (panel[0] + panel[1]) / 2
        return half * total(w * self._height(others, middle + half * node) for node, w in rule)

    def _height(self, others: Others, v: arb) -> arb:
        """Bound h(v)."""
        shrunk = (-v).exp()
        blocks, log_left = [Block(self.law, 1)], -v
        for share, count in others:
            left = 1 + share * (-v).expm1()
            blocks.append(Block(_thinned(self.law, share * shrunk / left), count))
            log_left += count * left.log()
        return log_left.exp() * self._positive(blocks)

    def _positive(self, blocks: Sequence[Block]) -> arb:
        """Bound the mean of the positive part of a sum."""
        found = log_mean(Sum(tuple(blocks)), self.rtol)
        log = found.lower if self.side == "lower" else found.upper
        return arb(log).exp() if log > -math.inf else arb(0)


def _within_common(part: Decomposition) -> Decomposition:
    """Return the decomposition with the common law itself for c, so that gains are those of L."""
    log_mass = part.mass.log()

    def component(c: Component) -> Component:
        log0, log1 = (None if log is None else log + log_mass for log in (c.log0, c.log1))
        return Component(log0, log0 if c.log0 is c.log1 else log1, c.weight / part.mass)

    return Decomposition(tuple(map(component, part.components)), arb(0), part.singular)


def _sorted(others: Iterable[tuple[arb, int]]) -> Others:
    """Return the shares, which are exact numbers, in order."""
    return sorted((other for other in others if other[1] > 0), key=itemgetter(0))


def _with_one_more(others: Others, index: int) -> Others:
    """Return all users, the one in question with the share of one of the others."""
    if not others:
        return [(arb(1), 1)]
    everybody = list(others)
    share, count = everybody[index]
    everybody[index] = share, count + 1
    return everybody


def _thinned(law: Law, share: arb) -> Law:
    """Return the law of B L."""
    return Law.of([*((value, share * mass) for value, mass in law.atoms), (arb(0), _rest(share))])


def _rest(share: arb) -> arb:
    """Return 1 - share, which is at least 0."""
    rest = 1 - share
    return rest if rest >= 0 else arb(0).union(rest.upper())


def _legendre() -> Iterator[tuple[arb, arb]]:
    """Yield nodes between -1 and 1, and their weights."""
    return (arb.legendre_p_root(_NODES, k, weight=True) for k in range(_NODES))


def _inner_lobatto() -> Iterator[tuple[arb, arb]]:
    """Yield the four nodes of six that are no ends, and their weights; the ends have 1/15."""
    root = arb(7).sqrt()
    for sign in (1, -1):
        node, weight = ((7 + sign * 2 * root) / 21).sqrt(), (14 - sign * root) / 30
        yield from ((-node, weight), (node, weight))
