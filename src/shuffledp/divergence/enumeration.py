r"""Enumeration for few summands: all ways in which the draws of each block can fall on its atoms.

.. math:: E f(S) = \sum\prod_b\binom{n_b}{k_b}\prod_jw_{bj}^{k_{bj}}\,
          f\Bigl(\sum_{b,j}k_{bj}g_{bj}-l\Bigr)

over all counts with :math:`\sum_jk_{bj}=n_b`. A block of J atoms has :math:`\binom{n+J-1}{J-1}` of
them, and those of different blocks are combined. Nothing is approximated, so the result is sharp to
rounding where the contour would need many nodes: few users, or sums that nearly hit 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.divergence.blocks import Block, BlockSum
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.kernel import HINGE, Kernel

_MAX_ATOMS = 12
_MAX_SUMMANDS = 10_000
_MAX_LOG = 745.0  # exponentials of what is farther below underflow


def enumeration_size(total: BlockSum) -> float:
    """Return the number of terms (infinity if it is astronomically large)."""
    if total.atoms > _MAX_ATOMS or total.summands > _MAX_SUMMANDS:
        return math.inf
    return float(
        math.prod(math.comb(b.times + b.law.size - 1, b.law.size - 1) for b in total.blocks)
    )


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Values of a sum, bounds on their errors, log probabilities, and the error of all of them."""

    sums: FloatArray
    sum_error: FloatArray
    log_probability: FloatArray
    log_error: float

    def plus(self, other: Outcomes) -> Outcomes:
        """Combine with the outcomes of an independent sum."""
        sums = np.add.outer(self.sums, other.sums).ravel()
        logs = np.add.outer(self.log_probability, other.log_probability).ravel()
        # One rounding of each sum; the sum of two errors and of this is rounded, too.
        error = np.add.outer(self.sum_error, other.sum_error).ravel() + UNIT * np.abs(sums)
        log_error = self.log_error + other.log_error + UNIT * float(np.abs(logs).max())
        return Outcomes(sums, error * (1 + 4 * UNIT), logs, log_error)


def enumerate_log_mean(total: BlockSum, kernel: Kernel = HINGE) -> LogEnclosure:
    """Enclose log E f(S) by enumeration."""
    return mean_of_outcomes(total, map(_enumerate, total.blocks), kernel)


def mean_of_outcomes(
    total: BlockSum, blocks: Iterable[Outcomes], kernel: Kernel = HINGE
) -> LogEnclosure:
    """Enclose the logarithm of what the given outcomes of all blocks add to E f(S)."""
    outcomes = reduce(Outcomes.plus, blocks)
    if total.offset or total.offset_error:
        outcomes = outcomes.plus(_constant(-total.offset, total.offset_error))
    possible = outcomes.sums + outcomes.sum_error > 0
    if not possible.any():
        return LogEnclosure(-math.inf, -math.inf)
    sums, sum_error = outcomes.sums[possible], outcomes.sum_error[possible]
    log_probability = outcomes.log_probability[possible]
    top = float(log_probability.max())
    probability = np.exp(log_probability - top)
    lower = float((probability * kernel.at(sums - sum_error)).sum())
    upper = float((probability * kernel.at(sums + sum_error)).sum())
    # What underflows in the exponential is far below the last digit kept here.
    upper += float((sums + sum_error).max()) * probability.size * 1e-300
    # Distances from the top are rounded once; 4 units of an exponential, 8 of f, a product, the sum
    # or difference with an error, and 30 of a pairwise sum.
    farthest = min(float(top - log_probability.min()), _MAX_LOG)
    slack = outcomes.log_error + UNIT * (48 + farthest)
    least = top + math.log(lower) if lower > 0 else -math.inf
    return LogEnclosure.rounded(least, top + math.log(upper), slack)


def _constant(value: float, error: float) -> Outcomes:
    return Outcomes(np.array([value]), np.array([error]), np.zeros(1), 0.0)


def _enumerate(block: Block) -> Outcomes:
    """Return the outcomes of one block."""
    law, n = block.law, block.times
    counts, log_coefficient = _multinomials(n, law.size)
    log_weights = np.log(law.weights)
    # A sum of products: a rounding for each, and for each sum.
    sum_error = counts @ law.value_error + (law.size + 2) * UNIT * (counts @ np.abs(law.values))
    # Log factorials are good to a few ulps of the largest one, which differences do not reduce;
    # logarithms of weights to 4 units, their products and sums to one each.
    log_size = 8 * (law.size + 1) * math.lgamma(n + 1.0)
    log_size += (law.size + 6) * n * float(np.abs(log_weights).max())
    return Outcomes(
        sums=counts @ law.values,
        sum_error=sum_error,
        log_probability=log_coefficient + counts @ log_weights,
        log_error=n * float(law.weight_error.max()) + UNIT * log_size,
    )


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
