r"""Laws of counts of many users, cell by cell, in balls: the cost does not grow with n.

W is a sum of independent bits with mean :math:`\mu` and variance :math:`\sigma^2`. With its
characteristic function :math:`\varphi` and nodes :math:`\tau_k=2\pi k/L`,

.. math:: \sum_{c=e}^{e+s-1}P(W=c)=\frac1L\sum_k\varphi(\tau_k)e^{-i\tau_ke}\,
   \frac{1-e^{-i\tau_ks}}{1-e^{-i\tau_k}}

up to counts that are a multiple of L apart. Those are far from the mean:
:math:`P(|W-\mu|\ge x)\le2e^{-x^2/(2\sigma^2+2x/3)}` (Bernstein). Since
:math:`|\varphi(\tau)|\le e^{-2\sigma^2\sin^2(\tau/2)}`, few nodes matter. Both errors are added.

With one more bit, :math:`C=W+\mathrm{Bern}(b)`, the likelihood ratio f(C) of another law of that
bit grows with C, since the law of W is log-concave. What the count reveals is told by the convex
functions :math:`E(x-f)_+` and :math:`E(f-x)_+`. They are known where x is the ratio f(e) at the
edge e of a cell, with :math:`w=P(W=e-1)`:

.. math:: E(x-f)_+=(x-1)P(W<e)+(a-xb)w,\qquad E(f-x)_+=(1-x)P(W\ge e)+(a-xb)w .

Between such places chords are above, and at the smallest and largest ratio both are known, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from flint import acb, arb, arb_mat, ctx

from shuffledp.basics.balls import precision, short
from shuffledp.bounds.sums.counts import Bit
from shuffledp.engine.enclosure import PrecisionError

_WIDTH = 0.006  # of a cell, in standard deviations, over the root of the depth
_MARGIN = 55.0  # errors are smaller than what is looked at by e to that power
_EXTRA_BITS = 100  # of which sums and powers of n lose some
_ACCURATE = 40  # bits of a ratio that counts


def cell_width(depth: float) -> float:
    """Return how wide cells are, in standard deviations.

    Rarer counts have wider cells: log delta, about minus the square of what is looked at, is as
    close as before.
    """
    return _WIDTH * math.sqrt(depth)


class Edge(NamedTuple):
    """What is known where a cell begins.

    Attributes:
        ratio: f(e).
        put: E(f(e) - f)_+
        call: E(f - f(e))_+
        free_below: P(C < e)
        held_below: the same with the bit of the own value.
        free_above: P(C >= e)
        held_above: the same with the bit of the own value.
    """

    ratio: arb
    put: arb
    call: arb
    free_below: arb
    held_below: arb
    free_above: arb
    held_above: arb


def cell_law(parts: Sequence[tuple[int, Bit]], own: Bit, other: Bit, depth: float) -> list[Edge]:
    """Return the edges of all cells but those rarer than about e^(-depth).

    Args:
        parts: the bits of the other users, so many of each law.
        own: the law of the one more bit at the user's own value.
        other: its law at another value.
        depth: how rare counts are looked at.
    """
    need = depth + _MARGIN
    with precision(math.ceil(need / math.log(2)) + _EXTRA_BITS):
        window = _Window(parts, depth, need)
        accurate = []
        for (at, before), below, above in window.edges():
            free = other.one * before + other.zero * at
            if not free > 0:
                continue
            ratio = (own.one * before + own.zero * at) / free
            if ratio.rel_accuracy_bits() < _ACCURATE:
                continue
            kink = (own.one - ratio * other.one) * before
            free_step, held_step = other.one * before, own.one * before
            accurate.append(
                Edge(
                    ratio,
                    (ratio - 1) * below + kink,
                    (1 - ratio) * above + kink,
                    below - free_step,
                    below - held_step,
                    above + free_step,
                    above + held_step,
                )
            )
    return accurate


class _Window:
    """The counts around the mean, their cells, and the nodes.

    Probabilities of bits are balls: of their middles sums are computed, and the probability of each
    count is that times a factor between the powers of how much bits differ from there.
    """

    def __init__(self, parts: Sequence[tuple[int, Bit]], depth: float, need: float) -> None:
        self._parts, self._factor = [], arb(1)
        for number, bit in parts:
            one, zero = bit.one.mid(), bit.zero.mid()
            exact = Bit(one, 1 - one) if one < zero else Bit(1 - zero, zero)
            change = (bit.one / exact.one).union(bit.zero / exact.zero)
            self._parts.append((number, exact))
            self._factor *= change**number
        mean = sum((number * bit.one for number, bit in self._parts), arb(0))
        variance = sum((number * bit.one * bit.zero for number, bit in self._parts), arb(0))
        spread = short(float(variance.mid()))
        reach = need / 3 + math.sqrt(need * need / 9 + 2 * spread * need) + 3
        half = math.ceil(math.sqrt(2 * need) / cell_width(depth))
        #: Counts in a cell, cells on either side of the centre, and those that are looked at.
        self.size = math.ceil(reach / half)
        self.half = half if self.size > 1 else math.ceil(reach)
        seen = depth / 3 + math.sqrt(depth * depth / 9 + 2 * spread * depth) + 3
        self.inner = min(_rounded(seen / self.size), self.half)
        self.centre = math.floor(float(mean.mid()))
        self.period = (2 * self.half + 4) * self.size
        self._sum_nodes(variance, spread, need)

    def _sum_nodes(self, variance: arb, spread: float, need: float) -> None:
        """Compute the characteristic function at the nodes, and bound errors."""
        period = self.period
        wanted = need + math.log(period)
        last = period // 2
        if 2 * spread > wanted:
            sine = math.sqrt(wanted / (2 * spread))
            last = min(last, _rounded(math.asin(sine) * period / math.pi + 1))
        waves = [acb(arb(2 * k) / period).exp_pi_i() for k in range(last + 1)]
        self._waves = waves
        self._values = []
        for k, wave in enumerate(waves):
            value = self._turn(k * self.centre)
            for number, bit in self._parts:
                value *= (bit.zero + bit.one * wave) ** number
            double = 1 if k == 0 or 2 * k == period else 2
            self._values.append(value * double / period)
        # Aliases are farther from the mean than that.
        distance = arb(self.half * self.size - 2)
        far = 2 * (-distance * distance / (2 * variance + 2 * distance / 3)).exp()
        missing = arb(0)
        if 2 * last < period:
            missing = (-2 * variance * (arb.pi() * last / period).sin() ** 2).exp()
        self._far = arb(0).union(far.upper())
        error = (far + missing * period).upper()
        self._error = (-error).union(error)

    def edges(self) -> list[tuple[tuple[arb, arb], arb, arb]]:
        """Return P(W = e), P(W = e-1), P(W < e) and P(W >= e) for all edges looked at."""
        rows = [
            (value, value * wave, value * cell)
            for value, wave, cell in zip(
                self._values, self._waves, self._kernel(self.size), strict=True
            )
        ]
        cosines, sines = _turns(self.inner, len(rows), 2 * self.half + 4, ctx.prec)
        even = (cosines * arb_mat([[x.real for x in row] for row in rows])).tolist()
        odd = (sines * arb_mat([[x.imag for x in row] for row in rows])).tolist()
        found = [
            [x - y for x, y in zip(*pair, strict=True)]
            for pair in zip(even[:0:-1], odd[:0:-1], strict=True)
        ]
        found += [
            [x + y for x, y in zip(*pair, strict=True)] for pair in zip(even, odd, strict=True)
        ]
        at, before, masses = (
            [self._factor * (row[column] + self._error) for row in found] for column in range(3)
        )
        outside = self.half - self.inner
        below = [self._factor * self._far + self._mass(-self.half, outside)]
        for mass in masses[:-1]:
            below.append(below[-1] + mass)
        above = [self._factor * self._far + self._mass(self.inner, outside)]
        for mass in masses[-2::-1]:
            above.append(above[-1] + mass)
        return list(zip(zip(at, before, strict=True), below, above[::-1], strict=True))

    def _kernel(self, counts: int) -> list[acb]:
        """Return what many counts from one on have together, in terms of the first."""
        kernel = [acb(counts)]
        for k, wave in enumerate(self._waves[1:], 1):
            kernel.append((1 - self._turn(k * counts)) / (1 - 1 / wave))
        return kernel

    def _turn(self, steps: int) -> acb:
        return acb(arb(-2 * (steps % self.period)) / self.period).exp_pi_i()

    def _mass(self, first: int, cells: int) -> arb:
        """Return the probability of many cells together."""
        if cells == 0:
            return arb(0)
        start, found = first * self.size, arb(0)
        kernel = self._kernel(cells * self.size)
        for k, (value, cell) in enumerate(zip(self._values, kernel, strict=True)):
            found += (value * cell * self._turn(k * start)).real
        return self._factor * (found + self._error)


def _rounded(number: float) -> int:
    """Return a larger number of which there are few, so that matrices serve many laws."""
    return 16 * math.ceil(number / 16)


@lru_cache(maxsize=8)
def _turns(inner: int, nodes: int, period: int, bits: int) -> tuple[arb_mat, arb_mat]:
    """Return the cosines and sines that turn each node's value to each edge from the centre on."""
    with precision(bits):
        roots = [(arb(2 * j) / period).sin_cos_pi() for j in range(period)]
    rows = [[roots[edge * k % period] for k in range(nodes)] for edge in range(inner + 1)]
    sines, cosines = (arb_mat([[root[i] for root in row] for row in rows]) for i in range(2))
    return cosines, sines


class Chords:
    """Upper bounds on a convex function, given some of its values.

    The first point is at the left of all places; at the right of the last one its value serves.
    """

    def __init__(self, points: Sequence[tuple[arb, arb]]) -> None:
        self._points = points
        self._slopes = [(y - v) / (x - u) if x > u else None for (u, v), (x, y) in pairwise(points)]

    def at(self, places: Sequence[arb]) -> list[arb]:
        """Return upper bounds at growing places."""
        points, last, low, found = self._points, len(self._points) - 1, 0, []
        for x in places:
            while low < last and points[low + 1][0] <= x:
                low += 1
            left, value = points[low]
            if low < last:
                slope = self._slopes[low]
                if slope is None or not points[low + 1][0] >= x:
                    slope = self._slope(low, x)
                value += slope * (x - left)
            found.append(value.upper())
        return found

    def _slope(self, low: int, x: arb) -> arb:
        """Return that of a chord to a point that is surely at the right."""
        left, value = self._points[low]
        for right, other in self._points[low + 1 :]:
            if right >= x and right > left:
                return (other - value) / (right - left)
        raise PrecisionError("no value is known at the right of a place")
