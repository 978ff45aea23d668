"""A quick, uncertified estimate of log delta and its slope: where to look for a root."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from shuffledp.decomposition import Decomposition, Law
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.enclosure import BEYOND_DOUBLES
from shuffledp.divergence.proposals.jump_estimate import estimate_with_jumps
from shuffledp.divergence.proposals.size import Estimate, estimate_beside, estimate_saddle
from shuffledp.errors import MAX_EPSILON0
from shuffledp.threads import one_thread

_MOST_KURTOSIS = 1.0  # of the tilted sum


@lru_cache(maxsize=16)
@one_thread
def estimate_log_delta(decomposition: Decomposition, n: int, epsilon: float) -> tuple[float, float]:
    r"""Return an estimate of log delta and of its derivative in epsilon, good to a few per cent.

    The derivative uses :math:`dG/d\varepsilon=-e^\varepsilon b/c`. Components without absolute
    continuity are left out. NaN where doubles cannot hold the numbers.
    """
    try:
        return _estimate(decomposition, n, epsilon)
    except BEYOND_DOUBLES:
        return math.nan, math.nan


def _estimate(decomposition: Decomposition, n: int, epsilon: float) -> tuple[float, float]:
    decomposition = decomposition.sketch
    law = decomposition.at(min(epsilon, MAX_EPSILON0)).lower
    if law.values.max() <= 0:
        return -math.inf, -math.inf
    scale = max(float(np.abs(law.values).max()), 1.0)
    law = law.scaled(1 / scale)
    estimate = estimate_sum(law, n)
    probability = estimate.probabilities[0][: decomposition.size]
    fall = float(probability @ np.exp(decomposition.log_ratio1 + epsilon))
    log_delta = estimate.log_mean - math.log(n) + math.log(scale)
    return log_delta, -n * estimate.theta * (fall / scale)


def estimate_sum(law: Law, n: int) -> Estimate:
    """Estimate E[S_+] of so many summands, in units in which no value is large."""
    total = BlockSum.of((law, n))
    estimate = estimate_saddle(total)
    if estimate.kurtosis <= _MOST_KURTOSIS:
        return estimate
    # Large values rule: the saddle point misleads.
    jumps = estimate_with_jumps(law, n), estimate_beside(total)
    return max(jumps, key=lambda found: found.log_mean)
