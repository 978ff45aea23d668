"""Analyses that are one decomposition each: the certified engine evaluates them."""

from __future__ import annotations

import math
from abc import abstractmethod

from shuffledp.basics.errors import MAX_EPSILON0, NoAnswerError, check_rtol
from shuffledp.basics.rounding import plain
from shuffledp.bounds.decomposed import Decomposed
from shuffledp.bounds.root import delta_above, delta_below, epsilon_above, epsilon_below
from shuffledp.comparison.published.baseline import Baseline
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms import LocalRandomizer


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
        curve = self._curve()
        if MAX_EPSILON0 < curve.end.upper < math.inf:
            raise NoAnswerError(f"it needs an LDP level safely below {MAX_EPSILON0:g}")
        if self.kind == "lower":
            return epsilon_below(curve, delta, self.rtol).epsilon
        found = epsilon_above(curve, delta, self.rtol).epsilon
        if found == math.inf:
            raise NoAnswerError(f"it certifies no finite epsilon at delta = {plain(delta)}")
        return found

    def _delta(self, epsilon: float) -> float:
        curve = self._curve()
        if self.kind == "lower":
            return delta_below(curve.below(epsilon).log)
        return delta_above(curve.above(epsilon).log)

    def _curve(self) -> Decomposed:
        return Decomposed(self.decomposition(), self.n, self.rtol)
