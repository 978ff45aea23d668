"""Independent rounds, each with a loss law: the delta of all together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from shuffledp.arrays import UNIT
from shuffledp.decomposition import Law
from shuffledp.divergence import HOCKEY_STICK, BlockSum, LogEnclosure, log_mean
from shuffledp.interval import Interval
from shuffledp.rounds.loss_law import LossLaw, Side, enclose


@dataclass(frozen=True, eq=False)
class Composition:
    r"""So many rounds of each of several loss laws, all independent.

    With :math:`m` the probability that all losses are finite and S their sum given that,
    :math:`\delta(\varepsilon)=m\,E(1-e^{\varepsilon-S})_++P(\text{some loss is infinite})`. What a
    law lacks to mass 1 counts as a loss of minus infinity.

    Attributes:
        rounds: the laws, and how many rounds there are of each.
        side: whether delta is bounded from above or from below.
    """

    rounds: Sequence[tuple[LossLaw, int]]
    side: Side

    def log_delta(self, epsilon: float, rtol: float) -> float:
        """Bound log delta; the cost does not depend on how many rounds there are."""
        value = LogEnclosure(-math.inf, -math.inf)
        if epsilon < self.largest:
            total = BlockSum.of(*self._blocks, offset=epsilon)
            mean, kept = log_mean(total, HOCKEY_STICK, rtol=rtol), self.log_kept
            # A sum of two logarithms is rounded once, which `widen` covers.
            value = LogEnclosure(mean.lower + kept.lower, mean.upper + kept.upper).widen(0.0)
        value = value.plus(self.infinite.lower, self.infinite.upper)
        return value.upper if self.side == "upper" else value.lower

    @cached_property
    def _blocks(self) -> list[tuple[Law, int]]:
        return [(law.finite(self.side), times) for law, times in self.rounds]

    @cached_property
    def log_kept(self) -> Interval:
        """The logarithm of the probability that all losses are finite."""
        total = 0.0, 0.0
        for law, times in self.rounds:
            lower, upper = _logs(law.kept)
            total = total[0] + times * lower, total[1] + times * upper
        # A logarithm has 4 units, a product one, and each sum one.
        slack = (len(self.rounds) + 8) * UNIT
        return Interval(total[0] * (1 + slack), total[1] * (1 - slack))

    @cached_property
    def infinite(self) -> Interval:
        """The probability that some loss is infinite, and none minus infinite."""
        if not any(law.infinite for law, _ in self.rounds):
            return Interval(0.0, 0.0)
        upper = -math.expm1(self.log_kept.lower) * (1 + 8 * UNIT)
        lower = -math.expm1(self.log_kept.upper) * (1 - 8 * UNIT)
        whole = all(law.kept + law.infinite == 1 for law, _ in self.rounds)
        return Interval(lower if whole else 0.0, upper)

    @cached_property
    def largest(self) -> float:
        """No sum of finite losses is larger; minus infinity if a law has none."""
        if not all(law.masses for law, _ in self.rounds):
            return -math.inf
        ends = [(times, float(law.values[-1])) for law, times in self._blocks]
        # Products and sums are rounded once each.
        slack = (len(ends) + 2) * UNIT * sum(times * abs(end) for times, end in ends)
        return sum(times * end for times, end in ends) + slack

    @property
    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation of the sum of finite losses, roughly."""
        pairs = [(law.moments, times) for law, times in self.rounds]
        mean = sum(times * moment[0] for moment, times in pairs)
        return mean, math.sqrt(sum(times * moment[1] for moment, times in pairs))


def _logs(kept: Fraction) -> tuple[float, float]:
    """Return the logarithms of the doubles around a probability, from its small side."""
    if 2 * kept > 1:
        lost = enclose(1 - kept)
        return math.log1p(-lost.upper), math.log1p(-lost.lower)
    ends = enclose(kept)
    return _log(ends.lower), _log(ends.upper)


def _log(number: float) -> float:
    return math.log(number) if number > 0 else -math.inf
