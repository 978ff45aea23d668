r"""The largest value of the swap bound's sum over all shares of the types.

On a simplex of shares with corners :math:`\mu_i` and :math:`d_{ij}=M|\ell_i-\ell_j|` at a node,
Taylor's formula bounds the difference to linear interpolation at the weights :math:`\alpha` by half
of :math:`\sum_{i<j}\alpha_i\alpha_jd_{ij}^2` times the largest modulus, and by twice that modulus.
What that leaves is the subject of :mod:`shuffledp.bounds.swap.interpolation`; simplices still open
are cut in two. Usually nothing has to be cut: one type leads (:mod:`shuffledp.bounds.swap.lead`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.arrays import FloatArray, IntArray
from shuffledp.bounds.swap.examined import SLACK, UP, ComplexArray, Examined, Spread, most_variance
from shuffledp.bounds.swap.interpolation import largest_sums
from shuffledp.bounds.swap.lead import (
    ceiling_of_mixtures,
    leading_type,
    loss_of_leading,
    ranked_types,
)
from shuffledp.bounds.swap.nodes import Nodes

_MAX_WORK = 3e6  # cells times edges times nodes, in one round of cuts
_LITTLE_WORK = 4e4  # the same, of errors that cuts make small only next to the corners
_SHARE_OF_SPREAD = 0.4  # of such errors, what is left to be tried
_OUT_OF_REACH = 1e3  # times the largest corner: a bound that cuts do not make useful
_STUCK, _NEARLY = 8, 1.25  # the share of the most work, and of the goal, at which cuts are in vain
_AT_ONCE = 2e4  # points or edges times nodes: what a cache holds
_FEW = 3  # types whose mixtures are all looked at
_MAX_CORNERS = 5  # types whose mixtures are subdivided

T = TypeVar("T", np.float64, np.int64)


@dataclass(frozen=True, eq=False)
class _Points:
    """Shares of the types, and at every node their exponent, its error, and what they lead to.

    ``height`` bounds the moduli of what is summed, but for the kernel; ``density`` is the sum
    without the factor :math:`1/z^2`.
    """

    shares: FloatArray
    exponent: ComplexArray
    relative: FloatArray
    height: FloatArray
    upper: FloatArray
    density: FloatArray

    @staticmethod
    def joined(parts: Sequence[_Points]) -> _Points:
        """Return the points of all parts, one after the other."""
        names = (field.name for field in fields(_Points))
        return _Points(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))


@dataclass(frozen=True)
class Largest:
    """A bound on the sum for all backgrounds, and what is known of its largest value.

    Attributes:
        bound: holds for all backgrounds.
        value: the sum of a bad one.
        density: the same sum without the factor 1/z^2.
    """

    bound: float
    value: float
    density: float


class Mixtures:
    """The sum over the nodes as a function of the shares.

    Args:
        nodes: where it is evaluated.
        examined: the weights of how many users are examined in vain.
        share: what mixtures may add, relatively, before simplices are cut.
    """

    def __init__(self, nodes: Nodes, examined: Examined, share: float) -> None:
        self.nodes, self.examined, self.share = nodes, examined, share
        self._types = len(nodes.exponent)

    def largest(self) -> Largest:
        """Bound the sum for all backgrounds."""
        points = self._at(np.eye(self._types)[[leading_type(self.nodes)]])
        settled = float(points.upper[0])
        bound = settled + loss_of_leading(self.nodes, self.examined)
        if bound > settled * (1 + self.share):
            order, contending = ranked_types(self.nodes, self.examined)
            count = self._types if self._types <= _FEW else min(contending, _MAX_CORNERS)
            points = self._corners(order, count)
            bound = min(bound, self._worst_mixture(points, order, bound))
        lead = int(np.argmax(points.upper))
        return Largest(bound, float(points.upper[lead]), float(points.density[lead]))

    def _worst_mixture(self, points: _Points, order: list[int], known: float) -> float:
        """Bound the sum for all mixtures, averages over who is examined included."""
        if self.examined.terms == 1:
            return self._mixed(points, order)
        spread = self.examined.spread(self.nodes.exponent, self.nodes.relative)
        examined = float(self.nodes.size @ spread.everywhere) * UP
        largest = float(points.upper.max())
        if examined > self.share * largest and len(points.shares) == self._types:
            found = self._cover(points, spread, _SHARE_OF_SPREAD * examined)
            if found <= largest * (1 + self.share) + examined:
                return found
        if largest + examined >= known:  # nothing that cuts find is better
            return known
        return self._mixed(points, order) + examined

    def _mixed(self, points: _Points, order: list[int]) -> float:
        """Bound the sum for mixtures without averages: of few types, and what others can add."""
        most = min(_MAX_CORNERS, self._types)
        tried = [(len(points.shares), *self._ceiling(order[: len(points.shares)]))]
        while tried[-1][0] < most and tried[-1][1] > float(points.upper.max()):
            count = tried[-1][0] + 1
            tried.append((count, *self._ceiling(order[:count])))
        found = math.inf
        for count, ceiling, mixing in dict.fromkeys((tried[-1], tried[0])):
            if found > ceiling + mixing:
                covered = self._cover(self._corners(order, count), enough=ceiling)
                found = min(found, max(covered, ceiling) + mixing)
        return found

    def _ceiling(self, kept: list[int]) -> tuple[float, float]:
        return ceiling_of_mixtures(self.nodes, kept, self.examined)

    def _corners(self, order: list[int], count: int) -> _Points:
        """Evaluate the sum for the first types alone."""
        return self._at(np.eye(self._types)[order[:count]])

    def _at(self, shares: FloatArray) -> _Points:
        """Evaluate the sum at several shares; ``upper`` has all errors added."""
        return _Points.joined([self._at_few(some) for some in self._split(shares)])

    def _at_few(self, shares: FloatArray) -> _Points:
        nodes, examined = self.nodes, self.examined
        exponent, relative = shares @ nodes.exponent, shares @ nodes.relative
        height = examined.height(np.minimum(exponent.real + relative, 0.0))
        values = nodes.kernel * examined.at(exponent)
        error = nodes.size * height * (SLACK + 2 * examined.others * relative)
        upper = values.sum(axis=1).real + error.sum(axis=1)
        density = (values @ nodes.z**2).real
        return _Points(shares, exponent, relative, height, upper, density)

    def _cover(
        self, points: _Points, spread: Spread | None = None, slack: float = 0, enough: float = 0
    ) -> float:
        """Return a bound over all shares: cut simplices in two until the errors are small.

        Args:
            points: the corners of the first simplex.
            spread: the error of an average over who is examined, if that is to be added.
            slack: how much it may add.
            enough: a bound that need not be made smaller.
        """
        if (corners := len(points.shares)) == 1:
            return float(points.upper[0])
        cells = np.arange(corners)[None, :]
        settled, before = float(points.upper.max()), math.inf
        goal = max(settled * (1 + self.share) + slack, enough)
        edges = list(combinations(range(corners), 2))
        limit = _MAX_WORK if spread is None else _LITTLE_WORK
        while cells.size:
            work = len(cells) * len(edges) * self.nodes.size.size
            if work > limit:
                return max(settled, before)
            found = [self._bounds(points, some, edges, spread) for some in self._split(cells)]
            bounds, longest = (np.concatenate(parts) for parts in zip(*found, strict=True))
            open_ = ~(bounds <= goal)
            settled = max(settled, float(bounds[~open_].max(initial=0.0)))
            before = float(bounds.max())  # holds for the parts of all cells, too
            stuck = _STUCK * work > limit and float(bounds.min()) > _NEARLY * goal
            if stuck or before > _OUT_OF_REACH * settled:
                return max(settled, before)
            cells = cells[open_]
            if cells.size:
                cells, points = self._halve(cells, points, np.array(edges)[longest[open_]])
                goal = max(goal, float(points.upper.max()) * (1 + self.share) + slack)
        return settled

    def _split(self, table: NDArray[T]) -> list[NDArray[T]]:
        """Return a table in parts of so many rows that what is made of them stays in a cache."""
        rows = max(int(_AT_ONCE / self.nodes.size.size), 1)
        return [table[begin : begin + rows] for begin in range(0, len(table), rows)]

    def _bounds(
        self,
        points: _Points,
        cells: IntArray,
        edges: Sequence[tuple[int, int]],
        spread: Spread | None,
    ) -> tuple[FloatArray, IntArray]:
        """Bound the sum in each of several cells, and say which edge to cut."""
        heights = points.height[cells].max(axis=1)
        exponent, error = points.exponent[cells], 2 * points.relative[cells].max(axis=1)
        lengths = np.array([np.abs(exponent[:, i] - exponent[:, j]) for i, j in edges])
        lengths = self.examined.others * (lengths + error)
        weight = self.nodes.size * heights
        bounds = largest_sums(points.upper[cells], weight, lengths**2, edges)
        if spread is not None:
            variance = most_variance(points.shares[cells])[:, None]
            errors = self.nodes.size * spread.at(variance, heights)
            bounds += errors.sum(axis=1) * UP
        longest = np.argmax(np.einsum("cn,ecn->ec", weight, lengths), axis=0)
        return np.nan_to_num(bounds, nan=math.inf, posinf=math.inf), longest

    def _halve(self, cells: IntArray, points: _Points, edges: IntArray) -> tuple[IntArray, _Points]:
        """Cut each cell in the middle of an edge."""
        halves, pairs = halve(cells, edges, len(points.shares))
        added = self._at(0.5 * (points.shares[pairs[:, 0]] + points.shares[pairs[:, 1]]))
        return halves, _Points.joined([points, added])


def halve(cells: IntArray, edges: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Cut each cell in the middle of an edge; middles get the numbers from ``count`` on.

    Args:
        cells: the numbers of the corners of each cell.
        edges: which two of its corners the edge to cut joins.
        count: number of points so far.

    Returns:
        The halves, and the two ends of the edge of each new point.

    >>> halves, ends = halve(np.array([[0, 1, 2]]), np.array([[0, 2]]), 3)
    >>> halves.tolist(), ends.tolist()
    ([[3, 1, 2], [0, 1, 3]], [[0, 2]])
    """
    rows = np.arange(len(cells))
    ends = np.sort(cells[rows[:, None], edges], axis=1)
    codes, place = np.unique(ends[:, 0] * count + ends[:, 1], return_inverse=True)
    pairs = np.stack(np.divmod(codes, count), axis=1)
    halves = []
    for side in (0, 1):
        half = cells.copy()
        half[rows, edges[:, side]] = count + place
        halves.append(half)
    return np.concatenate(halves), pairs
