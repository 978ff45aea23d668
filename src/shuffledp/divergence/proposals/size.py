"""How large E[S_+] is, about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shuffledp.arrays import FloatArray
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.proposals.saddle import saddle_point
from shuffledp.divergence.tilt import tilt_sum

_MAX_KURTOSIS = 0.7  # of the tilted sum, beyond which its law is far from normal
_MOST_KURTOSIS = 10.0  # beyond it, a saddle point means nothing
_RARE_FALLS = 1e-3  # how often losses occur, on average, that are left out
_SKETCH = 256  # atoms of a law are merged to about so many before the tail is studied
_SETTLED = 0.1  # the estimate has converged if log E[S_+] changes by less
_MANY_LOSSES = 300.0  # so many that their number hardly varies
_SHARES_OF_LOSSES = (0.5, 0.75, 0.9, 1.0)  # the smallest ones, beside which a jump is looked at
_FAR = 1e70  # in standard deviations; the fourth power must stay finite


@dataclass(frozen=True, eq=False)
class Estimate:
    """An uncertified estimate of log E[S_+] and the probabilities that give its slope.

    A change dG of the values changes the estimate by about ``theta`` times the sum, over all
    summands, of ``probabilities`` times dG. A saddle-point estimate is as good as the tilted sum is
    normal, which its ``kurtosis`` measures.
    """

    log_mean: float
    theta: float
    probabilities: Sequence[FloatArray]
    kurtosis: float = 0.0


def estimate_saddle(total: BlockSum) -> Estimate:
    r"""Estimate by the saddle point.

    :math:`\log E[S_+]\approx\sum nK-2\log\theta-\frac12\log(2\pi(\sum nK''+2/\theta^2))`. There is
    none for a sum that is never positive.
    """
    if total.offset >= 0 and max(float(law.values.max()) for law in total.laws) <= 0:
        return Estimate(-math.inf, 1.0, [law.weights for law in total.laws])
    tilted = tilt_sum(total, saddle_point(total))
    theta = tilted.theta
    spread = math.hypot(math.sqrt(tilted.variance), math.sqrt(2) / theta)
    value = tilted.log_mgf - 2 * math.log(theta) - math.log(math.sqrt(2 * math.pi) * spread)
    kurtosis = 0.0
    if tilted.variance > 0:
        deviation = math.sqrt(tilted.variance)
        for times, law in zip(tilted.times, tilted.laws, strict=True):
            standardised = np.minimum(np.abs(law.centred) / deviation, _FAR)
            kurtosis += times * float(law.probability @ standardised**4)
    return Estimate(value, theta, [law.probability for law in tilted.laws], kurtosis)


def estimate_jump(total: BlockSum) -> Estimate:
    r"""Estimate by one jump, all other summands at their usual means: sum of :math:`E[(G+d)_+]`."""
    drift, _ = usual_drift(total)
    value = mass = 0.0
    jumps = []
    for block in total.blocks:
        excess = block.law.values + drift * (1 - 1 / total.summands)
        jumps.append(block.law.weights * (excess > 0))
        value += block.times * float(jumps[-1] @ excess)
        mass += block.times * float(jumps[-1].sum())
    if value <= 0:
        return Estimate(-math.inf, 0.0, [law.weights for law in total.laws])
    # All values move together with epsilon: those of the jump, and the means of all others.
    probabilities = [
        jump + (mass - float(jump.sum())) * law.weights
        for jump, law in zip(jumps, total.laws, strict=True)
    ]
    return Estimate(math.log(value), 1 / value, probabilities)


def estimate_beside(total: BlockSum) -> Estimate:
    r"""Estimate by one jump and k losses, all others at 0: :math:`E[(G-km)_+]`.

    Losses are those up to some size, with mean m, and there are no larger ones; k is about
    binomial. Where many summands are 0, a jump may have few losses to make up for, or none.
    """
    worst = Estimate(-math.inf, 0.0, [law.weights for law in total.laws])
    values = np.concatenate([law.values for law in total.laws])
    counts = np.concatenate([block.times * block.law.weights for block in total.blocks])
    order = np.flatnonzero(values < 0)
    order = order[np.argsort(-values[order], kind="stable")]
    rate = np.cumsum(counts[order])
    if total.summands == 1 or not rate.size or rate[-1] > _MANY_LOSSES:
        return worst
    sizes = np.cumsum(counts[order] * values[order])
    tails = [_Tail(block.law) for block in total.blocks]
    for share in _SHARES_OF_LOSSES:
        last = min(int(np.searchsorted(rate, share * rate[-1])), rate.size - 1)
        kept = float(rate[last]) / total.summands
        larger = max(float(rate[-1] - rate[last]) / total.summands, 0.0)
        k, chance = _binomial(total.summands - 1, min(kept / (1 - larger), 1.0))
        chance *= (1 - larger) ** (total.summands - 1)
        mean = -float(sizes[last] / rate[last])
        parts = zip(total.blocks, tails, strict=True)
        value = sum(block.times * float(chance @ tail.gain(mean * k)) for block, tail in parts)
        if value > 0 and (log_mean := math.log(value)) > worst.log_mean:
            jumps = [tail.jumps(mean * k, chance) for tail in tails]
            mass = sum(
                block.times * float((chance * k) @ tail.mass(mean * k))
                for block, tail in zip(total.blocks, tails, strict=True)
            )
            losses = [
                law.weights * ((law.values < 0) & (law.values >= values[order[last]]))
                for law in total.laws
            ]
            beside = mass / float(rate[last])
            probabilities = [a + beside * b for a, b in zip(jumps, losses, strict=True)]
            worst = Estimate(log_mean, 1 / value, probabilities)
    return worst


class _Tail:
    """The largest values of a law, in falling order, and the sums over them."""

    def __init__(self, law: Law) -> None:
        self.order = np.argsort(-law.values, kind="stable")
        self.values, self.weights = law.values[self.order], law.weights[self.order]
        self.masses = np.append(0.0, np.cumsum(self.weights))
        self.sums = np.append(0.0, np.cumsum(self.weights * self.values))

    def mass(self, x: FloatArray) -> FloatArray:
        """Return P(G > x)."""
        above: FloatArray = self.masses[np.searchsorted(-self.values, -x)]
        return above

    def gain(self, x: FloatArray) -> FloatArray:
        """Return E[(G - x)_+]."""
        above = np.searchsorted(-self.values, -x)
        gains: FloatArray = self.sums[above] - x * self.masses[above]
        return gains

    def jumps(self, x: FloatArray, chance: FloatArray) -> FloatArray:
        """Return the probability of each atom times that of all increasing x below it."""
        below = np.searchsorted(x, self.values)
        jumps = np.empty_like(self.weights)
        jumps[self.order] = self.weights * np.append(0.0, np.cumsum(chance))[below]
        return jumps


def _binomial(draws: int, share: float) -> tuple[FloatArray, FloatArray]:
    """Return how often something of this share may occur, and the probabilities of that."""
    rate = draws * share
    most = min(draws, int(rate + 8 * math.sqrt(rate)) + 8)
    k = np.arange(most + 1, dtype=np.float64)
    if share == 1:
        return np.array([float(draws)]), np.ones(1)
    odds = np.log((draws - k[1:] + 1) / k[1:]) + math.log(share) - math.log1p(-share)
    logs = draws * math.log1p(-share) + np.append(0.0, np.cumsum(odds))
    return k, np.exp(logs)


def usual_drift(total: BlockSum) -> tuple[float, float]:
    """Return mean and variance of the sum without losses that hardly ever occur."""
    drift, variance = -total.offset, 0.0
    for block in total.blocks:
        mean, square = _usual_moments(block.law, block.times)
        drift += block.times * mean
        variance += block.times * square
    return drift, variance


@lru_cache(maxsize=64)
def _usual_moments(law: Law, times: int) -> tuple[float, float]:
    """Return mean and variance of one summand of so many."""
    order = np.argsort(law.values, kind="stable")
    rate = times * np.cumsum(law.weights[order])
    least = law.values[order[min(int(np.searchsorted(rate, _RARE_FALLS)), law.size - 1)]]
    values = np.maximum(law.values, min(least, 0.0))
    mean = float(law.weights @ values)
    return mean, float(law.weights @ (values - mean) ** 2)


def estimate_log_mean(total: BlockSum, small: BlockSum, levels: Sequence[float]) -> float:
    """Estimate log E[S_+]: one jump, beside few losses or usual ones, or moderate values.

    Values above a level are left out, for higher and higher ``levels``, of a sketch of the sum. If
    the saddle-point estimate settles, large values do not matter; if it keeps growing, it is
    believed as long as the tilted sum is nearly normal.
    """
    believed = previous = -math.inf
    for level in levels:
        estimate = estimate_saddle(small.with_laws([below(level, law) for law in small.laws]))
        if abs(estimate.log_mean - previous) < _SETTLED and estimate.kurtosis <= _MOST_KURTOSIS:
            return estimate.log_mean
        if estimate.kurtosis <= _MAX_KURTOSIS:
            believed = estimate.log_mean
        previous = estimate.log_mean
    return max(believed, estimate_jump(total).log_mean, estimate_beside(total).log_mean)


@lru_cache(maxsize=64)
def largest_log_mean(law: Law, times: int) -> float:
    r"""Bound log E[S_+] of so many summands, up to rounding, without any tilt.

    Those of at most some size have a sum of mean m and variance v, whose positive part has a mean
    of at most :math:`m_++\sqrt v/2`; larger ones add their E[G_+]. The best size counts.
    """
    sizes = np.abs(law.values)
    order = np.argsort(sizes, kind="stable")
    values, weights = law.values[order], times * law.weights[order]
    beyond = np.append(np.cumsum((weights * np.maximum(values, 0.0))[::-1])[::-1], 0.0)
    mean = np.append(0.0, np.cumsum(weights * values))
    with np.errstate(over="ignore"):
        variance = np.append(0.0, np.cumsum(weights * values * values))
    largest = float(np.min(np.maximum(mean, 0.0) + np.sqrt(variance) / 2 + beyond))
    return math.log(largest) if largest > 0 else -math.inf


def sketch(law: Law) -> Law:
    """Merge neighbouring atoms."""
    order = np.argsort(-law.values, kind="stable")
    starts = np.arange(0, law.size, -(-law.size // _SKETCH))
    weights = np.add.reduceat(law.weights[order], starts)
    values = np.add.reduceat((law.weights * law.values)[order], starts) / weights
    zeros = np.zeros(starts.size)
    return Law(values, weights, zeros, zeros)


def below(level: float, law: Law) -> Law:
    """Set values above the level to 0; the level itself may have been rounded."""
    values = np.where(law.values > level * (1 + 1e-9), 0.0, law.values)
    return Law(values, law.weights, law.value_error, law.weight_error)
