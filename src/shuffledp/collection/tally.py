"""What is kept of the reports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.estimate import FloatArray
from shuffledp.collection.moments import Results
from shuffledp.mechanisms import LocalRandomizer
from shuffledp.mechanisms.base import Values
from shuffledp.mechanisms.sampling.checks import check_integers

#: Arrays of sums over reports: those of two batches add up to those of both together.
State = list[NDArray[Any]]

#: The true values that estimates are about, in the same arrangement.
Truth = FloatArray | tuple["Truth", ...]

#: The sum of reports; for a joint composition one entry per attribute.
Total = list[int] | int | float | tuple["Total", ...]

#: What is estimated, in words; one entry per attribute.
Subject = str | tuple["Subject", ...]


class Tally(ABC):
    """A way to sum up the reports of one mechanism.

    It holds no reports itself: its arrays do, the first of which holds their number.
    """

    randomizer: LocalRandomizer

    @property
    @abstractmethod
    def arrays(self) -> int:
        """The number of arrays."""

    @abstractmethod
    def count(self, reports: NDArray[Any]) -> State:
        """Return the sums over a batch of reports; reject reports of another mechanism."""

    def published(self, total: object, n: int) -> State:
        """Return the sums over n reports of which nothing but the total is known."""
        raise TypeError(f"the sum of reports of {self.randomizer} is not what estimates need")

    def total(self, state: Sequence[NDArray[Any]]) -> Total:
        """Return the total of all reports, from which alone estimates can be made."""
        raise TypeError(f"the sum of reports of {self.randomizer} is not what estimates need")

    @property
    def empty(self) -> State:
        """The sums over no reports."""
        return self.count(np.empty(0, dtype=self.randomizer.report_dtype))

    @property
    @abstractmethod
    def subject(self) -> Subject:
        """What is estimated."""

    @abstractmethod
    def results(self, state: Sequence[NDArray[Any]]) -> Results:
        """Return estimates from the sums over at least one report."""

    def results_without(self, state: Sequence[NDArray[Any]], dummies: int) -> Results:
        """Return estimates from reports so many of which were drawn from the blanket law."""
        raise TypeError(f"no dummies can be removed from reports of {self.randomizer}")

    def largest_shifts(self, state: Sequence[NDArray[Any]], corrupted: int, n: int) -> Truth:
        """Return how far each estimate moves, at most, if so many reports of n are replaced."""
        raise TypeError(f"how far reports of {self.randomizer} move estimates is not known")

    @abstractmethod
    def truth(self, values: Values) -> Truth:
        """Return what the estimates should be for the given inputs."""


def check_counts(total: object, size: int, n: int) -> NDArray[np.int64]:
    """Return how many of n reports count for each of ``size`` values."""
    counts = check_integers("total", total, n)
    if counts.shape != (size,):
        raise ValueError(f"total must have one count per value, {size}, got {counts.shape[0]}")
    return counts


def number_of(state: Sequence[NDArray[Any]]) -> int:
    """Return the number of reports that were summed up."""
    return int(state[0][0])


def check_some(state: Sequence[NDArray[Any]]) -> int:
    """Return the number of reports; reject 0."""
    n = number_of(state)
    if n == 0:
        raise ValueError("an estimate needs at least one report, got none")
    return n
