"""Independent computations that tests compare with."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from shuffledp.engine.sums import Law


def law_of(values: ArrayLike, masses: ArrayLike) -> Law:
    """The law with these doubles for its values and masses."""
    return Law.of(zip(map(arb, np.ravel(values)), map(arb, np.ravel(masses)), strict=True))


def stop_loss(law: Law, thresholds: ArrayLike) -> NDArray[np.float64]:
    """E(G - t)_+ for every threshold t: two laws of equal mean are ordered by it."""
    gaps = law.values[None, :] - np.asarray(thresholds, dtype=np.float64)[:, None]
    return np.maximum(gaps, 0.0) @ law.masses


def thresholds(*laws: Law, count: int = 101) -> NDArray[np.float64]:
    """Levels that cover the range of all laws, and all their values."""
    values = np.concatenate([law.values for law in laws])
    levels = np.linspace(values.min() - 0.1, values.max() + 0.1, count)
    return np.concatenate([levels, values[:: max(1, values.size // 100)]])


def law_scale(*laws: Law) -> float:
    """Rounding tolerance for expectations of a few laws."""
    return 1e-13 * max(1.0, *(float(np.abs(law.values).max()) for law in laws))


def enumerated_delta(law: Law, n: int) -> float:
    """(1/n) E[(G_1 + ... + G_n)_+] by all n-tuples."""
    sums, weights = np.zeros(1), np.ones(1)
    for _ in range(n):
        sums = np.add.outer(sums, law.values).ravel()
        weights = np.outer(weights, law.masses).ravel()
    return float(np.maximum(sums, 0.0) @ weights) / n


def histogram_law(laws: Sequence[Sequence[Fraction]]) -> dict[frozenset, Fraction]:
    """The law of the histogram of independent draws, by all tuples of outcomes."""
    result: defaultdict[frozenset, Fraction] = defaultdict(Fraction)
    for outcomes in product(*(range(len(law)) for law in laws)):
        probability = prod(
            (law[y] for law, y in zip(laws, outcomes, strict=True)), start=Fraction(1)
        )
        result[frozenset(Counter(outcomes).items())] += probability
    return result


def hockey_stick(
    law0: dict[frozenset, Fraction], law1: dict[frozenset, Fraction], exp_epsilon: Fraction
) -> Fraction:
    """The sum of (P0 - e^epsilon P1)_+."""
    keys = law0.keys() | law1.keys()
    zero = Fraction(0)
    return sum((max(law0.get(h, zero) - exp_epsilon * law1.get(h, zero), zero) for h in keys), zero)
