r"""The worst dataset for the sums of unary encodings of many users, in balls; flat in n.

With f the likelihood ratio of one count, :math:`h(x)=E(f-x)_+` and :math:`p(x)=E(x-f)_+`, both
without the user, delta is :math:`E\,h_u(e^\varepsilon f_v)`. Let H be linear between places
:math:`y_0<\dots<y_J` that hold all ratios, and at least :math:`h_u(e^\varepsilon y_j)` there. Since
:math:`h_u` is convex, and :math:`E f_v=1`,

.. math:: \delta\le E\,H(f_v)=H(y_J)-s_J(y_J-1)+\sum_{0<j<J}(s_{j+1}-s_j)\,p_v(y_j)

with the slopes :math:`s_j` of H. Upper bounds on p serve where slopes grow, and 0 elsewhere. So all
pairs of laws are one product of matrices.

The numbers of other users with a value are cut into intervals. As in
:mod:`shuffledp.bounds.sums.worst`, the bits that those between the ends of one have in common with
each other count, but for rare cases; each pair of intervals that contains a dataset has a bound.
Intervals are chosen in doubles so that no pair has clearly less noise than the worst dataset.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from flint import arb, arb_mat

from shuffledp.basics.balls import logarithm
from shuffledp.bounds.sums.common import CommonBits, Side, cut
from shuffledp.bounds.sums.count_cells import Chords, Edge, cell_law, cell_width
from shuffledp.bounds.sums.counts import Bit, Bounds

_LOOSE = 0.002  # of the noise, what an interval may lose, or more, so that there are not too many
_MOST_INTERVALS = 100
_GAIN = 0.95  # what is left of a bound for which it is worth to cut on
_SHALLOWEST = 16.0
_RARE = 10.0  # what is left out is smaller than delta by e to that power
_STEP, _DEEPEST = 4.0, 224.0  # of the depths that laws are computed for
_FARTHEST, _MOST_PLACES = 0.05, 1500  # neighbouring places, in terms of log f, and how many


@dataclass(frozen=True)
class CellLaws:
    """The laws of counts for all numbers of others with a value; they serve all epsilons.

    Attributes:
        own: the bit at a user's own value.
        other: the bit at any other value; 1 is rarer there.
        n: number of users.
        two_values: whether there are no other values than those of the pair.
        depth: how rare counts are looked at.
    """

    own: Bit
    other: Bit
    n: int
    two_values: bool
    depth: float

    @cached_property
    def _common(self) -> CommonBits:
        return CommonBits(self.own, self.other)

    @cached_property
    def _laws(self) -> dict[Side, list[Edge]]:
        return {}

    def law(self, side: Side) -> list[Edge]:
        """Return what others surely add to a count, if between so many have the value."""
        if side not in self._laws:
            low, high = side
            parts = [(low, self.own), (self.n - 1 - high, self.other)]
            parts.append((self._sure(high - low), self._common.bit))
            self._laws[side] = cell_law(parts, self.own, self.other, self.depth)
        return self._laws[side]

    def risk(self, side: Side) -> arb:
        """Bound how often others add less."""
        number = side[1] - side[0]
        return self._common.risk(number, self._sure(number))

    def _sure(self, number: int) -> int:
        return self._common.surely(number, -self.depth)

    def _rate(self, side: Side) -> float:
        """Return 1 over the variance, at least about that of one bit."""
        low, high = side
        noise = low * _variance(self.own) + (self.n - 1 - high) * _variance(self.other)
        noise += self._about_sure(high - low) * _variance(self._common.bit)
        return 1 / max(noise, 1e-12)

    def _about_sure(self, number: int) -> float:
        mass = float(self._common.mass.mid())
        mean = number * mass
        return max(mean - math.sqrt(2 * self.depth * mean * max(1 - mass, 0.0)), 0.0)

    @cached_property
    def intervals(self) -> list[Side]:
        """All numbers of others with a value, cut such that each interval loses little noise."""
        loose = _LOOSE
        while len(found := self._cut(loose)) > _MOST_INTERVALS:
            loose *= 1.25
        return found

    def _cut(self, loose: float) -> list[Side]:
        found: list[Side] = []
        low, others = 0, self.n - 1
        while low <= others and len(found) <= _MOST_INTERVALS:
            first, last = low, others
            while first < last:
                middle = (first + last + 1) // 2
                enough = self._rate((low, middle)) <= (1 + loose) * self._fair((low, middle))
                first, last = (middle, last) if enough else (first, middle - 1)
            found.append((low, first))
            low = first + 1
        return found

    def _fair(self, side: Side) -> float:
        """Return a rate such that no pair of intervals exceeds that of the worst dataset."""
        low, high = side
        others = self.n - 1
        partners = (others - high if self.two_values else 0, others - low)
        partner = max(self._rate((x, x)) for x in partners)
        own = min(self._rate((x, x)) for x in side)
        return (self._worst_rate - partner + own) / 2

    @cached_property
    def _worst_rate(self) -> float:
        none, all_of_them = (self._rate((x, x)) for x in (0, self.n - 1))
        return none + (all_of_them if self.two_values else max(none, all_of_them))

    def places(self, sides: Sequence[Side]) -> list[arb]:
        """Return exact numbers, between and beyond all ratios of these laws."""
        found = [law for side in sides if (law := self.law(side))]
        first, last = self.ends
        move = float((self.own.one - self.other.one).mid())
        places = []
        if found:
            low = min(float(law[0].ratio.log().mid()) for law in found)
            high = max(float(law[-1].ratio.log().mid()) for law in found)
            step = min(cell_width(self.depth) * move * math.sqrt(self._worst_rate / 2), _FARTHEST)
            number = min(math.ceil((high - low) / step), _MOST_PLACES)
            logs = (arb(low + (high - low) * j / max(number, 1)) for j in range(number + 1))
            places = [log.exp().mid() for log in logs]
        return [first, *(x for x in places if first < x < last), last]

    @cached_property
    def ends(self) -> tuple[arb, arb]:
        """Exact numbers below and above all ratios."""
        least, most = self.own.zero / self.other.zero, self.own.one / self.other.one
        return least.lower(), most.upper()

    @cached_property
    def _chords(self) -> dict[Side, tuple[Chords, Chords]]:
        return {}

    def chords(self, side: Side) -> tuple[Chords, Chords]:
        """Return upper bounds on E(x - f)_+ and E(f - x)_+ for all x >= 0."""
        if side not in self._chords:
            first, last = self.ends
            law, zero = self.law(side), arb(0)
            puts = [(edge.ratio, edge.put) for edge in law]
            calls = [(edge.ratio, edge.call) for edge in law]
            self._chords[side] = (
                Chords([(zero, zero), (first, zero), *puts, (last, last - 1)]),
                Chords([(zero, arb(1)), (first, 1 - first), *calls, (last, zero)]),
            )
        return self._chords[side]


def cells_depth(hint: arb) -> float:
    """Return how rare counts are looked at if delta is about so large."""
    wanted = min(_RARE - logarithm(hint), _DEEPEST)
    return max(math.ceil(wanted / _STEP) * _STEP, _SHALLOWEST)


@dataclass(frozen=True)
class CellSearch:
    """Delta of two counts at one epsilon, over all datasets of many users."""

    laws: CellLaws
    growth: arb

    def all_hold(self, held: tuple[bool, bool]) -> Bounds:
        """Enclose delta if all others hold the first value of the pair, the second, or neither."""
        u, v = ((number, number) for number in ((self.laws.n - 1) * hold for hold in held))
        counts = len(self.laws.law(u)) + len(self.laws.law(v))
        return Bounds(self._attained(u, v), self._bounds([u], [v])[0, 0].upper(), counts)

    def run(self, enough: arb) -> arb:
        """Bound the largest delta; intervals are cut further while it may be larger than enough."""
        sides, before = self.laws.intervals, arb(2)
        while True:
            found = self._pairs(sides)
            largest = max(bound for bound, *_ in found)
            if not 0 < enough < largest < before * _GAIN:
                break
            loose = {side for bound, *pair in found if not bound <= enough for side in pair}
            finer = [
                part
                for side in sides
                for part in (cut(side, self.laws.n - 1) if side in loose else [side])
            ]
            if not len(sides) < len(finer) <= _MOST_INTERVALS:
                break
            sides, before = finer, largest
        return max(largest, (-arb(_DEEPEST - _RARE)).exp().upper())  # smaller ones are hardly known

    def _pairs(self, sides: Sequence[Side]) -> list[tuple[arb, Side, Side]]:
        """Bound delta for all pairs of intervals with a dataset."""
        bounds, others = self._bounds(sides, sides), self.laws.n - 1
        risks = [self.laws.risk(side) for side in sides]
        return [
            ((bounds[i, j] + risks[i] + risks[j]).upper(), u, v)
            for i, u in enumerate(sides)
            for j, v in enumerate(sides)
            if u[0] + v[0] <= others and (not self.laws.two_values or u[1] + v[1] >= others)
        ]

    def _bounds(self, first: Sequence[Side], second: Sequence[Side]) -> arb_mat:
        """Bound delta for all pairs of laws."""
        places = self.laws.places([*first, *second])
        wanted = [(self.growth * x).lower() for x in places]
        gaps = [1 / (y - x) for x, y in pairwise(places)]
        bends = []
        for side in first:
            calls = self.laws.chords(side)[1].at(wanted)
            slopes = [(y - x) * gap for x, y, gap in zip(calls, calls[1:], gaps, strict=False)]
            bends.append([calls[-1] - slopes[-1] * (places[-1] - 1)])
            for left, right in pairwise(slopes):
                bend = (right - left).upper()
                bends[-1].append(bend if bend > 0 else arb(0))
        puts = [[arb(1), *self.laws.chords(side)[0].at(places[1:-1])] for side in second]
        return arb_mat(bends) * arb_mat(puts).transpose()

    def _attained(self, u: Side, v: Side) -> arb:
        r"""Bound delta from below: the first count decides, given the cell of the second one.

        Whatever edge decides, it is a test, and no test reveals more than delta.
        """
        deciding, value = self.laws.law(u), arb(0)
        edges, at = self.laws.law(v), 0
        for edge, following in pairwise(edges):
            free = following.free_below - edge.free_below
            held = self.growth * (following.held_below - edge.held_below)
            if not free > 0:
                continue
            wanted = (held / free).mid()
            while at < len(deciding) and deciding[at].ratio.mid() < wanted:
                at += 1
            if at == len(deciding):
                break
            value += deciding[at].held_above * free - deciding[at].free_above * held
        return value.lower() if value > 0 else arb(0)


def _variance(bit: Bit) -> float:
    return float((bit.one * bit.zero).mid())
