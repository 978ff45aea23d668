r"""When a background of one type is worse than every mixture: the swap bound of many types at once.

Let F be the transform at a node of a background in which all others are of the *leading* type, the
one with the largest K at the tilt, and let type v fall short of it by :math:`m_v>0`. Replacing some
of them by others multiplies F by :math:`e^{-r+w}` with :math:`r=\sum m_v` over those replaced and
:math:`w=\sum(L_v-L+m_v)`, so :math:`|w|\le rx` if every :math:`|L_v-L+m_v|\le m_vx`. From
:math:`e^w-1=\int_0^1we^{sw}ds` the mixture's transform differs from :math:`e^{-r}F` by at most

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

If a few types *contend*, the same argument replaces all others by the leading type, whichever few
are kept beside it. Those that it leads least are kept, since they would make A large. With shares
of the types in place of a background, r falls with k as 1 - k/(n-1), so the weighted sum over k is
at most the larger one of A and the sum U of any shares of the contenders, plus the sum of
:math:`k/(e(n-1-k))` times the largest modulus, because
:math:`e^{-r(1-k/(n-1))}-e^{-r}\le k/(e(n-1-k))`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.divergence.swap_integrand import ROUND_UP, Nodes

BLOCKS = 16  # so many steps from 0 to n - 1 in which k is looked at
STEPS_AT_FIRST = 32  # of one such step: small k count most, but with many users all are alike
_LARGEST_ETA = 0.9
_FEW, _MANY = 1.59, 2.17
_CLEAR = 0.7  # of J, what A may be for a type that does not contend
_MAX_TERMS = 1 << 17


def leading_type(nodes: Nodes) -> int:
    """Return the type with the largest transform at the tilt, which is the first node."""
    return int(np.argmax(nodes.exponent[:, 0].real))


def loss_of_leading(nodes: Nodes, others: int, terms: int, log_ratio: float, gamma: float) -> float:
    r"""Bound by how much the sum of any mixture exceeds that of the leading type; often 0.

    Args:
        nodes: the nodes of the sum, the first of which is the tilt.
        others: n - 1.
        terms: for how many k, from 0 on, the sum is taken.
        log_ratio: log of :math:`(1-\gamma)e^{-top}`: the weight of k is :math:`\gamma` times its
            k-th power.
        gamma: mass of the blanket.
    """
    lead = leading_type(nodes)
    if len(nodes.exponent) == 1:
        return 0.0
    gap = Gap.of(nodes, [lead])
    if gap is None:
        return math.inf
    coarse = max(1, others // (BLOCKS * STEPS_AT_FIRST))
    lost = math.inf
    for size in dict.fromkeys((coarse, 1)):  # smaller blocks only where larger ones lose something
        if lost > 0:
            blocks = _blocks(nodes, [lead], others, terms, size)
            lost = _loss_by_blocks(nodes, gap, blocks, others, log_ratio, gamma)
    return lost


def _loss_by_blocks(
    nodes: Nodes, gap: Gap, blocks: Iterable[_Block], others: int, log_ratio: float, gamma: float
) -> float:
    own = nodes.exponent[leading_type(nodes)]
    lengths = np.abs(own) + nodes.relative
    total = 0.0
    for block in blocks:
        bent = np.minimum(((block.last - block.first) * lengths) ** 2 / 8, 2.0)
        alone = min(_sum(nodes, own, others - k) for k in (block.first, block.last))
        lost = block.allowance(gap) - alone + float(block.heights.height @ bent) * ROUND_UP
        if not lost <= 0:
            total += lost * block.weight(log_ratio, gamma)
    return total if total >= 0 else math.inf


def ranked_types(nodes: Nodes, others: int) -> tuple[list[int], int]:
    """Return the leading type, then all others, first those it leads least; and how many contend.

    Those are the leading type and all that it does not clearly lead.
    """
    lead = leading_type(nodes)
    own = nodes.exponent[lead]
    margins = own[:1].real - nodes.exponent[:, :1].real
    height = nodes.size * np.exp(others * np.minimum(own.real, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.abs(nodes.exponent - own + margins) @ height / margins[:, 0]
    away = np.where(margins[:, 0] > 0, away, math.inf)
    away[lead] = math.inf
    clear = away < _CLEAR * _sum(nodes, own, others)
    order = np.argsort(-away, kind="stable")
    ranked = [lead, *(int(v) for v in order if v != lead)]
    return ranked, int(np.count_nonzero(~clear))


def ceiling_of_mixtures(
    nodes: Nodes, kept: list[int], others: int, terms: int, log_ratio: float, gamma: float
) -> tuple[float, float]:
    """Return A, and what is added to the larger one of A and the contenders' sum."""
    gap = Gap.of(nodes, kept)
    if gap is None or terms > _MAX_TERMS:
        return math.inf, math.inf
    ceiling = mixing = 0.0
    for block in _blocks(nodes, kept, others, terms):
        ceiling += block.allowance(gap) * block.weight(log_ratio, gamma)
        k = np.arange(block.first, block.last + 1, dtype=np.float64)
        with np.errstate(divide="ignore"):
            share = np.minimum(k / (math.e * (others - k)), 1.0)
        weights = gamma * np.exp(np.multiply(k, log_ratio, out=np.zeros_like(k), where=k > 0))
        mixing += float(share @ weights) * float(block.heights.largest.sum()) * ROUND_UP
    return ceiling, mixing


