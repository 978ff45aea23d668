"""What is attained where no datasets are known."""

from __future__ import annotations

import math

from shuffledp.divergence import LogEnclosure
from shuffledp.interval import Interval


class Unattained:
    """No datasets are known: what the multiset reveals, the sum may not."""

    def log_delta(self, epsilon: float) -> tuple[LogEnclosure, None]:
        """Return that of 0, which every delta is at least."""
        return LogEnclosure(-math.inf, -math.inf), None

    def epsilon(self, delta: float) -> tuple[Interval, None]:
        """Return 0."""
        return Interval(0.0, 0.0), None
