"""The best bound: the smaller of blanket and swap bound, beside what concrete datasets attain."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Generic, TypeVar

from shuffledp.accounting.candidates import Candidate
from shuffledp.accounting.climb import Climb
from shuffledp.accounting.inversion import log_gap, log_target
from shuffledp.accounting.report import Proof, check_order
from shuffledp.accounting.sum_view import Attained
from shuffledp.accounting.swap_bound import SwapBound, SwapPoint
from shuffledp.accounting.worst_case import WorstCase
from shuffledp.divergence import LogEnclosure, estimate_log_delta
from shuffledp.errors import MAX_EPSILON0
from shuffledp.interval import Interval, exp_up

_MAX_EVALUATIONS = 16
_FAR = 0.05  # of log delta: the error of an estimate
_VERY_FAR = 0.5  # the same, of one that no further look corrects
_SURELY_ABOVE = 1.0  # the target: points that a climb passes, where a rough bound will do

T = TypeVar("T", Interval, LogEnclosure)
R = TypeVar("R")

#: A search that says where it will evaluate, and above which ceiling a bound is of no use there;
#: it returns what it has found.
Steps = Generator[tuple[float, float], None, R]


def end_of(steps: Steps[R]) -> R:
    """Return what a search finds."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: R = end.value
            return found


@dataclass(frozen=True)
class Bounded(Generic[T]):
    """An enclosure of the truth, of epsilon or of log delta.

    Attributes:
        guarantee: from what datasets attain to what is proved.
        blanket: the enclosure of the blanket bound.
        attained: the enclosure of what the datasets reveal.
        worst: the candidate whose bound, of those that prove the guarantee, is largest.
        leak: the candidate that datasets attain.
        proof: which bound is the smaller one.
        is_sharp: whether the guarantee would be a single number, but for rounding.
    """

    guarantee: T
    blanket: T
    attained: T
    worst: Candidate | Attained | None
    leak: Candidate | Attained | None
    proof: Proof
    is_sharp: bool = False

    @property
    def computed(self) -> T | None:
        """The enclosure whose width is that of the computation alone, if there is one."""
        if self.proof == "blanket":
            return self.blanket
        return self.guarantee if self.is_sharp else None


