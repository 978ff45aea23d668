"""The largest of several bounds, certified, without evaluating all of them in full."""

from __future__ import annotations

import math

from shuffledp.accounting.candidates import Candidate, Candidates
from shuffledp.accounting.inversion import enclose_epsilon
from shuffledp.decomposition import GPARV
from shuffledp.divergence import LogEnclosure, log_delta
from shuffledp.errors import MAX_EPSILON0
from shuffledp.interval import Interval

_QUICK_RTOL = 0.03


class WorstCase:
    """The pointwise maximum of the bounds of ``candidates`` for n users.

    A cheap upper bound discards the candidates that cannot be the largest; only the others are
    evaluated with the contour. No candidates means that nothing is revealed: delta = 0.
    """

    def __init__(self, candidates: Candidates, n: int, rtol: float) -> None:
        self.candidates, self.n, self.rtol = candidates, n, rtol

    def log_delta(self, epsilon: float) -> tuple[LogEnclosure, Candidate | None]:
        """Enclose the largest log delta; also return the candidate that attains it."""
        best, worst = LogEnclosure(-math.inf, -math.inf), None
        for bound, candidate in self.candidates.ranked(self.n, epsilon):
            if worst is not None and bound <= best.lower:
                break
            gparv = candidate.decomposition.at(epsilon)
            if worst is not None and self._is_at_most(gparv, best.lower):
                continue
            value = log_delta(gparv, self.n, rtol=self.rtol)
            if worst is None or value.upper > best.upper:
                worst = candidate
            best = LogEnclosure(max(best.lower, value.lower), max(best.upper, value.upper))
        return best, worst

    def epsilon(self, log_target: Interval) -> tuple[Interval, Candidate | None]:
        """Enclose the smallest epsilon at which every bound is at most the target."""
        worst = self.candidates.leader()
        if worst is None:
            return Interval(0.0, 0.0), None
        settled = {worst.label}
        result = enclose_epsilon(worst.decomposition, self.n, log_target, self.rtol)
        if result.lower == math.inf:
            return result, worst
        for bound, candidate in self.candidates.ranked(self.n, min(result.upper, MAX_EPSILON0)):
            if bound <= log_target.lower:
                break
            if candidate.label in settled:
                continue
            gparv = candidate.decomposition.at(min(result.upper, MAX_EPSILON0))
            if self._is_at_most(gparv, log_target.lower):
                continue
            other = enclose_epsilon(candidate.decomposition, self.n, log_target, self.rtol)
            if (other.upper, other.lower) > (result.upper, result.lower):
                worst = candidate
            result = Interval(max(result.lower, other.lower), max(result.upper, other.upper))
            if result.lower == math.inf:
                break
        return result, worst

    def _is_at_most(self, gparv: GPARV, log_limit: float) -> bool:
        """Whether log delta is certainly at most a limit; a quick look first, then a close one."""
        return any(
            log_delta(gparv, self.n, rtol=rtol).upper <= log_limit
            for rtol in (max(self.rtol, _QUICK_RTOL), self.rtol)
        )

    def max_epsilon(self) -> tuple[Interval, Candidate | None]:
        """Enclose the smallest epsilon >= 0 at which every bound is 0."""
        return self.candidates.max_epsilon(), self.candidates.leader()
