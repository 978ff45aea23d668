"""What is proved of sums, beside what concrete datasets attain."""

from __future__ import annotations

import math

from shuffledp.accounting.best_bound import BestBound, Bounded
from shuffledp.accounting.report import Proof
from shuffledp.accounting.sum_view import ExactSum
from shuffledp.divergence import LogEnclosure
from shuffledp.interval import Interval


class SumBound:
    """Encloses what the sum of n reports reveals, where its own privacy is known.

    Args:
        exact: the privacy of the sum.
        name: what that proof is called: of one report, the blanket bound is the same number.
    """

    def __init__(self, exact: ExactSum, name: Proof = "exact") -> None:
        self.exact, self.name = exact, name

    def log_delta(self, epsilon: float) -> Bounded[LogEnclosure]:
        """Enclose the logarithm of the true delta."""
        value, where = self.exact.log_delta(epsilon)
        proof = self._named(self.exact.proof(epsilon))
        return Bounded(value, value, value, where, where, proof, self.exact.bits is None)

    def epsilon(self, delta: float) -> Bounded[Interval]:
        """Enclose the true epsilon."""
        found, where = self.exact.epsilon(delta)
        _, proof = self.exact.root(delta)
        proof = self._named(proof)
        return Bounded(found, found, found, where, where, proof, self.exact.bits is None)

    def proved(self, epsilon: float) -> tuple[float, Proof]:
        """Return an upper bound on log delta, and what proves it."""
        bound, proof = self.exact.proved(epsilon)
        return bound, self._named(proof)

    def _named(self, proof: Proof) -> Proof:
        return self.name if proof == "exact" else proof

    def gap(self, epsilon: float, delta: float) -> float:
        """Return how far ``log_delta`` ends above the logarithm of ``delta``, about.

        It is at most 0 exactly where it ends at or below.
        """
        return self.exact.gap(epsilon, delta)


class SumOfMultiset:
    """The bound of the multiset, for a sum that may reveal less: nothing is known from below."""

    def __init__(self, multiset: BestBound) -> None:
        self.multiset = multiset

    def log_delta(self, epsilon: float) -> Bounded[LogEnclosure]:
        """Bound log delta from above."""
        best = self.multiset.log_delta(epsilon)
        none = LogEnclosure(-math.inf, -math.inf)
        guarantee = LogEnclosure(-math.inf, best.guarantee.upper)
        return Bounded(guarantee, best.blanket, none, best.worst, None, best.proof)

    def epsilon(self, delta: float) -> Bounded[Interval]:
        """Bound epsilon from above."""
        best, none = self.multiset.epsilon(delta), Interval(0.0, 0.0)
        guarantee = Interval(0.0, best.guarantee.upper)
        return Bounded(guarantee, best.blanket, none, best.worst, None, best.proof)

    def proved(self, epsilon: float) -> tuple[float, Proof]:
        """Return an upper bound on log delta, and what proves it."""
        return self.multiset.proved(epsilon)

    def gap(self, epsilon: float, delta: float) -> float:
        """Return how far ``log_delta`` ends above the logarithm of ``delta``, about."""
        return self.multiset.gap(epsilon, delta)
