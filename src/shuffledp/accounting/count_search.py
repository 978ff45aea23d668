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
from fractions import Fraction
from functools import cached_property, lru_cache

from shuffledp.accounting.adaptive_bound import log_risk
from shuffledp.divergence.count_cells import (
    MAX_TILT,
    CellLaw,
    cell_law,
    cells_bound,
    cells_delta,
)
from shuffledp.divergence.count_grid import Grid, Part
from shuffledp.divergence.two_counts import Bit, Bounds, CountLaw, count_law, counts_delta

#: Beyond, the multiset's bound serves.
MAX_USERS = 10**12

_MUCH = 30  # times the variance of bits at other values: as good as infinite
_LARGEST_VARIANCE = 3e5  # of counts of which every single one is looked at

_TOLERANCE = 0.03  # of delta
_MAX_CUTS = 800
_SHARE = 1e-4  # of delta, what the rare cases may add
_CUTS = (1e-40, 1e-90)
_DISTANCES = (7.0, 14.0)  # standard deviations beyond which cells are halved
_TINY = 1e-80  # deltas below need not be told apart


@dataclass(frozen=True, order=True)
class _Block:
    """Minus the bound on delta of all datasets in a rectangle, and the rectangle."""

    priority: float
    u: tuple[int, int]
    v: tuple[int, int]


@lru_cache(maxsize=4)
def _grid(least: float, largest: float, halvings: int) -> Grid | None:
    return Grid.between(least, largest, halvings)


