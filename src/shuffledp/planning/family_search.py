"""Looking for the best parameters of one mechanism.

The bound grows and the error falls with epsilon0 only while the discrete parameters (buckets, size
of a subset, grid) stay, so every choice of these is a search of its own. Nothing is assumed about
how good the choices are relative to each other: each is compared with the best one so far, at the
cost of one evaluation of the bound, and only a better one is searched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from shuffledp.accounting.calibration.level import (
    SMALLEST_EPSILON0,
    Trial,
    largest_level,
    settle_level,
)
from shuffledp.basics.errors import MAX_EPSILON0
from shuffledp.mechanisms import LocalRandomizer
from shuffledp.planning.analysis import Analysis
from shuffledp.planning.task import Family, Task

Answer = TypeVar("Answer")

_ERROR_RTOL = 1e-9  # of the smallest epsilon0 that is accurate enough: a formula is cheap


@dataclass(frozen=True)
class Found:
    """A mechanism with all its parameters, and what is proved about it."""

    randomizer: LocalRandomizer
    epsilon: float
    bound: str


def least_error(
    families: Sequence[Family], task: Task, analysis: Analysis, epsilon: float
) -> Found | None:
    """Return the choice of least error that is proved to meet ``epsilon``, None if none is.

    Its epsilon0 is the largest safe one up to a relative 1e-4, rounded down, and it keeps its word
    as that of :func:`shuffledp.calibrate_epsilon0` does.
    """

    def attempt(mechanism: LocalRandomizer) -> Trial[str]:
        return analysis.attempt(mechanism, epsilon) if runs(mechanism) else Trial.of(None)

    best: tuple[Family, tuple[float, str]] | None = None
    least = math.inf
    for family in _coarse_to_fine(families):
        start = max(epsilon, SMALLEST_EPSILON0)
        if best is not None:
            needed = accurate_epsilon0(family, task, least)
            if needed is None or attempt(family(needed)).proof is None:
                continue
            start = needed
        found = largest_level(_compose(attempt, family), start)
        if found is None:
            continue
        error = task.error(family(found[0]))
        if best is None or error < least:
            best, least = (family, found), error
    if best is None:
        return None
    family, found = best

    def excess(mechanism: LocalRandomizer) -> float:
        return analysis.excess(mechanism, epsilon)

    settled = settle_level(_compose(attempt, family), _compose(excess, family), found)
    return None if settled is None else Found(family(settled[0]), epsilon, settled[1])


def _compose(
    function: Callable[[LocalRandomizer], Answer], family: Family
) -> Callable[[float], Answer]:
    return lambda epsilon0: function(family(epsilon0))


def least_epsilon(
    families: Sequence[Family], task: Task, analysis: Analysis, error: float
) -> Found | None:
    """Return the choice of least epsilon whose error is at most ``error``, None if none is."""
    best: Found | None = None
    for family in _coarse_to_fine(families):
        if best is not None and best.epsilon == 0:
            break
        epsilon0 = accurate_epsilon0(family, task, error)
        if epsilon0 is None:
            continue
        randomizer = family(epsilon0)
        if not runs(randomizer):
            continue
        if best is not None and analysis.attempt(randomizer, best.epsilon).proof is None:
            continue
        answer = analysis.least_epsilon(randomizer)
        if answer is not None and (best is None or answer[0] < best.epsilon):
            best = Found(randomizer, *answer)
    return best


def accurate_epsilon0(family: Family, task: Task, error: float) -> float | None:
    """Return the smallest epsilon0 with at most this error, up to a relative 1e-9, rounded up.

    None if even epsilon0 = 300 has a larger error; at least 1e-9.

    >>> from functools import partial
    >>> from shuffledp import KRR
    >>> from shuffledp.planning.mean_task import Mean
    >>> task = Mean(n=100, domain_size=None)
    >>> round(accurate_epsilon0(partial(KRR, 2), task, 0.1), 6)  # log 3
    1.098612
    """
    if task.error(family(MAX_EPSILON0)) > error:
        return None
    low, high = SMALLEST_EPSILON0, MAX_EPSILON0
    if task.error(family(low)) <= error:
        return low
    while high > low * (1 + _ERROR_RTOL):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if task.error(family(middle)) <= error else (middle, high)
    return high


def runs(randomizer: LocalRandomizer) -> bool:
    """Whether users can run it: not if a report has no end, for example."""
    try:
        return randomizer.report_dtype.itemsize > 0
    except ValueError:
        return False


def _coarse_to_fine(families: Sequence[Family]) -> list[Family]:
    """Return every 2^k-th choice first, then those between: few of them improve on the best.

    >>> _coarse_to_fine("abcdefghi")
    ['a', 'i', 'e', 'c', 'g', 'b', 'd', 'f', 'h']
    """
    steps = len(families).bit_length()
    order = sorted(range(len(families)), key=lambda i: -(i & -i) if i else -(2**steps))
    return [families[i] for i in order]
