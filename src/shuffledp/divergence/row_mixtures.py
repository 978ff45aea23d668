"""The worst mixture of two types for many swap bounds at once.

The argument is that of :mod:`shuffledp.divergence.swap`: between two mixtures the sum over the
nodes is nearly linear. Intervals of the share of the second type, of all bounds together, are cut
in two until what they may hide is small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.divergence.examined import most_variance
from shuffledp.divergence.interpolation import largest_between
from shuffledp.divergence.row_lead import RowNodes
from shuffledp.divergence.row_selection import add_rows
from shuffledp.divergence.stretches import listed
from shuffledp.divergence.swap_integrand import ROUND_UP, Nodes, SwapIntegrand

_MAX_WORK = 4e4  # intervals times nodes of one bound, in one round of cuts
_OUT_OF_REACH = 1e3  # times the largest end: a bound that cuts do not make useful
_SHARE_OF_SPREAD = 0.4  # of the error of who is examined, what cuts may leave of it


def sums_at(
    integrand: SwapIntegrand,
    nodes: Nodes,
    row: IntArray,
    exponent: NDArray[np.complex128],
    largest: FloatArray,
    size: int,
) -> tuple[FloatArray, FloatArray]:
    """Return upper bounds on several sums, and the densities at 0.

    Args:
        integrand: one for every node.
        nodes: all nodes.
        row: the sum that each belongs to.
        exponent: that of its background.
        largest: upper bounds on the real parts of the true exponents.
        size: number of sums.
    """
    values, rounding = integrand.at(nodes, exponent, integrand.height(largest))
    upper = add_rows(row, values.real, size)
    upper += add_rows(row, rounding, size) * ROUND_UP
    # The terms of a sum are added one after the other: one rounding of the sum for each.
    count = add_rows(row, np.ones(row.size), size)
    upper += (count + 64) * UNIT * add_rows(row, np.abs(values), size)
    return upper, add_rows(row, (values * (1 + 1j * nodes.t) ** 2).real, size)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Intervals of shares: of which sum, their ends, and upper bounds on the sums there."""

    number: IntArray
    left: FloatArray
    right: FloatArray
    at_left: FloatArray
    at_right: FloatArray

    def chosen(self, some: NDArray[np.bool_]) -> _Cells:
        """Return some of them."""
        return _Cells(*(getattr(self, field.name)[some] for field in fields(self)))

    def cut(self, at_middle: FloatArray) -> _Cells:
        """Return both halves of every one."""
        middle = 0.5 * (self.left + self.right)
        return _Cells(
            np.tile(self.number, 2),
            np.append(self.left, middle),
            np.append(middle, self.right),
            np.append(self.at_left, at_middle),
            np.append(at_middle, self.at_right),
        )


