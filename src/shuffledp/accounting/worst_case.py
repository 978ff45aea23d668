"""The largest of several bounds, certified, without evaluating all of them in full."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from shuffledp.accounting.candidates import Candidate, Candidates
from shuffledp.accounting.inversion import MAX_RAISES, find_root, log_target
from shuffledp.accounting.profile_point import enclose_log_delta
from shuffledp.accounting.proposals import Guide, raise_epsilon
from shuffledp.divergence import LogEnclosure, estimate_log_delta, log_delta_at
from shuffledp.errors import MAX_EPSILON0
from shuffledp.interval import Interval, exp_up
from shuffledp.threads import one_thread

_QUICK_RTOL = 0.03
_CLEARLY = 0.2  # of log delta: more than the error of an estimate


class WorstCase:
    """The pointwise maximum of the bounds of ``candidates`` for n users.

    A cheap upper bound discards the candidates that cannot be the largest; only the others are
    evaluated with the contour. Without candidates delta is 0: whoever lists them must know why.

    Args:
        candidates: whose bounds count.
        n: number of users.
        rtol: relative width of enclosures.
        alone: bounds log delta of one user, if that is quick: that of more users is no larger.
    """

    def __init__(
        self,
        candidates: Candidates,
        n: int,
        rtol: float,
        alone: Callable[[float], float] | None = None,
    ) -> None:
        self.candidates, self.n, self.rtol, self._alone = candidates, n, rtol, alone
        self._epsilons: dict[float, tuple[Interval, Candidate | None]] = {}
        self._log_deltas: dict[float, tuple[LogEnclosure, Candidate | None]] = {}

    def remember_epsilon(self, delta: float, found: tuple[Interval, Candidate | None]) -> None:
        """Answer :meth:`epsilon` at this delta with what was found together with others."""
        self._epsilons[delta] = found

    def remember_log_delta(
        self, epsilon: float, found: tuple[LogEnclosure, Candidate | None]
    ) -> None:
        """Answer :meth:`log_delta` at this epsilon with what was found together with others."""
        self._log_deltas[epsilon] = found

    def is_prepared(self, delta: float) -> bool:
        """Whether epsilon at this delta was found together with others."""
        return delta in self._epsilons

    def learn(self, other: WorstCase) -> None:
        """Remember what the same bounds of as many users remember, if that is what these are."""
        if (other.candidates, other.n, other.rtol) == (self.candidates, self.n, self.rtol):
            self._epsilons |= other._epsilons
            self._log_deltas |= other._log_deltas

    @one_thread
    def log_delta(self, epsilon: float) -> tuple[LogEnclosure, Candidate | None]:
        """Enclose the largest log delta; also return the candidate that attains it."""
        return self._log_deltas.get(epsilon) or self._largest(epsilon)

    def _largest(
        self, epsilon: float, known: _Evaluated | None = None
    ) -> tuple[LogEnclosure, Candidate | None]:
        """Do as ``log_delta``, without repeating the evaluation that is ``known``."""
        best, worst, top = LogEnclosure(-math.inf, -math.inf), None, math.inf
        for bound, candidate in self.candidates.ranked(self.n, epsilon):
            if worst is None:
                top = bound
            elif bound <= best.lower:
                break
            if known is not None and candidate == known.candidate:
                value = known.log_delta
            elif (
                worst is not None
                and not top - 2 * _QUICK_RTOL < bound < math.inf  # no quick look at a draw
                and self._quick_bound(candidate, epsilon) <= best.lower
            ):
                continue
            else:
                value = enclose_log_delta(candidate.decomposition, self.n, epsilon, self.rtol)
            value = value.intersect(LogEnclosure(-math.inf, bound))
            if worst is None or value.upper > best.upper:
                worst = candidate
            best = LogEnclosure(max(best.lower, value.lower), max(best.upper, value.upper))
        if self._alone is not None and best.width > self.rtol:
            best = best.intersect(LogEnclosure(-math.inf, self._alone(epsilon)))
        return best, worst

    def _quick_bound(self, candidate: Candidate, epsilon: float) -> float:
        rtol = max(self.rtol, _QUICK_RTOL)
        return log_delta_at(candidate.decomposition, self.n, epsilon, rtol=rtol).upper

    @one_thread
    def epsilon(self, delta: float) -> tuple[Interval, Candidate | None]:
        """Enclose the smallest epsilon at which every bound is at most ``delta``.

        The upper end keeps its word: :meth:`log_delta` at that epsilon ends at or below the
        logarithm of ``delta``, rounding included, unless it is infinite or above 300.
        """
        if delta in self._epsilons:
            return self._epsilons[delta]
        worst = self.candidates.leader()
        if worst is None or delta == 1:
            return Interval(0.0, 0.0), worst
        target = log_target(delta)
        known = None
        if delta > 0:
            worst = self._first(worst, target)
            result, known = self._root(worst, target)
        else:
            result = self.candidates.max_epsilon()
        searched, raises = {worst}, 0
        while result.upper <= MAX_EPSILON0:
            value, largest = self._largest(result.upper, known)
            if largest is None or exp_up(value.upper) <= delta:
                return result, worst
            if delta > 0 and largest not in searched:
                searched.add(largest)
                other, evaluated = self._root(largest, target)
                if (other.upper, other.lower) > (result.upper, result.lower):
                    worst, known = largest, evaluated
                result = _larger(result, other)
            else:
                excess = value.upper - target.lower
                _, slope = estimate_log_delta(largest.decomposition, self.n, result.upper)
                higher = raise_epsilon(result.upper, excess, slope, raises)
                result = Interval(result.lower, higher if raises < MAX_RAISES else math.inf)
                known, raises = None, raises + 1
        if delta > 0 and result.lower < math.inf:
            return self._beyond(result, worst, target, searched)
        return result, worst

    def _first(self, leader: Candidate, target: Interval) -> Candidate:
        """Return where to begin: with the largest estimate where that of the leader has its root.

        Whatever that is, all candidates are compared in the end.
        """
        few = self.candidates.few()
        if len(few) < 2:
            return leader
        epsilon = Guide(leader.decomposition, self.n, target, self.rtol).first()
        estimates = [estimate_log_delta(c.decomposition, self.n, epsilon)[0] for c in few]
        finite = [(x, i) for i, x in enumerate(estimates) if not math.isnan(x)]
        if not finite or math.isnan(epsilon):
            return leader
        best, i = max(finite, key=lambda found: found[0])
        own = next((x for x, j in finite if few[j] == leader), -math.inf)
        return few[i] if best > own + _CLEARLY else leader

    def _beyond(
        self, result: Interval, worst: Candidate, target: Interval, searched: set[Candidate]
    ) -> tuple[Interval, Candidate]:
        """Look at all other candidates where epsilon is beyond the largest one can ask about."""
        for bound, candidate in self.candidates.ranked(self.n, MAX_EPSILON0):
            if bound <= target.lower or result.lower == math.inf:
                break
            if candidate in searched:
                continue
            other, _ = self._root(candidate, target)
            if (other.upper, other.lower) > (result.upper, result.lower):
                worst = candidate
            result = _larger(result, other)
        return result, worst

    def _root(self, candidate: Candidate, target: Interval) -> tuple[Interval, _Evaluated | None]:
        """Enclose the epsilon of one candidate, with what is known at its upper end."""
        root = find_root(candidate.decomposition, self.n, target, self.rtol)
        at_upper = root.at_upper
        return root.epsilon, None if at_upper is None else _Evaluated(candidate, at_upper)


@dataclass(frozen=True, eq=False)
class _Evaluated:
    """A candidate and the enclosure of log delta that was computed for it."""

    candidate: Candidate
    log_delta: LogEnclosure


def _larger(first: Interval, second: Interval) -> Interval:
    """Enclose the larger of two numbers."""
    return Interval(max(first.lower, second.lower), max(first.upper, second.upper))
