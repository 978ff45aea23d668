"""What the sums of several attributes reveal together."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.setting import Bound
from shuffledp.basics.errors import MAX_EPSILON0, wide_is_enough
from shuffledp.basics.interval import Interval
from shuffledp.bounds.curve import Curve, Proved
from shuffledp.mechanisms import Input, Pair
from shuffledp.mechanisms.composed.joint import Joint

if TYPE_CHECKING:
    from shuffledp.accounting.rounds.many_rounds import ManyRounds
    from shuffledp.accounting.rounds.round_kind import RoundKind
    from shuffledp.accounting.rounds.single_round import SingleRound

_RTOL = 1e-3  # relative width of what is composed


class JointSums(Curve):
    r"""The privacy of one sum for each attribute.

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
    """

    def __init__(self, randomizer: Joint, crowd: Crowd, bound: Bound, rtol: float) -> None:
        self.randomizer, self.crowd, self.bound = randomizer, crowd, bound
        self.rtol = max(rtol, _RTOL)

    def above(self, epsilon: float) -> Proved:
        """Prove an upper bound on log delta."""
        with wide_is_enough():
            log = self._answers.proved_log_delta(epsilon)[0].upper
        return Proved(log, self._at(epsilon), "composition")

    def below(self, epsilon: float) -> Proved:
        """Prove what datasets attain."""
        with wide_is_enough():
            log = self._leak.lower_log_delta(epsilon)
        return Proved(log, self._at(epsilon), "composition")

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return log delta in doubles, about."""
        return self._answers.estimate(epsilon)

    @cached_property
    def end(self) -> Interval:
        """Enclose where delta becomes 0."""
        with wide_is_enough():
            upper = self._answers.proved_epsilon(0.0)[0].upper
            return Interval(min(self._leak.lower_epsilon(0.0), upper), upper)

    def __str__(self) -> str:
        """Name it."""
        return f"composition of the sums of {len(self.randomizer.parts)} attributes"

    @property
    def _most(self) -> int:
        """How many attributes change, at most."""
        joint = self.randomizer
        return joint.exactly or joint.at_most or len(joint.parts)

    @cached_property
    def _kinds(self) -> tuple[RoundKind, ...]:
        """The attributes, those of one mechanism together."""
        from shuffledp.accounting.accountant import ShuffleAccountant
        from shuffledp.accounting.rounds.round_kind import merge_kinds

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
        from shuffledp.accounting.rounds.many_rounds import ManyRounds
        from shuffledp.accounting.rounds.single_round import SingleRound

        if self._most == 1:
            return SingleRound([kind.accountant for kind in self._kinds])
        return ManyRounds(self._kinds, self._most, self.rtol)

    @cached_property
    def _leak(self) -> ManyRounds | SingleRound:
        """What the datasets reveal."""
        from shuffledp.accounting.rounds.single_round import SingleRound

        if isinstance(self._answers, SingleRound):
            return SingleRound([self._changing[0][0].accountant])
        return self._answers

    @cached_property
    def _changing(self) -> list[tuple[RoundKind, int]]:
        """The attributes in which the datasets differ, and how many there are of each kind."""
        from shuffledp.accounting.rounds.single_round import SingleRound

        if not isinstance(self._answers, SingleRound):
            return self._answers.leading
        with wide_is_enough():
            return [(max(self._kinds, key=lambda k: k.accountant.delta_lower_bound(0.0)), 1)]

    def _at(self, epsilon: float) -> Datasets:
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
        return Datasets(Pair(first, second), others)

    def _datasets(self, kind: RoundKind, epsilon: float) -> Datasets | None:
        """Return those of an attribute that changes."""
        from shuffledp.accounting.rounds.single_round import SingleRound

        if isinstance(self._answers, SingleRound):
            with wide_is_enough():
                return kind.accountant.delta_report(min(epsilon, MAX_EPSILON0)).datasets
        return dict(zip(self._kinds, self._answers.datasets, strict=True))[kind]
