"""The largest of several bounds, certified, without evaluating all of them in full."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp.accounting.inversion import enclose_epsilon
from shuffledp.decomposition import Decomposition
from shuffledp.divergence import LogEnclosure, log_delta, log_delta_bound
from shuffledp.interval import Interval


@dataclass(frozen=True, eq=False)
class Candidate:
    """A decomposition and what it stands for, in words."""

    label: str
    decomposition: Decomposition


class WorstCase:
    """The pointwise maximum of the bounds of ``candidates`` for n users.

    A cheap upper bound (one tilt) discards the candidates that cannot be the largest; only the
    others are evaluated with the contour. No candidates means that nothing is revealed: delta = 0.
    """

    def __init__(self, candidates: Sequence[Candidate], n: int, rtol: float) -> None:
        self.candidates, self.n, self.rtol = candidates, n, rtol

    def log_delta(self, epsilon: float) -> tuple[LogEnclosure, Candidate | None]:
        """Enclose the largest log delta; also return the candidate that attains it."""
        best, worst = LogEnclosure(-math.inf, -math.inf), None
        for bound, candidate in self._ranked(epsilon, self.candidates):
            if worst is not None and bound <= best.lower:
                break
            value = log_delta(candidate.decomposition.at(epsilon), self.n, rtol=self.rtol)
            if worst is None or value.upper > best.upper:
                worst = candidate
            best = LogEnclosure(max(best.lower, value.lower), max(best.upper, value.upper))
        return best, worst

    def epsilon(self, log_target: Interval) -> tuple[Interval, Candidate | None]:
        """Enclose the smallest epsilon at which every bound is at most the target."""
        if not self.candidates:
            return Interval(0.0, 0.0), None
        worst = self.candidates[0]
        result = enclose_epsilon(worst.decomposition, self.n, log_target, self.rtol)
        rest = self.candidates[1:]
        if result.upper == math.inf:
            return result, worst
        for bound, candidate in self._ranked(result.upper, rest):
            if bound <= log_target.lower:
                break
            gparv = candidate.decomposition.at(result.upper)
            if log_delta(gparv, self.n, rtol=self.rtol).upper <= log_target.lower:
                continue
            other = enclose_epsilon(candidate.decomposition, self.n, log_target, self.rtol)
            if other.upper > result.upper:
                worst = candidate
            result = Interval(max(result.lower, other.lower), max(result.upper, other.upper))
            if result.upper == math.inf:
                break
        return result, worst

    def max_epsilon(self) -> tuple[Interval, Candidate | None]:
        """Enclose the smallest epsilon >= 0 at which every bound is 0."""
        result, worst = Interval(0.0, 0.0), None
        for candidate in self.candidates:
            end = candidate.decomposition.max_epsilon_interval()
            if worst is None or end.upper > result.upper:
                worst = candidate
            result = Interval(max(result.lower, end.lower), max(result.upper, end.upper))
        return result, worst

    def _ranked(
        self, epsilon: float, candidates: Sequence[Candidate]
    ) -> list[tuple[float, Candidate]]:
        """Return candidates with cheap upper bounds on log delta, the largest bound first."""
        if len(candidates) == 1:
            return [(math.inf, candidates[0])]
        bounds = (log_delta_bound(c.decomposition.at(epsilon), self.n) for c in candidates)
        return sorted(zip(bounds, candidates, strict=True), key=lambda item: -item[0])
