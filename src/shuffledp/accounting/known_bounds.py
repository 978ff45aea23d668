"""The bounds that answer for one mechanism, one crowd and one view."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from shuffledp.accounting.adaptive_bound import AdaptiveBound
from shuffledp.accounting.best_bound import BestBound
from shuffledp.accounting.candidates import Candidate, backgrounds, blankets
from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.joint_sums import JointLeak, JointSums
from shuffledp.accounting.report import Bound, Proof
from shuffledp.accounting.sum_bound import SumBound, SumOfMultiset
from shuffledp.accounting.sum_view import (
    ExactSum,
    View,
    bound_of_one_number,
    is_exact,
    is_one_number,
    tells_less,
)
from shuffledp.accounting.swap_bound import SwapBound
from shuffledp.accounting.unattained import Unattained
from shuffledp.accounting.worst_case import WorstCase
from shuffledp.randomizers import LocalRandomizer, Pair, pairs_to_compare
from shuffledp.randomizers.claims import check_claims
from shuffledp.randomizers.joint import Joint

#: Up to this many pairs, lower bounds look at all; beyond, at the worst of the upper bound.
_MAX_LOWER_PAIRS = 64


class KnownBounds:
    """What is proved and what is attained, made when first asked for.

    Args:
        randomizer: what each user runs.
        crowd: the users, and how many of them are corrupted.
        view: what the analyst sees.
        bound: which bound of the multiset counts, where that is what answers.
        rtol: relative width of enclosures.
    """

    def __init__(
        self, randomizer: LocalRandomizer, crowd: Crowd, view: View, bound: Bound, rtol: float
    ) -> None:
        self.randomizer, self.crowd, self.view = randomizer, crowd, view
        self.bound, self.rtol = bound, rtol
        check_claims(randomizer)  # before any answer, also of sums

    @cached_property
    def pairs(self) -> Sequence[Pair]:
        """The pairs that stand for all."""
        return pairs_to_compare(self.randomizer)

    @property
    def lower_needs_upper(self) -> bool:
        """Whether the pairs of lower bounds are those that are worst for the upper bound."""
        return len(self.pairs) > _MAX_LOWER_PAIRS and not self._tells_less

    @cached_property
    def exact(self) -> ExactSum | None:
        """The privacy of the sum itself, where it is known, or of one noisy number."""
        if not self._is_known or isinstance(self.randomizer, Joint):
            return None
        return ExactSum(
            self.randomizer, self.crowd.honest, self.rtol, self._proved, self._proved_epsilon
        )

    @cached_property
    def joint(self) -> JointSums | None:
        """The privacy of several sums, one for each attribute, where that is what is seen."""
        if not self._is_known or not isinstance(self.randomizer, Joint):
            return None
        return JointSums(
            self.randomizer, self.crowd, self.bound, self.rtol, self._proved, self._proved_epsilon
        )

    @property
    def _is_known(self) -> bool:
        """Whether only sums are seen, and their own privacy is known; one number is its own sum."""
        if self.view == "sum":
            return is_exact(self.randomizer, self.crowd)
        return is_one_number(self.randomizer, self.crowd)

    @cached_property
    def upper(self) -> WorstCase | AdaptiveBound:
        """The bound over all neighbours and the multiset, whatever the analyst learns."""
        if not self.crowd.corrupted_adaptively:
            return self._blanket
        return AdaptiveBound(self._blanket, self.crowd.corrupted_adaptively)

    @property
    def is_best(self) -> bool:
        """Whether more is known, and asked for, than the bound over all neighbours."""
        return self._may_swap or self._is_known

    @property
    def is_blanket(self) -> bool:
        """Whether guarantees are those of the bound over all neighbours alone."""
        if not self.is_best:
            return True
        return not (self._is_known or self._tells_less or self._best.swap.is_available)

    @cached_property
    def best(self) -> BestBound | SumBound | JointSums | SumOfMultiset:
        """The privacy of the sum itself, or the smaller of blanket and swap bound."""
        if self.exact is not None:
            is_blanket = self.view == "multiset" and self.bound == "blanket"
            return SumBound(self.exact, "blanket" if is_blanket else "exact")
        if self.joint is not None:
            return self.joint
        return SumOfMultiset(self._best) if self._tells_less else self._best

    @property
    def reason(self) -> str | None:
        """Why the blanket stands, if the best bound is asked for; None if it need not."""
        if self.bound == "blanket" or self._is_known:
            return None
        return self._best.swap.reason or None if self.is_best else "reports are learned adaptively"

    @property
    def families(self) -> dict[str, WorstCase]:
        """The bounds whose largest answers ask for, if they are made of such and nothing else."""
        if self._is_known or self._tells_less or self.crowd.corrupted_adaptively:
            return {}
        if self.lower_needs_upper:
            return {"upper": self._blanket}
        return {"upper": self._blanket, "lower": self._lower_of_all}

    def lower(self, worst: Candidate | None) -> WorstCase | ExactSum | JointLeak | Unattained:
        """Return what concrete datasets attain, given the worst of the upper bound."""
        if self.exact is not None:
            return self.exact
        if self.joint is not None:
            return JointLeak(self.joint)
        return Unattained() if self._tells_less else self._lower_of_multiset(worst)

    def estimated(self) -> WorstCase | AdaptiveBound | None:
        """Return bounds that answers are close to, and which an estimate is quick for; or None."""
        if self._is_known:
            return None
        return self._lower_of_multiset(None) if self.is_best else self.upper

    def _lower_of_multiset(self, worst: Candidate | None) -> WorstCase:
        """Return what the multiset reveals: one background per pair and common input."""
        if len(self.pairs) <= _MAX_LOWER_PAIRS:
            return self._lower_of_all
        pair = self.pairs[0] if worst is None else worst.pair
        return self._lower_of((pair, pair.reversed))

    @property
    def _tells_less(self) -> bool:
        """Whether the analyst sees less than the multiset."""
        return self.view == "sum" and tells_less(self.randomizer)

    @property
    def _may_swap(self) -> bool:
        return self.bound == "best" and not self.crowd.corrupted_adaptively

    @cached_property
    def _blanket(self) -> WorstCase:
        """The bound over all neighbours: one blanket per pair."""
        alone = bound_of_one_number(self.randomizer)
        candidates = blankets(self.randomizer, tuple(self.pairs))
        return WorstCase(candidates, self.crowd.honest, self.rtol, alone)

    @cached_property
    def _best(self) -> BestBound:
        swap = SwapBound(self.randomizer, self.crowd.honest)
        return BestBound(self._blanket, self._lower_of_multiset, swap)

    def _proved(self, epsilon: float) -> tuple[float, Proof]:
        """Return an upper bound on log delta of the multiset, and what proves it."""
        if self._may_swap:
            return self._best.proved(epsilon)
        return self._blanket.log_delta(epsilon)[0].upper, "blanket"

    def _proved_epsilon(self, delta: float) -> float:
        """Return an upper bound on the epsilon of the multiset."""
        if self._may_swap:
            return self._best.epsilon(delta).guarantee.upper
        return self._blanket.epsilon(delta)[0].upper

    @cached_property
    def _lower_of_all(self) -> WorstCase:
        return self._lower_of(tuple(self.pairs))

    def _lower_of(self, pairs: tuple[Pair, ...]) -> WorstCase:
        users = self.crowd.honest - self.crowd.corrupted_adaptively  # as if these were fixed, too
        return WorstCase(backgrounds(self.randomizer, pairs), users, self.rtol)
