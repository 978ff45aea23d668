"""Means of noisy numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.basics.errors import check_integer
from shuffledp.collection.estimate import FloatArray
from shuffledp.collection.moments import Moments
from shuffledp.collection.tally import State, Tally, check_some
from shuffledp.mechanisms.base import Values
from shuffledp.mechanisms.noise.symmetric_noise import SymmetricNoise

#: Integers are summed in two halves of so many bits, which cannot overflow.
_BITS = 26


class MeanTally(Tally):
    r"""Sums of reports and of their squares.

    The mean of the reports is unbiased for the mean of the inputs; its variance given the inputs is
    that of the noise divided by n. What rounding to a grid changes is far below the noise, see
    :class:`shuffledp.ContinuousNoise`. Sums are exact.

    Args:
        randomizer: the mechanism.
    """

    def __init__(self, randomizer: SymmetricNoise) -> None:
        self.randomizer: SymmetricNoise = randomizer

    @property
    def arrays(self) -> int:
        """Three."""
        return 3

    def count(self, reports: NDArray[Any]) -> State:
        """Return the number of reports, their sum in two parts, and that of their squares."""
        checked = self.randomizer.check_reports(reports)
        bad = (checked >= 1 << 2 * _BITS) | (checked <= -1 << 2 * _BITS)
        if bad.any():
            position = int(np.argmax(bad))
            raise ValueError(
                f"reports of {self.randomizer} must be below 2**{2 * _BITS} in size, got "
                f"{checked[position]} at position {position}"
            )
        halves = [checked >> _BITS, checked & (1 << _BITS) - 1]
        sums = np.array([half.sum() for half in halves], dtype=np.int64)
        squares = np.array([np.square(checked, dtype=np.float64).sum()])
        return [np.array([checked.size], dtype=np.int64), sums, squares]

    def total(self, state: Sequence[NDArray[Any]]) -> int:
        """Return the sum of the reports."""
        high, low = state[1].tolist()
        return int(high << _BITS) + int(low)

    def published(self, total: object, n: int) -> State:
        """Return n and the sum; that of the squares is not known, and only samples need it."""
        whole = check_integer("total", total, -(n << 2 * _BITS), n << 2 * _BITS)
        sums = np.array([whole >> _BITS, whole & (1 << _BITS) - 1], dtype=np.int64)
        return [np.array([n], dtype=np.int64), sums, np.array([np.nan])]

    @property
    def subject(self) -> str:
        """The mean."""
        return "mean"

    def results(self, state: Sequence[NDArray[Any]]) -> Moments:
        """Return the mean.

        The variance of the inputs is that of the reports less that of the noise, or 0.
        """
        n = check_some(state)
        unit, noise = self.randomizer.unit, self.randomizer.noise_variance
        mean = self.total(state) / n * unit
        reported = (float(state[2][0]) * unit**2 - n * mean**2) / max(n - 1, 1)
        return Moments(
            values=np.array([mean]),
            noise_variance=np.array([noise / n]),
            concentration=1 / n,
            spread=max(reported - noise, 0.0),
            unit_variance=noise + self.randomizer.largest_input**2 / 12,
            whole_domain=False,
        )

    def largest_shifts(self, state: Sequence[NDArray[Any]], corrupted: int, n: int) -> FloatArray:
        """Return infinity: noise is unbounded, so any number is a report."""
        return np.array([math.inf if corrupted else 0.0])

    def truth(self, values: Values) -> FloatArray:
        """Return the mean of the inputs."""
        return np.array([np.asarray(values).mean()])
