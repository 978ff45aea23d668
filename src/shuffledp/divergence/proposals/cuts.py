"""Which large values are too rare to matter."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shuffledp.arrays import FloatArray
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.proposals.size import estimate_log_mean

_SHARE_OF_RTOL = 0.05
_LOWEST_LOG = -690.0  # of a size whose exponential is a normal double
_DEPTHS = 10.0 ** -np.arange(1, 30, 2)
_STUDIED_DEPTHS = 10.0 ** -np.array([3, 5, 7, 10, 14, 20, 30, 45, 70, 100, 150, 220])


@dataclass(frozen=True)
class Cut:
    """Values above ``level`` should go, because log E[S_+] is about ``log_mean``."""

    level: float = math.inf
    log_mean: float = math.inf


def choose_cut(total: BlockSum, rtol: float) -> Cut:
    """Return a level above which the sum of all E[G; cut] stays below about ``rtol/20`` of E[S_+].

    Most sums are left as they are, because the largest value of each law has enough probability.
    """
    tail = _Tail(total)
    single = tail.single
    if tail.largest >= _SHARE_OF_RTOL * rtol * single:
        return Cut()
    log_mean = estimate_log_mean(total, [tail.level(d * single) for d in _STUDIED_DEPTHS])
    size = math.exp(min(max(log_mean, _LOWEST_LOG), math.log(single)))
    level = tail.level(_SHARE_OF_RTOL * rtol * size)
    return Cut(level, log_mean) if level < math.inf else Cut()


def cut_levels(total: BlockSum) -> Iterator[float]:
    """Yield levels of several depths, from a tenth of the sum of all E[G_+] to nothing."""
    tail = _Tail(total)
    yield from (tail.level(depth * tail.single) for depth in _DEPTHS)


class _Tail:
    """The values of all laws, with their part in the sum of all E[G_+]."""

    def __init__(self, total: BlockSum) -> None:
        parts = [
            block.times * (block.law.weights * np.maximum(block.law.values, 0.0))
            for block in total.blocks
        ]
        self.values = _joined([law.values for law in total.laws])
        self.parts = _joined(parts)
        self.single = float(self.parts.sum())
        self.largest = float(self.parts[int(np.argmax(self.values))])

    @cached_property
    def falling(self) -> tuple[FloatArray, FloatArray]:
        """The values in falling order, and the sums of the parts so far."""
        order = np.argsort(-self.values, kind="stable")
        return self.values[order], np.cumsum(self.parts[order])

    def level(self, limit: float) -> float:
        """Return the largest value to keep if E[G; cut] <= limit; infinity if that cuts nothing."""
        values, mass = self.falling
        count = int(np.searchsorted(mass, limit, side="right"))
        if count == 0:
            return math.inf
        return float(values[count]) if count < values.size else 0.0


def _joined(arrays: Sequence[FloatArray]) -> FloatArray:
    return np.concatenate(arrays) if len(arrays) > 1 else arrays[0]
