"""The true delta of a few users: all datasets, all neighbours, all histograms of reports."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from oracle.channel import Channel
from oracle.number import ALLOWANCE, BITS, exponential, units

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Relative error of a product of a few doubles and of sums of such products, generously.
_FLOAT_ERROR = 1e-12

#: What may underflow in such sums.
_UNDERFLOW = 1e-250


@dataclass(frozen=True)
class Enclosure:
    """Two rationals with the truth between them."""

    low: Fraction
    high: Fraction

    def __str__(self) -> str:
        return f"{float(self.high):.17g}"


@lru_cache(maxsize=256)
def successors(outputs: int, users: int) -> IntArray:
    """Where each histogram of so many users goes when one more user reports each output.

    >>> successors(2, 1).tolist()
    [[0, 1], [1, 2]]
    """
    before = list(combinations_with_replacement(range(outputs), users))
    after = {
        reports: i
        for i, reports in enumerate(combinations_with_replacement(range(outputs), users + 1))
    }
    table = [[after[tuple(sorted((*reports, y)))] for y in range(outputs)] for reports in before]
    return np.array(table, dtype=np.int64)


def histograms(outputs: int, users: int) -> int:
    """The number of histograms of reports."""
    return math.comb(outputs + users - 1, users)


def work(channel: Channel, n: int) -> int:
    """About how many products the enumeration takes per epsilon."""
    laws = len(set(channel.laws))
    datasets = math.comb(laws + n - 2, n - 1)
    return datasets * (laws**2 + channel.outputs) * histograms(channel.outputs, n)


class Truth:
    """The worst delta over all neighbouring datasets of n users.

    Doubles bound delta of every pair of datasets from above; in the order of these bounds the pairs
    are evaluated in integers, until no bound left is above what has been found.
    """

    def __init__(self, channel: Channel, n: int) -> None:
        self.channel, self.n = channel, n
        self.laws = tuple(dict.fromkeys(channel.laws))
        number = {law: i for i, law in enumerate(self.laws)}
        pairs = {(number[channel.laws[i]], number[channel.laws[j]]) for i, j in channel.pairs()}
        self.pairs = sorted(pair for pair in pairs if pair[0] != pair[1])
        self.others = list(combinations_with_replacement(range(len(self.laws)), n - 1))
        self._exact: dict[tuple[int, ...], list[int]] = {}
        self._floats: FloatArray | None = None

    def delta(self, epsilon: float | Fraction) -> Enclosure:
        """The largest sum over histograms of (P - e^epsilon Q)_+."""
        growth = exponential(Fraction(epsilon))
        if not self.pairs or self._is_below(growth):
            return Enclosure(Fraction(0), Fraction(0))
        factor, best = units(growth), 0
        bounds = self._bounds(float(growth))
        for index in np.argsort(-bounds, axis=None):
            row, column = divmod(int(index), len(self.pairs))
            if Fraction(float(bounds[row, column])) < Fraction(best, 1 << BITS):
                break
            best = max(best, self._divergence(self.others[row], self.pairs[column], factor))
        value = Fraction(best, 1 << BITS)
        allowance = ALLOWANCE * max(growth, 1)
        return Enclosure(max(value - allowance, Fraction(0)), value + allowance)

    def delta_at_infinity(self) -> Enclosure:
        """The limit for large epsilon: what one dataset may produce and its neighbour never."""
        best = 0
        for others in self.others:
            for x, y in self.pairs:
                first, second = self._law((*others, x)), self._law((*others, y))
                best = max(best, sum(p for p, q in zip(first, second, strict=True) if not q))
        value = Fraction(best, 1 << BITS)
        return Enclosure(max(value - ALLOWANCE, Fraction(0)), value + ALLOWANCE)

    def epsilon(self, delta: float) -> float:
        """The least epsilon whose delta is at most ``delta``, to a few digits."""
        low, high = 0.0, 1.0
        if self.delta(low).high <= delta:
            return 0.0
        while self.delta(high).low > delta:
            low, high = high, 2 * high
            if high > 600:
                return math.inf
        for _ in range(45):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle).low > delta else (low, middle)
        return low

    @cached_property
    def largest_ratio(self) -> Fraction | None:
        """The largest ratio of two neighbouring laws at an output; None if it is infinite."""
        ratio = Fraction(1)
        for x, y in self.pairs:
            for p, q in zip(self.laws[x], self.laws[y], strict=True):
                if p and not q:
                    return None
                if p:
                    ratio = max(ratio, Fraction(p, q))
        return ratio

    def _is_below(self, growth: Fraction) -> bool:
        """Whether no output is more than e^epsilon times likelier for a neighbour: delta is 0."""
        return self.largest_ratio is not None and self.largest_ratio <= growth

    def _divergence(self, others: tuple[int, ...], pair: tuple[int, int], factor: int) -> int:
        first, second = (self._law(tuple(sorted((*others, x)))) for x in pair)
        total = 0
        for p, q in zip(first, second, strict=True):
            gain = p - ((factor * q) >> BITS)
            if gain > 0:
                total += gain
        return total

    def _law(self, users: tuple[int, ...]) -> list[int]:
        """The law of the histogram of independent reports, in units."""
        if not users:
            return [1 << BITS]
        key = tuple(sorted(users))
        if key not in self._exact:
            before, own = self._law(key[:-1]), self.laws[key[-1]]
            table = successors(self.channel.outputs, len(key) - 1).tolist()
            after = [0] * histograms(self.channel.outputs, len(key))
            for p, row in zip(before, table, strict=True):
                if p:
                    for q, target in zip(own, row, strict=True):
                        after[target] += p * q
            self._exact[key] = [p >> BITS for p in after]
        return self._exact[key]

    def _bounds(self, growth: float) -> FloatArray:
        """Upper bounds in doubles: one row per multiset of others, one column per pair."""
        laws = self.float_laws()
        bounds = np.empty((len(self.others), len(self.pairs)))
        up, down = 1 + _FLOAT_ERROR, (1 - _FLOAT_ERROR) * growth
        for column, (x, y) in enumerate(self.pairs):
            gains = laws[:, x] * up - laws[:, y] * down
            bounds[:, column] = np.maximum(gains, 0.0).sum(axis=1) * up + _UNDERFLOW
        return bounds

    def float_laws(self) -> FloatArray:
        """Laws of histograms for every multiset of others and every input of the last user."""
        if self._floats is None:
            own = np.array([[float(Fraction(p, 1 << BITS)) for p in law] for law in self.laws])
            before = {(): np.ones(1)}
            for users in range(self.n):
                table = successors(self.channel.outputs, users)
                size = histograms(self.channel.outputs, users + 1)
                after = {}
                last = users == self.n - 1
                for key, law in before.items():
                    for x in range(0 if last or not key else key[-1], len(self.laws)):
                        grown = np.zeros(size)
                        for y in range(self.channel.outputs):
                            grown[table[:, y]] += law * own[x, y]
                        after[*key, x] = grown
                before = after
            shape = (len(self.others), len(self.laws), -1)
            self._floats = np.stack([before[*o, x] for o in self.others for x in range(len(own))])
            self._floats = self._floats.reshape(shape)
        return self._floats
