"""What two rounds reveal if the data of the second react to what the first one published."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from oracle.truth import Truth

FloatArray = NDArray[np.float64]

#: Of all pairs of datasets, those with the largest deltas at some epsilons are looked at.
_KEPT = 12
_SHARES = (0.0, 0.3, 0.5, 0.7, 1.0)


def attained(truth: Truth, epsilon: float) -> float:
    """A delta that datasets of two rounds attain: after every report of the first another second.

    In doubles, to some 1e-12 of itself.
    """
    if not truth.pairs:
        return 0.0
    first, second = _worst_laws(truth, epsilon)
    growth = math.exp(epsilon)
    best = 0.0
    for p, q in zip(first, second, strict=True):
        # P(y) times the largest delta of the second round at the ratio growth Q(y) / P(y).
        gains = p[:, None, None] * first - growth * q[:, None, None] * second
        best = max(best, float(np.maximum(gains, 0.0).sum(axis=2).max(axis=1).sum()))
    return best


def _worst_laws(truth: Truth, epsilon: float) -> tuple[FloatArray, FloatArray]:
    """The laws of the histograms of some pairs of neighbouring datasets."""
    laws, chosen = truth.float_laws(), set()
    for share in _SHARES:
        growth = math.exp(share * epsilon)
        deltas = [
            (np.maximum(laws[:, x] - growth * laws[:, y], 0.0).sum(axis=1), (x, y))
            for x, y in truth.pairs
        ]
        ranked = sorted(
            ((float(d), i, pair) for own, pair in deltas for i, d in enumerate(own)), reverse=True
        )
        chosen |= {(i, pair) for _, i, pair in ranked[:_KEPT]}
    kept = sorted(chosen)
    first, second = (np.array([laws[i, pair[side]] for i, pair in kept]) for side in (0, 1))
    return first, second
