"""Means of noisy numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.estimate import FloatArray
from shuffledp.collection.moments import Moments
from shuffledp.collection.tally import State, Tally, check_some
from shuffledp.errors import check_integer, check_real
from shuffledp.randomizers.base import Values
from shuffledp.randomizers.noise import SymmetricNoise

#: Integers are summed in two halves of so many bits, which cannot overflow.
_BITS = 26


class MeanTally(Tally):
    r"""Sums of reports and of their squares.

    The mean of the reports is unbiased for the mean of the inputs; its variance given the inputs is
    that of the noise divided by n. Sums of integers are exact; those of doubles, and the squares,
    are rounded.

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
        """Return the number of reports, their sum (integers: in two parts) and that of squares."""
        checked = self.randomizer.check_reports(reports)
        if checked.dtype.kind == "i":
            bad = (checked >= 1 << 2 * _BITS) | (checked <= -1 << 2 * _BITS)
            halves = [checked >> _BITS, checked & (1 << _BITS) - 1]
            sums = np.array([half.sum() for half in halves], dtype=np.int64)
        else:
            bad = ~np.isfinite(checked)
            sums = np.array([checked.sum()])
        if bad.any():
            position = int(np.argmax(bad))
            raise ValueError(
                f"reports of {self.randomizer} must be finite and below 2**{2 * _BITS}, got "
                f"{checked[position]} at position {position}"
            )
        squares = np.array([np.square(checked, dtype=np.float64).sum()])
        return [np.array([checked.size], dtype=np.int64), sums, squares]

    def total(self, state: Sequence[NDArray[Any]]) -> int | float:
        """Return the sum of the reports."""
        sums = state[1].tolist()
        whole: int | float = sums[0] if len(sums) == 1 else (sums[0] << _BITS) + sums[1]
        return whole

    def published(self, total: object, n: int) -> State:
        """Return n and the sum; that of the squares is not known, and only samples need it."""
        sums: NDArray[Any]
        if self.randomizer.report_dtype.kind == "i":
            whole = check_integer("total", total, -(n << 2 * _BITS), n << 2 * _BITS)
            sums = np.array([whole >> _BITS, whole & (1 << _BITS) - 1], dtype=np.int64)
        else:
            sums = np.array([check_real("total", total)])
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
        mean = self.total(state) / n
        noise = self.randomizer.noise_variance
        reported = (float(state[2][0]) - n * mean**2) / max(n - 1, 1)
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
