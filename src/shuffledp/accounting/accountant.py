"""The questions users ask about one randomizer and one number of users."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from shuffledp.accounting.adaptive_bound import AdaptiveBound
from shuffledp.accounting.best_bound import BestBound
from shuffledp.accounting.candidates import Candidate, backgrounds, blankets
from shuffledp.accounting.crowd import crowd_of
from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.profile import Profile
from shuffledp.accounting.report import BOUNDS, Bound, Proof, Report, check_order
from shuffledp.accounting.sum_view import Attained, ExactSum, Unattained, View, check_view, is_exact
from shuffledp.accounting.swap_bound import SwapBound
from shuffledp.accounting.worst_case import WorstCase
from shuffledp.divergence import LogEnclosure, estimate_log_delta
from shuffledp.errors import (
    AccuracyWarning,
    check_delta,
    check_epsilon,
    check_rtol,
    check_users,
    warn_caller,
)
from shuffledp.interval import Interval, exp_down, exp_up
from shuffledp.randomizers import (
    LocalRandomizer,
    Pair,
    as_randomizer,
    pairs_to_compare,
    why_no_other_is_worse,
)
from shuffledp.randomizers.aggregate import SameAsMultiset

#: Up to this many pairs, lower bounds look at all; beyond, at the worst of the upper bound.
_MAX_LOWER_PAIRS = 64

_RTOL = 1e-4

_MARGIN = 0.5  # of log delta: ten times the error of an estimate


class ShuffleAccountant:
    """Certified privacy of n users who run a local randomizer behind a shuffler.

    n counts all users, the one whose input changes included. Neighbouring datasets replace one
    user's input. The analyst sees the shuffled multiset of whole reports. Guarantees are rounded
    up, lower bounds down, and the cost does not grow with n.

    Args:
        randomizer: what each user runs, or its text such as ``"krr(k=10, epsilon0=2)"``.
        n: number of users, 1 to 2**53.
        rtol: relative width of the enclosures, of delta and of epsilon. Where double precision or
            a bounded effort cannot reach it, the enclosure is wider, still valid, and an
            :class:`shuffledp.AccuracyWarning` says so.
        bound: "blanket" for the optimal decomposition bound; then intervals enclose that bound.
            "best" for the smaller of blanket and swap bound, a guarantee that is often within a
            tenth of a percent of what an attacker attains; then intervals enclose the truth, from
            what concrete datasets attain to what is proved. Where the swap bound is not
            established, "best" gives the blanket and the report says so.
        corrupted: how many users the analyst controls, a number or a share of n such as 0.1: their
            reports are known or set. Who they are is fixed before the reports are drawn.
        corrupted_adaptively: how many reports, besides, the analyst learns after seeing the
            shuffled ones, chosen one after the other; only for the blanket bound of the multiset.
        view: what the analyst sees: "multiset", the shuffled reports, or "sum", nothing but their
            sum, as after secure aggregation. For added noise and unary encodings the privacy of the
            sum itself is computed, and intervals enclose the truth. Where the sum tells as much as
            the multiset, or no bound of its own is known, the answer is that of the multiset, and
            the report says so.

    >>> from shuffledp import KRR
    >>> accountant = ShuffleAccountant(KRR(k=10, epsilon0=2.0), n=10_000)
    >>> round(accountant.get_epsilon(target_delta=1e-6), 4)
    0.0798
    >>> round(accountant.epsilon_lower_bound(target_delta=1e-6), 4)
    0.0798
    >>> blanket, best = (
    ...     ShuffleAccountant("laplace(epsilon0=1)", n=1000, bound=bound).get_epsilon(1e-6)
    ...     for bound in ("blanket", "best")
    ... )
    >>> round(blanket, 3), round(best, 3)
    (0.13, 0.111)
    >>> some_collude = ShuffleAccountant("krr(k=10, epsilon0=2)", 10_000, corrupted=0.3)
    >>> round(some_collude.get_epsilon(target_delta=1e-6), 4)
    0.0966
    >>> sums = ShuffleAccountant("laplace(epsilon0=1)", n=1000, view="sum")
    >>> round(sums.get_epsilon(target_delta=1e-6), 3)
    0.08
    """

    def __init__(
        self,
        randomizer: LocalRandomizer | str,
        n: int,
        *,
        rtol: float = _RTOL,
        bound: Bound = "blanket",
        corrupted: float | Fraction = 0,
        corrupted_adaptively: float | Fraction = 0,
        view: View = "multiset",
    ) -> None:
        self.randomizer = as_randomizer(randomizer)
        self.n = check_users(n)
        self.crowd = crowd_of(self.n, corrupted, corrupted_adaptively)
        self.rtol = check_rtol(rtol)
        if bound not in BOUNDS:
            raise ValueError(f"bound must be one of {', '.join(BOUNDS)}, got {bound!r}")
        if bound == "best" and self.crowd.corrupted_adaptively:
            raise ValueError("bound must be 'blanket' with corrupted_adaptively, got 'best'")
        self.bound: Bound = bound
        self.view: View = check_view(view)
        if self._only_sum and (bound == "best" or self.crowd.corrupted_adaptively):
            raise ValueError(
                "view must be 'multiset' with bound='best' or corrupted_adaptively, got 'sum'"
            )

    @property
    def _only_sum(self) -> bool:
        """Whether the analyst sees less than the multiset."""
        return self.view == "sum" and not isinstance(self.randomizer.aggregate, SameAsMultiset)

    @cached_property
    def _exact(self) -> ExactSum | None:
        """The exact privacy of the sum, where it is known."""
        if not self._only_sum or not is_exact(self.randomizer, self.n):
            return None
        return ExactSum(self.randomizer, self._blanket)

    def __repr__(self) -> str:
        """Return the constructor call."""
        rtol = "" if self.rtol == _RTOL else f", rtol={self.rtol!r}"
        bound = "" if self.bound == "blanket" else f", bound={self.bound!r}"
        crowd = "".join(
            f", {name}={count}"
            for name in ("corrupted", "corrupted_adaptively")
            if (count := getattr(self.crowd, name))
        )
        view = "" if self.view == "multiset" else f", view={self.view!r}"
        return f"ShuffleAccountant({self.randomizer!r}, n={self.n}{rtol}{bound}{crowd}{view})"

    def get_epsilon(self, target_delta: float) -> float:
        """Return the certified epsilon: the shuffled reports are (epsilon, target_delta)-DP.

        Infinite if no epsilon has so small a delta. It keeps its word: asked back, the same
        accountant has ``get_delta(epsilon) <= target_delta``, exactly (up to epsilon = 300, the
        largest one can ask about).
        """
        return self.epsilon_interval(target_delta).upper

    def get_delta(self, target_epsilon: float) -> float:
        """Return the certified delta: the shuffled reports are (target_epsilon, delta)-DP.

        Asked back, ``epsilon_interval(delta)`` begins at or below ``target_epsilon``. So
        ``get_epsilon(delta)``, its other end, is above it by a relative ``rtol`` at most, or as
        much as an :class:`shuffledp.AccuracyWarning` says.
        """
        return self.delta_interval(target_epsilon).upper

    def epsilon_interval(self, target_delta: float) -> Interval:
        """Enclose the epsilon at ``target_delta``: that of the blanket bound, or the true one."""
        delta = check_delta(target_delta)
        if self.bound == "best":
            return self._best.epsilon(delta).guarantee
        interval, _ = self._upper.epsilon(delta)
        if not self._reached(interval):
            finite = interval.upper < math.inf
            self._warn("epsilon", interval.width / interval.upper if finite else math.inf)
        return interval

    def delta_interval(self, target_epsilon: float) -> Interval:
        """Enclose the delta at ``target_epsilon``: that of the blanket bound, or the true one."""
        return _to_delta(self._log_delta(target_epsilon))

    def log_delta_interval(self, target_epsilon: float) -> Interval:
        """Enclose the natural logarithm of delta, which never underflows."""
        return _to_log_delta(self._log_delta(target_epsilon))

    def epsilon_lower_bound(self, target_delta: float) -> float:
        """Return an epsilon below which a concrete pair of datasets exceeds ``target_delta``.

        No analysis of this mechanism can claim less.
        """
        delta = check_delta(target_delta)
        if not self._many_pairs or self._only_sum:
            return self._lower(None).epsilon(delta)[0].lower
        guarantee, worst = self._upper.epsilon(delta)
        lower = self._lower(worst).epsilon(delta)[0].lower
        return check_order(lower, guarantee.upper)

    def delta_lower_bound(self, target_epsilon: float) -> float:
        """Return a delta that a concrete pair of datasets attains at ``target_epsilon``."""
        epsilon = check_epsilon(target_epsilon)
        if not self._many_pairs or self._only_sum:
            return _to_delta(self._lower(None).log_delta(epsilon)[0]).lower
        guarantee, worst = self._upper.log_delta(epsilon)
        lower = self._lower(worst).log_delta(epsilon)[0]
        check_order(lower.lower, guarantee.upper)
        return _to_delta(lower).lower

    def profile(self, epsilons: Iterable[float]) -> Profile:
        """Enclose delta at every one of several epsilons."""
        if not isinstance(epsilons, Iterable):
            raise TypeError(f"epsilons must be several numbers, got {epsilons!r}")
        points = [check_epsilon(e, "epsilons") for e in epsilons]
        deltas = [self.delta_interval(e) for e in points]
        return Profile(
            np.array(points),
            np.array([d.lower for d in deltas]),
            np.array([d.upper for d in deltas]),
        )

    def epsilon_report(self, target_delta: float) -> Report:
        """Answer "which epsilon?" with guarantee, lower bound and where they are attained."""
        delta = check_delta(target_delta)
        proof: Proof = "blanket"
        pair: Candidate | Attained | None
        datasets: Candidate | Attained | None
        if self.bound == "best":
            best = self._best.epsilon(delta)
            guarantee, pair, lower, datasets = best.guarantee, best.worst, best.attained, best.leak
            proof, reached = best.proof, best.proof == "swap" or self._reached(best.blanket)
        else:
            guarantee, pair = self._upper.epsilon(delta)
            lower, datasets = self._lower(pair).epsilon(delta)
            reached = self._reached(guarantee)
        return Report(
            randomizer=self.randomizer,
            crowd=self.crowd,
            view=self.view,
            quantity="epsilon",
            target=delta,
            rtol=self.rtol,
            guarantee=guarantee,
            lower_bound=lower.lower,
            worst_pair=None if pair is None else pair.pair,
            datasets=_datasets(datasets),
            pairs=why_no_other_is_worse(self.randomizer, self._pairs),
            rtol_reached=reached,
            bound=proof,
            wanted=self.bound,
        )

    def delta_report(self, target_epsilon: float) -> Report:
        """Answer "which delta?" with guarantee, lower bound and where they are attained."""
        epsilon = check_epsilon(target_epsilon)
        proof: Proof = "blanket"
        pair: Candidate | Attained | None
        datasets: Candidate | Attained | None
        if self.bound == "best":
            best = self._best.log_delta(epsilon)
            value, pair, lower, datasets = best.guarantee, best.worst, best.attained, best.leak
            proof, reached = best.proof, best.proof == "swap" or best.blanket.width <= self.rtol
        else:
            value, pair = self._upper.log_delta(epsilon)
            lower, datasets = self._lower(pair).log_delta(epsilon)
            reached = value.width <= self.rtol
        return Report(
            randomizer=self.randomizer,
            crowd=self.crowd,
            view=self.view,
            quantity="delta",
            target=epsilon,
            rtol=self.rtol,
            guarantee=_to_delta(value),
            lower_bound=_to_delta(lower).lower,
            worst_pair=None if pair is None else pair.pair,
            datasets=_datasets(datasets),
            pairs=why_no_other_is_worse(self.randomizer, self._pairs),
            rtol_reached=reached,
            log_guarantee=_to_log_delta(value),
            log_lower_bound=_to_log_delta(lower).lower,
            bound=proof,
            wanted=self.bound,
        )

    def is_hopeless(self, target_epsilon: float, target_delta: float) -> bool:
        """Whether an estimate leaves no doubt that ``get_delta`` would exceed ``target_delta``.

        It proves nothing, but saves a search many evaluations.
        """
        epsilon, delta = check_epsilon(target_epsilon), check_delta(target_delta)
        if self._exact is not None:
            return False
        candidates = self._blanket.candidates
        leader = candidates.leader()
        if leader is None or delta == 1:
            return False
        if delta == 0:
            return candidates.max_epsilon().lower > epsilon
        if self.bound == "best":
            return False  # the estimate is of the blanket
        estimate, _ = estimate_log_delta(leader.decomposition, self.crowd.honest, epsilon)
        return estimate > math.log(delta) + _MARGIN

    @cached_property
    def _pairs(self) -> Sequence[Pair]:
        return pairs_to_compare(self.randomizer)

    @property
    def _many_pairs(self) -> bool:
        return len(self._pairs) > _MAX_LOWER_PAIRS

    @cached_property
    def _blanket(self) -> WorstCase:
        """The bound over all neighbours: one blanket per pair."""
        return WorstCase(blankets(self.randomizer), self.crowd.honest, self.rtol)

    @cached_property
    def _upper(self) -> WorstCase | AdaptiveBound | ExactSum:
        """The bound over all neighbours, whatever the analyst chooses to learn."""
        if self._exact is not None:
            return self._exact
        if not self.crowd.corrupted_adaptively:
            return self._blanket
        return AdaptiveBound(self._blanket, self.crowd.corrupted_adaptively)

    @cached_property
    def _best(self) -> BestBound:
        """The smaller of blanket and swap bound."""
        swap = SwapBound(self.randomizer, self.crowd.honest)
        return BestBound(self._blanket, self._lower_of_multiset, swap)

    def _lower(self, worst: Candidate | Attained | None) -> WorstCase | ExactSum | Unattained:
        """The bound of concrete datasets: one background per pair and common input."""
        if self._only_sum:
            return Unattained() if self._exact is None else self._exact
        return self._lower_of_multiset(worst)

    def _lower_of_multiset(self, worst: Candidate | Attained | None) -> WorstCase:
        if not self._many_pairs:
            return self._lower_of_all
        pair = self._pairs[0] if worst is None else worst.pair
        return self._lower_of((pair, pair.reversed))

    @cached_property
    def _lower_of_all(self) -> WorstCase:
        return self._lower_of(tuple(self._pairs))

    def _lower_of(self, pairs: tuple[Pair, ...]) -> WorstCase:
        users = self.crowd.honest - self.crowd.corrupted_adaptively  # as if these were fixed, too
        return WorstCase(backgrounds(self.randomizer, pairs), users, self.rtol)

    def _log_delta(self, target_epsilon: float) -> LogEnclosure:
        epsilon = check_epsilon(target_epsilon)
        if self.bound == "best":
            return self._best.log_delta(epsilon).guarantee
        value, _ = self._upper.log_delta(epsilon)
        if value.width > self.rtol:
            self._warn("delta", value.width)
        return value

    def _reached(self, epsilon: Interval) -> bool:
        if epsilon.upper == math.inf:
            return epsilon.lower == math.inf
        return epsilon.width <= self.rtol * epsilon.upper

    def _warn(self, what: str, width: float) -> None:
        warn_caller(
            f"the enclosure of {what} for {self.randomizer} and n = {self.n} has relative width "
            f"{width:.1e} instead of rtol = {self.rtol:g}; it is valid but wider than asked",
            AccuracyWarning,
        )


def _to_delta(value: LogEnclosure) -> Interval:
    """Return delta from its logarithm; it is never above 1."""
    return Interval(min(exp_down(value.lower), 1.0), min(exp_up(value.upper), 1.0))


def _to_log_delta(value: LogEnclosure) -> Interval:
    return Interval(min(value.lower, 0.0), min(value.upper, 0.0))


def _datasets(candidate: Candidate | Attained | None) -> Datasets | None:
    if candidate is None or candidate.other is None:
        return None
    return Datasets(candidate.pair, candidate.other)
