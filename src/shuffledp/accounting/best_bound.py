"""The best bound: the smaller of blanket and swap bound, beside what concrete datasets attain."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from shuffledp.accounting.candidates import Candidate
from shuffledp.accounting.climb import Climb
from shuffledp.accounting.inversion import log_gap, log_target
from shuffledp.accounting.report import Proof, check_order
from shuffledp.accounting.sum_view import Attained
from shuffledp.accounting.swap_bound import SwapBound
from shuffledp.accounting.worst_case import WorstCase
from shuffledp.divergence import LogEnclosure, estimate_log_delta
from shuffledp.errors import MAX_EPSILON0
from shuffledp.interval import Interval, exp_up

_MAX_EVALUATIONS = 16
_FAR = 0.05  # of log delta: the error of an estimate

T = TypeVar("T", Interval, LogEnclosure)


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
        swapped, decisive = self._swapped(epsilon)
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
        if delta not in self._epsilons:
            self._epsilons[delta] = self._epsilon(delta)
        return self._epsilons[delta]

    def _epsilon(self, delta: float) -> Bounded[Interval]:
        blanket, worst = self.upper.epsilon(delta)
        attained, leak = self.lower(worst).epsilon(delta)
        low, high = attained.lower, blanket.upper
        proof: Proof = "blanket"
        if self.swap.is_available and 0 < delta < 1 and low < high:
            better, decisive = self._search(low, high, delta, leak)
            if better < high:
                high, proof, worst = better, self.swap.proof, decisive
        return Bounded(
            Interval(check_order(low, high), high), blanket, attained, worst, leak, proof
        )

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
        largest = -math.inf
        for bound, candidate in self.swap.candidates.ranked(self.upper.n, epsilon):
            settled = log_gap(bound, delta) <= 0  # and so are all that follow
            value = bound if settled else self.swap.log_delta(candidate.pair, epsilon)
            gap = log_gap(value, delta)
            if not gap <= 0:
                return gap
            largest = max(largest, gap)
            if settled:
                break
        return largest

    def _search(
        self, low: float, high: float, delta: float, leak: Candidate | None
    ) -> tuple[float, Candidate | None]:
        """Return the smallest epsilon found at which the swap bound is at most delta.

        Also return the candidate that is the largest one there.

        It is looked for just above what datasets attain. Nothing but the evaluation itself decides.
        """
        target = log_target(delta)
        quick = self.upper.is_prepared(delta)
        climb = Climb(low, min(high, MAX_EPSILON0), target.lower, quick=quick)
        found, worst = math.inf, None
        for _ in range(_MAX_EVALUATIONS):
            if (epsilon := climb.next()) is None:
                break
            value, decisive = self._swapped(epsilon)
            meets = exp_up(value) <= delta
            if meets:
                found, worst = epsilon, decisive
                if climb.is_close(epsilon):
                    break
            slope = -1.0
            if leak is not None:
                slope = estimate_log_delta(leak.decomposition, self.upper.n, epsilon)[1]
            if value == math.inf or not -math.inf < slope < 0:
                break
            climb.see(epsilon, value, slope, meets=meets)
        return found, worst

    def _swapped(self, epsilon: float) -> tuple[float, Candidate | None]:
        """Return the largest swap bound of all pairs, and which one it is.

        The blanket of a pair counts instead where it is smaller.
        """
        if not self.swap.is_available:
            return math.inf, None
        largest, worst = -math.inf, None
        for bound, candidate in self.swap.candidates.ranked(self.upper.n, epsilon):
            if bound <= largest:
                break
            value = min(self.swap.log_delta(candidate.pair, epsilon), bound)
            if worst is None or value > largest:
                largest, worst = value, candidate
        return largest, worst
