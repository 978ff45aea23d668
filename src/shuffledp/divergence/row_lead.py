"""When a background of one type is worse than every mixture, for many swap bounds at once.

The argument, the terms and their errors are those of :mod:`shuffledp.divergence.lead`. All bounds
go through their numbers of users examined in vain at the same time, each in blocks of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.divergence.lead import BLOCKS, STEPS_AT_FIRST, Gap, Heights, terms_of_one
from shuffledp.divergence.swap_integrand import ROUND_UP, Nodes


@dataclass(frozen=True, eq=False)
class RowNodes:
    """The nodes of several sums.

    Attributes:
        nodes: all of them.
        row: the number of the sum that each belongs to.
        own: the exponent of its leading type.
    """

    nodes: Nodes
    row: IntArray
    own: NDArray[np.complex128]

    def chosen(self, some: NDArray[np.bool_]) -> RowNodes:
        """Return some of the nodes."""
        return RowNodes(self.nodes.chosen(some), self.row[some], self.own[some])

    def added(self, terms: FloatArray, size: int) -> FloatArray:
        """Return the sum of the terms of each row."""
        return np.bincount(self.row, terms, size).astype(np.float64)


@dataclass(frozen=True, eq=False)
class RowLeads:
    """Several sums, each with its leading type, and what it sums over; one entry for each sum.

    Attributes:
        lead: the number of the leading type.
        margins: by how much each type falls short of it, one row per type, 0 for itself.
        others: M.
        terms: for how many k, from 0 on, the sum is taken.
        log_ratio: logarithm of (1 - gamma) e^-top.
        gamma: mass of the blanket.
    """

    lead: IntArray
    margins: FloatArray
    others: FloatArray
    terms: FloatArray
    log_ratio: FloatArray
    gamma: FloatArray

    def losses(self, nodes: RowNodes) -> FloatArray:
        """Bound by how much the sum of any mixture exceeds that of the leading type; often 0."""
        types, size = self.margins.shape
        if types == 1:
            return np.zeros(size)
        coarse = np.maximum(np.floor(self.others / (BLOCKS * STEPS_AT_FIRST)), 1.0)
        lost = self._losses(nodes, coarse, np.ones(size, dtype=np.bool_))
        # Smaller blocks only where larger ones lose something.
        again = (lost > 0) & (lost < math.inf) & (coarse > 1)
        if again.any():
            found = self._losses(nodes, np.ones(size), again)
            lost = np.where(again, np.fmin(found, lost), lost)
        is_led = np.where(np.arange(types)[:, None] == self.lead, math.inf, self.margins) > 0
        return np.where(is_led.all(axis=0), lost, math.inf)

    def _losses(self, nodes: RowNodes, sizes: FloatArray, asked: NDArray[np.bool_]) -> FloatArray:
        """Do so for the sums that are asked for, beginning with blocks of some sizes."""
        step = np.maximum(np.ceil(self.others / BLOCKS), 1.0)
        first, total = np.where(asked, 0.0, self.terms), np.zeros(sizes.size)
        while (open_ := first < self.terms).any():
            nodes = nodes.chosen(open_[nodes.row])
            last = np.minimum(first + sizes, self.terms) - 1
            lost = self._lost(nodes, first, last)
            total += np.where(open_ & ~(lost <= 0), lost * self._weights(first, last), 0.0)
            first, sizes = last + 1, np.minimum(2 * sizes, step)
        return np.where(total >= 0, total, math.inf)

    def _lost(self, nodes: RowNodes, first: FloatArray, last: FloatArray) -> FloatArray:
        """Bound what one k from ``first`` to ``last`` loses."""
        row, size = nodes.row, first.size
        top = np.minimum(nodes.own.real + nodes.nodes.relative, 0.0)
        heights = Heights.of(nodes.nodes, top, self.others[row], (self.others - last)[row])
        lengths = np.abs(nodes.own) + nodes.nodes.relative
        bent = np.minimum(((last - first)[row] * lengths) ** 2 / 8, 2.0)
        allowed = self._gap(nodes).allowed(heights)
        most = np.max([nodes.added(own, size) for own in allowed], axis=0)
        least = np.minimum(*(self._alone(nodes, k) for k in (first, last)))
        lost: FloatArray = most * ROUND_UP - least
        return lost + nodes.added(heights.height * bent, size) * ROUND_UP

    def _gap(self, nodes: RowNodes) -> Gap:
        """Compare all types with the leading one, which has x = 0: that never is the largest."""
        margins = self.margins[:, nodes.row]
        leads = np.arange(len(margins))[:, None] == self.lead[nodes.row]
        away = nodes.nodes.exponent - nodes.own + margins
        spare = 2 * nodes.nodes.relative
        with np.errstate(divide="ignore", invalid="ignore"):
            x = np.where(leads, 0.0, (np.abs(away) + spare) / margins)
            eta = np.where(leads, -math.inf, (away.real + spare) / margins)
        others = np.where(leads, math.inf, margins)
        return Gap(x, eta.max(axis=0), others.min(axis=0), margins.max(axis=0))

    def _alone(self, nodes: RowNodes, k: FloatArray) -> FloatArray:
        """Return lower bounds on the sums of the leading types, k users being examined in vain."""
        values, errors = terms_of_one(nodes.nodes, nodes.own, (self.others - k)[nodes.row])
        size = k.size
        count = nodes.added(np.ones(nodes.row.size), size)
        rounding = nodes.added(errors, size) * ROUND_UP
        # The terms of a row are added one after the other: one rounding of the sum for each.
        rounding += (count + 64) * UNIT * nodes.added(np.abs(values), size)
        return nodes.added(values.real, size) - rounding

    def _weights(self, first: FloatArray, last: FloatArray) -> FloatArray:
        """Bound the weight of all k from ``first`` to ``last`` together."""
        worth = np.maximum(first * self.log_ratio, last * self.log_ratio)
        with np.errstate(over="ignore"):
            weights: FloatArray = self.gamma * (last - first + 1) * np.exp(worth) * ROUND_UP
        return weights