class CountSearch:
    """Delta of the two counts at one epsilon, over all datasets of n users.

    Args:
        own: the bit at a user's own value.
        other: the bit at any other value; 1 is rarer there.
        n: number of users.
        two_values: whether there are no other values than those of the pair.
        epsilon: at least 0.
        ones: the probabilities of 1 to more digits; without them every count is looked at.
    """

    def __init__(
        self,
        own: Bit,
        other: Bit,
        n: int,
        two_values: bool,
        epsilon: float,
        ones: tuple[Fraction, Fraction] | None = None,
    ) -> None:
        self.own, self.other, self.others = own, other, n - 1
        self.two_values, self.epsilon, self.ones = two_values, epsilon, ones
        self._laws: dict[tuple[int, int, int, float], CountLaw] = {}
        self._cells: dict[tuple[int, int, int, bool], CellLaw] = {}
        self._sure: dict[tuple[int, float], int] = {}

    @cached_property
    def common(self) -> tuple[float, Bit]:
        """The mass of what both bits have in common, rounded down, and its law."""
        mass = self.own.zero + self.other.one
        return mass * (1 - 1e-15), Bit(self.other.one / mass, self.own.zero / mass)

    @cached_property
    def grid(self) -> Grid | None:
        """Cells of counts; None if there are too few users, or too many."""
        if self.ones is None or self.others == 0:
            return None
        mass, common = self.common
        least = 0.9 * min(  # some are not counted on
            mass * common.one * common.zero, self.own.variance, self.other.variance
        )
        # Delta comes from counts so many standard deviations away, and falls as fast there.
        away = math.sqrt(self._pull * self.epsilon / self._apart)
        halvings = sum(away > distance for distance in _DISTANCES)
        return _grid(math.sqrt(least * self.others), math.sqrt(self._largest_variance), halvings)

    def corners(self) -> tuple[Bounds, int]:
        """Return the largest delta if all others hold the same, and what they hold: 0, 1 or 2.

        The user's values are 0 and 1; a third one is 2.
        """
        return self._corners(self._first_cut)

    def all_hold(self, held: int) -> Bounds:
        """Enclose delta if all others hold 0, 1 or a third value 2."""
        found = Bounds(0.0, 1.0)
        for cut in self._cuts or (self._first_cut,):
            found = self._all_hold(held, cut)
            if found.upper <= found.lower * (1 + _TOLERANCE):
                break
        return found

    def _corners(self, cut: float) -> tuple[Bounds, int]:
        """Do as ``corners``; cells of counts serve cuts of 0."""
        found = {
            held: self._all_hold(held, cut) for held in ((0, 1) if self.two_values else (2, 0, 1))
        }
        worst = max(found, key=lambda held: found[held].lower)
        return found[worst], worst

    def _all_hold(self, held: int, cut: float) -> Bounds:
        n = self.others
        x, y = {0: (n, 0), 1: (0, n), 2: (0, 0)}[held]
        return self._at((x, x), (y, y), 0.0, cut)

    def run(self, enough: float = 0.0, most: int = _MAX_CUTS) -> Bounds:
        """Enclose the largest delta; the lower end is that of the worst corner.

        Args:
            enough: stop as soon as delta is known to be at most that, or above. Without it, or with
                more cuts, the upper end is never larger.
            most: how many rectangles are cut at most.
        """
        start, cut = Bounds(0.0, 1.0), 0.0
        for cut in self._cuts:
            start, _ = self._corners(cut)
            if start.upper <= start.lower * (1 + _TOLERANCE):
                return self._search(start.lower, cut, enough, most, _TINY)
        return self._search(start.lower, cut, enough, most, max(start.upper, _TINY))

    @property
    def _first_cut(self) -> float:
        """The coarsest one that serves."""
        return _CUTS[0] if self.grid is None else 0.0

    @cached_property
    def _cuts(self) -> tuple[float, ...]:
        """All that serve, the coarsest first; that of cells is 0."""
        cells = () if self.grid is None else (0.0,)
        return cells + (_CUTS if self._largest_variance < _LARGEST_VARIANCE else ())

    @cached_property
    def _largest_variance(self) -> float:
        """That of the counts of which laws are computed."""
        return max(self._most_own * self.own.variance, self.others * self.other.variance)

    @cached_property
    def _most_own(self) -> int:
        """How many bits of the own law are counted on.

        With so many of them a count tells next to nothing, and to leave out noise only helps the
        analyst. Of two values one has all users: there every bit counts.
        """
        if self.two_values:
            return self.others
        share = min(_MUCH * self.other.variance / self.own.variance, 1.0)
        return math.ceil(share * self.others)

    def _search(self, best: float, cut: float, enough: float, most: int, least: float) -> Bounds:
        """Bound delta of all rectangles, by nothing smaller than ``least``."""
        n, target = self.others, best  # what one corner attains
        root = ((0, n), (0, n))
        heap = [_Block(-1.0, *root)]
        settled = max(best, least)
        for _ in range(most if not 0 < enough < best else 0):
            if not heap or -heap[0].priority <= max(best * (1 + _TOLERANCE), least, enough):
                break
            block = heapq.heappop(heap)
            for u, v in self._halves(block):
                found = self._at(u, v, _SHARE * max(target, least), cut)
                bound = min(found.upper, -block.priority)
                if u[0] == u[1] and v[0] == v[1]:
                    best, settled = max(best, found.lower), max(settled, bound)
                else:
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
        numbers, missed = [], 0.0
        for low, high in (u, v):
            sure = self._surely(high - low, risk)
            missed += risk if sure > 0 else 0.0
            numbers.append((min(low, self._most_own), self.others - high, sure))
        if cut == 0:
            pair = self._cell_law(*numbers[0], True), self._cell_law(*numbers[1], False)
            if u[0] < u[1] or v[0] < v[1]:
                return Bounds(0.0, cells_bound(*pair, self.epsilon) + missed)
            found = cells_delta(*pair, self.epsilon)
        else:
            laws = [self._law(*own, cut) for own in numbers]
            found = counts_delta(laws[0], laws[1], self.own, self.other, self.epsilon)
        is_whole = max(u[0], v[0]) <= self._most_own
        return Bounds(found.lower if is_whole else 0.0, found.upper + missed)

    def _cell_law(self, own: int, other: int, common: int, up: bool) -> CellLaw:
        key = own, other, common, up
        if key not in self._cells:
            if self.grid is None or self.ones is None:
                raise ValueError("there are no cells")
            a, b = self.ones
            parts = [
                Part(own, self.own, a),
                Part(other, self.other, b),
                Part(common, self.common[1], b / (1 - a + b)),
            ]
            variance = sum(part.variance for part in parts)
            tilt = 0.0
            if variance > 0:
                deviation = math.sqrt(variance)
                away = self._pull / min(deviation, math.sqrt(self.others * self.other.variance))
                tilt = min(away, MAX_TILT) / deviation
            self._cells[key] = cell_law(
                parts, self.grid, self.own, self.other, math.expm1(tilt if up else -tilt)
            )
        return self._cells[key]

    @cached_property
    def _pull(self) -> float:
        r"""What the tilts of both counts are in proportion to, over their variances.

        Delta comes from counts of which one is as much too large, and the other one too small, as
        makes the ratio of the likelihoods :math:`e^\varepsilon`. Nothing depends on it but errors.
        """
        rates = [1 / (self.others * bit.one * bit.zero) for bit in (self.own, self.other)]
        largest = rates[0] + rates[1] if self.two_values else max(rates) + rates[1]
        return self.epsilon / (self._apart * largest)

    @cached_property
    def _apart(self) -> float:
        """By how much a 1 is likelier at the own value; doubles next to 1 may not tell."""
        if self.ones is None:
            raise ValueError("there are no cells")
        return float(self.ones[0] - self.ones[1])

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
        if (m, risk) in self._sure:
            return self._sure[m, risk]
        target, mass = math.log(risk) - 1e-9, self.common[0]
        low, high = 0, m + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if log_risk(middle, mass, m) <= target else (low, middle)
        self._sure[m, risk] = low
        return low