class RowMixtures:
    """Mixtures of two types.

    Args:
        nodes: the nodes of all bounds.
        integrand: one entry for each bound.
        share: what cuts may leave, relatively.
    """

    def __init__(self, nodes: RowNodes, integrand: SwapIntegrand, share: float) -> None:
        order = np.argsort(nodes.row, kind="stable")
        self.nodes, row = nodes.nodes.chosen(order), nodes.row[order]
        self.integrand, self.share = integrand.of(row), share
        self.size = np.size(integrand.others)
        self.counts = np.bincount(row, minlength=self.size)
        self.starts = np.cumsum(self.counts) - self.counts
        self.spread = self.integrand.spread(self.nodes)
        self.examined = add_rows(row, self.nodes.size * self.spread.everywhere, self.size)
        self.examined *= ROUND_UP
        self.distance = np.abs(self.nodes.exponent[1] - self.nodes.exponent[0])

    def worst(self, rows: IntArray, hopeless: NDArray[np.bool_]) -> FloatArray:
        """Bound the sums of some rows for all mixtures, averages over who is examined included.

        Infinite where that takes many cuts. What is hopeless is bounded, but not closely.
        """
        numbers, ends = np.arange(rows.size), np.zeros(rows.size)
        at_ends = [self._uppers(rows, ends + share) for share in (0.0, 1.0)]
        whole = _Cells(numbers, ends, ends + 1.0, *at_ends)
        largest, examined = np.maximum(*at_ends), self.examined[rows]
        found = np.full(rows.size, math.inf)
        wide = (examined > self.share * largest) & ~hopeless
        if wide.any():
            slack = _SHARE_OF_SPREAD * examined
            covered = self._cover(rows, whole.chosen(wide), slack, averaged=True)[wide]
            useful = covered <= (largest * (1 + self.share) + examined)[wide]
            found[wide] = np.where(useful, covered, math.inf)
        rest = found == math.inf
        if rest.any():
            slack = np.where(hopeless, math.inf, 0.0)
            covered = self._cover(rows, whole.chosen(rest), slack, averaged=False)
            found[rest] = (covered + examined)[rest]
        return found

    def _cover(
        self, rows: IntArray, cells: _Cells, slack: FloatArray, *, averaged: bool
    ) -> FloatArray:
        """Return bounds for all shares in the intervals, one for every row; infinite if given up.

        ``slack`` is what may be left besides; averages over who is examined may be included.
        """
        settled = np.full(rows.size, -math.inf)
        settled[cells.number] = np.maximum(cells.at_left, cells.at_right)
        largest = settled.copy()
        while cells.number.size:
            bounds = self._bounds(rows, cells, averaged=averaged)
            goal = largest * (1 + self.share) + slack
            open_ = ~(bounds <= goal[cells.number])
            np.maximum.at(settled, cells.number[~open_], bounds[~open_])
            work = 2 * np.bincount(cells.number[open_], minlength=rows.size) * self.counts[rows]
            out_of_reach = bounds > _OUT_OF_REACH * settled[cells.number]
            settled[cells.number[out_of_reach]] = settled[work > _MAX_WORK] = math.inf
            cells = cells.chosen(open_ & (settled[cells.number] < math.inf))
            if cells.number.size:
                at_middle = self._uppers(rows[cells.number], 0.5 * (cells.left + cells.right))
                np.maximum.at(largest, cells.number, at_middle)
                cells = cells.cut(at_middle)
        return settled

    def _bounds(self, rows: IntArray, cells: _Cells, *, averaged: bool) -> FloatArray:
        """Bound the sums in every interval."""
        inside, cell = self._nodes_of(rows[cells.number])
        nodes, integrand = self.nodes, self.integrand.of(inside)
        ends = (
            integrand.height(self._largest(inside, end[cell])) for end in (cells.left, cells.right)
        )
        heights = np.maximum(*ends)  # a sum of exponentials of the share is convex
        apart = (cells.right - cells.left)[cell] * self.distance[inside]
        squares = (integrand.others * (apart + 2 * nodes.relative[inside])) ** 2
        weight = nodes.size[inside] * heights
        corners = np.stack([cells.at_left, cells.at_right], axis=1)
        bounds = largest_between(corners, weight, squares, cell)
        if averaged:
            shares = np.stack([cells.left, cells.right], axis=1)
            variance = most_variance(np.stack([1 - shares, shares], axis=2))[cell]
            errors = nodes.size[inside] * self.spread.chosen(inside).at(variance, heights)
            bounds += add_rows(cell, errors, cells.number.size) * ROUND_UP
        return np.nan_to_num(bounds, nan=math.inf, posinf=math.inf)

    def _uppers(self, rows: IntArray, shares: FloatArray) -> FloatArray:
        """Bound the sums of some rows at shares of the second type."""
        inside, cell = self._nodes_of(rows)
        share = shares[cell]
        exponent = (1 - share) * self.nodes.exponent[0, inside]
        exponent += share * self.nodes.exponent[1, inside]
        largest = self._largest(inside, share)
        integrand, nodes = self.integrand.of(inside), self.nodes.chosen(inside)
        upper, _ = sums_at(integrand, nodes, cell, exponent, largest, rows.size)
        return upper

    def _largest(self, inside: IntArray, share: FloatArray) -> FloatArray:
        """Bound the real parts of the true exponents at shares of the second type."""
        first, second = self.nodes.largest[:, inside]
        bound: FloatArray = (1 - share) * first + share * second
        return bound

    def _nodes_of(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Return the nodes of some rows, one row after the other, and of which each is."""
        counts = self.counts[rows]
        return listed(self.starts[rows], counts), np.repeat(np.arange(rows.size), counts)
