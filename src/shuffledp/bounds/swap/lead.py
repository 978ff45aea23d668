r"""When a background of one type is worse than every mixture: the swap bound of many types at once.

Let F be the transform at a node of a background in which all others are of the *leading* type, the
one with the largest transform at the tilt, and let type v fall short of it by :math:`m_v>0`.
Replacing some of them by others multiplies F by :math:`e^{-r+w}` with :math:`r=\sum m_v` over those
replaced and :math:`w=\sum(L_v-L+m_v)`, so :math:`|w|\le rx` if every
:math:`|L_v-L+m_v|\le m_vx`. From :math:`e^w-1=\int_0^1we^{sw}ds` the mixture's transform differs
from :math:`e^{-r}F` by at most

.. math:: (1-e^{-r})\,x\,|F|\,G(\eta),\qquad
          G(\eta)=\sup_r\frac{re^{-r(1-\eta)}}{1-e^{-r}}
          \le\begin{cases}1&\eta\le\frac12\\e^{-\eta}/(1-\eta)&\eta<1\end{cases}

where :math:`\mathrm{Re}(L_v-L+m_v)\le\eta m_v`. Where :math:`\eta` is large let h be the modulus of
one slot of the leading type, N the number of slots and H the largest modulus of any background. If
at most half of the slots are replaced, both transforms are below :math:`h^{N/2}` and r is at most
:math:`(1+N\max m)(1-e^{-r})`; if more are, r is at least :math:`\frac N2\min m`. So the difference
is at most

.. math:: (1-e^{-r})\Big(x\,(1+N\max m)\,h^{N/2}+\frac{2H}{1-e^{-N\min m/2}}\Big),

and for the same reasons at most :math:`(1-e^{-r})\max(1.59x,2.17)H`. With A the sum of such bounds
over the nodes and J that of the leading type, the mixture's sum is at most

.. math:: e^{-r}J+(1-e^{-r})A\le\max(J,A).

Usually A is a third of J: then the leading type alone is the worst background. This holds for every
set K of users that were examined in vain, with n - 1 - k users in place of n - 1.

More precisely A is a mean of sums :math:`A_v` of the types, weighted by their shares of r. So the
mixture exceeds J by at most :math:`\frac{1-e^{-r}}r\sum r_v(A_v-J)_+`, the integral over t > 0 of
:math:`\frac{1-e^{-r}}r` times the part of r of the types with :math:`A_v-J>t`. That part is at most
:math:`s_t`, N times the largest of their :math:`m_v`, and :math:`\frac{1-e^{-r}}r` falls with r, so
the excess is at most :math:`\int_0^\infty(1-e^{-s_t})\,dt`. Types that nearly tie with the leading
one may have a large :math:`A_v`: their part is small.

If a few types *contend*, the same argument replaces all others by the leading type, whichever few
are kept beside it. Those that it leads least are kept, since they would make A large. With shares
of the types in place of a background, r falls with k as 1 - k/(n-1), so the weighted sum over k is
at most the larger one of A and the sum U of any shares of the contenders, plus the sum of
:math:`k/(e(n-1-k))` times the largest modulus, because
:math:`e^{-r(1-k/(n-1))}-e^{-r}\le k/(e(n-1-k))`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shuffledp.basics.arrays import FloatArray
from shuffledp.bounds.swap.examined import SLACK, UP, Examined
from shuffledp.bounds.swap.nodes import Nodes

_BLOCKS = 16  # so many steps from 0 to n - 1 in which k is looked at
_FIRST_STEPS = 32  # of one such step: small k count most, but with many users all are alike
_LARGEST_ETA = 0.9
_FEW, _MANY = 1.59, 2.17
_CLEAR = 0.7  # of J, what A may be for a type that does not contend
_MAX_TERMS = 1 << 17


def leading_type(nodes: Nodes) -> int:
    """Return the type with the largest transform at the tilt, which is the first node."""
    return int(np.argmax(nodes.exponent[:, 0].real))


def loss_of_leading(nodes: Nodes, examined: Examined) -> float:
    """Bound by how much the sum of any mixture exceeds that of the leading type; often 0."""
    if len(nodes.exponent) == 1:
        return 0.0
    gap = _Gap.of(nodes, [leading_type(nodes)])
    if gap is None:
        return math.inf
    coarse = max(1, examined.others // (_BLOCKS * _FIRST_STEPS))
    lost = math.inf
    for size in dict.fromkeys((coarse, 1)):  # smaller blocks only where larger ones lose something
        if lost > 0:
            blocks = _blocks(nodes, [leading_type(nodes)], examined, size)
            lost = sum(block.weight(examined) * block.lost(nodes, gap) for block in blocks)
    return lost if lost >= 0 else math.inf


def ranked_types(nodes: Nodes, examined: Examined) -> tuple[list[int], int]:
    """Return the leading type, then all others, first those it leads least; and how many contend.

    Those are the leading type and all that it does not clearly lead.
    """
    lead = leading_type(nodes)
    own = nodes.exponent[lead]
    margins = own[:1].real - nodes.exponent[:, :1].real
    height = nodes.size * np.exp(examined.others * np.minimum(own.real, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.abs(nodes.exponent - own + margins) @ height / margins[:, 0]
    away = np.where(margins[:, 0] > 0, away, math.inf)
    away[lead] = math.inf
    clear = away < _CLEAR * _sum(nodes, lead, examined.others)
    order = np.argsort(-away, kind="stable")
    ranked = [lead, *(int(v) for v in order if v != lead)]
    return ranked, int(np.count_nonzero(~clear))


def ceiling_of_mixtures(nodes: Nodes, kept: list[int], examined: Examined) -> tuple[float, float]:
    """Return A, and what is added to the larger one of A and the contenders' sum."""
    if len(kept) == len(nodes.exponent):
        return 0.0, 0.0
    gap = _Gap.of(nodes, kept)
    if gap is None or examined.terms > _MAX_TERMS:
        return math.inf, math.inf
    ceiling = mixing = 0.0
    for block in _blocks(nodes, kept, examined, 1):
        ceiling += block.allowance(gap) * block.weight(examined)
        k = np.arange(block.first, block.last + 1, dtype=np.float64)
        with np.errstate(divide="ignore"):
            share = np.minimum(k / (math.e * (examined.others - k)), 1.0)
        log_weights = np.multiply(k, examined.log_ratio, out=np.zeros_like(k), where=k > 0)
        weights = examined.gamma * np.exp(log_weights) * UP
        mixing += float(share @ weights) * float(block.largest.sum()) * UP
    return ceiling, mixing


