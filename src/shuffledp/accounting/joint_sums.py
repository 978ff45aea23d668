"""What the sums of several attributes reveal together."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from shuffledp.accounting.best_bound import Bounded
from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.inversion import log_gap
from shuffledp.accounting.report import Bound, Proof, check_order
from shuffledp.accounting.sum_view import Attained
from shuffledp.divergence import LogEnclosure
from shuffledp.errors import MAX_EPSILON0, wide_is_enough
from shuffledp.interval import Interval, exp_up
from shuffledp.randomizers import Input, Pair
from shuffledp.randomizers.joint import Joint

if TYPE_CHECKING:
    from shuffledp.accounting.many_rounds import ManyRounds
    from shuffledp.accounting.round_kind import RoundKind
    from shuffledp.accounting.single_round import SingleRound

_RTOL = 1e-3  # relative width of what is composed


class JointSums:
    r"""The privacy of one sum for each attribute, or that of the multiset where it is smaller.

    Every user randomizes each attribute on its own, so given the data the sums are independent:
    two neighbouring datasets have the laws :math:`\prod_jP_j` and :math:`\prod_jQ_j`, in which only
    the attributes that change count. Each :math:`(P_j,Q_j)` is a pair of sums of one attribute, so
    its delta is at most the bound of that attribute alone, for any column that the others hold. A
    product of pairs reveals at most what a product of pairs reveals that dominate them: the same as
    for several rounds, in as many of which a user takes part as attributes may change.

    Args:
        randomizer: the joint composition.
        crowd: the users; nobody is corrupted adaptively.
        bound: which bound of the multiset counts.
        rtol: relative width of enclosures.
        multiset: bounds log delta from above if all reports are seen, and says what proves it.
        root: bounds epsilon from above if all reports are seen.
    """

    def __init__(
        self,
        randomizer: Joint,
        crowd: Crowd,
        bound: Bound,
        rtol: float,
        multiset: Callable[[float], tuple[float, Proof]],
        root: Callable[[float], float],
    ) -> None:
        self.randomizer, self.crowd, self.bound = randomizer, crowd, bound
        self.rtol, self.multiset, self.root = max(rtol, _RTOL), multiset, root
        self._known: dict[float, tuple[float, Proof]] = {}

    def log_delta(self, epsilon: float) -> Bounded[LogEnclosure]:
        """Enclose the logarithm of the true delta."""
        upper, proof = self.proved(epsilon)
        lower = check_order(self.leak.lower_log_delta(epsilon), upper)
        where = self.where(epsilon)
        return Bounded(
            LogEnclosure(lower, upper),
            LogEnclosure(upper, upper),
            LogEnclosure(lower, lower),
            where,
            where,
            proof,
        )

    def epsilon(self, delta: float) -> Bounded[Interval]:
        """Enclose the true epsilon.

        The upper end keeps its word: ``log_delta`` there ends at or below the target.
        """
        upper, proof = self._root(delta)
        lower = check_order(self.leak.lower_epsilon(delta), upper)
        where = self.where(lower)
        return Bounded(
            Interval(lower, upper),
            Interval(upper, upper),
            Interval(lower, lower),
            where,
            where,
            proof,
        )

    def proved(self, epsilon: float) -> tuple[float, Proof]:
        """Return an upper bound on log delta, and what proves it."""
        if epsilon not in self._known:
            with wide_is_enough():
                composed = self._answers.proved_log_delta(epsilon)[0].upper
                bound, proof = self.multiset(epsilon)
            self._known[epsilon] = (bound, proof) if bound < composed else (composed, "composition")
        return self._known[epsilon]

    def gap(self, epsilon: float, delta: float) -> float:
        """Return how far ``log_delta`` ends above the logarithm of ``delta``, about."""
        return log_gap(self.proved(epsilon)[0], delta)

    def _root(self, delta: float) -> tuple[float, Proof]:
        with wide_is_enough():
            composed = self._answers.proved_epsilon(delta)[0].upper
            if composed <= MAX_EPSILON0 and exp_up(self.multiset(composed)[0]) > delta:
                return composed, "composition"  # the multiset's epsilon is larger
            multiset = self.root(delta)
        if multiset > MAX_EPSILON0:  # nobody can ask back
            return (multiset, "blanket") if multiset < composed else (composed, "composition")
        bound, proof = self.proved(multiset)
        if multiset < composed and exp_up(bound) <= delta:
            return multiset, proof
        return composed, "composition"

    @property
    def _most(self) -> int:
        """How many attributes change, at most."""
        joint = self.randomizer
        return joint.exactly or joint.at_most or len(joint.parts)

    @cached_property
    def _kinds(self) -> tuple[RoundKind, ...]:
        """The attributes, those of one mechanism together."""
        from shuffledp.accounting.accountant import ShuffleAccountant
        from shuffledp.accounting.round_kind import merge_kinds

        crowd = self.crowd
        sums = [
            ShuffleAccountant(
                part, crowd.n, bound=self.bound, corrupted=crowd.corrupted, view="sum"
            )
            for part in self.randomizer.parts
        ]
        return merge_kinds((one, 1) for one in sums)

    @cached_property
    def _answers(self) -> ManyRounds | SingleRound:
        from shuffledp.accounting.many_rounds import ManyRounds
        from shuffledp.accounting.single_round import SingleRound

        if self._most == 1:
            return SingleRound([kind.accountant for kind in self._kinds])
        return ManyRounds(self._kinds, self._most, self.rtol)

    @cached_property
    def leak(self) -> ManyRounds | SingleRound:
        """What the datasets reveal."""
        from shuffledp.accounting.single_round import SingleRound

        if isinstance(self._answers, SingleRound):
            return SingleRound([self._changing[0][0].accountant])
        return self._answers

    @cached_property
    def _changing(self) -> list[tuple[RoundKind, int]]:
        """The attributes in which the datasets differ, and how many there are of each kind."""
        from shuffledp.accounting.single_round import SingleRound

        if not isinstance(self._answers, SingleRound):
            return self._answers.leading
        with wide_is_enough():
            return [(max(self._kinds, key=lambda k: k.accountant.delta_lower_bound(0.0)), 1)]

    def where(self, epsilon: float) -> Attained:
        """Return the datasets behind lower bounds."""
        left = {kind.key: times for kind, times in self._changing}
        entries: list[tuple[Input, Input, Input]] = []
        for part in self.randomizer.parts:
            kind = next(kind for kind in self._kinds if kind.is_of(part))
            if not left.get(kind.key):
                same = part.unchanged()[0].first
                entries.append((same, same, same))
                continue
            left[kind.key] -= 1
            datasets = self._datasets(kind, epsilon)
            pair = (*part.neighbours(), *part.unchanged())[0] if datasets is None else datasets.pair
            other = pair.first if datasets is None else datasets.other
            entries.append((pair.first, pair.second, other))
        first, second, others = zip(*entries, strict=True)
        return Attained(Pair(first, second), others)

    def _datasets(self, kind: RoundKind, epsilon: float) -> Datasets | None:
        """Return those of an attribute that changes."""
        from shuffledp.accounting.single_round import SingleRound

        if isinstance(self._answers, SingleRound):
            with wide_is_enough():
                return kind.accountant.delta_report(min(epsilon, MAX_EPSILON0)).datasets
        return dict(zip(self._kinds, self._answers.datasets, strict=True))[kind]


class JointLeak:
    """What concrete datasets reveal, as lower bounds are asked for."""

    def __init__(self, sums: JointSums) -> None:
        self.sums = sums

    def log_delta(self, epsilon: float) -> tuple[LogEnclosure, Attained]:
        """Return a log delta that they attain."""
        lower = self.sums.leak.lower_log_delta(epsilon)
        return LogEnclosure(lower, lower), self.sums.where(epsilon)

    def epsilon(self, delta: float) -> tuple[Interval, Attained]:
        """Return an epsilon below which they exceed delta."""
        lower = self.sums.leak.lower_epsilon(delta)
        return Interval(lower, lower), self.sums.where(lower)
