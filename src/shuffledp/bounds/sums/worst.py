r"""The worst dataset for the sums of unary encodings, by branch and bound in balls.

What the sums reveal depends on how many of the other N users hold the two values of the pair. For
a rectangle of these numbers, :math:`l\le m_u\le h`, l users surely hold u and N - h surely do
not; the bits of the h - l others are drawn from a common law with probability g = 1 - a + b,
whatever they hold. Tell the analyst whose bits these are, and all their other bits:

.. math:: \delta\le\delta\big(\mathrm{Bin}(l,a)+\mathrm{Bin}(N-h,b)+\mathrm{Bin}(k,b/g)\big)
          +P(\mathrm{Bin}(h-l,g)<k),

since more noise only helps users, and so for both counts. The last term is at most
:math:`e^{-(h-l)KL((k-1)/(h-l)\,\|\,g)}`. Which rectangles are cut, and which k is taken, is chosen
in doubles and by the bounds found; all choices are valid.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from flint import arb

from shuffledp.basics.balls import logarithm, short
from shuffledp.bounds.sums.common import CommonBits, Side, cut
from shuffledp.bounds.sums.counts import Bit, Bounds, CountLaw, count_law, counts_delta
from shuffledp.engine.progress import Progress

_SHARE = 1e-4  # of delta, what rare cases may add
_CUT = 1e-8  # of delta, what rare counts may add
_DEEPEST = 1000.0  # an even smaller delta is bounded by the probability of what is left out
_MAX_RECTANGLES = 4000  # a minute or so, as well
_MAX_WORK = 50_000_000  # counts looked at, a minute or so
_MAX_LAWS = 100  # that are kept for later


@dataclass(frozen=True)
class _Block:
    """A rectangle, and a bound on delta of all datasets in it."""

    bound: arb
    u: Side
    v: Side

    def __lt__(self, other: _Block) -> bool:
        """Whether it comes first: those of large bounds do."""
        return bool(self.bound > other.bound)


@dataclass(frozen=True)
class Found:
    """Delta over all datasets from below and above, and how many rectangles it took."""

    lower: arb
    upper: arb
    rectangles: int


@dataclass(frozen=True)
class CountSearch:
    """Delta of two counts at one epsilon, over all datasets of n users.

    Attributes:
        own: the bit at a user's own value.
        other: the bit at any other value; 1 is rarer there.
        n: number of users.
        two_values: whether there are no other values than those of the pair.
        growth: e^epsilon.
        hint: about how large delta is; exact.
    """

    own: Bit
    other: Bit
    n: int
    two_values: bool
    growth: arb
    hint: arb

    def all_hold(self, held: tuple[bool, bool]) -> Bounds:
        """Enclose delta if all others hold the first value of the pair, the second, or neither."""
        u, v = ((self.n - 1) * hold for hold in held)
        return self._at((u, u), (v, v))

    def run(self, enough: arb, progress: Progress) -> Found:
        """Enclose the largest delta; stop when it is known to be at most ``enough``, or above."""
        others = self.n - 1
        corners = [(True, False), (False, True), *([] if self.two_values else [(False, False)])]
        best = max(self.all_hold(held).lower for held in corners)
        settled, count, spent = arb(0), 0, 0.0
        heap = [_Block(arb(1), (0, others), (0, others))]
        while heap and spent < 1 and not heap[0].bound <= enough and not best > enough:
            progress("rectangles", spent)
            block = heapq.heappop(heap)
            for u, v in self._parts(block):
                found, count = self._at(u, v), count + 1
                spent += 1 / _MAX_RECTANGLES + found.counts / _MAX_WORK
                bound = min(found.upper, block.bound)
                if u[0] == u[1] and v[0] == v[1]:
                    best, settled = max(best, found.lower), max(settled, bound)
                else:
                    heapq.heappush(heap, _Block(bound, u, v))
        top = heap[0].bound if heap else arb(0)
        return Found(best, max(top, settled), count)

    def _parts(self, block: _Block) -> Iterator[tuple[Side, Side]]:
        """Cut the longer side, nearer to an end of all numbers; leave out what cannot be."""
        u, v, others = block.u, block.v, self.n - 1
        if self.two_values:
            yield from ((part, (others - part[1], others - part[0])) for part in cut(u, others))
            return
        longer = u[1] - u[0] >= v[1] - v[0]
        for part in cut(u if longer else v, others):
            x, y = (part, v) if longer else (u, part)
            if x[0] + y[0] <= others:  # both numbers together are at most that
                yield (x[0], min(x[1], others - y[0])), (y[0], min(y[1], others - x[0]))

    def _at(self, u: Side, v: Side) -> Bounds:
        """Bound delta over a rectangle; from below, too, if it is one dataset."""
        (first, missed), (second, missed_too) = (self._side(side) for side in (u, v))
        found = counts_delta(first, second, self.own, self.other, self.growth)
        return replace(found, upper=(found.upper + missed + missed_too).upper())

    def _side(self, side: Side) -> tuple[CountLaw, arb]:
        """Return what others surely add to a count, and a bound on how often that is not so."""
        low, high = side
        sure = self._common.surely(high - low, self._log_delta + math.log(_SHARE))
        law = self._law(low, self.n - 1 - high, sure)
        return law, self._common.risk(high - low, sure)

    @cached_property
    def _common(self) -> CommonBits:
        return CommonBits(self.own, self.other)

    @cached_property
    def _log_delta(self) -> float:
        """About that of delta, such that claims that hardly differ have the same bounds."""
        return float(math.floor(max(logarithm(self.hint), -_DEEPEST)))

    @cached_property
    def _depth(self) -> float:
        """How rare counts are left out: e^epsilon times their probability is taken off delta."""
        return short(logarithm(self.growth)) - self._log_delta - math.log(_CUT)

    @cached_property
    def _laws(self) -> dict[tuple[int, int, int], CountLaw]:
        return {}

    def _law(self, own: int, other: int, common: int) -> CountLaw:
        key = own, other, common
        if key not in self._laws:
            if len(self._laws) >= _MAX_LAWS:
                self._laws.clear()
            parts = [(own, self.own), (other, self.other), (common, self._common.bit)]
            self._laws[key] = count_law(parts, self._depth)
        return self._laws[key]
