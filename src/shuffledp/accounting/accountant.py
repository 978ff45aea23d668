"""The questions users ask about one randomizer and one number of users."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Self

from shuffledp.accounting.answered import OneMechanism, Quantity
from shuffledp.accounting.choice import Choice, choose
from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.operational import OperationalTerms
from shuffledp.accounting.privacy_profile import Profile
from shuffledp.accounting.report import Report, check_order
from shuffledp.accounting.setting import DEFAULT_BOUND, DEFAULT_RTOL, Bound, Setting
from shuffledp.accounting.sum_view import View
from shuffledp.basics.errors import (
    MAX_EPSILON0,
    AccuracyWarning,
    check_delta,
    check_epsilon,
    check_rtol,
    check_users,
    warn_caller,
)
from shuffledp.basics.interval import Interval
from shuffledp.basics.rounding import plain, round_up
from shuffledp.bounds.curve import Curve, Proof, Proved
from shuffledp.bounds.root import Root, delta_above, delta_below, epsilon_above, epsilon_below
from shuffledp.mechanisms import (
    LocalRandomizer,
    Pair,
    Relation,
    as_randomizer,
    why_no_other_is_worse,
)

if TYPE_CHECKING:
    from shuffledp.accounting.rounds.rounds import Rounds

#: What is made when first asked for, and not copied.
_MADE = frozenset({"choice", "_roots"})

#: Of log delta: several times the error of an estimate.
_MARGIN = 0.3


class ShuffleAccountant(OneMechanism, OperationalTerms):
    """Certified privacy of n users who run a local randomizer behind a shuffler.

    n counts all users, the one whose input changes included. Neighbouring datasets replace one
    user's input, or change as much of it as the mechanism says: see :attr:`relation`. The analyst
    sees the shuffled multiset of whole reports, or only their sum.
    Guarantees are rounded up, lower bounds down, and the cost does not grow with n.

    Args:
        randomizer: what each user runs, or its text such as ``"krr(k=10, epsilon0=2)"``.
        n: number of users, 1 to 2**53.
        rtol: relative width of enclosures of epsilon, and of delta as far as that needs it. Where
            a bounded effort cannot reach it, the enclosure is wider, still valid, and an
            :class:`shuffledp.AccuracyWarning` says so.
        bound: which guarantee to compute, as in :class:`shuffledp.Setting`; intervals enclose the
            blanket bound, or the truth, from what concrete datasets attain to what is proved.
        corrupted: how many users the analyst controls, a number or a share of n such as 0.1.
        corrupted_adaptively: how many reports, besides, the analyst learns after the fact.
        view: what the analyst sees, the "multiset" of reports or nothing but their "sum".

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
    >>> sums = ShuffleAccountant("laplace(epsilon0=1)", n=1000, view="sum")
    >>> round(sums.get_epsilon(target_delta=1e-6), 3)
    0.08
    """

    setting: Setting

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
        self.setting = Setting(
            mechanism=as_randomizer(randomizer),
            n=check_users(n),
            corrupted=corrupted,
            corrupted_adaptively=corrupted_adaptively,
            view=view,
            bound=bound,
        )
        self.rtol = check_rtol(rtol)

    @classmethod
    def of(cls, setting: Setting, rtol: float = DEFAULT_RTOL) -> Self:
        """Return the accountant of one round of a setting."""
        if setting.rounds > 1 or setting.groups:
            raise ValueError(f"the setting must be one round of one mechanism, got {setting}")
        asked = cls.__new__(cls)
        asked.setting = setting.of(setting.randomizer, setting.crowd.n)  # neither is open
        asked.rtol = check_rtol(rtol)
        return asked

    @property
    def bound(self) -> Bound:
        """Which bound of the multiset counts."""
        return self.setting.bound

    def __getstate__(self) -> dict[str, object]:
        """Return the question: copies in other processes compute their answers themselves."""
        return {name: value for name, value in vars(self).items() if name not in _MADE}

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
        delta = check_delta(target_delta)
        return self._said_epsilon(delta, self._epsilon_above(delta))

    def get_delta(self, target_epsilon: float) -> float:
        """Return the certified delta: the shuffled reports are (target_epsilon, delta)-DP.

        Asked back, ``epsilon_interval(delta)`` begins at or below ``target_epsilon``. So
        ``get_epsilon(delta)``, its other end, is above it by a relative ``rtol`` at most, or as
        much as an :class:`shuffledp.AccuracyWarning` says.
        """
        return delta_above(self._said_log_delta(check_epsilon(target_epsilon)))

    def epsilon_interval(self, target_delta: float) -> Interval:
        """Enclose the epsilon at ``target_delta``: that of the blanket bound, or the true one."""
        delta = check_delta(target_delta)
        upper = self._said_epsilon(delta, self._epsilon_above(delta))
        return Interval(check_order(self._epsilon_enclosed(delta), upper), upper)

    def delta_interval(self, target_epsilon: float) -> Interval:
        """Enclose the delta at ``target_epsilon``: that of the blanket bound, or the true one."""
        log = self.log_delta_interval(target_epsilon)
        return Interval(delta_below(log.lower), delta_above(log.upper))

    def log_delta_interval(self, target_epsilon: float) -> Interval:
        """Enclose the natural logarithm of delta, which never underflows."""
        epsilon = check_epsilon(target_epsilon)
        upper = min(self._said_log_delta(epsilon), 0.0)
        return Interval(check_order(self._enclosed.below(epsilon).log, upper), upper)

    def proved_log_delta(self, target_epsilon: float) -> tuple[float, Proof]:
        """Return an upper bound on log delta and what proves it, without any lower end."""
        proved = self.choice.guarantee.above(check_epsilon(target_epsilon))
        return proved.log, proved.proof

    def epsilon_lower_bound(self, target_delta: float) -> float:
        """Return an epsilon below which a concrete pair of datasets exceeds ``target_delta``.

        No analysis of this mechanism can claim less.
        """
        return self._epsilon_below(check_delta(target_delta)).epsilon

    def delta_lower_bound(self, target_epsilon: float) -> float:
        """Return a delta that a concrete pair of datasets attains at ``target_epsilon``."""
        return delta_below(self.choice.attack.below(check_epsilon(target_epsilon)).log)

    def profile(self, epsilons: Iterable[float]) -> Profile:
        """Enclose delta at every one of several epsilons."""
        return Profile.of(self.delta_interval, epsilons, check_epsilon)

    def epsilon_report(self, target_delta: float) -> Report:
        """Answer "which epsilon?" with guarantee, lower bound and where they are attained."""
        delta = check_delta(target_delta)
        upper, lower = self._epsilon_above(delta), self._epsilon_below(delta)
        guarantee = Interval(
            check_order(self._epsilon_enclosed(delta), upper.epsilon), upper.epsilon
        )
        reached = self._reached_epsilon(delta, upper)
        return self._report("epsilon", delta, guarantee, lower.epsilon, reached, upper, lower)

    def delta_report(self, target_epsilon: float) -> Report:
        """Answer "which delta?" with guarantee, lower bound and where they are attained."""
        epsilon = check_epsilon(target_epsilon)
        upper = Root(epsilon, self.choice.guarantee.above(epsilon))
        lower = Root(epsilon, self.choice.attack.below(epsilon))
        top = min(upper.proved.log, 0.0)
        log = Interval(check_order(self._enclosed.below(epsilon).log, top), top)
        guarantee = Interval(delta_below(log.lower), delta_above(log.upper))
        reached = self._width_of_log_delta(epsilon, upper.proved) <= self._tolerance(epsilon)
        found = delta_below(lower.proved.log)
        report = self._report("delta", epsilon, guarantee, found, reached, upper, lower)
        return replace(report, log_guarantee=log, log_lower_bound=min(lower.proved.log, 0.0))

    def _report(
        self,
        quantity: Quantity,
        target: float,
        guarantee: Interval,
        lower_bound: float,
        reached: bool,
        upper: Root,
        lower: Root,
    ) -> Report:
        choice = self.choice
        worst = upper.proved.where or choice.guarantee.above(0.0).where
        datasets = lower.proved.where or choice.attack.below(0.0).where
        if isinstance(worst, Datasets):
            worst = worst.pair
        return Report(
            setting=self.setting,
            quantity=quantity,
            target=target,
            rtol=self.rtol,
            guarantee=guarantee,
            lower_bound=check_order(lower_bound, guarantee.upper),
            worst_pair=worst if isinstance(worst, Pair) else None,
            datasets=datasets if isinstance(datasets, Datasets) else None,
            pairs=why_no_other_is_worse(self.randomizer, choice.pairs),
            rtol_reached=reached,
            bound=upper.proved.proof,
            bound_reason=choice.reason,
        )

    def rounds(self, times: int, *, at_most: int | None = None, rtol: float = 1e-3) -> Rounds:
        """Return so many rounds like this one, with the same users; see :class:`shuffledp.Rounds`.

        >>> weekly = ShuffleAccountant("krr(k=10, epsilon0=2)", n=10_000)
        >>> print(f"{weekly.rounds(52).get_epsilon(1e-6):.3f}")
        0.661
        """
        from shuffledp.accounting.rounds.rounds import Rounds

        return Rounds([(self, times)], at_most=at_most, rtol=rtol)

    def meets(self, target_epsilon: float, target_delta: float) -> bool:
        """Whether ``get_delta(target_epsilon) <= target_delta``.

        >>> ShuffleAccountant("krr(k=10, epsilon0=2)", n=10_000).meets(0.08, 1e-6)
        True
        """
        epsilon, delta = check_epsilon(target_epsilon), check_delta(target_delta)
        return delta_above(self.choice.guarantee.above(epsilon).log) <= delta

    def gap(self, target_epsilon: float, target_delta: float) -> float:
        """Return how far log delta is above its target, about: a search needs no more.

        It is at most 0 only where the accountant ``meets`` the target. Where an estimate leaves no
        doubt that it does not, it is that estimate.
        """
        epsilon, delta = check_epsilon(target_epsilon), check_delta(target_delta)
        if (hopeless := self.hopeless_gap(epsilon, delta)) > 0:
            return hopeless
        found = self.choice.guarantee.above(epsilon).log
        if found == -math.inf or delta == 1:
            return -math.inf
        gap = found - math.log(delta) if delta else math.inf
        return min(gap, 0.0) if delta_above(found) <= delta else max(gap, math.ulp(1.0))

    def hopeless_gap(self, target_epsilon: float, target_delta: float) -> float:
        """Estimate, not prove, how far log delta is above; minus infinity unless beyond doubt."""
        epsilon, delta = check_epsilon(target_epsilon), check_delta(target_delta)
        curve = self.choice.guarantee
        if delta == 0:
            return math.inf if curve.end.lower > epsilon else -math.inf
        gap = curve.estimate(epsilon) - math.log(delta)
        return gap if gap > _MARGIN else -math.inf

    @cached_property
    def choice(self) -> Choice:
        """Which bounds answer."""
        return choose(self.randomizer, self.crowd, self.view, self.bound, self.rtol)

    @cached_property
    def _roots(self) -> dict[tuple[str, float], Root]:
        return {}

    def _epsilon_above(self, delta: float) -> Root:
        if (asked := ("above", delta)) not in self._roots:
            self._roots[asked] = epsilon_above(self.choice.guarantee, delta, self.rtol)
        return self._roots[asked]

    def _epsilon_below(self, delta: float) -> Root:
        if (asked := ("below", delta)) not in self._roots:
            self._roots[asked] = epsilon_below(self.choice.attack, delta, self.rtol)
        return self._roots[asked]

    @property
    def _enclosed(self) -> Curve:
        """The curve whose lower side is the lower end of intervals."""
        return self.choice.blanket if self.choice.encloses_blanket else self.choice.attack

    def _epsilon_enclosed(self, delta: float) -> float:
        if not self.choice.encloses_blanket:
            return self._epsilon_below(delta).epsilon
        return epsilon_below(self.choice.blanket, delta, self.rtol).epsilon

    def _computed(self, proof: Proof) -> Curve | None:
        """Return the curve that is one number but for the computation, if that is what answers."""
        if proof == "blanket":
            return self.choice.blanket
        return self.choice.attack if proof == "exact" and self.choice.is_sharp else None

    def _said_epsilon(self, delta: float, upper: Root) -> float:
        """Return the upper end; warn if the computation, and not what is unknown, is wide."""
        self._reached_epsilon(delta, upper, warn=True)
        return upper.epsilon

    def _reached_epsilon(self, delta: float, upper: Root, *, warn: bool = False) -> bool:
        curve = self._computed(upper.proved.proof)
        if curve is None:
            return True
        lower = epsilon_below(curve, delta, self.rtol, upper=upper)
        low, high = lower.epsilon, upper.epsilon
        if high == math.inf:
            reached, width = low == math.inf, math.inf
        else:
            reached, width = high - low <= self.rtol * high, (high - low) / high if high else 0.0
        if warn and not reached:
            self._warn("epsilon", width)
        return reached

    def _said_log_delta(self, epsilon: float) -> float:
        proved = self.choice.guarantee.above(epsilon)
        width = self._width_of_log_delta(epsilon, proved)
        if width > self._tolerance(epsilon):
            self._warn("delta", width)
        return proved.log

    def _width_of_log_delta(self, epsilon: float, proved: Proved) -> float:
        curve = self._computed(proved.proof)
        low = proved.log if curve is None else curve.below(epsilon).log
        return 0.0 if low == proved.log else proved.log - low

    def _tolerance(self, epsilon: float) -> float:
        """Return how wide log delta may be so that epsilon is known as closely as asked."""
        curve = self.choice.guarantee
        if epsilon == 0:
            return self.rtol
        fall = curve.estimate(epsilon) - curve.estimate(min(epsilon * (1 + 1e-3), MAX_EPSILON0))
        return max(self.rtol, self.rtol * 1e3 * fall if math.isfinite(fall) else 0.0)

    def _warn(self, what: str, width: float) -> None:
        warn_caller(
            f"the enclosure of {what} for {self.randomizer} and n = {self.n} has relative width "
            f"{round_up(width, 2)} instead of rtol = {plain(self.rtol)}; it is valid but wider "
            "than asked",
            AccuracyWarning,
        )
