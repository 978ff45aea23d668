"""The guarantee of one privacy tier: among all users, or among its own, whichever is smaller."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Literal

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.accounting.crossing import cross
from shuffledp.accounting.pool import COARSE, Pool
from shuffledp.divergence import LogEnclosure
from shuffledp.errors import MAX_EPSILON0, wide_is_enough
from shuffledp.interval import Interval

#: Among whom the users of a tier hide: all users, or those of their own tier.
Among = Literal["all", "own tier"]


class TierBound:
    """Enclosures of the smallest one of several bounds.

    Args:
        families: of users who share a blanket, each with one pool per pair of inputs; none if
            nobody does. Each is a bound, the largest one of its pools.
        alone: the users of the own tier, if the reports of all other tiers are known. What these
            users reveal is a bound, too; it is enclosed from what datasets attain to what is
            proved, by the best bound.
    """

    def __init__(self, families: Sequence[Sequence[Pool]], alone: ShuffleAccountant) -> None:
        self.families, self.alone = [pools for pools in families if pools], alone

    def log_delta(self, epsilon: float) -> LogEnclosure:
        """Enclose log delta."""
        return self._smaller(epsilon)[0]

    def among(self, epsilon: float) -> Among:
        """Return which of the two bounds is the smaller one at epsilon."""
        return self._smaller(min(epsilon, MAX_EPSILON0))[1]

    def _smaller(self, epsilon: float) -> tuple[LogEnclosure, Among]:
        with wide_is_enough():
            ends = self.alone.log_delta_interval(epsilon)
        alone = LogEnclosure(ends.lower, ends.upper)
        if not self.families:
            return alone, "own tier"
        # What either of the two searches for an epsilon has shown, is shown here.
        rough, close = (self._mixed(epsilon, share) for share in self._shares)
        mixed = rough.intersect(close)
        among: Among = "all" if mixed.upper <= alone.upper else "own tier"
        smaller = LogEnclosure(min(mixed.lower, alone.lower), min(mixed.upper, alone.upper))
        return smaller, among

    @property
    def _shares(self) -> tuple[float, float]:
        """Widths of log delta to aim for: without the integral, and with it."""
        share = self.alone.rtol / 8
        return max(share, COARSE), min(share, COARSE / 2)

    def _mixed(self, epsilon: float, rtol: float) -> LogEnclosure:
        """Enclose log delta among the users who share a blanket, the smallest of all families."""
        found = [_largest(pools, epsilon, rtol) for pools in self.families]
        return LogEnclosure(
            min(value.lower for value in found), min(value.upper for value in found)
        )

    def epsilon(self, delta: float) -> tuple[Interval, bool]:
        """Enclose the smallest epsilon at which the bound is at most ``delta``.

        The upper end keeps its word: :meth:`log_delta` at that epsilon is at most log delta. Also
        return whether numbers are as precise as asked; how far attained and proved numbers are
        apart is not a matter of precision.
        """
        with wide_is_enough():
            report = self.alone.epsilon_report(delta)
        alone = report.guarantee
        if not self.families or delta in (0.0, 1.0) or alone.upper == 0:
            return alone, report.rtol_reached
        pools = [pool for family in self.families for pool in family]
        users = max(sum(share.alpha * n for share, n in pool.others) for pool in pools)
        start = min(alone.upper, MAX_EPSILON0)
        start *= math.sqrt(min(1.0, self.alone.n * pools[0].own.alpha / max(users, 1e-9)))
        mixed = self._crossing(delta, start, alone.upper)
        # The smaller one of two falling curves is the first one to meet a target.
        found = Interval(min(mixed.lower, alone.lower), min(mixed.upper, alone.upper))
        if alone.upper <= mixed.upper:
            return found, report.rtol_reached
        return found, found.upper < math.inf and found.width <= self.alone.rtol * found.upper

    def _crossing(self, delta: float, start: float, end: float) -> Interval:
        """Enclose the epsilon among all: first roughly, if more digits take longer."""
        rtol = self.alone.rtol
        for share in self._shares:
            found = cross(partial(self._mixed, rtol=share), delta, rtol=rtol, start=start, end=end)
            if found.width <= rtol * found.upper < math.inf:
                break
            start = min(0.5 * (found.lower + found.upper), end)
        return found


def _largest(pools: Sequence[Pool], epsilon: float, rtol: float) -> LogEnclosure:
    values = [pool.log_delta(epsilon, rtol) for pool in pools]
    return LogEnclosure(max(value.lower for value in values), max(value.upper for value in values))
