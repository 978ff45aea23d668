"""Which large values are too rare to matter."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import FloatArray, IntArray
from shuffledp.decomposition.gparv import Law
from shuffledp.divergence.proposals.size import estimate_log_size

_SHARE_OF_RTOL = 0.05
_LOWEST_LOG = -690.0  # of a size whose exponential is a normal double
_DEPTHS = 10.0 ** -np.arange(1, 30, 2)


@dataclass(frozen=True)
class Cut:
    """Values above ``level`` should go, because log(E[S_+]/n) is about ``log_delta``."""

    level: float = math.inf
    log_delta: float = math.inf


def choose_cut(law: Law, n: int, rtol: float) -> Cut:
    """Return a level above which E[G; cut] stays below about ``rtol/20`` of E[S_+]/n.

    Most laws are left as they are, because their largest value has enough probability.
    """
    parts = law.weights * np.maximum(law.values, 0.0)
    single = float(parts.sum())
    if parts[int(np.argmax(law.values))] >= _SHARE_OF_RTOL * rtol * single:
        return Cut()
    order = np.argsort(-law.values, kind="stable")
    tail_mass = np.cumsum(parts[order])
    log_delta = estimate_log_size(law, n, order, tail_mass)
    size = math.exp(min(max(log_delta, _LOWEST_LOG), math.log(single)))
    level = _level(law, order, tail_mass, _SHARE_OF_RTOL * rtol * size)
    return Cut(level, log_delta) if level < math.inf else Cut()


def cut_levels(law: Law) -> Iterator[float]:
    """Yield levels of several depths, from a tenth of E[G_+] to nothing."""
    order = np.argsort(-law.values, kind="stable")
    tail_mass = np.cumsum((law.weights * np.maximum(law.values, 0.0))[order])
    for depth in _DEPTHS:
        yield _level(law, order, tail_mass, depth * tail_mass[-1])


def _level(law: Law, order: IntArray, tail_mass: FloatArray, limit: float) -> float:
    """Return the largest value to keep if E[G; cut] <= limit; infinity if that cuts nothing."""
    count = int(np.searchsorted(tail_mass, limit, side="right"))
    if count == 0:
        return math.inf
    return float(law.values[order[count]]) if count < law.size else 0.0
