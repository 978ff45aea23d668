"""Which large values to treat as jumps, into which classes, and how many jumps to follow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shuffledp.arrays import FloatArray
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.proposals.size import (
    below,
    estimate_log_mean,
    estimate_saddle,
    sketch,
    usual_drift,
)

#: So many neighbouring classes are one where there are several jumps, which seldom matters.
MERGED = 4

_SHARE_OF_RTOL = 0.05
_FLOORS = 10.0 ** -np.arange(2, 10)  # of E[S], by which losses that are raised change it
_LOWEST_LOG = -690.0  # of a size whose exponential is a normal double
_FALLS = 10.0 ** -np.arange(3, 8, 2)  # how many summands fall below a floor, on average
_DEPTHS = 10.0 ** -np.arange(1, 30, 2)
_STUDIED_DEPTHS = 10.0 ** -np.array([3, 5, 7, 10, 14, 20, 30, 45, 70, 100, 150, 220])
_TILT_OVER_MEAN = 3.0  # about what a bound from one tilt is, over E[S_+]
_COMMON = 1e-2  # how often the largest value occurs, on average, if it is no jump
_MOST_ORDERS = 3
_EASY_KURTOSIS = 1.0  # of the rest, tilted: no need to follow more jumps
_FACTOR = 2.0  # between the edges of a class
_MOST_CLASSES = 12
_FAR = 9.0  # deviations of the rest above its drift: a jump beyond makes the sum positive


@dataclass(frozen=True)
class JumpPlan:
    """Values above ``level`` are jumps; follow fewer than ``orders`` of them.

    log E[S_+] is about ``log_mean``.
    """

    level: float = math.inf
    orders: int = 1
    log_mean: float = math.inf


def choose_jumps(
    total: BlockSum,
    rtol: float,
    log_mean: float | None = None,
    most_kurtosis: float = _EASY_KURTOSIS,
) -> JumpPlan:
    """Choose the fewest jumps such that the rest is easy and more of them cost ``rtol/20``.

    Most sums are left as they are, because their largest values are not rare.
    ``log_mean`` is what is known of log E[S_+], and ``most_kurtosis`` tells what is easy.
    """
    tail = _Tail(total)
    single = tail.single
    if tail.rate_of_largest >= _COMMON:
        return JumpPlan()
    small = total.with_laws([sketch(law) for law in total.laws])
    counts = tail.largest >= _SHARE_OF_RTOL * rtol * single
    if counts and estimate_saddle(small).kurtosis <= _EASY_KURTOSIS:
        return JumpPlan()
    if log_mean is None:
        levels = [tail.level(depth * single) for depth in _STUDIED_DEPTHS]
        log_mean = estimate_log_mean(total, small, levels)
    size = math.exp(min(max(log_mean, _LOWEST_LOG), math.log(single)))
    plan = JumpPlan()
    for orders in range(1, _MOST_ORDERS + 1):
        level = tail.level_for(orders, size, _SHARE_OF_RTOL * rtol)
        if level == plan.level < math.inf:
            break  # the same rest, and more terms
        if level < math.inf:
            plan = JumpPlan(level, orders, log_mean)
            rest = small.with_laws([below(level, law) for law in small.laws])
            if estimate_saddle(rest).kurtosis <= most_kurtosis:
                break
    return plan


def class_edges(rest: BlockSum, level: float) -> FloatArray:
    """Return the edges of classes: the level, its multiples, and where a jump decides alone."""
    drift, variance = usual_drift(rest)
    far = _FAR * math.sqrt(variance) - drift
    first = max(level, far * _FACTOR**-_MOST_CLASSES)
    if not far > first > 0:
        return np.array([level])
    count = math.ceil(math.log(far / first, _FACTOR))
    return np.append(level, np.geomspace(first, far, count + 1)[first == level :])


def fall_floors(total: BlockSum) -> Iterator[float]:
    """Yield floors that all losses stay above, but for rare ones; none if all are common.

    There are none either where the sum is not positive on average even so.
    """
    if usual_drift(total)[0] <= 0:
        return
    tail = _Tail(total.negated)
    yield from (-level for rate in _FALLS if 0 < (level := tail.level_of_rate(rate)) < math.inf)


def jump_levels(total: BlockSum) -> Iterator[float]:
    """Yield levels of several depths, from a tenth of the sum of all E[G_+] to nothing."""
    tail = _Tail(total)
    yield from (tail.level(depth * tail.single) for depth in _DEPTHS)


def loss_floors(total: BlockSum, mean: float) -> Iterator[float]:
    """Yield floors for losses, deeper and deeper; E[S] grows by a share of itself with each."""
    if mean > 0:
        tail = _Tail(total.negated)
        yield from (-tail.level(share * mean) for share in _FLOORS)


class _Tail:
    """The values of all laws, with their part in the sum of all E[G_+]."""

    def __init__(self, total: BlockSum) -> None:
        counts = [block.times * block.law.weights for block in total.blocks]
        self.values = _joined([law.values for law in total.laws])
        self.counts = _joined(counts)
        self.parts = self.counts * np.maximum(self.values, 0.0)
        self.single = float(self.parts.sum())
        top = int(np.argmax(self.values))
        self.largest, self.rate_of_largest = float(self.parts[top]), float(self.counts[top])

    @cached_property
    def falling(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The values in falling order, the sums of the parts so far, and how many there are."""
        order = np.argsort(-self.values, kind="stable")
        return self.values[order], np.cumsum(self.parts[order]), np.cumsum(self.counts[order])

    def level(self, limit: float) -> float:
        """Return the largest value to keep if E[G; above] <= limit; infinity if all are kept."""
        return self._keep(int(np.searchsorted(self.falling[1], limit, side="right")))

    def level_for(self, orders: int, size: float, share: float) -> float:
        """Return the largest value to keep if so many jumps, or more, add a share of the size."""
        _, mass, rate = self.falling
        crowd = rate ** (orders - 1) / math.factorial(orders - 1)
        added = crowd * (mass + _TILT_OVER_MEAN * size * rate / orders)
        return self._keep(int(np.searchsorted(added, share * size, side="right")))

    def level_of_rate(self, limit: float) -> float:
        """Return the largest value to keep if on average so many summands may lie above."""
        return self._keep(int(np.searchsorted(self.falling[2], limit, side="right")))

    def _keep(self, count: int) -> float:
        values = self.falling[0]
        if count == 0:
            return math.inf
        return max(float(values[count]), 0.0) if count < values.size else 0.0


def _joined(arrays: Sequence[FloatArray]) -> FloatArray:
    return np.concatenate(arrays) if len(arrays) > 1 else arrays[0]