@dataclass(frozen=True, eq=False)
class _Block:
    """Bounds that hold for all k from ``first`` to ``last``, for so many slots.

    Attributes:
        height: bounds on the modulus of the terms of those who stay.
        half: the same with half the slots.
        largest: bounds on the modulus of the terms of any background.
    """

    first: int
    last: int
    others: int
    height: FloatArray
    half: FloatArray
    largest: FloatArray

    def weight(self, examined: Examined) -> float:
        """Bound the weight of all k together."""
        worth = max(k * examined.log_ratio if k else 0.0 for k in (self.first, self.last))
        return examined.gamma * (self.last - self.first + 1) * math.exp(worth) * UP

    def allowance(self, gap: _Gap) -> float:
        """Return A of one k."""
        found = float(gap.sums(self).max()) * UP
        return found if found >= 0 else math.inf  # where 0 was multiplied by infinity

    def lost(self, nodes: Nodes, gap: _Gap) -> float:
        """Bound what mixtures add to J for one k; J is above its chord but for a bend."""
        lead = leading_type(nodes)
        lengths = np.abs(nodes.exponent[lead]) + nodes.relative[lead]
        bent = np.minimum(((self.last - self.first) * lengths) ** 2 / 8, 2.0)
        alone = min(_sum(nodes, lead, self.others - k) for k in (self.first, self.last))
        excess = gap.sums(self) * UP - (alone - float(self.height @ bent) * UP)
        order = np.argsort(-excess)
        heights = np.maximum(excess[order], 0.0)
        if not heights[0] < math.inf:
            return math.inf
        replaced = (self.others - self.first) * np.maximum.accumulate(gap.margins[order])
        steps = heights - np.append(heights[1:], 0.0)
        return float(-np.expm1(-replaced) @ steps) * UP


