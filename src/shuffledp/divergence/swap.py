r"""The swap bound: an upper bound over all backgrounds, beyond what a decomposition can prove.

Let c be at most R(v) for every input v, :math:`\gamma=|c|`, g = R(x1) - e^epsilon R(x1'), and let
the M = n - 1 other users hold v_1, ..., v_M. Reveal everything but where the user in question sits,
who may have swapped seats with a user whose report is a blanket report:

.. math:: n\delta\le\sum_{k=0}^M\gamma(1-\gamma)^k\,\mathrm{avg}_{|K|=k}
          E\Big[\Big(\frac gc(y_0)+\sum_{J\notin K}\frac g{R(v_J)}(z_J)\Big)_+\Big],
          \qquad y_0\sim c/\gamma,\ z_J\sim R(v_J).

The expectation is a contour sum (:mod:`shuffledp.divergence.contour`), of which only the upper side
is needed: smoothing and aliases add to it, truncation and skipped nodes are bounded. With
:math:`L_v(z)` a logarithm of the transform of slot v, :math:`\mu` the shares of the types and
:math:`\ell=\sum_v\mu_vL_v`, its integrand is, up to two errors,

.. math:: M_0(z)\,H(\ell),\qquad H(\ell)=\sum_{k\le k_{max}}\gamma(1-\gamma)^ke^{(M-k)\ell},

a geometric sum.

1. Who is examined: an average over K is replaced by its central term, which is the subject of
   :mod:`shuffledp.divergence.examined`.
2. All shares: on a simplex with corners :math:`\mu_i` and :math:`d=M\max|\ell_i-\ell_j|` the same
   formula bounds the difference to linear interpolation by :math:`\min(d^2/6,2)` times the largest
   modulus (an eighth for two corners), and at weights :math:`\alpha` by half of
   :math:`\sum_{i<j}\alpha_i\alpha_jd_{ij}^2`, the variance of :math:`M\ell_i`. What that leaves is
   bounded in :mod:`shuffledp.divergence.interpolation`; simplices still open are cut in two.

What is left out beyond k_max has the probability that so many users in a row are examined in vain,
:math:`(1-\gamma)^{k_{max}+1}`. The cost does not depend on n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.characteristic import evaluate_all
from shuffledp.divergence.enclosure import BEYOND_DOUBLES
from shuffledp.divergence.examined import Spread, most_variance
from shuffledp.divergence.interpolation import largest_sums
from shuffledp.divergence.lead import (
    ceiling_of_mixtures,
    leading_type,
    loss_of_leading,
    ranked_types,
)
from shuffledp.divergence.proposals.swap import SwapProposal
from shuffledp.divergence.shares import Points, halve
from shuffledp.divergence.skipped import SkippedStretches
from shuffledp.divergence.slots import Slots
from shuffledp.divergence.stretches import cover, listed, split
from shuffledp.divergence.swap_integrand import ROUND_UP, SlotValues, SwapIntegrand, SwapScale
from shuffledp.divergence.tilt import TiltedLaw, tilt
from shuffledp.threads import one_thread

_MAX_WORK = 3e6  # cells times edges times nodes, in one round of cuts
_MUCH_WORK = 5e6  # the same, of all rounds: too much to do it again with less smoothing
_LITTLE_WORK = 4e4  # the same, of errors that cuts make small only next to the corners
_SHARE_OF_SPREAD = 0.4  # of such errors, what is left to be tried
_OUT_OF_REACH = 1e3  # times the largest corner: a bound that cuts do not make useful
_STUCK, _NEARLY = 8, 1.25  # the share of the most work, and of the goal, at which cuts are in vain
_AT_ONCE = 2e4  # points or edges times nodes: what a cache holds
_FAR_MORE = 20  # times what smoothing adds: mixtures add so much that less smoothing does not help
_FEW = 3  # types whose mixtures are all looked at
_MAX_CORNERS = 5  # types whose mixtures are subdivided
_MAX_NODES, _ROUNDS = 4000, 6
_SHORT = 10  # stretches of fewer nodes are evaluated
_PARTS = 4  # into which the others are split
_SHARE_OF_STRETCH = 1 / 300
_LARGEST = 1e100  # values beyond it are left to the blanket

T = TypeVar("T", np.float64, np.int64)


@one_thread
def swap_log_delta(slots: Slots, n: int, tolerance: float, ceiling: float = math.inf) -> float:
    """Return an upper bound on log delta over all datasets of n > 1 users.

    Infinite where nothing better than the blanket can be expected.

    Args:
        slots: the laws.
        n: number of users.
        tolerance: how much smoothing and subdivision may add to log delta, about.
        ceiling: a bound above this is of no use, and not made as small as it could be; any other
            does not depend on the ceiling.
    """
    laws = (slots.first, *slots.types)
    if n < 2 or max(float(np.abs(law.values).max()) for law in laws) > _LARGEST:
        return math.inf
    try:
        return _bound(slots, laws, n, tolerance, ceiling)
    except BEYOND_DOUBLES:  # no bound is a valid answer
        return math.inf


def _bound(slots: Slots, laws: tuple[Law, ...], n: int, tolerance: float, ceiling: float) -> float:
    """Try ever less smoothing until that costs little."""
    proposal = SwapProposal(slots.first, slots.types, slots.blanket_mass, n, tolerance)
    if not proposal.is_promising:
        return math.inf
    first, *types = (tilt(law.scaled(proposal.theta), 1.0) for law in laws)
    best = math.inf
    for _ in range(_ROUNDS):
        spectrum = _Spectrum(first, types, slots.blanket_mass, n, proposal)
        if not spectrum.is_usable:
            break
        found = spectrum.bound(ceiling)
        best = min(best, found.log_delta)
        if spectrum.is_hopeless:
            return max(best, math.nextafter(ceiling, math.inf))
        if best <= ceiling:
            ceiling = math.inf
        in_vain = spectrum.work > _MUCH_WORK or found.excess > _FAR_MORE * found.bias
        if in_vain or not proposal.improve(found.bias):
            break
    return best


@dataclass(frozen=True)
class _Found:
    """An upper bound, and what smoothing and mixtures of types added to it, relatively, about."""

    log_delta: float
    bias: float
    excess: float


class _Spectrum:
    """The transforms of all slots at the nodes, in units of M_0 M_v^M at theta = 1, v the largest.

    ``top`` is the largest K_v, ``excess`` of a type is L_v - top. A bound ``is_hopeless``, and not
    made smaller, if some background alone, or with the error of who is examined, is above the
    ceiling.
    """

    def __init__(
        self,
        first: TiltedLaw,
        types: list[TiltedLaw],
        gamma: float,
        n: int,
        proposal: SwapProposal,
    ) -> None:
        self.first, self.types, self.others = first, types, n - 1
        self.gamma, self.tau, self.step = gamma, proposal.tau, proposal.step
        self.terms = min(proposal.last_examined, n - 1) + 1
        self.log_rest = math.log1p(-gamma) if gamma < 1 else -math.inf
        self.proposal, self.n = proposal, n
        self.top = max(law.log_mgf for law in types)
        self.integrand = SwapIntegrand(
            self.others, gamma, self.log_rest, self.top, self.terms, self.tau, self.step
        )
        self.scale = SwapScale(
            proposal.theta,
            first.log_mgf,
            first.log_mgf_error + self.others * max(law.log_mgf_error for law in types),
            first.value_shift + self.others * max(law.value_shift for law in types),
        )
        self.left_out, self.is_hopeless, self.ceiling = 0.0, False, math.inf
        self.work = 0.0  # of all covers
        self.numbers = self._select(proposal.count, proposal.allowance)
        if self.is_usable:
            self._evaluate()

    @property
    def is_usable(self) -> bool:
        """Whether there are few enough nodes."""
        return 0 < self.numbers.size <= _MAX_NODES

    def _select(self, count: int, allowance: float) -> IntArray:
        """Return the nodes that cannot be skipped; none if they or their sum are too large."""
        main = min(count, max(self.proposal.main_nodes, 0))
        whole = self.integrand.height(np.zeros(1))
        if count < 1 or main > _MAX_NODES or not whole[0] < math.inf:
            return np.zeros(0, dtype=np.int64)
        starts, sizes = cover(self.proposal.stretch_starts(main + 1), main + 1, count)
        kept, total = [np.arange(main + 1)], main
        limit = allowance * _SHARE_OF_STRETCH
        stretches = SkippedStretches(self.integrand, self.types, self.others, self.step)
        while starts.size and total <= _MAX_NODES:
            bound = stretches.bounds(starts, sizes, limit)
            dropped = bound <= limit
            self.left_out += float(bound[dropped].sum()) * ROUND_UP
            starts, sizes = starts[~dropped], sizes[~dropped]
            short = sizes < _SHORT
            total += int(sizes[short].sum())
            kept.append(listed(starts[short], sizes[short]))
            starts, sizes = split(starts[~short], sizes[~short], _PARTS)
        self.left_out += float(self.integrand.cut(count, whole)[0])
        return np.concatenate(kept) if total <= _MAX_NODES else np.zeros(0, dtype=np.int64)

    def _evaluate(self) -> None:
        """Evaluate all transforms at the nodes; bound those that rounding makes useless."""
        laws = [self.first, *self.types]
        found = evaluate_all(laws, self.step, self.numbers, self.others)
        first, *types = (
            SlotValues(phi, law.mean, law.log_mgf) for law, phi in zip(laws, found, strict=True)
        )
        self.nodes, _, left_out = self.integrand.evaluate(self.numbers, first, types)
        self.left_out += float(left_out.sum()) * ROUND_UP

    def bound(self, ceiling: float) -> _Found:
        """Bound the sum over the nodes for all shares of the types."""
        self.ceiling = ceiling
        lead = leading_type(self.nodes)
        points = self._at(np.eye(len(self.types))[[lead]])
        settled = float(points.upper[0])
        log_ratio = self.log_rest - self.top
        lost = loss_of_leading(self.nodes, self.others, self.terms, log_ratio, self.gamma)
        worst = settled + lost
        if worst > settled * (1 + self.proposal.share_of_cells):
            order, contending = ranked_types(self.nodes, self.others)
            few = len(self.types) <= _FEW
            points = self._corners(order, len(order) if few else min(contending, _MAX_CORNERS))
            self.is_hopeless = self._exceeds(min(worst, float(points.upper.max())))
            worst = min(worst, self._worst_mixture(points, order, worst))
        moved = float(self.integrand.moved(self.scale))
        log_delta = self._log_delta(worst + self.left_out + moved)
        lead = int(np.argmax(points.upper))
        largest = float(points.upper[lead])
        bias = self.tau**2 * float(points.density[lead]) / largest
        return _Found(log_delta, bias, worst / largest - 1)

    def _log_delta(self, total: float) -> float:
        """Return the bound on log delta for a bound on the sum."""
        return float(self.integrand.log_delta(total, self.scale))

    def _exceeds(self, total: float) -> bool:
        """Whether a bound on the sum is of no use."""
        return total > 0 and self._log_delta(total) > self.ceiling

    def _at(self, shares: FloatArray) -> Points:
        """Evaluate the sum at several shares; ``upper`` has its rounding error added."""
        return Points.joined([self._at_few(some) for some in self._split(shares)])

    def _at_few(self, shares: FloatArray) -> Points:
        exponent = shares @ self.nodes.exponent
        height = self.integrand.height(shares @ self.nodes.largest)
        values, rounding = self.integrand.at(self.nodes, exponent, height)
        total = values.sum(axis=1).real
        rounding_total = rounding.sum(axis=1) * ROUND_UP
        rounding_total += 64 * UNIT * np.abs(values).sum(axis=1)
        density = (values @ (1 + 1j * self.nodes.t) ** 2).real
        return Points(shares, exponent, height, total + rounding_total, density)

    def _cover(
        self, points: Points, spread: Spread | None = None, slack: float = 0, enough: float = 0
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
        goal = max(settled * (1 + self.proposal.share_of_cells) + slack, enough)
        edges = list(combinations(range(corners), 2))
        limit = _MAX_WORK if spread is None else _LITTLE_WORK
        while cells.size:
            work = len(cells) * len(edges) * self.nodes.t.size
            if work > limit:
                return max(settled, before)
            self.work += work
            found = [self._bounds(points, some, edges, spread) for some in self._split(cells)]
            bounds, longest = (np.concatenate(parts) for parts in zip(*found, strict=True))
            open_ = ~(bounds <= goal)
            settled = max(settled, float(bounds[~open_].max(initial=0.0)))
            before = float(bounds.max())  # holds for the parts of all cells, too
            stuck = _STUCK * work > limit and float(bounds.min()) > _NEARLY * goal
            if self.is_hopeless or stuck or before > _OUT_OF_REACH * settled:
                return max(settled, before)
            cells = cells[open_]
            if cells.size:
                cells, points = self._halve(cells, points, np.array(edges)[longest[open_]])
                largest = float(points.upper.max())
                self.is_hopeless |= self._exceeds(largest)
                goal = max(goal, largest * (1 + self.proposal.share_of_cells) + slack)
        return settled

    def _split(self, table: NDArray[T]) -> list[NDArray[T]]:
        """Return a table in parts of so many rows that what is made of them stays in a cache."""
        rows = max(int(_AT_ONCE / self.nodes.t.size), 1)
        return [table[begin : begin + rows] for begin in range(0, len(table), rows)]

    def _bounds(
        self,
        points: Points,
        cells: IntArray,
        edges: Sequence[tuple[int, int]],
        spread: Spread | None,
    ) -> tuple[FloatArray, IntArray]:
        """Bound the sum in each of several cells, and say which edge to cut."""
        heights = points.height[cells].max(axis=1)
        exponent = points.exponent[cells]
        lengths = np.array([np.abs(exponent[:, i] - exponent[:, j]) for i, j in edges])
        lengths = self.others * (lengths + 2 * self.nodes.relative)
        weight = self.nodes.size * heights
        bounds = largest_sums(points.upper[cells], weight, lengths**2, edges)
        if spread is not None:
            variance = most_variance(points.shares[cells])[:, None]
            errors = self.nodes.size * spread.at(variance, heights)
            bounds += errors.sum(axis=1) * ROUND_UP
        longest = np.argmax(np.einsum("cn,ecn->ec", weight, lengths), axis=0)
        return np.nan_to_num(bounds, nan=math.inf, posinf=math.inf), longest

    def _halve(self, cells: IntArray, points: Points, edges: IntArray) -> tuple[IntArray, Points]:
        """Cut each cell in the middle of an edge."""
        halves, pairs = halve(cells, edges, len(points.shares))
        added = self._at(0.5 * (points.shares[pairs[:, 0]] + points.shares[pairs[:, 1]]))
        return halves, Points.joined([points, added])

    def _corners(self, order: list[int], count: int) -> Points:
        """Evaluate the sum for the first types alone."""
        return self._at(np.eye(len(self.types))[order[:count]])

    def _mixed(self, points: Points, order: list[int]) -> float:
        """Bound the sum for all mixtures, looking at those of the first types.

        More types are looked at as long as what the others may add decides.
        """
        least, most = len(points.shares), min(_MAX_CORNERS, len(order))
        tried = [(least, *self._ceiling(order[:least]))]
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
        """Bound mixtures with other types than those kept, and what is added to both."""
        if len(kept) == len(self.types):
            return 0.0, 0.0
        terms = self.others, self.terms, self.log_rest - self.top, self.gamma
        return ceiling_of_mixtures(self.nodes, kept, *terms)

    def _worst_mixture(self, points: Points, order: list[int], known: float) -> float:
        """Bound the sum for all mixtures, averages over who is examined included."""
        if len(self.types) == 1 or self.terms == 1:
            return self._mixed(points, order)
        spread = self.integrand.spread(self.nodes)
        examined = float(self.nodes.size @ spread.everywhere) * ROUND_UP
        largest, share = float(points.upper.max()), self.proposal.share_of_cells
        if examined > share * largest and len(points.shares) == len(self.types):
            found = self._cover(points, spread, _SHARE_OF_SPREAD * examined)
            if found <= largest * (1 + share) + examined:
                return found
        if largest + examined >= known:  # nothing that cuts find is better
            return known
        self.is_hopeless |= self._exceeds(largest + examined)
        return self._mixed(points, order) + examined
