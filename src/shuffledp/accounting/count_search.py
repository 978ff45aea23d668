r"""The worst dataset for the sums of unary encodings, by branch and bound.

What the sums reveal depends on how many of the other N users hold the two values of the pair,
:math:`m_u` and :math:`m_v`. For a rectangle of these, l users surely hold u and N - h surely do
not; the bits of the h - l others are drawn from a common law with probability g = 1 - a + b,
whatever they hold. Tell the analyst whose bits these are and all their other bits: at least k of
them are left but with a small probability, and noise that is left out only helps the analyst,

.. math:: \delta\le\delta\big(\mathrm{Bin}(l,a)+\mathrm{Bin}(N-h,b)+\mathrm{Bin}(k,b/g)\big)
          +P(\mathrm{Bin}(h-l,g)<k),

and so for both counts. Rectangles are cut until the largest bound is close to what a single dataset
attains, so both ends are certified over all datasets.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from functools import cached_property

from shuffledp.accounting.adaptive_bound import log_risk
from shuffledp.divergence.two_counts import Bit, Bounds, CountLaw, count_law, counts_delta

#: Beyond, arrays of counts are too long; the multiset's bound serves.
MAX_USERS = 10**5

_TOLERANCE = 0.03  # of delta
_MAX_EVALUATIONS = 600
_SHARE = 1e-4  # of delta, what the rare cases may add
_CUTS = (1e-40, 1e-90)
_ENOUGH = 1e8  # how far delta must be above the cut


@dataclass(frozen=True, order=True)
class _Block:
    """Minus the bound on delta of all datasets in a rectangle, and the rectangle."""

    priority: float
    u: tuple[int, int]
    v: tuple[int, int]


class CountSearch:
    """Delta of the two counts at one epsilon, over all datasets of n users.

    Args:
        own: the bit at a user's own value.
        other: the bit at any other value; 1 is rarer there.
        n: number of users.
        two_values: whether there are no other values than those of the pair.
        epsilon: at least 0.
    """

    def __init__(self, own: Bit, other: Bit, n: int, two_values: bool, epsilon: float) -> None:
        self.own, self.other, self.others = own, other, n - 1
        self.two_values, self.epsilon = two_values, epsilon
        self._laws: dict[tuple[int, int, int, float], CountLaw] = {}

    @cached_property
    def common(self) -> tuple[float, Bit]:
        """The mass of what both bits have in common, rounded down, and its law."""
        mass = self.own.zero + self.other.one
        return mass * (1 - 1e-15), Bit(self.other.one / mass, self.own.zero / mass)

    def corners(self, cut: float) -> tuple[Bounds, int]:
        """Return the larger delta of two datasets, and what all others hold there: 0, 1 or 2.

        The user's values are 0 and 1; a third one is 2.
        """
        n = self.others
        datasets = {0: (n, 0), 1: (0, n)} if self.two_values else {2: (0, 0), 0: (n, 0)}
        found = {held: self._at((x, x), (y, y), 0.0, cut) for held, (x, y) in datasets.items()}
        worst = max(found, key=lambda held: found[held].lower)
        return found[worst], worst

    def run(self) -> Bounds:
        """Enclose the largest delta; the lower end is that of the worst corner."""
        for cut in _CUTS:
            start, _ = self.corners(cut)
            if start.upper > _ENOUGH * cut:
                return self._search(start.lower, cut)
        return Bounds(0.0, 1.0)

    def _search(self, best: float, cut: float) -> Bounds:
        n, target = self.others, best  # what one corner attains
        root = ((0, n), (0, n))
        heap = [_Block(-1.0, *root)]
        settled = best
        for _ in range(_MAX_EVALUATIONS):
            if not heap:
                break
            block = heapq.heappop(heap)
            if -block.priority <= best * (1 + _TOLERANCE):
                heapq.heappush(heap, block)
                break
            for u, v in self._halves(block):
                found = self._at(u, v, _SHARE * target, cut)
                if u[0] == u[1] and v[0] == v[1]:
                    best, settled = max(best, found.lower), max(settled, found.upper)
                else:
                    bound = min(found.upper, -block.priority)
                    heapq.heappush(heap, _Block(-bound, u, v))
        top = max((-block.priority for block in heap), default=0.0)
        return Bounds(target, min(max(top, settled, best), 1.0))

    def _halves(self, block: _Block) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """Cut the longer side, nearer to an end of all numbers; leave out what cannot be."""
        u, v, n = block.u, block.v, self.others
        if self.two_values:
            return [(part, (n - part[1], n - part[0])) for part in self._cut(u)]
        if u[1] - u[0] >= v[1] - v[0]:
            parts = [(part, v) for part in self._cut(u)]
        else:
            parts = [(u, part) for part in self._cut(v)]
        # Both numbers together are at most n.
        feasible = [(x, y) for x, y in parts if x[0] + y[0] <= n]
        return [((x[0], min(x[1], n - y[0])), (y[0], min(y[1], n - x[0]))) for x, y in feasible]

    def _cut(self, side: tuple[int, int]) -> list[tuple[int, int]]:
        low, high = side
        if low == high:
            return [side]
        part = (high - low) // 2
        if low == 0:
            part = (high - low) // 4
        elif high == self.others:
            part = 3 * (high - low) // 4
        return [(low, low + part), (low + part + 1, high)]

    def _at(self, u: tuple[int, int], v: tuple[int, int], risk: float, cut: float) -> Bounds:
        """Bound delta over a rectangle from above; from below, too, if it is one dataset."""
        laws, missed = [], 0.0
        for low, high in (u, v):
            sure = self._surely(high - low, risk)
            missed += risk if sure > 0 else 0.0
            laws.append(self._law(low, self.others - high, sure, cut))
        found = counts_delta(laws[0], laws[1], self.own, self.other, self.epsilon)
        return Bounds(found.lower, found.upper + missed)

    def _law(self, own: int, other: int, common: int, cut: float) -> CountLaw:
        key = (own, other, common, cut)
        if key not in self._laws:
            parts = [(own, self.own), (other, self.other), (common, self.common[1])]
            self._laws[key] = count_law(parts, cut)
        return self._laws[key]

    def _surely(self, m: int, risk: float) -> int:
        """Return the largest k found with P(Bin(m, g) < k) at most ``risk``."""
        if m == 0 or risk <= 0:
            return 0
        target, mass = math.log(risk) - 1e-9, self.common[0]
        low, high = 0, m + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if log_risk(middle, mass, m) <= target else (low, middle)
        return low
