"""Independent rounds, each with a loss law: the delta of all together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from shuffledp.arrays import UNIT
from shuffledp.divergence import HOCKEY_STICK, BlockSum, LogEnclosure, log_mean
from shuffledp.interval import Interval
from shuffledp.rounds.loss_law import LossLaw, enclose


@dataclass(frozen=True, eq=False)
class Composition:
    r"""So many rounds of each of several loss laws, all independent.

    With :math:`m` the probability that all losses are finite and S their sum given that,
    :math:`\delta(\varepsilon)=m\,E(1-e^{\varepsilon-S})_++P(\text{some loss is infinite})`. What a
    law lacks to mass 1 counts as a loss of minus infinity.
    """

    rounds: Sequence[tuple[LossLaw, int]]

    def log_delta(self, epsilon: float, rtol: float) -> LogEnclosure:
        """Enclose log delta; the cost does not depend on how many rounds there are."""
        blocks = [(law.finite, times) for law, times in self.rounds]
        mean = log_mean(BlockSum.of(*blocks, offset=epsilon), HOCKEY_STICK, rtol=rtol)
        kept, infinite = self.log_kept, self.infinite
        # A sum of two logarithms is rounded once, which `widen` covers.
        value = LogEnclosure(mean.lower + kept.lower, mean.upper + kept.upper).widen(0.0)
        return value.plus(infinite.lower, infinite.upper)

    @cached_property
    def log_kept(self) -> Interval:
        """The logarithm of the probability that no loss is infinite."""
        total = 0.0, 0.0
        for law, times in self.rounds:
            lost = enclose(1 - law.kept)
            total = (
                total[0] + times * math.log1p(-lost.upper),
                total[1] + times * math.log1p(-lost.lower),
            )
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

    @property
    def largest(self) -> float:
        """An upper bound on all sums of finite losses."""
        total = sum(times * float(law.finite.values[-1]) for law, times in self.rounds)
        return total + (len(self.rounds) + 16) * UNIT * self._size

    @property
    def _size(self) -> float:
        return sum(times * abs(float(law.finite.values[-1])) for law, times in self.rounds)

    @property
    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation of the sum of finite losses, roughly."""
        pairs = [(law.moments, times) for law, times in self.rounds]
        mean = sum(times * moment[0] for moment, times in pairs)
        return mean, math.sqrt(sum(times * moment[1] for moment, times in pairs))
