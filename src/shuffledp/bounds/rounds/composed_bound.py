"""The bound of several rounds together, between its upper and its lower curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

from shuffledp.basics.interval import Interval
from shuffledp.bounds.rounds.curve import ComposedCurve
from shuffledp.bounds.rounds.profile import REACHES, RoundProfile

_MAX_HALVINGS = 2
_MAX_RAISES = 60
_DEEPEST = REACHES[-1] + 40  # smaller deltas may be beyond the reach of any law
_FIRST_RAISE = 2.0**-44


class ComposedBound:
    """Encloses the bound of rounds whose profiles are known in enclosures.

    Where a first grid is too coarse, cells are halved, twice at most; not where single values are
    so wide that this cannot help.

    Args:
        rounds: profiles, and how many rounds there are of each.
        rtol: relative width of epsilon to aim for.
        two_sided: whether the profiles are enclosed; else their lower ends mean nothing.
    """

    def __init__(
        self, rounds: Sequence[tuple[RoundProfile, int]], rtol: float, *, two_sided: bool
    ) -> None:
        self.rtol = rtol
        self.upper = ComposedCurve(rounds, "upper", rtol)
        self.lower = ComposedCurve(rounds, "lower", rtol) if two_sided else None

    @cached_property
    def _halvings(self) -> range:
        """How often cells may be halved."""
        is_wide = any(profile.rtol > profile.asked for profile, _ in self.upper.rounds)
        return range(1 if is_wide else _MAX_HALVINGS + 1)

    def log_delta(self, epsilon: float) -> tuple[Interval, bool]:
        """Enclose log delta; also return whether that is narrow.

        It is if its ends are ``rtol`` apart, or less than what the curve falls from epsilon to
        epsilon (1 + rtol).
        """
        value = Interval(-math.inf, math.inf)
        for halvings in self._halvings:
            upper = self.upper.log_delta(epsilon, halvings)
            if self.lower is None:
                return Interval(-math.inf, upper), True
            if upper <= _DEEPEST:
                return Interval(-math.inf, upper), upper == -math.inf
            value = Interval(self.lower.log_delta(epsilon, halvings), upper)
            if value.width <= self.rtol:
                return value, True
            if self.upper.log_delta(epsilon * (1 + self.rtol), halvings) <= value.lower:
                return value, True
        return value, False

    def epsilon(self, log_target: Interval) -> Interval:
        """Enclose the epsilon at which delta is the target, the logarithm of which is given.

        The upper end keeps its word: ``log_delta`` there ends at or below the target.
        """
        result = Interval(0.0, math.inf)
        for halvings in self._halvings:
            high = self.upper.epsilon(log_target, halvings)
            if self.lower is None:
                result = Interval(0.0, high)
                break
            result = Interval(self.lower.epsilon(log_target, halvings), high)
            if result.width <= self.rtol * result.upper:
                break
        return Interval(result.lower, self._confirmed(result.upper, log_target.lower))

    def _confirmed(self, epsilon: float, target: float) -> float:
        """Raise an epsilon until its delta, as everybody would find it, is at most the target."""
        for attempt in range(_MAX_RAISES):
            if epsilon == math.inf or self.log_delta(epsilon)[0].upper <= target:
                return epsilon
            epsilon *= 1 + _FIRST_RAISE * 2**attempt
        return math.inf
