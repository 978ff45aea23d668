"""One side of what several rounds reveal together: delta from above, or from below."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shuffledp.basics.interval import Interval, exp_up
from shuffledp.bounds.rounds.composition import Composition
from shuffledp.bounds.rounds.crossing import Guess, find_crossing
from shuffledp.bounds.rounds.loss_law import Side
from shuffledp.bounds.rounds.profile import REACHES, Fineness, RoundProfile, reach_for

_EVALUATION = 0.1  # of rtol is what one evaluation may err, of epsilon
_COARSEST = 1e-2  # what it may err of delta
_CLOSE = 0.02  # of rtol is how closely an epsilon is looked for


class ComposedCurve:
    """A bound on log delta of several rounds, as a function of epsilon.

    It is a function of its arguments alone, whatever was asked before.

    Args:
        rounds: profiles, and how many rounds there are of each.
        side: whether to bound delta from above or from below.
        rtol: relative width of epsilon to aim for.
    """

    def __init__(self, rounds: Sequence[tuple[RoundProfile, int]], side: Side, rtol: float) -> None:
        self.rounds, self.side, self.rtol = tuple(rounds), side, rtol
        self._log_times = math.log(sum(times for _, times in self.rounds))
        self._compositions: dict[Fineness, Composition] = {}
        self._known: dict[tuple[Fineness, float], float] = {}

    def log_delta(self, epsilon: float, halvings: int) -> float:
        """Return the bound, with a grid that reaches as far as it needs."""
        bound = math.nan
        for reach in range(len(REACHES)):
            bound = self._log_delta(epsilon, Fineness(reach, halvings))
            if self._reach_for(bound) <= reach:
                break
        return bound

    def gap(self, epsilon: float, log_target: Interval) -> float:
        """Return how far the bound is above the target, by a single evaluation."""
        fineness = Fineness(self._reach_for(log_target.lower), 0)
        return self._log_delta(epsilon, fineness) - log_target.lower

    def estimate(self, epsilon: float) -> float:
        """Return the bound in doubles, about."""
        return self._composition(Fineness(0, 0)).estimate(epsilon)

    def epsilon(self, log_target: Interval, halvings: int) -> float:
        """Return an epsilon at which the bound is at most the target, or for the lower side above.

        The nearest such one that is found: infinite, or 0 for the lower side, if there is none.
        """
        from scipy.special import ndtri_exp

        fineness = Fineness(self._reach_for(log_target.lower), halvings)
        composition = self._composition(fineness)
        mean, deviation = composition.moments
        distance = max(-float(ndtri_exp(log_target.lower)), 1.0)  # as if losses were normal
        guess = Guess(
            mean + distance * deviation, -distance / deviation if deviation > 0 else -math.inf
        )
        target = log_target.lower if self.side == "upper" else log_target.upper
        end, close = max(composition.largest, 0.0), _CLOSE * self.rtol
        _, near = find_crossing(composition.estimate, target, guess, end, close)

        def proved(epsilon: float) -> float:
            return self._log_delta(epsilon, fineness)

        last = end if self.side == "upper" else end * (1 - close)
        if near >= end * (1 - close) and (proved(last) <= target) == (self.side == "upper"):
            low = high = last  # delta falls steeply at the end
        else:
            if 0 < near < math.inf:
                guess = Guess(near, composition.slope(near))
            low, high = find_crossing(proved, target, guess, end, close)
        if self.side == "upper":
            return high
        return math.inf if composition.infinite.lower > exp_up(target) else low

    def _log_delta(self, epsilon: float, fineness: Fineness) -> float:
        if (fineness, epsilon) not in self._known:
            composition = self._composition(fineness)
            # By so much delta moves where epsilon moves by a relative amount.
            moved = 1 - epsilon * composition.slope(epsilon)
            rtol = min(_EVALUATION * self.rtol * moved, _COARSEST)
            self._known[fineness, epsilon] = composition.log_delta(epsilon, rtol)
        return self._known[fineness, epsilon]

    def _reach_for(self, log_delta: float) -> int:
        """Return how far laws must go so that what is beyond hardly counts."""
        return reach_for(log_delta + math.log(self.rtol) - self._log_times)

    def _composition(self, fineness: Fineness) -> Composition:
        if fineness not in self._compositions:
            self._compositions[fineness] = Composition(
                [(profile.law(self.side, fineness), times) for profile, times in self.rounds],
                self.side,
            )
        return self._compositions[fineness]
