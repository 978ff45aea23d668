r"""One more in a count, and one less in another, with independent log-concave noise.

With f the law of the noise of one count, N + 1 against N reveals

.. math:: \delta=\sum_j\big(f(j-1)-e^\varepsilon f(j)\big)_+,

and N against N + 1 the same with the laws exchanged. If one count has one more and another one, of
law g, one less, outcomes (a, b) are accepted where
:math:`f(a-1)g(b)>e^\varepsilon f(a)g(b-1)`. Both ratios are monotone, so for every a that is a half
line :math:`b\le B(a)`, and B rises: one walk along its border, G being the
distribution function, gives

.. math:: \delta=\sum_a f(a-1)G(B(a))-e^\varepsilon f(a)G(B(a)-1).

Where balls are in doubt, a lower bound counts nothing and an upper bound what may be there. Beyond
the table, where a law has the mass t, masses count as 0. For every count both laws lack t by that,
so delta is at most t larger, and at most :math:`e^\varepsilon t` smaller, than what is found.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from itertools import pairwise

import numpy as np
from flint import arb

from shuffledp.basics.balls import lower_log, positive_part, precision, total, upper_log
from shuffledp.basics.interval import Interval
from shuffledp.bounds.curve import Curve, Proved
from shuffledp.mechanisms.messages.count_noise import CountNoise, Table


class _Counts(Curve):
    """A curve that is one sum over a table."""

    def __init__(self, noise: CountNoise, where: object = None) -> None:
        self.noise, self.where = noise, where
        self._found: dict[float, Interval] = {}

    #: How many counts change.
    _changes = 1

    def above(self, epsilon: float) -> Proved:
        """Prove an upper bound on log delta."""
        return Proved(self._enclosed(epsilon).upper, self.where, "exact")

    def below(self, epsilon: float) -> Proved:
        """Prove a lower bound on log delta."""
        return Proved(self._enclosed(epsilon).lower, self.where, "exact")

    def _enclosed(self, epsilon: float) -> Interval:
        if epsilon >= self.end.upper:
            return Interval(-math.inf, -math.inf)
        if epsilon not in self._found:
            with precision():
                cost = arb(epsilon).exp()
                delta, rest = self._delta(cost), self._changes * self._outside
                lower = max(lower_log(delta - cost * rest), self.floor)
                self._found[epsilon] = Interval(lower, upper_log(delta + rest))
        return self._found[epsilon]

    @cached_property
    def _outside(self) -> arb:
        """How much of the law is not listed."""
        with precision():
            return (self._table.below + self._table.beyond).upper()

    @cached_property
    def floor(self) -> float:
        """The probability of a count that gives the change away."""
        table = self._table
        with precision():
            least = table.masses[0] if table.below.is_zero() else arb(0)
            most = table.masses[-1] if table.beyond.is_zero() else arb(0)
            return lower_log(self._given_away(least, most))

    @abstractmethod
    def _given_away(self, least: arb, most: arb) -> arb:
        """Return the probability of outcomes that the second law does not have.

        Args:
            least: the probability of the smallest number, 0 if there is none.
            most: that of the largest number.
        """

    @abstractmethod
    def _delta(self, cost: arb) -> arb:
        """Enclose what the listed masses say of delta, where cost is e^epsilon."""

    @abstractmethod
    def _rough(self, cost: float) -> float:
        """Return delta in doubles, about."""

    def estimate(self, epsilon: float, like: Proved | None = None) -> float:
        """Return log delta in doubles, about."""
        if epsilon >= self.end.upper:
            return -math.inf
        found = self._rough(math.exp(epsilon))
        return math.log(found) if found > 0 else self.above(epsilon).log

    @cached_property
    def _table(self) -> Table:
        return self.noise.table

    @property
    def end(self) -> Interval:
        """The largest privacy loss: exact, since doubling is."""
        end = self._changes * self.noise.level
        return Interval(end, end)


class OneCount(_Counts):
    """One more in a count.

    Args:
        noise: the law f.
        added: whether N + 1 stands against N; else N against N + 1.
        where: what the curve belongs to.
    """

    def __init__(self, noise: CountNoise, added: bool, where: object = None) -> None:
        super().__init__(noise, where)
        self.added = added

    def _delta(self, cost: arb) -> arb:
        table = self._table
        masses = (arb(0), *table.masses, arb(0))
        pairs = pairwise(masses)
        if self.added:
            return total(positive_part(before - cost * own) for before, own in pairs)
        return total(positive_part(own - cost * before) for before, own in pairs)

    def _given_away(self, least: arb, most: arb) -> arb:
        return most if self.added else least

    def _rough(self, cost: float) -> float:
        masses = np.concatenate([[0.0], self._table.doubles, [0.0]])
        before, own = masses[:-1], masses[1:]
        gain = before - cost * own if self.added else own - cost * before
        return float(np.maximum(gain, 0.0).sum())

    def __str__(self) -> str:
        """Name it."""
        return f"count({self.noise}{'' if self.added else ', less'})"


class TwoCounts(_Counts):
    """One more in a count and one less in another one, with the same law of noise."""

    _changes = 2

    def _delta(self, cost: arb) -> arb:
        table = self._table
        masses = (arb(0), *table.masses, arb(0))
        sums = [arb(0)]
        for mass in masses:
            sums.append(sums[-1] + mass)  # sums[i] = masses before i
        last = len(masses) - 1
        found, slack, border = arb(0), arb(0), 0

        def gain(a: int, b: int) -> arb:
            own, less = masses[b], masses[b - 1] if b else arb(0)
            return masses[a - 1] * own - cost * masses[a] * less

        for a in range(1, last + 1):
            while border < last and not gain(a, border + 1) <= 0:
                border += 1
            b = border
            while b > 0 and not (value := gain(a, b)) >= 0:
                slack += positive_part(-value).upper()
                b -= 1
            found += masses[a - 1] * sums[border + 1] - cost * masses[a] * sums[border]
        return found + arb(0).union(slack)

    def _given_away(self, least: arb, most: arb) -> arb:
        return least + most - least * most

    def _rough(self, cost: float) -> float:
        masses = np.concatenate([[0.0], self._table.doubles, [0.0]])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = masses[:-1] / masses[1:]  # rising; that before the first one is 0
        sums = np.concatenate([[0.0], np.cumsum(masses)])
        border = np.searchsorted(ratios, ratios / cost, side="right")
        gains = masses[:-1] * sums[border + 1] - cost * masses[1:] * sums[border]
        return float(np.maximum(gains, 0.0).sum())

    def __str__(self) -> str:
        """Name it."""
        return f"two counts({self.noise})"
