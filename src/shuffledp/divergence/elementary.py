r"""Bounds on the mean of a kernel over a sum of blocks that need no integral.

With :math:`x_-=(-x)_+`, for every sum

.. math:: (E S)_+ \le E[S_+] \le \sum E[G_+]+(-l)_+, \qquad E[S_+]=E[S]+E[S_-],

Jensen's inequality, single summands (l is the offset), and what helps where S is nearly always
positive: :math:`E[S_-]` has a bound by one tilt. Losses may be raised to a floor before, which can
only raise S. From below also: all summands at their largest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from shuffledp.arrays import UNIT
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.blocks import BlockSum
from shuffledp.divergence.contour import chernoff_log_mean
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.kernel import HINGE, Kernel
from shuffledp.divergence.rare import rare_log_mean

_DOUBT = 8  # times its error is what the largest sum must exceed to be called positive
_CROWD = 64
_UNDERFLOW = 1e-300  # more than what all products of a law with tiny weights lose


def can_be_positive(total: BlockSum) -> bool:
    """Whether the largest sum is positive beyond doubt, so that tilting makes sense."""
    value, error = total.largest
    return value > _DOUBT * error


def is_crowded(total: BlockSum) -> bool:
    """Whether so many summands count that elementary bounds are hardly narrow: a proposal."""
    count = 0.0
    for block in total.blocks:
        law = block.law
        count += block.times * float(law.weights @ (law.values != 0))
        if count > _CROWD:
            return True
    return False


@lru_cache(maxsize=4)
def elementary_log_mean(total: BlockSum, kernel: Kernel = HINGE) -> LogEnclosure:
    """Enclose log E f(S) without any integral: narrow where few summands count.

    Sums are compared by identity, and never change: what is remembered is of the very same sum.
    """
    rare = LogEnclosure(-math.inf if kernel.curvature else _all_at_their_largest(total), math.inf)
    if not (kernel.curvature or total.offset or total.offset_error):
        rare = rare.intersect(rare_log_mean(total))
        if rare.upper < math.inf and can_be_positive(total):
            return rare
    return rare.intersect(LogEnclosure(-math.inf, bound_by_singles(total, kernel)))


def _all_at_their_largest(total: BlockSum) -> float:
    r"""Bound log E[S_+] from below: :math:`\prod w^n` times the largest sum, w its weights.

    It is what is left where n times the last digit of a logarithm is more than 1.
    """
    value, error = total.largest
    if not value > error:
        return -math.inf
    log_mean, size = math.log(value - error), abs(math.log(value - error))
    for block in total.blocks:
        top = int(np.argmax(block.law.values))
        weight = float(block.law.weights[top])
        if weight == 0:
            return -math.inf
        log_weight = math.log(weight)
        log_mean += block.times * (log_weight - float(block.law.weight_error[top]))
        size += block.times * (abs(log_weight) + float(block.law.weight_error[top]))
    return log_mean - 8 * UNIT * (size + 1)  # logarithms to 4 units, and a few operations


def bound_by_singles(total: BlockSum, kernel: Kernel = HINGE) -> float:
    r"""Bound log E f(S) from above.

    :math:`E f(S)\le E S_+\le\sum E G_++(-l)_+` for the offset l; at most the largest sum, and 1/c.
    """
    value, error = total.largest
    most = value + error
    if most <= 0:
        return -math.inf
    if kernel.curvature > 0:
        most = min(most, 1 / kernel.curvature)
    counts = [math.log(block.times) for block in total.blocks]
    logs = [n + log_mean_single(law).upper for n, law in zip(counts, total.laws, strict=True)]
    if total.offset < total.offset_error:
        logs.append(math.log(total.offset_error - total.offset))
    bound = LogEnclosure(-math.inf, min(log_sum(logs), math.log(most)))
    # Logarithms are good to 4 units, and every summand of a sum is rounded once more.
    return bound.widen((len(counts) + 6) * UNIT * (1 + max(counts))).upper


def log_sum(logs: Iterable[float]) -> float:
    """Return the logarithm of a sum of exponentials."""
    terms = [log for log in logs if log > -math.inf]
    if len(terms) < 2 or max(terms) == math.inf:
        return max(terms, default=-math.inf)
    top = max(terms)
    return top + math.log(math.fsum(math.exp(term - top) for term in terms))


def log_mean_single(law: Law) -> LogEnclosure:
    """Enclose log E[G_+]."""
    above = np.maximum(law.values + law.value_error, 0.0)
    below = np.maximum(law.values - law.value_error, 0.0)
    # In units near the largest value the largest product is about a weight and does not underflow;
    # what underflows elsewhere is less than the least double per atom.
    exponent = max(math.frexp(float(above.max()))[1], -1000)
    unit, shift, least = 0.5**exponent, exponent * math.log(2), law.size * 5e-324
    slack = law.weight_error + (law.size + 4) * UNIT
    upper = float(law.weights @ (above * unit * (1 + slack))) + least * bool(above.any())
    lower = float(law.weights @ (below * unit * (1 - slack))) - least
    return LogEnclosure.rounded(
        math.log(lower) + shift if lower > 0 else -math.inf,
        math.log(upper) + shift if upper > 0 else -math.inf,
        4 * UNIT * abs(shift),
    )


def mean_of_sum(total: BlockSum) -> tuple[float, float]:
    """Return E[S] and a bound on its error."""
    value, error, size = -total.offset, total.offset_error, abs(total.offset)
    for block in total.blocks:
        law = block.law
        value += block.times * float(law.weights @ law.values)
        vague = np.expm1(law.weight_error) * (np.abs(law.values) + law.value_error)
        error += block.times * (float(law.weights @ (vague + law.value_error)) + _UNDERFLOW)
        size += block.times * (law.size + 4) * float(law.weights @ np.abs(law.values))
    # Sums of products, a product and a sum per block; the errors are rounded themselves.
    return value, (error + (len(total.blocks) + 4) * UNIT * size) * (1 + 1e-9)


def jensen_log_mean(total: BlockSum) -> float:
    """Bound log E[S_+] from below by that of (E S)_+."""
    value, error = mean_of_sum(total)
    least = value - error - UNIT * (abs(value) + error)
    return math.log(least) - 4 * UNIT * (1 + abs(math.log(least))) if least > 0 else -math.inf


def _raised(law: Law, floor: float) -> Law:
    """Raise losses to the floor; those that surely lie below are exact then."""
    error = np.where(law.values + law.value_error < floor, 0.0, law.value_error)
    return replace(law, values=np.maximum(law.values, floor), value_error=error)


def linear_log_mean(total: BlockSum, floor: float) -> float:
    r"""Bound log E[S_+] from above by :math:`E[S']+E[S'_-]`, S' with losses raised to ``floor``."""
    raised = total.with_laws([_raised(law, floor) for law in total.laws])
    value, error = mean_of_sum(raised)
    most = value + error + UNIT * (abs(value) + error)
    if most <= 0:
        return math.inf
    below = -math.inf
    mirrored = raised.negated
    largest, vague = mirrored.largest
    if can_be_positive(mirrored):
        below = chernoff_log_mean(mirrored)
    elif largest + vague > 0:
        return math.inf
    bound = LogEnclosure(-math.inf, log_sum([math.log(most), below]))
    return bound.widen(8 * UNIT * (1 + abs(math.log(most)))).upper
