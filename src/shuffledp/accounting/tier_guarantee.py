"""The guarantee of one privacy tier: among all users, or among its own, whichever is smaller."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.basics.errors import MAX_EPSILON0, wide_is_enough
from shuffledp.basics.interval import Interval
from shuffledp.bounds.curve import Curve
from shuffledp.bounds.root import delta_above, delta_below, epsilon_above, epsilon_below

#: Among whom the users of a tier hide: all users, or those of their own tier.
Among = Literal["all", "own tier"]


@dataclass(frozen=True)
class TierGuarantee:
    """Enclosures of the smaller one of two bounds.

    Attributes:
        shared: the bound among the users who share a blanket; None if nobody does.
        alone: the users of the own tier, if the reports of all other tiers are known. What these
            users reveal is a bound, too; it is enclosed from what datasets attain to what is
            proved, by the best bound.
    """

    shared: Curve | None
    alone: ShuffleAccountant

    def delta(self, epsilon: float) -> tuple[Interval, Among]:
        """Enclose delta, and say which of the two bounds it is."""
        with wide_is_enough():
            alone = self.alone.delta_interval(epsilon)
        if self.shared is None:
            return alone, "own tier"
        upper = delta_above(self.shared.above(epsilon).log)
        lower = delta_below(self.shared.below(epsilon).log)
        found = Interval(min(lower, alone.lower), min(upper, alone.upper))
        return found, "all" if upper <= alone.upper else "own tier"

    def among(self, epsilon: float) -> Among:
        """Return which of the two bounds is the smaller one at epsilon."""
        return self.delta(min(epsilon, MAX_EPSILON0))[1]

    def epsilon(self, delta: float) -> tuple[Interval, bool]:
        """Enclose the smallest epsilon at which the bound is at most ``delta``.

        The upper end keeps its word: :meth:`delta` at that epsilon ends at most at ``delta``. Also
        return whether numbers are as precise as asked; how far attained and proved numbers are
        apart is not a matter of precision.
        """
        with wide_is_enough():
            report = self.alone.epsilon_report(delta)
        alone, rtol = report.guarantee, self.alone.rtol
        if self.shared is None or delta in (0.0, 1.0) or alone.upper == 0:
            return alone, report.rtol_reached
        most = min(alone.upper, MAX_EPSILON0)
        upper = epsilon_above(self.shared, delta, rtol, most).epsilon
        if alone.upper < upper:
            return alone, report.rtol_reached
        lower = min(epsilon_below(self.shared, delta, rtol, most).epsilon, alone.lower)
        return Interval(lower, upper), upper < math.inf and upper - lower <= rtol * upper
