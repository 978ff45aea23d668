r"""What one user among others of different levels certainly reveals.

All others hold one input. A test that accepts outcomes with probability T reveals
:math:`\delta\ge E_P[T]-e^\varepsilon E_Q[T]`, whatever T is. Here T rises from 0 to 1 while a sum
of scores of the reports goes from -w/2 to w/2,

.. math:: T=\frac{(S+w/2)_+-(S-w/2)_+}w,

so that four means of positive parts are all that is needed. The scores are those of the likelihood
ratio if all others had their average law. They are doubles, taken as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from flint import arb

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition import Law
from shuffledp.divergence import BlockSum, log_mean_positive
from shuffledp.divergence.enclosure import BEYOND_DOUBLES
from shuffledp.interval import exp_down, exp_up
from shuffledp.randomizers import Pair, SupportRandomizer
from shuffledp.randomizers.masses import working_digits

_RTOL = 1e-8
_RAMP = 0.1  # in units of the deviation of the sum, or of how fast its tail falls
_PARTS = (0.999, 0.99, 0.9, 0.5, 0.0)  # of the guarantee, where to look first
_MAX_BISECTIONS = 4
_WEIGHT_ERROR = 8 * UNIT


@dataclass(frozen=True)
class TierLeak:
    """A user of one mechanism among others, all of whom hold the same input.

    Attributes:
        randomizer: what the user runs.
        others: what the others run, and how many; None for reports from the common law.
        pair: the inputs of the user.
        other: what all others hold.
    """

    randomizer: SupportRandomizer
    others: tuple[tuple[SupportRandomizer | None, int], ...]
    pair: Pair
    other: int

    def delta(self, epsilon: float) -> float:
        """Return a delta that the two datasets attain at epsilon, rounded down."""
        try:
            found = self._delta(epsilon)
        except BEYOND_DOUBLES:
            return 0.0
        return found if 0 < found <= 1 else 0.0  # else sums left the range of doubles

    def epsilon(self, delta: float, most: float) -> float:
        """Return an epsilon of at most ``most`` at which more than ``delta`` is attained, or 0."""
        high = most
        for part in _PARTS:
            low = part * most
            if low == 0 or self.delta(low) > delta:
                break
            high = low
        for _ in range(_MAX_BISECTIONS if high < most else 0):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return low

    @cached_property
    def _named(self) -> tuple[int, ...]:
        inputs = (self.pair.first, self.pair.second, self.other)
        return tuple(dict.fromkeys(int(x) for x in inputs if isinstance(x, int)))

    def _law(self, randomizer: SupportRandomizer | None, held: int | None) -> FloatArray:
        """Return the probabilities of the ways in which a report can support the named inputs."""
        source = self.randomizer if randomizer is None else randomizer
        size = len(self._named)
        with working_digits(source.digits):
            masses = []
            for supports in product((0, 1), repeat=size):
                mass = source.support_mass(sum(supports), size)
                if held is not None and supports[self._named.index(held)]:
                    mass *= source.ratio
                if held is None and all(supports):  # whoever holds what, it is that likely
                    mass += (source.ratio - 1) * source.full_support_mass
                masses.append(mass)
            total = sum(masses, arb(0)) if held is None else arb(1)
            return np.array([float(mass / total) for mass in masses])

    @cached_property
    def _laws(self) -> tuple[FloatArray, FloatArray, list[tuple[FloatArray, int]]]:
        first, second = (self._law(self.randomizer, x) for x in self._named[:2])
        others = [
            (self._law(randomizer, None if randomizer is None else self.other), count)
            for randomizer, count in self.others
            if count > 0
        ]
        return first, second, others

    def _delta(self, epsilon: float) -> float:
        first, second, others = self._laws
        growth = math.exp(epsilon)
        users = 1 + sum(count for _, count in others)
        average = (first + second) / 2 / users + sum(
            (law * (count / users) for law, count in others), np.zeros(first.size)
        )
        seen = average > 0
        scores = np.zeros(first.size)
        scores[seen] = (first - growth * second)[seen] / average[seen]
        variance = sum(
            count * float(law @ scores**2 - (law @ scores) ** 2) for law, count in others
        )
        mean = sum(count * float(law @ scores) for law, count in others)
        deviation = math.sqrt(max(variance, 0.0))
        # The tail falls by a factor e over the deviation divided by how far out it is.
        width = _RAMP * deviation / (1 + abs(mean) / deviation) if deviation > 0 else 0.0
        if width == 0.0:
            width = float(np.abs(scores).max())
        accepted = [self._accepted(law, others, scores, width) for law in (first, second)]
        # One multiplication, and the exponential is good to two units in the last place.
        rejected = accepted[1][1] * exp_up(epsilon) * (1 + 2 * UNIT)
        return (accepted[0][0] - rejected) * (1 - 4 * UNIT)

    def _accepted(
        self,
        victim: FloatArray,
        others: Sequence[tuple[FloatArray, int]],
        scores: FloatArray,
        width: float,
    ) -> tuple[float, float]:
        """Enclose the probability that the test accepts."""
        error = _WEIGHT_ERROR + self.randomizer.law_error
        blocks = [(_law(scores, victim, error), 1)]
        blocks += [(_law(scores, law, error), count) for law, count in others]
        ends = []
        for offset in (-width / 2, width / 2):
            total = BlockSum.of(*blocks, offset=offset)
            sides = log_mean_positive(total, total, rtol=_RTOL)
            ends.append((exp_down(sides.lower), exp_up(sides.upper)))
        (least0, most0), (least1, most1) = ends
        slack = 4 * UNIT * (most0 + most1)
        return (least0 - most1 - slack) / width, (most0 - least1 + slack) / width


def _law(scores: FloatArray, weights: FloatArray, error: float) -> Law:
    kept = weights > 0
    size = int(kept.sum())
    return Law(scores[kept], weights[kept], np.zeros(size), np.full(size, error))


def leak_of(randomizer: object, others: Sequence[tuple[object, int]]) -> TierLeak | None:
    """Return two datasets of support mechanisms of one shape; None for other mechanisms."""
    if not isinstance(randomizer, SupportRandomizer) or not randomizer.triples_look_alike:
        return None
    known = [(r, n) for r, n in others if r is None or isinstance(r, SupportRandomizer)]
    if len(known) < len(others):
        return None
    third = randomizer.inputs is None or randomizer.inputs > 2
    return TierLeak(randomizer, tuple(known), Pair(0, 1), 2 if third else 1)