@dataclass(frozen=True, eq=False)
class Heights:
    """Bounds on moduli that hold for all numbers of slots from ``least`` to ``most``.

    Attributes:
        most: largest number of slots.
        least: smallest number of slots.
        height: bounds on the modulus of the leading type's terms.
        half: the same with half the slots.
        largest: bounds on the modulus of the terms of any background.
    """

    most: float | FloatArray
    least: float | FloatArray
    height: FloatArray
    half: FloatArray
    largest: FloatArray

    @classmethod
    def of(
        cls, nodes: Nodes, top: FloatArray, most: float | FloatArray, least: float | FloatArray
    ) -> Heights:
        """Return them; ``top`` bounds the real part of the exponents of the types that stay."""
        with np.errstate(under="ignore"):
            return cls(
                most=most,
                least=least,
                height=nodes.size * np.exp(least * top),
                half=nodes.size * np.exp(0.5 * least * top),
                largest=nodes.size * np.exp(least * nodes.highest),
            )


@dataclass(frozen=True, eq=False)
class _Block:
    """Bounds that hold for all k from ``first`` to ``last``."""

    first: int
    last: int
    heights: Heights

    def weight(self, log_ratio: float, gamma: float) -> float:
        """Bound the weight of all k together."""
        worth = max(k * log_ratio if k else 0.0 for k in (self.first, self.last))
        return gamma * (self.last - self.first + 1) * math.exp(worth) * ROUND_UP

    def allowance(self, gap: Gap) -> float:
        """Return A of one k."""
        found = float(gap.sums(self.heights).max()) * ROUND_UP
        return found if found >= 0 else math.inf  # where 0 was multiplied by infinity