def _blocks(nodes: Nodes, kept: list[int], examined: Examined, size: int) -> Iterator[_Block]:
    """Yield blocks that cover all k, the first of this size; ``kept`` are the types that stay."""
    others = examined.others
    top = np.minimum((nodes.exponent.real + nodes.relative)[kept].max(axis=0), 0.0)
    step = max(1, -(-others // _BLOCKS))
    first = 0
    while first < examined.terms:
        last = min(first + size, examined.terms) - 1
        least = others - last
        with np.errstate(under="ignore"):
            height, half, largest = (
                nodes.size * np.exp(slots * real) * UP
                for slots, real in ((least, top), (0.5 * least, top), (least, nodes.highest))
            )
        yield _Block(first, last, others, height, half, largest)
        first, size = last + 1, min(2 * size, step)


@dataclass(frozen=True, eq=False)
class _Gap:
    """How the other types differ from the leading one, relative to what they fall short of it.

    Attributes:
        x: the bound on their distance, one row per type.
        eta: the bound on its real part, for all types.
        margins: by how much each type falls short.
    """

    x: FloatArray
    eta: FloatArray
    margins: FloatArray

    @classmethod
    def of(cls, nodes: Nodes, kept: list[int]) -> _Gap | None:
        """Compare all but the types that are kept; None if one does not fall short."""
        lead = leading_type(nodes)
        own, rest = nodes.exponent[lead], np.delete(nodes.exponent, kept, axis=0)
        error = np.delete(nodes.relative, kept, axis=0) + nodes.relative[lead]
        margins = own[:1].real - rest[:, :1].real  # by definition: any positive number may be m
        if margins.size == 0 or not margins.min() > 0:
            return None
        away = rest - own + margins
        return cls(
            x=(np.abs(away) + error) / margins * UP,
            eta=((away.real + error) / margins).max(axis=0) + SLACK,
            margins=margins[:, 0],
        )

    def sums(self, block: _Block) -> FloatArray:
        """Return A of every type.

        Every node has one bound for all types, convex in x, so that mixtures need no more.
        """
        worst = self.x.max(axis=0)
        eta = np.clip(self.eta, 0.5, _LARGEST_ETA)
        height, largest = block.height, block.largest
        gentle = np.where(self.eta <= 0.5, height, height * (np.exp(-eta) / (1 - eta)))
        few = block.half * (1 + block.others * self.margins.max())
        with np.errstate(divide="ignore", invalid="ignore"):
            least = block.others - block.last
            many = largest * (2 / -np.expm1(-0.5 * least * self.margins.min()))
        many = np.where(least > 0, many, math.inf)
        bounds = np.array(
            [
                np.where(self.eta < _LARGEST_ETA, gentle * worst, math.inf),
                few * worst + many,
                largest * np.maximum(_FEW * worst, _MANY),
            ]
        )
        form = np.argmin(bounds, axis=0)
        slope = np.where(form == 0, gentle, np.where(form == 1, few, 0.0))
        anyhow = np.where(form == 2, largest, 0.0)
        with np.errstate(invalid="ignore"):
            level = np.where(form == 1, many, 0.0).sum()
            sums: FloatArray = self.x @ slope + level + np.maximum(_FEW * self.x, _MANY) @ anyhow
        return sums


def _sum(nodes: Nodes, v: int, power: int) -> float:
    """Return a lower bound on the sum for one type and so many users."""
    with np.errstate(under="ignore"):
        powers = np.exp(power * nodes.exponent[v])
    error = nodes.size * np.abs(powers) @ (SLACK + 2 * power * nodes.relative[v])
    return float((nodes.kernel * powers).real.sum() - error)
