"""The questions users ask about one randomizer and one number of users."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shuffledp.accounting.along import prepare_log_deltas
from shuffledp.accounting.candidates import Candidate
from shuffledp.accounting.crowd import crowd_of
from shuffledp.accounting.inversion import log_gap
from shuffledp.accounting.known_bounds import KnownBounds
from shuffledp.accounting.operational import OperationalTerms
from shuffledp.accounting.profile import Profile
from shuffledp.accounting.profile_point import delta_range, log_delta_range
from shuffledp.accounting.report import (
    DEFAULT_BOUND,
    Bound,
    Proof,
    Report,
    check_bound,
    check_order,
)
from shuffledp.accounting.sum_view import Attained, View, check_view
from shuffledp.divergence import LogEnclosure, estimate_log_delta
from shuffledp.errors import (
    AccuracyWarning,
    check_delta,
    check_epsilon,
    check_rtol,
    check_users,
    warn_caller,
)
from shuffledp.interval import Interval
from shuffledp.randomizers import LocalRandomizer, Relation, as_randomizer, why_no_other_is_worse
from shuffledp.rounding import plain, round_up

if TYPE_CHECKING:
    from shuffledp.accounting.rounds import Rounds

DEFAULT_RTOL = 1e-4

_MARGIN = 0.5  # of log delta: ten times the error of an estimate


class ShuffleAccountant(OperationalTerms):
    """Certified privacy of n users who run a local randomizer behind a shuffler.

    n counts all users, the one whose input changes included. Neighbouring datasets replace one
    user's input, or change as much of it as the mechanism says: see :attr:`relation`. The analyst
    sees the shuffled multiset of whole reports, or only their sum.
    Guarantees are rounded up, lower bounds down, and the cost does not grow with n.

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
            shuffled ones, chosen one after the other; "best" then gives the blanket, too.
        view: what the analyst sees: "multiset", the shuffled reports, or "sum", nothing but their
            sum, as after secure aggregation. For added noise and unary encodings the privacy of the
            sum itself is computed, whatever ``bound`` says, and intervals enclose the truth; so
            they do for the sums of several attributes, one for each. Where the sum tells as much as
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
        rtol: float = DEFAULT_RTOL,
        bound: Bound = DEFAULT_BOUND,
        corrupted: float | Fraction = 0,
        corrupted_adaptively: float | Fraction = 0,
        view: View = "multiset",
    ) -> None:
        self.randomizer = as_randomizer(randomizer)
        self.n = check_users(n)
        self.crowd = crowd_of(self.n, corrupted, corrupted_adaptively)
        self.rtol = check_rtol(rtol)
        self.bound: Bound = check_bound(bound)
        self.view: View = check_view(view)

    def __getstate__(self) -> dict[str, object]:
        """Return the question: copies in other processes compute their answers themselves."""
        return {name: value for name, value in vars(self).items() if name != "known"}

    def __repr__(self) -> str:
        """Return the constructor call."""
        rtol = "" if self.rtol == DEFAULT_RTOL else f", rtol={self.rtol!r}"
        bound = "" if self.bound == DEFAULT_BOUND else f", bound={self.bound!r}"
        crowd = "".join(
            f", {name}={count}"
            for name in ("corrupted", "corrupted_adaptively")
            if (count := getattr(self.crowd, name))
        )
        view = "" if self.view == "multiset" else f", view={self.view!r}"
        return f"ShuffleAccountant({self.randomizer!r}, n={self.n}{rtol}{bound}{crowd}{view})"

    @property
    def relation(self) -> Relation:
        """How neighbouring datasets differ, which is what answers protect."""
        return self.randomizer.relation

    def get_epsilon(self, target_delta: float) -> float:
        """Return the certified epsilon: the shuffled reports are (epsilon, target_delta)-DP.

        Infinite if no epsilon has so small a delta. It keeps its word: asked back, the same
        accountant has ``get_delta(epsilon) <= target_delta``, exactly (up to epsilon = 300, the
        largest one can ask about).
        """
        return self._epsilon(check_delta(target_delta), blanket=self.known.is_blanket).upper

    def get_delta(self, target_epsilon: float) -> float:
        """Return the certified delta: the shuffled reports are (target_epsilon, delta)-DP.

        Asked back, ``epsilon_interval(delta)`` begins at or below ``target_epsilon``. So
        ``get_epsilon(delta)``, its other end, is above it by a relative ``rtol`` at most, or as
        much as an :class:`shuffledp.AccuracyWarning` says.
        """
        epsilon = check_epsilon(target_epsilon)
        return delta_range(self._log_delta(epsilon, blanket=self.known.is_blanket)).upper

    def epsilon_interval(self, target_delta: float) -> Interval:
        """Enclose the epsilon at ``target_delta``: that of the blanket bound, or the true one."""
        return self._epsilon(check_delta(target_delta), blanket=not self.known.is_best)

    def delta_interval(self, target_epsilon: float) -> Interval:
        """Enclose the delta at ``target_epsilon``: that of the blanket bound, or the true one."""
        epsilon = check_epsilon(target_epsilon)
        return delta_range(self._log_delta(epsilon, blanket=not self.known.is_best))

    def log_delta_interval(self, target_epsilon: float) -> Interval:
        """Enclose the natural logarithm of delta, which never underflows."""
        epsilon = check_epsilon(target_epsilon)
        return log_delta_range(self._log_delta(epsilon, blanket=not self.known.is_best))

    def proved_log_delta(self, target_epsilon: float) -> tuple[float, Proof]:
        """Return an upper bound on log delta and what proves it, without any lower end."""
        epsilon = check_epsilon(target_epsilon)
        if self.known.is_best:
            return self.known.best.proved(epsilon)
        return self.known.upper.log_delta(epsilon)[0].upper, "blanket"

    def epsilon_lower_bound(self, target_delta: float) -> float:
        """Return an epsilon below which a concrete pair of datasets exceeds ``target_delta``.

        No analysis of this mechanism can claim less.
        """
        delta = check_delta(target_delta)
        if not self.known.lower_needs_upper:
            return self.known.lower(None).epsilon(delta)[0].lower
        guarantee, worst = self.known.upper.epsilon(delta)
        lower = self.known.lower(worst).epsilon(delta)[0].lower
        return check_order(lower, guarantee.upper)

    def delta_lower_bound(self, target_epsilon: float) -> float:
        """Return a delta that a concrete pair of datasets attains at ``target_epsilon``."""
        epsilon = check_epsilon(target_epsilon)
        if not self.known.lower_needs_upper:
            return delta_range(self.known.lower(None).log_delta(epsilon)[0]).lower
        guarantee, worst = self.known.upper.log_delta(epsilon)
        lower = self.known.lower(worst).log_delta(epsilon)[0]
        check_order(lower.lower, guarantee.upper)
        return delta_range(lower).lower

    def profile(self, epsilons: Iterable[float]) -> Profile:
        """Enclose delta at every one of several epsilons, for a fraction of what each costs alone.

        They are evaluated together, so their ends may differ from those of single answers, by less
        than ``rtol``.
        """
        if not isinstance(epsilons, Iterable):
            raise TypeError(f"epsilons must be several numbers, got {epsilons!r}")
        points = [check_epsilon(e, "epsilons") for e in epsilons]
        prepared = self._twin()
        upper_alone = not self.known.is_best
        for name, family in prepared.known.families.items():
            if name == "upper" or not upper_alone:
                prepare_log_deltas([family] * len(points), points)
        deltas = [prepared.delta_interval(e) for e in points]
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
        if self.known.is_best:
            best = self.known.best.epsilon(delta)
            guarantee, pair, lower, datasets = best.guarantee, best.worst, best.attained, best.leak
            proof, reached = best.proof, best.computed is None or self._reached(best.computed)
        else:
            guarantee, worst = self.known.upper.epsilon(delta)
            lower, datasets = self.known.lower(worst).epsilon(delta)
            pair = worst
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
            datasets=None if datasets is None else datasets.datasets,
            pairs=why_no_other_is_worse(self.randomizer, self.known.pairs),
            rtol_reached=reached,
            bound=proof,
            wanted=self.bound,
            bound_reason=self.known.reason,
        )

    def delta_report(self, target_epsilon: float) -> Report:
        """Answer "which delta?" with guarantee, lower bound and where they are attained."""
        epsilon = check_epsilon(target_epsilon)
        proof: Proof = "blanket"
        pair: Candidate | Attained | None
        datasets: Candidate | Attained | None
        if self.known.is_best:
            best = self.known.best.log_delta(epsilon)
            value, pair, lower, datasets = best.guarantee, best.worst, best.attained, best.leak
            proof = best.proof
            reached = best.computed is None or best.computed.width <= self.rtol
        else:
            value, worst = self.known.upper.log_delta(epsilon)
            lower, datasets = self.known.lower(worst).log_delta(epsilon)
            pair = worst
            reached = value.width <= self.rtol
        return Report(
            randomizer=self.randomizer,
            crowd=self.crowd,
            view=self.view,
            quantity="delta",
            target=epsilon,
            rtol=self.rtol,
            guarantee=delta_range(value),
            lower_bound=delta_range(lower).lower,
            worst_pair=None if pair is None else pair.pair,
            datasets=None if datasets is None else datasets.datasets,
            pairs=why_no_other_is_worse(self.randomizer, self.known.pairs),
            rtol_reached=reached,
            log_guarantee=log_delta_range(value),
            log_lower_bound=log_delta_range(lower).lower,
            bound=proof,
            wanted=self.bound,
            bound_reason=self.known.reason,
        )

    def rounds(self, times: int, *, at_most: int | None = None, rtol: float = 1e-3) -> Rounds:
        """Return so many rounds like this one, with the same users; see :class:`shuffledp.Rounds`.

        >>> weekly = ShuffleAccountant("krr(k=10, epsilon0=2)", n=10_000)
        >>> print(f"{weekly.rounds(52).get_epsilon(1e-6):.3f}")
        0.661
        """
        from shuffledp.accounting.rounds import Rounds

        return Rounds([(self, times)], at_most=at_most, rtol=rtol)

    def meets(self, target_epsilon: float, target_delta: float) -> bool:
        """Whether ``get_delta(target_epsilon) <= target_delta``, for less than it takes to tell.

        Of two bounds one is enough, and of many pairs the first that fails.

        >>> accountant = ShuffleAccountant("krr(k=10, epsilon0=2)", n=10_000)
        >>> accountant.meets(0.08, 1e-6), accountant.meets(0.079, 1e-6)
        (True, False)
        """
        return self._gap(check_epsilon(target_epsilon), check_delta(target_delta)) <= 0

    def gap(self, target_epsilon: float, target_delta: float) -> float:
        """Return how far log delta is above its target, about: a search needs no more.

        It is at most 0 only where the accountant ``meets`` the target. Where an estimate leaves no
        doubt that it does not, it is that estimate.
        """
        epsilon, delta = check_epsilon(target_epsilon), check_delta(target_delta)
        hopeless = self.hopeless_gap(epsilon, delta)
        return hopeless if hopeless > 0 else self._gap(epsilon, delta)

    def hopeless_gap(self, target_epsilon: float, target_delta: float) -> float:
        """Estimate, not prove, how far log delta is above; minus infinity unless beyond doubt."""
        epsilon, delta = check_epsilon(target_epsilon), check_delta(target_delta)
        bound = self.known.estimated()
        leader = None if bound is None else bound.candidates.leader()
        if leader is None or delta == 1:
            return -math.inf
        if delta == 0:
            end = self.known.upper.candidates.max_epsilon().lower
            return math.inf if end > epsilon else -math.inf
        estimate, _ = estimate_log_delta(leader.decomposition, self.crowd.honest, epsilon)
        gap = estimate - math.log(delta)
        return gap if gap > _MARGIN else -math.inf

    def _gap(self, epsilon: float, delta: float) -> float:
        if delta == 1:
            return -math.inf
        if self.known.is_best:
            return self.known.best.gap(epsilon, delta)
        value, _ = self.known.upper.log_delta(epsilon)
        return log_gap(value.upper, delta)

    def _twin(self) -> ShuffleAccountant:
        """Return an accountant that answers alike and remembers nothing of what this one does."""
        return ShuffleAccountant(
            self.randomizer,
            self.n,
            rtol=self.rtol,
            bound=self.bound,
            corrupted=self.crowd.corrupted,
            corrupted_adaptively=self.crowd.corrupted_adaptively,
            view=self.view,
        )

    @cached_property
    def known(self) -> KnownBounds:
        """What is proved and what is attained."""
        return KnownBounds(self.randomizer, self.crowd, self.view, self.bound, self.rtol)

    def _epsilon(self, delta: float, *, blanket: bool) -> Interval:
        """Enclose epsilon by the bound over all neighbours, or by all that is known."""
        if blanket:
            interval, _ = self.known.upper.epsilon(delta)
            computed: Interval | None = interval
        else:
            best = self.known.best.epsilon(delta)
            interval, computed = best.guarantee, best.computed
        if computed is not None and not self._reached(computed):
            finite = computed.upper < math.inf
            self._warn("epsilon", computed.width / computed.upper if finite else math.inf)
        return interval

    def _log_delta(self, epsilon: float, *, blanket: bool) -> LogEnclosure:
        if blanket:
            value, _ = self.known.upper.log_delta(epsilon)
            computed: LogEnclosure | None = value
        else:
            best = self.known.best.log_delta(epsilon)
            value, computed = best.guarantee, best.computed
        if computed is not None and computed.width > self.rtol:
            self._warn("delta", computed.width)
        return value

    def _reached(self, epsilon: Interval) -> bool:
        if epsilon.upper == math.inf:
            return epsilon.lower == math.inf
        return epsilon.width <= self.rtol * epsilon.upper

    def _warn(self, what: str, width: float) -> None:
        warn_caller(
            f"the enclosure of {what} for {self.randomizer} and n = {self.n} has relative width "
            f"{round_up(width, 2)} instead of rtol = {plain(self.rtol)}; it is valid but wider "
            "than asked",
            AccuracyWarning,
        )
