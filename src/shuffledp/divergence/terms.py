r"""A sum of means, each as sharp as it has to be.

What jumps add to :math:`E[S_+]` (:mod:`shuffledp.divergence.jumps`) is a sum of terms of very
different size. All of them get elementary bounds; the one whose bounds are farthest apart gets
better ones, first from one tilt, then by a contour, until the rest does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from shuffledp.arrays import UNIT
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.contour import chernoff_log_mean
from shuffledp.divergence.elementary import (
    bound_by_singles,
    can_be_positive,
    jensen_log_mean,
    linear_log_mean,
    log_sum,
    mean_of_sum,
)
from shuffledp.divergence.enclosure import BEYOND_DOUBLES, LogEnclosure, Sides
from shuffledp.divergence.jumps import DividedSum, JumpTerm
from shuffledp.divergence.proposals.jumps import fall_floors, loss_floors

_SHARE_OF_TERM = 0.8  # of the tolerance
_FINEST, _ROUGHEST = 1e-4, 0.5  # tolerances of contours
_SHARPER = 0.5  # a contour is worth another one if its tolerance falls to less than that
_NEGLIGIBLE = 4  # times less than a fair share is not worth a contour
_MOST_CONTOURS = 30


Evaluate = Callable[[BlockSum, BlockSum, float], Sides]


class TermPair:
    """Bounds on one term, from below for one sum and from above for another one around it."""

    def __init__(self, lower: JumpTerm | None, upper: JumpTerm | None) -> None:
        self.lower, self.upper = lower, upper
        self.below = self.above = -math.inf
        if lower is not None:
            least = _least if upper is None else jensen_log_mean
            self.below = _times(lower, least(lower.total), -1)
        if upper is not None:
            self.above = _times(upper, bound_by_singles(upper.total), 1)
        self.is_tilted = upper is None or not can_be_positive(upper.total)
        self.tolerance = -math.inf if self.is_tilted else math.inf

    @property
    def gap(self) -> float:
        """The logarithm of the difference of both bounds."""
        if self.below >= self.above:
            return -math.inf
        return self.above + math.log(-math.expm1(self.below - self.above))

    def can_improve(self, aim: float, terms: int) -> bool:
        """Whether a contour that aims at this gap, or one tilt, is worth its while."""
        if self.gap < aim - math.log(_NEGLIGIBLE * terms):
            return False
        if not self.is_tilted:
            return True
        return self.wanted(aim) < _SHARPER * self.tolerance

    def wanted(self, aim: float) -> float:
        """Return the tolerance of a contour whose bounds lie about so far apart."""
        finest = _FINEST if self.lower is self.upper else 2 * _FINEST  # two sums, half for each
        return min(max(math.exp(aim - self.above), finest), _ROUGHEST)

    def tilt(self) -> None:
        """Improve both bounds: without summands that fall too deep, and by one tilt."""
        self.is_tilted = True
        if self.lower is not None:
            self.below = max(self.below, _times(self.lower, _least(self.lower.total), -1))
        if self.upper is None:
            return
        total = self.upper.total
        with suppress(*BEYOND_DOUBLES):
            value, _ = mean_of_sum(total)
            bound = chernoff_log_mean(total)
            for floor in loss_floors(total, value):
                if (linear := linear_log_mean(total, floor)) > bound:
                    break
                bound = linear
            self.above = min(self.above, _times(self.upper, bound, 1))

    def sharpen(self, tolerance: float, evaluate: Evaluate) -> None:
        """Improve both bounds by contours."""
        self.tolerance = tolerance
        lower, upper = self.lower or self.upper, self.upper or self.lower
        if lower is None or upper is None:
            return
        with suppress(*BEYOND_DOUBLES):
            sides = evaluate(lower.total, upper.total, tolerance)
            if self.lower is not None:
                self.below = max(self.below, _times(lower, sides.lower, -1))
            if self.upper is not None:
                self.above = min(self.above, _times(upper, sides.upper, 1))


def _least(total: BlockSum) -> float:
    """Bound log E[S_+] from below by Jensen's inequality, given that no summand falls too deep."""
    best = jensen_log_mean(total)
    for floor in fall_floors(total):
        kept = DividedSum(total.negated, np.array([-floor])).terms(1)[()]
        best = max(best, _times(kept, jensen_log_mean(kept.total.negated), -1))
    return best


def _times(term: JumpTerm, log_mean: float, sign: int) -> float:
    """Return the logarithm of coefficient times mean, moved outwards by its error."""
    value = term.log_coefficient + log_mean
    return value + sign * (term.log_error + 2 * UNIT * abs(value)) if value > -math.inf else value


def add_terms(
    terms: Sequence[TermPair], log_remainder: float, guess: float, rtol: float, evaluate: Evaluate
) -> Sides:
    """Bound the sum of all terms and of a remainder between 0 and what is given.

    ``guess`` is what the logarithm of the sum may be; ``rtol`` is what its sides should have
    between them.
    """
    for _ in range(_MOST_CONTOURS + len(terms)):
        # What is worth knowing: a share of the sum, which is at least what is proved so far.
        most = log_sum([*(term.above for term in terms), log_remainder])
        size = max(log_sum(term.below for term in terms), min(guess, most))
        if log_sum(term.gap for term in terms) <= size + math.log(rtol):
            break
        aim = size + math.log(_SHARE_OF_TERM * rtol)
        open_terms = [term for term in terms if term.can_improve(aim, len(terms))]
        if not open_terms:
            break
        term = max(open_terms, key=lambda term: term.gap)
        if not term.is_tilted:
            term.tilt()
        else:
            term.sharpen(term.wanted(aim), evaluate)
    lower = LogEnclosure(log_sum(term.below for term in terms), math.inf)
    upper = LogEnclosure(-math.inf, log_sum([*(term.above for term in terms), log_remainder]))
    # Every summand is rounded, and its distance from the top, times its share of the sum.
    slack = (len(terms) + 16) * UNIT
    return Sides(lower.widen(slack).lower, upper.widen(slack).upper)