def _blocks(
    nodes: Nodes, kept: list[int], others: int, terms: int, size: int = 1
) -> Iterator[_Block]:
    """Yield blocks that cover all k, the first of this size; ``kept`` are the types that stay."""
    top = np.minimum(nodes.exponent[kept].real.max(axis=0) + nodes.relative, 0.0)
    step = max(1, -(-others // BLOCKS))
    first = 0
    while first < terms:
        last = min(first + size, terms) - 1
        yield _Block(first, last, Heights.of(nodes, top, others, others - last))
        first, size = last + 1, min(2 * size, step)


@dataclass(frozen=True, eq=False)
class Gap:
    """How the other types differ from the leading one, relative to what they fall short of it.

    Attributes:
        x: the bound on their distance, one row per type.
        eta: the bound on its real part, for all types.
        smallest: the least a type falls short.
        largest: the most a type falls short.
    """

    x: FloatArray
    eta: FloatArray
    smallest: float | FloatArray
    largest: float | FloatArray

    @classmethod
    def of(cls, nodes: Nodes, kept: list[int]) -> Gap | None:
        """Compare all but the types that are kept; None if one does not fall short."""
        own = nodes.exponent[leading_type(nodes)]
        rest = np.delete(nodes.exponent, kept, axis=0)
        margins = own[:1].real - rest[:, :1].real
        if margins.size == 0 or not margins.min() > 0:
            return None
        away = rest - own + margins
        return cls(
            x=(np.abs(away) + 2 * nodes.relative) / margins,
            eta=((away.real + 2 * nodes.relative) / margins).max(axis=0),
            smallest=float(margins.min()),
            largest=float(margins.max()),
        )

    @cached_property
    def worst(self) -> FloatArray:
        """The largest x of all types."""
        worst: FloatArray = self.x.max(axis=0)
        return worst

    @cached_property
    def anyhow(self) -> FloatArray:
        """What the largest modulus is multiplied with in a bound for any mixture."""
        return np.maximum(_FEW * self.x, _MANY)

    def allowed(self, block: Heights) -> FloatArray:
        """Return the terms of A for numbers of slots from ``least`` to ``most``, one row per type.

        Every node has one bound for all types, convex in x, so that mixtures need no more.
        """
        slope, level, largest = self._forms(block)
        with np.errstate(invalid="ignore"):
            return slope * self.x + level + largest * self.anyhow

    def sums(self, block: Heights) -> FloatArray:
        """Return A of every type, the sums of what :meth:`allowed` returns."""
        slope, level, largest = self._forms(block)
        with np.errstate(invalid="ignore"):
            sums: FloatArray = self.x @ slope + level.sum() + self.anyhow @ largest
        return sums

    def _forms(self, block: Heights) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what every node multiplies x with, adds to it, and multiplies ``anyhow`` with."""
        eta = np.clip(self.eta, 0.5, _LARGEST_ETA)
        height, largest = block.height, block.largest
        gentle = np.where(self.eta <= 0.5, height, height * (np.exp(-eta) / (1 - eta)))
        few = block.half * (1 + block.most * self.largest)
        with np.errstate(divide="ignore", invalid="ignore"):
            many = largest * (2 / -np.expm1(-0.5 * block.least * self.smallest))
        many = np.where(np.greater(block.least, 0), many, math.inf)
        bounds = np.array(
            [
                np.where(self.eta < _LARGEST_ETA, gentle * self.worst, math.inf),
                few * self.worst + many,
                largest * np.maximum(_FEW * self.worst, _MANY),
            ]
        )
        form = np.argmin(bounds, axis=0)
        return (
            np.where(form == 0, gentle, np.where(form == 1, few, 0.0)),
            np.where(form == 1, many, 0.0),
            np.where(form == 2, largest, 0.0),
        )


def terms_of_one(
    nodes: Nodes, exponent: NDArray[np.complex128], power: float | FloatArray
) -> tuple[NDArray[np.complex128], FloatArray]:
    """Return what the nodes add for one type and so many users, and the errors of it."""
    whole = power * exponent
    with np.errstate(under="ignore"):
        modulus = np.exp(whole.real)
    values = nodes.kernel * (modulus * (np.cos(whole.imag) + 1j * np.sin(whole.imag)))
    wobble = 2 * power * nodes.relative + nodes.phase_error
    wobble = wobble + 8 * UNIT * (8 + np.abs(whole.real) + np.abs(whole.imag))
    return values, (nodes.size * wobble + nodes.error) * modulus


def _sum(nodes: Nodes, exponent: NDArray[np.complex128], power: int) -> float:
    """Return a lower bound on the sum for one type and so many users."""
    values, errors = terms_of_one(nodes, exponent, power)
    rounding = float(errors.sum()) * ROUND_UP
    rounding += 64 * UNIT * float(np.abs(values).sum())
    return float(values.sum().real) - rounding
