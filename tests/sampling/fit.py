"""Goodness of fit, and random bits that follow a script."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, kolmogorov

from shuffledp.mechanisms.sampling import Bits

#: The probability that a correct law fails one test; seeds are fixed, so it fails always or never.
RISK = 1e-5


class Scripted(Bits):
    """Gives the words of a list, one after the other."""

    def __init__(self, words: Iterable[int]) -> None:
        super().__init__(None)
        self._words = list(words)

    def words(self, size: int) -> NDArray[np.uint64]:
        taken, self._words = self._words[:size], self._words[size:]
        assert len(taken) == size, "the script is too short"
        return np.array(taken, dtype=np.uint64)

    @property
    def left(self) -> int:
        return len(self._words)


def assert_fits(counts: ArrayLike, probabilities: ArrayLike) -> None:
    """A chi-square test; outcomes that are expected less than five times are put together."""
    observed, p = np.asarray(counts, dtype=float), np.asarray(probabilities, dtype=float)
    assert observed.shape == p.shape
    assert abs(p.sum() - 1) < 1e-9, p.sum()
    assert (observed[p == 0] == 0).all(), "an impossible outcome occurred"
    expected = observed.sum() * p
    rare = expected < 5
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    used = expected > 0
    statistic = float(((observed[used] - expected[used]) ** 2 / expected[used]).sum())
    if used.sum() > 1:
        assert chdtrc(used.sum() - 1, statistic) > RISK, (statistic, observed, expected)


def assert_follows(samples: ArrayLike, cdf: Callable[[NDArray[np.float64]], ArrayLike]) -> None:
    """A Kolmogorov-Smirnov test."""
    ordered = np.sort(np.asarray(samples, dtype=float))
    n, below = ordered.size, np.asarray(cdf(ordered))
    distance = max((np.arange(1, n + 1) / n - below).max(), (below - np.arange(n) / n).max())
    assert kolmogorov(math.sqrt(n) * distance) > RISK, distance
