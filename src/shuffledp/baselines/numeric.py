"""Analyses that are one decomposition each: the certified engine evaluates them."""

from __future__ import annotations

import math
from abc import abstractmethod

from shuffledp.accounting.inversion import enclose_epsilon, log_target
from shuffledp.accounting.profile_point import enclose_log_delta
from shuffledp.baselines.base import Baseline
from shuffledp.decomposition import Decomposition
from shuffledp.errors import MAX_EPSILON0, NoAnswerError, check_rtol
from shuffledp.interval import Interval, exp_down, exp_up
from shuffledp.randomizers import LocalRandomizer
from shuffledp.rounding import plain


class NumericBaseline(Baseline):
    """A baseline that is the bound of one decomposition.

    Args:
        randomizer: what each user runs.
        n: number of users, 1 to 2**53.
        rtol: relative width of the enclosure, the safe end of which is the answer.
    """

    def __init__(self, randomizer: LocalRandomizer, n: int, *, rtol: float = 1e-4) -> None:
        super().__init__(randomizer, n)
        self.rtol = check_rtol(rtol)

    @abstractmethod
    def decomposition(self) -> Decomposition:
        """Return the decomposition, or raise outside the regime."""

    def _epsilon(self, delta: float) -> float:
        decomposition = self.decomposition()
        if MAX_EPSILON0 < decomposition.max_epsilon < math.inf:
            raise NoAnswerError(f"it needs an LDP level safely below {MAX_EPSILON0:g}")
        if delta == 0:
            end = decomposition.max_epsilon_interval()
            interval = Interval(max(end.lower, 0.0), max(end.upper, 0.0))
        else:
            interval = enclose_epsilon(decomposition, self.n, log_target(delta), self.rtol)
        if self.kind == "lower":
            return interval.lower
        if interval.upper == math.inf:
            raise NoAnswerError(f"it certifies no finite epsilon at delta = {plain(delta)}")
        return interval.upper

    def _delta(self, epsilon: float) -> float:
        decomposition = self.decomposition()
        if epsilon >= decomposition.max_epsilon:
            return 0.0
        value = enclose_log_delta(decomposition, self.n, epsilon, self.rtol)
        end = exp_down(value.lower) if self.kind == "lower" else exp_up(value.upper)
        return min(end, 1.0)
