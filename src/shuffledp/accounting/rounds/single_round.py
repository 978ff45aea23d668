"""One round, answered by its accountant, or the worst of several that it may be."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.accounting.datasets import Datasets
from shuffledp.basics.errors import MAX_EPSILON0, wide_is_enough
from shuffledp.basics.interval import Interval, log_gap


class SingleRound:
    """What :class:`shuffledp.Rounds` asks, for a single round, which may be any of these."""

    def __init__(self, accountants: Sequence[ShuffleAccountant]) -> None:
        self.accountants = accountants

    def epsilon(self, delta: float) -> tuple[Interval, bool]:
        """Enclose epsilon; also return whether that is as narrow as asked."""
        with wide_is_enough():
            reports = [one.epsilon_report(delta) for one in self.accountants]
            found = [one.epsilon_interval(delta) for one in self.accountants]
        return _largest(found), all(report.rtol_reached for report in reports)

    def proved_epsilon(self, delta: float) -> tuple[Interval, bool]:
        """Do as ``epsilon``."""
        return self.epsilon(delta)

    def log_delta(self, epsilon: float) -> tuple[Interval, bool]:
        """Enclose log delta; also return whether that is as narrow as asked."""
        if epsilon > MAX_EPSILON0:  # delta falls
            log, _ = self.log_delta(MAX_EPSILON0)
            return Interval(-math.inf, log.upper), log.upper == -math.inf
        with wide_is_enough():
            reports = [one.delta_report(epsilon) for one in self.accountants]
            found = [one.log_delta_interval(epsilon) for one in self.accountants]
        return _largest(found), all(report.rtol_reached for report in reports)

    def proved_log_delta(self, epsilon: float) -> tuple[Interval, bool]:
        """Do as ``log_delta``."""
        return self.log_delta(epsilon)

    def gap(self, epsilon: float, delta: float) -> float:
        """Return how far the bound is above log delta."""
        return log_gap(self.log_delta(epsilon)[0].upper, delta)

    def estimate(self, epsilon: float) -> float:
        """Return log delta in doubles, about."""
        return max(one.choice.guarantee.estimate(epsilon) for one in self.accountants)

    def lower_epsilon(self, delta: float) -> float:
        """Return the epsilon that datasets attain."""
        return max(one.epsilon_lower_bound(delta) for one in self.accountants)

    def lower_log_delta(self, epsilon: float) -> float:
        """Return the log delta that datasets attain."""
        if epsilon > MAX_EPSILON0:
            return -math.inf
        found = [one.delta_report(epsilon).log_lower_bound for one in self.accountants]
        return max(-math.inf if log is None else log for log in found)

    @property
    def datasets(self) -> tuple[Datasets | None, ...]:
        """The datasets behind lower bounds, one pair for each round that it may be."""
        return tuple(one.delta_report(0.0).datasets for one in self.accountants)


def _largest(found: Sequence[Interval]) -> Interval:
    return Interval(max(one.lower for one in found), max(one.upper for one in found))
