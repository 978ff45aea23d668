r"""Enumeration for small n: sum over all ways in which n draws can fall on the atoms.

.. math:: E[S_+] = \sum_{k_1+\dots+k_J=n} \binom{n}{k}\prod_j w_j^{k_j}\,\Bigl(\sum_j k_jg_j\Bigr)_+

There are :math:`\binom{n+J-1}{J-1}` terms. Nothing is approximated, so the result is sharp to
rounding where the contour would need many nodes: few users, or sums that nearly hit 0.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.enclosure import LogEnclosure


def enumeration_size(law: Law, n: int) -> float:
    """Return the number of terms (infinity if it is astronomically large)."""
    if law.size > 12 or n > 10_000:
        return math.inf
    return float(math.comb(n + law.size - 1, law.size - 1))


def enumerate_log_mean(law: Law, n: int) -> LogEnclosure:
    """Enclose log E[(G_1+...+G_n)_+] by enumeration."""
    counts, log_coefficient = _multinomials(n, law.size)
    sums = counts @ law.values
    log_weights = np.log(law.weights)
    sum_error = counts @ law.value_error + (law.size + 2) * UNIT * (counts @ np.abs(law.values))
    possible = sums + sum_error > 0
    if not possible.any():
        return LogEnclosure(-math.inf, -math.inf)
    sums, sum_error = sums[possible], sum_error[possible]
    log_probability = log_coefficient[possible] + counts[possible] @ log_weights
    top = float(log_probability.max())
    probability = np.exp(log_probability - top)
    # Log factorials are good to a few ulps of the largest one, which differences do not reduce.
    size = (law.size + 1) * math.lgamma(n + 1.0) + n * float(np.abs(log_weights).max())
    slack = n * float(law.weight_error.max()) + UNIT * (8 * size + 40)
    lower = float(probability @ np.maximum(sums - sum_error, 0.0))
    upper = float(probability @ np.maximum(sums + sum_error, 0.0))
    # What underflows in the exponential is far below the last digit kept here.
    upper += float(sums.max()) * probability.size * 1e-300
    return LogEnclosure(
        top + math.log(lower) if lower > 0 else -math.inf, top + math.log(upper)
    ).widen(slack)


@lru_cache(maxsize=16)
def _multinomials(n: int, atoms: int) -> tuple[FloatArray, FloatArray]:
    """Return all count vectors of n draws and the logs of their multinomial coefficients."""
    counts = _compositions(n, atoms)
    log_factorial = np.array([math.lgamma(k + 1.0) for k in range(n + 1)])
    log_coefficient = log_factorial[n] - log_factorial[counts].sum(axis=1)
    return counts.astype(np.float64), log_coefficient


def _compositions(total: int, parts: int) -> NDArray[np.int64]:
    """Return every vector of ``parts`` non-negative integers that sum to ``total``."""
    rows = np.arange(total + 1)[:, None] if parts > 1 else np.array([[total]])
    for part in range(1, parts):
        left = total - rows.sum(axis=1)
        if part == parts - 1:
            return np.column_stack([rows, left])
        repeats = left + 1
        last = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        rows = np.column_stack([np.repeat(rows, repeats, axis=0), last])
    return rows
