r"""The largest value of the swap bound's sum over all shares of the types, in balls.

Let :math:`\mu=\sum_i\alpha_i\mu_i` be shares in a simplex with corners :math:`\mu_i`, and
:math:`d=M\max|\ell_i-\ell_j|` at a node. By Taylor's formula

.. math:: \Bigl|H(\ell)-\sum_i\alpha_iH(\ell_i)\Bigr|\le\min(d^2/6,\,2)\,\max_i|H|,

:math:`d^2/8` for two corners, the largest modulus being that of
:meth:`shuffledp.certification.geometric.Examined.bound` at the largest real part. So the sum over
the nodes is at most its largest value at a corner plus these errors, plus that of the average over
who is examined (:meth:`shuffledp.certification.geometric.Examined.spread`), for which the variance
of L is small where nearly all others hold the same. The simplex with the largest such bound is cut
in two until that pays no more; whenever one stops, the bound holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from itertools import combinations, count

from flint import acb, arb, ctx

from shuffledp.certification.geometric import Examined
from shuffledp.certification.swap_nodes import SwapNode, squared
from shuffledp.engine.balls import ball, total
from shuffledp.engine.progress import Progress

#: Of errors, which are only bounded, few bits are needed.
_ERROR_BITS = 64
_MAX_POINTS, _FEW_POINTS = 3000, 16
_MAX_WORK = 150_000  # points times nodes times edges of a simplex
_NODE = 8  # cost of a node beyond its edges


@dataclass(frozen=True)
class _Point:
    """Shares of the types, their exponent at every node, and the sum over the nodes."""

    shares: tuple[Fraction, ...]
    exponents: tuple[acb, ...]
    value: arb


@dataclass(frozen=True)
class _Cell:
    """The corners of a simplex, a bound on the sum, and which edge to cut."""

    corners: tuple[_Point, ...]
    bound: arb
    edge: tuple[int, int]


@dataclass(frozen=True)
class Largest:
    """A bound on the sum for all shares, the shares of its largest value found, their number."""

    bound: arb
    lead: tuple[Fraction, ...]
    value: arb
    points: int


class Backgrounds:
    """The sum over the nodes as a function of the shares."""

    def __init__(self, nodes: list[SwapNode], examined: Examined, types: int) -> None:
        self.nodes, self.examined, self.types = nodes, examined, types

    def largest(self, slack: float, progress: Progress) -> Largest:
        """Bound the sum for all shares, aiming at a relative excess of ``slack``."""
        corners = tuple(
            self._point(tuple(Fraction(int(i == j)) for j in range(self.types)))
            for i in range(self.types)
        )
        points, lead = self.types, max(corners, key=lambda point: float(point.value.upper()))
        known: dict[tuple[Fraction, ...], _Point] = {}
        heap: list[tuple[float, int, _Cell]] = []
        numbers = count()

        def push(cell: _Cell) -> None:
            heappush(heap, (-float(cell.bound), next(numbers), cell))

        push(self._cell(corners))
        most = min(max(_MAX_WORK // self._cell_cost, _FEW_POINTS), _MAX_POINTS)
        while len(known) < most and len(heap) < 4 * most:
            cell = heap[0][2]
            if cell.bound <= lead.value.upper() * (1 + slack):
                break
            heappop(heap)
            progress("backgrounds", len(known) / most)
            i, j = cell.edge
            ends = cell.corners[i].shares, cell.corners[j].shares
            shares = tuple((x + y) / 2 for x, y in zip(*ends, strict=True))
            middle = known.get(shares)
            if middle is None:
                middle = known[shares] = self._point(shares)
            lead = max(lead, middle, key=lambda point: float(point.value.upper()))
            for side in (i, j):
                rest = tuple(middle if k == side else x for k, x in enumerate(cell.corners))
                push(self._cell(rest))
        bound = max((cell.bound for _, _, cell in heap), key=lambda b: b.fmpq())
        return Largest(bound, lead.shares, lead.value, points + len(known))

    @property
    def _cell_cost(self) -> int:
        return max(len(self.nodes), 1) * (_NODE + self.types * (self.types - 1) // 2)

    def density(self, shares: tuple[Fraction, ...]) -> arb:
        """Return the density at 0 of the smoothed sum, for shares."""
        point = self._point(shares)
        return total(
            (node.kernel * acb(1, node.t) ** 2 * self.examined.at(exponent)).real
            for node, exponent in zip(self.nodes, point.exponents, strict=True)
        )

    def _point(self, shares: tuple[Fraction, ...]) -> _Point:
        held = [(ball(share), v) for v, share in enumerate(shares) if share]
        exponents = tuple(
            sum((share * node.excess[v] for share, v in held), acb(0)) for node in self.nodes
        )
        value = total(
            (node.kernel * self.examined.at(exponent)).real
            for node, exponent in zip(self.nodes, exponents, strict=True)
        )
        return _Point(shares, exponents, value)

    def _cell(self, corners: tuple[_Point, ...]) -> _Cell:
        """Bound the sum in a simplex; the edge to cut is the one that causes the largest error."""
        value = max((point.value.upper() for point in corners), key=lambda b: b.fmpq())
        edges = list(combinations(range(len(corners)), 2))
        if not edges:
            return _Cell(corners, value, (0, 0))
        with ctx.workprec(_ERROR_BITS):
            error, shares = arb(0), dict.fromkeys(edges, arb(0))
            part = arb(self.examined.others) ** 2 / (8 if len(corners) == 2 else 6)
            variance = ball(_most_variance([point.shares for point in corners]))
            for k, node in enumerate(self.nodes):
                exponents = [point.exponents[k] for point in corners]
                height = self.examined.bound(max(x.real.upper() for x in exponents))
                weight, largest = node.size * height, arb(0)
                for i, j in edges:
                    square = squared(exponents[i] - exponents[j])
                    shares[i, j] += weight * square
                    largest = max(largest, square)
                error += weight * min((largest * part).upper(), arb(2))
                error += node.size * node.spread.at(variance, height)
            bound = (value + error).upper()
        edge = max(edges, key=lambda e: float(shares[e].mid()))
        return _Cell(corners, bound, edge)


def _most_variance(corners: Sequence[tuple[Fraction, ...]]) -> Fraction:
    """Bound the variance of points at most 1 apart for all shares in a simplex.

    It is at most the mean square distance from one of them, which is linear in the shares, and at
    most 1/3 by Jung's theorem.
    """
    others = [max(1 - shares[v] for shares in corners) for v in range(len(corners[0]))]
    return min(Fraction(1, 3), *others)