class BestBound:
    """Encloses what n users really reveal.

    Args:
        upper: the blanket bounds of all pairs.
        lower: returns the bounds of concrete datasets, given the worst blanket.
        swap: the swap bound.
    """

    def __init__(
        self, upper: WorstCase, lower: Callable[[Candidate | None], WorstCase], swap: SwapBound
    ) -> None:
        self.upper, self.lower, self.swap = upper, lower, swap
        self._epsilons: dict[float, Bounded[Interval]] = {}

    def log_delta(self, epsilon: float) -> Bounded[LogEnclosure]:
        """Enclose the logarithm of the true delta."""
        blanket, worst = self.upper.log_delta(epsilon)
        attained, leak = self.lower(worst).log_delta(epsilon)
        proof: Proof = "blanket"
        swapped, decisive = self._swapped(epsilon, blanket.upper)
        if swapped < blanket.upper:
            proof, worst = self.swap.proof, decisive
        proved = min(swapped, blanket.upper)
        guarantee = LogEnclosure(check_order(attained.lower, proved), proved)
        return Bounded(guarantee, blanket, attained, worst, leak, proof)

    def proved(self, epsilon: float) -> tuple[float, Proof]:
        """Return an upper bound on log delta, and what proves it, faster than ``log_delta``.

        What datasets attain is not needed, nor the blanket where an estimate says that it is larger
        by far.
        """
        swapped, _ = self._swapped(epsilon)
        if self._estimated_blanket(epsilon) > swapped + _FAR:
            return swapped, self.swap.proof
        blanket, _ = self.upper.log_delta(epsilon)
        if swapped <= blanket.upper and swapped < math.inf:
            return swapped, self.swap.proof
        return blanket.upper, "blanket"

    def epsilon(self, delta: float) -> Bounded[Interval]:
        """Enclose the true epsilon.

        The upper end keeps its word: ``log_delta`` at that epsilon ends at or below log delta.
        """
        return self._epsilons.get(delta) or end_of(self.steps(delta))

    def remember_epsilon(self, delta: float, found: Bounded[Interval]) -> None:
        """Answer :meth:`epsilon` at this delta with what was found together with others."""
        self._epsilons[delta] = found

    def steps(self, delta: float) -> Steps[Bounded[Interval]]:
        """Enclose the true epsilon, and yield every epsilon at which the swap bound is needed.

        Whoever has others to ask about can evaluate them together before going on.
        """
        blanket, worst = self.upper.epsilon(delta)
        attained, leak = self.lower(worst).epsilon(delta)
        low, high = attained.lower, blanket.upper
        proof: Proof = "blanket"
        if self.swap.is_available and 0 < delta < 1 and low < high:
            better, decisive = yield from self._search(low, high, delta, leak)
            if better < high:
                high, proof, worst = better, self.swap.proof, decisive
        return Bounded(
            Interval(check_order(low, high), high), blanket, attained, worst, leak, proof
        )

    def points_at(self, epsilon: float, ceiling: float) -> list[SwapPoint]:
        """Return the swap bounds that are needed at an epsilon, as far as that is clear before."""
        if not self.swap.is_available:
            return []
        leader = self.upper.candidates.leader()
        few = self.upper.candidates.few() or ([] if leader is None else [leader])
        return [SwapPoint(self.swap, candidate.pair, epsilon, ceiling) for candidate in few]

    def points_of(self, epsilon: float) -> list[SwapPoint]:
        """Return those that :meth:`log_delta` needs; the blanket is the ceiling if it is known."""
        return self.points_at(epsilon, self.upper.prepared_log_delta(epsilon))

    def gap(self, epsilon: float, delta: float) -> float:
        """Return how far ``log_delta`` would end above the logarithm of ``delta``, about.

        It is at most 0 exactly where it ends at or below. Either bound proves that, and what
        datasets attain refutes it. An estimate says whether the blanket is worth a look first.
        """
        gaps = [self._blanket_gap, self._swap_gap]
        if 0 < delta < 1 and self._estimated_blanket(epsilon) > log_target(delta).lower:
            refuted = self._refuted_gap(epsilon, delta)
            if refuted > 0:
                return refuted
            gaps.reverse()
        first = gaps[0](epsilon, delta)
        if first <= 0 or (second := gaps[1](epsilon, delta)) > 0:
            return first
        return second

    def _estimated_blanket(self, epsilon: float) -> float:
        """Estimate log delta of the blanket bound; nothing proved hangs on it."""
        leader = self.upper.candidates.leader()
        if leader is None:
            return -math.inf
        return estimate_log_delta(leader.decomposition, self.upper.n, epsilon)[0]

    def _refuted_gap(self, epsilon: float, delta: float) -> float:
        if not self.swap.is_available:
            return -math.inf
        attained, _ = self.lower(self.upper.candidates.leader()).log_delta(epsilon)
        return attained.lower - log_target(delta).upper

    def _blanket_gap(self, epsilon: float, delta: float) -> float:
        blanket, _ = self.upper.log_delta(epsilon)
        return log_gap(blanket.upper, delta)

    def _swap_gap(self, epsilon: float, delta: float) -> float:
        """Return the largest gap of all pairs; the first one above 0 decides."""
        if not self.swap.is_available:
            return math.inf
        largest, ceiling = -math.inf, log_target(delta).upper
        for bound, candidate in self.upper.candidates.ranked(self.upper.n, epsilon):
            settled = log_gap(bound, delta) <= 0  # and so are all that follow
            value = bound if settled else self.swap.log_delta(candidate.pair, epsilon, ceiling)
            gap = log_gap(value, delta)
            if not gap <= 0:
                return gap
            largest = max(largest, gap)
            if settled:
                break
        return largest

    def _search(
        self, low: float, high: float, delta: float, leak: Candidate | None
    ) -> Steps[tuple[float, Candidate | None]]:
        """Return the smallest epsilon found at which the swap bound is at most delta.

        Also return the candidate that is the largest one there.

        It is looked for just above what datasets attain. Nothing but the evaluation itself decides.
        """
        target = log_target(delta)
        quick = self.upper.is_prepared(delta)
        climb = Climb(low, min(high, MAX_EPSILON0), target.lower, quick=quick)
        found, worst = math.inf, None
        for evaluations in range(_MAX_EVALUATIONS):
            if (epsilon := climb.next()) is None:
                break
            limit = target.upper + _SURELY_ABOVE
            if evaluations and math.isfinite(estimate := self._estimated_blanket(epsilon)):
                limit = min(limit, estimate + _VERY_FAR)
            yield epsilon, limit
            value, decisive = self._swapped(epsilon, limit)
            meets = exp_up(value) <= delta and value <= limit
            if meets:
                found, worst = epsilon, decisive
                if climb.is_close(epsilon):
                    break
            slope = -1.0
            if leak is not None:
                slope = estimate_log_delta(leak.decomposition, self.upper.n, epsilon)[1]
            if value == math.inf or not -math.inf < slope < 0:
                break
            climb.see(epsilon, value, slope, meets=meets, rough=value > limit)
        return found, worst

    def _swapped(self, epsilon: float, ceiling: float = math.inf) -> tuple[float, Candidate | None]:
        """Return the largest swap bound of all pairs, and which one it is.

        The blanket of a pair counts instead where it is smaller. A bound above the ceiling is of no
        use.
        """
        if not self.swap.is_available:
            return math.inf, None
        largest, worst = -math.inf, None
        for bound, candidate in self.upper.candidates.ranked(self.upper.n, epsilon):
            if bound <= largest:
                break
            limit = min(bound, ceiling)
            value = min(self.swap.log_delta(candidate.pair, epsilon, limit), bound)
            if worst is None or value > largest:
                largest, worst = value, candidate
        return largest, worst
