"""A quick, uncertified estimate of log delta and its slope: where to look for a root."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from shuffledp.decomposition import Decomposition, Law
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.enclosure import BEYOND_DOUBLES
from shuffledp.divergence.proposals.jump_estimate import estimate_with_jumps
from shuffledp.divergence.proposals.jumps import choose_jumps
from shuffledp.divergence.proposals.size import (
    Estimate,
    below,
    estimate_beside,
    estimate_jump,
    estimate_saddle,
)
from shuffledp.errors import MAX_EPSILON0
from shuffledp.threads import one_thread

_TAIL_RTOL = 1e-2
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
    sketch = decomposition.sketch
    law = sketch.at(min(epsilon, MAX_EPSILON0)).lower
    if law.values.max() <= 0:
        return -math.inf, -math.inf
    scale = max(float(np.abs(law.values).max()), 1.0)
    law = law.scaled(1 / scale)
    smooth = decomposition.smooth
    is_unbounded = sketch is not decomposition and smooth is not None and not smooth.is_bounded
    estimate = estimate_unbounded(law, n) if is_unbounded else _estimate_bounded(law, n)
    probability = estimate.probabilities[0][: sketch.size]
    fall = float(probability @ np.exp(sketch.log_ratio1 + epsilon))
    log_delta = estimate.log_mean - math.log(n) + math.log(scale)
    return log_delta, -n * estimate.theta * (fall / scale)


def estimate_unbounded(law: Law, n: int) -> Estimate:
    """Estimate E[S_+] of so many summands; the law is a sketch of one without a largest value.

    Large values are few, and a single one may decide.
    """
    total = BlockSum.of((law, n))
    estimate = estimate_saddle(total)
    if estimate.kurtosis <= _MOST_KURTOSIS:
        return estimate
    # Large values rule: the saddle point misleads.
    jumps = estimate_with_jumps(law, n), estimate_beside(total)
    return max(jumps, key=lambda found: found.log_mean)


def _estimate_bounded(law: Law, n: int) -> Estimate:
    """Estimate the same where several values next to the largest one may have to occur."""
    total = BlockSum.of((law, n))
    plan = choose_jumps(total, _TAIL_RTOL)
    estimate = estimate_saddle(BlockSum.of((below(plan.level, law), n)))
    if plan.level < math.inf:
        jump = max(estimate_jump(total), estimate_beside(total), key=lambda found: found.log_mean)
        if plan.log_mean < estimate.log_mean - 1 or jump.log_mean > estimate.log_mean:
            estimate = jump  # large values rule: the saddle point misleads
    return estimate
