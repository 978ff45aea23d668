"""Several collections from the same users: what all of them together reveal."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.accounting.operational import OperationalTerms
from shuffledp.accounting.privacy_profile import Profile
from shuffledp.accounting.report import check_order
from shuffledp.accounting.rounds.many_rounds import ManyRounds, largest_sum
from shuffledp.accounting.rounds.round_kind import merge_kinds
from shuffledp.accounting.rounds.rounds_report import RoundsReport
from shuffledp.accounting.rounds.single_round import SingleRound
from shuffledp.accounting.setting import ROUNDS_RTOL, Setting
from shuffledp.basics.errors import (
    AccuracyWarning,
    check_delta,
    check_rounds,
    check_rtol,
    check_total_epsilon,
    warn_caller,
)
from shuffledp.basics.interval import Interval
from shuffledp.basics.rounding import plain
from shuffledp.bounds.root import delta_above, delta_below
from shuffledp.mechanisms import Relation


class Rounds(OperationalTerms):
    r"""Certified privacy of several rounds of collection from the same users.

    Every round has fresh noise and a fresh shuffle, and nobody can tell which reports of different
    rounds belong to one user. Neighbouring datasets replace the inputs of one user in all rounds;
    where a mechanism limits what changes, as ``joint(..., at_most=1)`` does, they differ in its
    rounds no more than that. What users hold may differ from round to round and depend on what was
    published before.

    The epsilon grows like the root of the number of rounds, where epsilons that are added up grow
    like the number itself. The time for an answer grows neither with the rounds nor with the users.

    Args:
        rounds: accountants of one round, each with how many such rounds there are. Their ``bound``
            counts; their ``rtol`` does so for a single round only.
        at_most: in how many of the rounds a user takes part, whichever these are; None for all.
        rtol: relative width of epsilon. A delta is known as well as an epsilon of that width says.

    >>> weekly = ShuffleAccountant("krr(k=10, epsilon0=2)", n=10_000)
    >>> year = Rounds([(weekly, 52)])
    >>> print(f"{year.get_epsilon(1e-6):.3f}, not {year.naive_epsilon(1e-6):.3f}")
    0.661, not 5.181
    >>> survey = ShuffleAccountant("krr(k=4, epsilon0=3)", n=20_000)
    >>> print(f"{(year + survey.rounds(4)).get_epsilon(1e-6):.3f}")
    0.743
    """

    def __init__(
        self,
        rounds: Iterable[tuple[ShuffleAccountant, int]],
        *,
        at_most: int | None = None,
        rtol: float = ROUNDS_RTOL,
    ) -> None:
        self.kinds = merge_kinds(rounds)
        self.total = check_rounds(sum(kind.times for kind in self.kinds), "the sum of all rounds")
        self.at_most = None if at_most is None else check_rounds(at_most, "at_most")
        self.rtol = check_rtol(rtol)

    def __repr__(self) -> str:
        """Return the constructor call."""
        kinds = ", ".join(f"({kind.accountant!r}, {kind.times})" for kind in self.kinds)
        at_most = "" if self.at_most is None else f", at_most={self.at_most}"
        rtol = "" if self.rtol == ROUNDS_RTOL else f", rtol={self.rtol!r}"
        return f"Rounds([{kinds}]{at_most}{rtol})"

    def __add__(self, other: Rounds) -> Rounds:
        """Return the rounds of both, as precise as the more precise one."""
        if not isinstance(other, Rounds):
            return NotImplemented
        if self.at_most is not None or other.at_most is not None:
            raise ValueError("rounds with at_most cannot be added: state at_most for all of them")
        kinds = [(kind.accountant, kind.times) for kind in (*self.kinds, *other.kinds)]
        return Rounds(kinds, rtol=min(self.rtol, other.rtol))

    def get_epsilon(self, target_delta: float) -> float:
        """Return the certified epsilon: all rounds together are (epsilon, target_delta)-DP.

        It keeps its word: asked back, ``get_delta(epsilon) <= target_delta``, exactly.
        """
        answer = self._answers.proved_epsilon(check_delta(target_delta))
        return self._said("epsilon", answer).upper

    def get_delta(self, target_epsilon: float) -> float:
        """Return the certified delta: all rounds together are (target_epsilon, delta)-DP."""
        answer = self._answers.proved_log_delta(check_total_epsilon(target_epsilon))
        return _to_delta(self._said("delta", answer)).upper

    def epsilon_interval(self, target_delta: float) -> Interval:
        """Enclose the epsilon at ``target_delta``: of the composed blanket bounds, or the true one.

        It is the true one if the bound of some round is "best".
        """
        return self._said("epsilon", self._answers.epsilon(check_delta(target_delta)))

    def delta_interval(self, target_epsilon: float) -> Interval:
        """Enclose the delta at ``target_epsilon``: of the composed blanket bounds, or the truth."""
        return _to_delta(self.log_delta_interval(target_epsilon))

    def log_delta_interval(self, target_epsilon: float) -> Interval:
        """Enclose the natural logarithm of delta, which does not underflow."""
        answer = self._answers.log_delta(check_total_epsilon(target_epsilon))
        log = self._said("delta", answer)
        return Interval(min(log.lower, 0.0), min(log.upper, 0.0))

    def epsilon_lower_bound(self, target_delta: float) -> float:
        """Return an epsilon below which concrete datasets exceed ``target_delta``.

        They are the same in all rounds of a kind, so what they reveal is exactly a product. No
        analysis can claim less.
        """
        return self._answers.lower_epsilon(check_delta(target_delta))

    def delta_lower_bound(self, target_epsilon: float) -> float:
        """Return a delta that concrete datasets attain, the same in all rounds of a kind."""
        log = self._answers.lower_log_delta(check_total_epsilon(target_epsilon))
        return delta_below(log)

    def meets(self, target_epsilon: float, target_delta: float) -> bool:
        """Whether a first look shows that all rounds are (target_epsilon, target_delta)-DP.

        A yes is certified. A no may be one because the look was not close enough.
        """
        return self.gap(target_epsilon, target_delta) <= 0

    def gap(self, target_epsilon: float, target_delta: float) -> float:
        """Return how far log delta is above its target at a first look; at most 0 if it `meets`."""
        return self._answers.gap(check_total_epsilon(target_epsilon), check_delta(target_delta))

    def naive_epsilon(self, target_delta: float) -> float:
        """Return the sum of the epsilons of single rounds, each at an equal share of delta.

        That is certified, too, but much larger than :meth:`get_epsilon`.
        """
        delta = check_delta(target_delta)
        share = max(math.nextafter(delta / self.limit, 0.0), 0.0) if self.limit > 1 else delta
        ends = [(kind.accountant.get_epsilon(share), kind.times) for kind in self.kinds]
        return largest_sum(ends, self.limit).upper

    def profile(self, epsilons: Iterable[float]) -> Profile:
        """Enclose delta at every one of several epsilons."""
        return Profile.of(self.delta_interval, epsilons, check_total_epsilon)

    def epsilon_report(self, target_delta: float) -> RoundsReport:
        """Answer "which epsilon?" with guarantee, lower bound and what adding up would give."""
        delta = check_delta(target_delta)
        guarantee, reached = self._answers.epsilon(delta)
        return RoundsReport(
            rounds=self,
            quantity="epsilon",
            target=delta,
            guarantee=guarantee,
            lower_bound=check_order(self._answers.lower_epsilon(delta), guarantee.upper),
            rtol_reached=reached,
            datasets=self._answers.datasets,
        )

    def delta_report(self, target_epsilon: float) -> RoundsReport:
        """Answer "which delta?" with guarantee and lower bound."""
        epsilon = check_total_epsilon(target_epsilon)
        log, reached = self._answers.log_delta(epsilon)
        lower = check_order(self._answers.lower_log_delta(epsilon), log.upper)
        return RoundsReport(
            rounds=self,
            quantity="delta",
            target=epsilon,
            guarantee=_to_delta(log),
            lower_bound=delta_below(lower),
            rtol_reached=reached,
            datasets=self._answers.datasets,
            log_guarantee=Interval(min(log.lower, 0.0), min(log.upper, 0.0)),
            log_lower_bound=min(lower, 0.0),
        )

    @property
    def setting(self) -> Setting | None:
        """What is asked, if all rounds are of one kind."""
        if len(self.kinds) > 1:
            return None
        (kind,) = self.kinds
        return replace(kind.accountant.setting, rounds=kind.times, at_most=self.at_most)

    @property
    def relation(self) -> Relation | None:
        """How neighbouring datasets differ in every round; None if not in all rounds alike.

        Then answers are about datasets that differ in each round as its own relation allows.
        """
        relations = {kind.accountant.relation for kind in self.kinds}
        return relations.pop() if len(relations) == 1 else None

    @property
    def limit(self) -> int:
        """In how many rounds a user takes part, at most."""
        return self.total if self.at_most is None else min(self.at_most, self.total)

    @cached_property
    def _answers(self) -> ManyRounds | SingleRound:
        if self.limit == 1:
            return SingleRound([kind.accountant for kind in self.kinds])
        return ManyRounds(self.kinds, self.limit, self.rtol)

    def _said(self, what: str, answer: tuple[Interval, bool]) -> Interval:
        """Return the enclosure; warn if it is wider than asked."""
        interval, reached = answer
        if not reached:
            warn_caller(
                f"the enclosure of {what} for {self.total} rounds is wider than rtol = "
                f"{plain(self.rtol)}; it is valid but wider than asked",
                AccuracyWarning,
            )
        return interval


def _to_delta(log: Interval) -> Interval:
    return Interval(delta_below(log.lower), delta_above(log.upper))
