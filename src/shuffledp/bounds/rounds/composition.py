"""Independent rounds, each with a loss law: the delta of all together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from flint import arb

from shuffledp.basics.balls import (
    ball,
    lower_double,
    lower_log,
    precision,
    total,
    upper_double,
    upper_log,
)
from shuffledp.basics.interval import Interval
from shuffledp.bounds.rounds.loss_law import LossLaw, Side
from shuffledp.engine.mean import log_mean
from shuffledp.engine.proposals import Doubles
from shuffledp.engine.sums import Block, Sum


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
        mean = Interval(-math.inf, -math.inf)
        if epsilon < self.largest:
            mean = log_mean(self._sum(epsilon), rtol)
        with precision():
            infinite = self._infinite
            if self.side == "upper":
                return upper_log(_exp(mean.upper) * self._log_kept.exp() + infinite[1])
            return lower_log(_exp(mean.lower) * self._log_kept.exp() + infinite[0])

    def estimate(self, epsilon: float) -> float:
        """Return log delta in doubles, about."""
        log = -math.inf
        if epsilon < self.largest:
            log = Doubles.of(self._sum(epsilon)).log_measured + float(self._log_kept)
        delta = (math.exp(log) if log > -math.inf else 0.0) + self.infinite.upper
        return math.log(delta) if delta > 0 else -math.inf

    def slope(self, epsilon: float) -> float:
        """Return the slope of log delta, without infinite losses, about; 0 where there is none."""
        return -Doubles.of(self._sum(epsilon)).theta if epsilon < self.largest else 0.0

    def _sum(self, epsilon: float) -> Sum:
        return Sum(self._blocks, offset=arb(epsilon), curvature=1)

    @cached_property
    def _blocks(self) -> tuple[Block, ...]:
        return tuple(Block(law.finite, times) for law, times in self.rounds)

    @cached_property
    def _log_kept(self) -> arb:
        """The logarithm of the probability that all losses are finite."""
        with precision():
            return total(times * _log(law.kept) for law, times in self.rounds)

    @cached_property
    def _infinite(self) -> tuple[arb, arb]:
        """The probability that some loss is infinite, and none minus infinite, in two bounds."""
        if not any(law.infinite for law, _ in self.rounds):
            return arb(0), arb(0)
        with precision():
            lost = -self._log_kept.expm1()
        whole = all(law.kept + law.infinite == 1 for law, _ in self.rounds)
        return (lost if whole else arb(0)), lost

    @cached_property
    def infinite(self) -> Interval:
        """Enclose the probability that some loss is infinite, and none minus infinite."""
        with precision():
            low, high = self._infinite
            return Interval(max(lower_double(low), 0.0), min(upper_double(high), 1.0))

    @cached_property
    def largest(self) -> float:
        """No sum of finite losses is larger; minus infinity if a law has none."""
        if not all(law.masses for law, _ in self.rounds):
            return -math.inf
        with precision():
            ends = (times * law.finite.atoms[-1].value for law, times in self.rounds)
            return upper_double(total(ends))

    @property
    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation of the sum of finite losses, roughly: where to look."""
        pairs = [(law.moments, times) for law, times in self.rounds]
        mean = sum(times * moment[0] for moment, times in pairs)  # mutation: any place will do
        square = sum(times * moment[1] for moment, times in pairs)  # mutation: any place will do
        return mean, math.sqrt(square)


def _log(kept: Fraction) -> arb:
    """Return the logarithm of a probability; of what is kept, or lost, all digits count."""
    if not kept:
        return arb("-inf")
    return ball(kept).log() if 2 * kept < 1 else (-ball(1 - kept)).log1p()


def _exp(log: float) -> arb:
    return arb(log).exp() if log > -math.inf else arb(0)
