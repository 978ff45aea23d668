"""The best bound: the smaller of blanket and swap bound, beside what concrete datasets attain."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from shuffledp.accounting.candidates import Candidate
from shuffledp.accounting.inversion import log_target
from shuffledp.accounting.report import Proof, check_order
from shuffledp.accounting.sum_view import Attained
from shuffledp.accounting.swap_bound import SwapBound
from shuffledp.accounting.worst_case import WorstCase
from shuffledp.divergence import LogEnclosure, estimate_log_delta
from shuffledp.errors import MAX_EPSILON0
from shuffledp.interval import Interval, exp_up

_MAX_EVALUATIONS = 16
_FIRST_STEP = 3e-4  # beyond what datasets attain, relatively
_OVERSHOOT = 1.05
_WORTH_A_STEP = 2e-4  # relatively, of epsilon


T = TypeVar("T", Interval, LogEnclosure)


@dataclass(frozen=True)
class Bounded(Generic[T]):
    """An enclosure of the truth, of epsilon or of log delta.

    Attributes:
        guarantee: from what datasets attain to what is proved.
        blanket: the enclosure of the blanket bound.
        attained: the enclosure of what the datasets reveal.
        worst: the candidate whose blanket is largest.
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

    def proved(self, epsilon: float) -> tuple[float, Proof]:
        """Return the smaller bound on log delta, and which one it is."""
        blanket, _ = self.upper.log_delta(epsilon)
        swapped = self._swapped(epsilon)
        return (swapped, self.swap.proof) if swapped < blanket.upper else (blanket.upper, "blanket")

    def log_delta(self, epsilon: float) -> Bounded[LogEnclosure]:
        """Enclose the logarithm of the true delta."""
        blanket, worst = self.upper.log_delta(epsilon)
        attained, leak = self.lower(worst).log_delta(epsilon)
        swapped = self._swapped(epsilon)
        proof: Proof = self.swap.proof if swapped < blanket.upper else "blanket"
        proved = min(swapped, blanket.upper)
        guarantee = LogEnclosure(check_order(attained.lower, proved), proved)
        return Bounded(guarantee, blanket, attained, worst, leak, proof)

    def epsilon(self, delta: float) -> Bounded[Interval]:
        """Enclose the true epsilon.

        The upper end keeps its word: ``log_delta`` at that epsilon ends at or below log delta.
        """
        blanket, worst = self.upper.epsilon(delta)
        attained, leak = self.lower(worst).epsilon(delta)
        low, high = attained.lower, blanket.upper
        proof: Proof = "blanket"
        if self.swap.is_available and 0 < delta < 1 and low < high:
            better = self._search(low, high, delta, leak)
            if better < high:
                high, proof = better, self.swap.proof
        return Bounded(
            Interval(check_order(low, high), high), blanket, attained, worst, leak, proof
        )

    def meets(self, epsilon: float, delta: float) -> bool:
        """Whether ``log_delta`` would end at or below the logarithm of ``delta``.

        Either bound proves it. An estimate says which one to try first; what datasets attain is not
        needed.
        """
        proofs = [self._blanket_meets, self._swap_meets]
        leader = self.upper.candidates.leader()
        if leader is not None and 0 < delta < 1:
            estimate, _ = estimate_log_delta(leader.decomposition, self.upper.n, epsilon)
            if estimate > math.log(delta):
                proofs.reverse()
        return any(proof(epsilon, delta) for proof in proofs)

    def _blanket_meets(self, epsilon: float, delta: float) -> bool:
        blanket, _ = self.upper.log_delta(epsilon)
        return exp_up(blanket.upper) <= delta

    def _swap_meets(self, epsilon: float, delta: float) -> bool:
        """Whether every pair meets delta; the first one that does not decides."""
        if not self.swap.is_available:
            return False
        for bound, candidate in self.upper.candidates.ranked(self.upper.n, epsilon):
            if exp_up(bound) <= delta:
                break
            if exp_up(self.swap.log_delta(candidate.pair, epsilon)) > delta:
                return False
        return True

    def _search(self, low: float, high: float, delta: float, leak: Candidate | None) -> float:
        """Return the smallest epsilon found at which the swap bound is at most delta.

        It is looked for just above what datasets attain; every step goes up by what the slope of
        their delta suggests. Nothing but the evaluation itself decides.
        """
        target = log_target(delta).lower
        ceiling = min(high, MAX_EPSILON0)
        epsilon, found = low * (1 + _FIRST_STEP), math.inf
        for _ in range(_MAX_EVALUATIONS):
            if not epsilon < min(ceiling, found):
                break
            value = self._swapped(epsilon)
            slope = -1.0
            if leak is not None:
                slope = estimate_log_delta(leak.decomposition, self.upper.n, epsilon)[1]
            if not -math.inf < slope < 0:
                break
            if exp_up(value) <= delta:
                found = epsilon
                step = (value - target) / -slope * (2 - _OVERSHOOT)
                if -step < _WORTH_A_STEP * epsilon:
                    break
                epsilon = max(epsilon + step, low)
            elif found < math.inf or value == math.inf:
                break
            else:
                epsilon += max((value - target) / -slope, _FIRST_STEP * epsilon) * _OVERSHOOT
        return found

    def _swapped(self, epsilon: float) -> float:
        """Return the largest swap bound of all pairs, or the blanket of a pair if smaller."""
        if not self.swap.is_available:
            return math.inf
        largest = -math.inf
        for bound, candidate in self.upper.candidates.ranked(self.upper.n, epsilon):
            if bound <= largest:
                break
            value = self.swap.log_delta(candidate.pair, epsilon)
            largest = max(largest, min(value, bound))
        return largest
