"""One round, answered by its accountant."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.accounting.datasets import Datasets
from shuffledp.errors import MAX_EPSILON0, AccuracyWarning
from shuffledp.interval import Interval, exp_up


class SingleRound:
    """What :class:`shuffledp.Rounds` asks, for a single round."""

    def __init__(self, accountant: ShuffleAccountant) -> None:
        self.accountant = accountant

    def epsilon(self, delta: float) -> tuple[Interval, bool]:
        """Enclose epsilon; also return whether that is as narrow as asked."""
        with _told_in_the_answer():
            report = self.accountant.epsilon_report(delta)
            return self.accountant.epsilon_interval(delta), report.rtol_reached

    def log_delta(self, epsilon: float) -> tuple[Interval, bool]:
        """Enclose log delta; also return whether that is as narrow as asked."""
        if epsilon > MAX_EPSILON0:  # delta falls
            log, _ = self.log_delta(MAX_EPSILON0)
            return Interval(-math.inf, log.upper), log.upper == -math.inf
        with _told_in_the_answer():
            report = self.accountant.delta_report(epsilon)
            return self.accountant.log_delta_interval(epsilon), report.rtol_reached

    def meets(self, epsilon: float, delta: float) -> bool:
        """Whether delta is met."""
        return exp_up(self.log_delta(epsilon)[0].upper) <= delta

    def lower_epsilon(self, delta: float) -> float:
        """Return the epsilon that datasets attain."""
        return self.accountant.epsilon_lower_bound(delta)

    def lower_log_delta(self, epsilon: float) -> float:
        """Return the log delta that datasets attain."""
        if epsilon > MAX_EPSILON0:
            return -math.inf
        log = self.accountant.delta_report(epsilon).log_lower_bound
        return -math.inf if log is None else log

    @property
    def datasets(self) -> tuple[Datasets | None, ...]:
        """The datasets behind lower bounds, one pair for each kind of round."""
        return (self.accountant.delta_report(0.0).datasets,)


@contextmanager
def _told_in_the_answer() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        yield
