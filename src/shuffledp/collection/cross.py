"""Two attributes of one report together: how often each pair of values occurs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import FloatArray
from shuffledp.collection.estimate import Estimate
from shuffledp.errors import check_integer
from shuffledp.randomizers import Joint
from shuffledp.randomizers.support import SupportRandomizer

_ROWS = 1 << 14  # reports whose support is spelled out at a time


class CrossTable:
    r"""Adds up joint reports and estimates the shares of pairs of values.

    Given the inputs, the two entries of a report are independent, so that the product of their
    estimates :math:`\hat s=(s-q)/(p-q)`, s whether a value is supported, is unbiased for whether a
    user holds both values: the exact inverse of the product channel. The variance given the
    inputs is :math:`(\overline{E\hat s_a^2\hat s_b^2}-f_{ab})/n`, which the mean over the reports
    less the estimated share estimates without bias.

    Args:
        randomizer: the joint composition that made the reports.
        first: the number of an attribute.
        second: the number of another one.

    >>> from shuffledp import joint
    >>> mechanism = joint("krr(k=2, epsilon0=3)", "krr(k=3, epsilon0=3)")
    >>> table = CrossTable(mechanism, 0, 1)
    >>> values = (np.array([0, 1] * 5000), np.array([0, 2] * 5000))
    >>> table.add(mechanism.randomize(values, np.random.default_rng(1)))
    >>> shares = table.estimate().values.reshape(table.shape)
    >>> bool((abs(shares - [[0.5, 0, 0], [0, 0, 0.5]]) < 0.05).all())
    True

    Raises:
        TypeError: if the mechanism is no joint composition, or frequencies of one of the two
            attributes cannot be estimated.
    """

    def __init__(self, randomizer: Joint, first: int, second: int) -> None:
        if not isinstance(randomizer, Joint):
            raise TypeError(f"cross tables need joint reports, got {randomizer}")
        last = len(randomizer.parts) - 1
        self._randomizer = randomizer
        self._places = (
            check_integer("first", first, 0, last),
            check_integer("second", second, 0, last),
        )
        if self._places[0] == self._places[1]:
            raise ValueError(f"a cross table needs two attributes, got {first} twice")
        self._parts = tuple(_support(randomizer, place) for place in self._places)
        self._both = np.zeros(self.shape, dtype=np.int64)
        self._single = [np.zeros(size, dtype=np.int64) for size in self.shape]
        self.n = 0

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of values."""
        first, second = (part.known_inputs() for part in self._parts)
        return first, second

    def add(self, reports: NDArray[Any]) -> None:
        """Add a batch of reports; if one of them is wrong, none is added."""
        checked = self._randomizer.check_reports(reports)
        both, single = np.zeros_like(self._both), [np.zeros_like(one) for one in self._single]
        for start in range(0, checked.size, _ROWS):
            rows = checked[start : start + _ROWS]
            spelled = [
                self._spell(part, rows[f"part{place}"])
                for part, place in zip(self._parts, self._places, strict=True)
            ]
            both += np.rint(spelled[0] @ spelled[1].T).astype(np.int64)
            single = [
                old + support.sum(axis=1).astype(np.int64)
                for old, support in zip(single, spelled, strict=True)
            ]
        self._both += both
        self._single = [old + new for old, new in zip(self._single, single, strict=True)]
        self.n += checked.size

    @staticmethod
    def _spell(part: SupportRandomizer, reports: NDArray[Any]) -> FloatArray:
        """Return for every value 1 where a report supports it, else 0."""
        part.support_counts(reports, [0])  # raises for reports that cannot be
        values = range(part.known_inputs())
        return np.array([part.supports(reports, x) for x in values], dtype=np.float64)

    def estimate(self) -> Estimate:
        """Return unbiased shares of all pairs, in the order of a table read row by row.

        Raises:
            ValueError: if there are no reports.
        """
        if not self.n:
            raise ValueError("an estimate needs at least one report, got none")
        first, second = (_Scores.of(part) for part in self._parts)
        shares = self._mean(first.yes, first.no, second.yes, second.no)
        squares = self._mean(first.yes**2, first.no**2, second.yes**2, second.no**2)
        variance = np.maximum(squares - shares, 0.0) / self.n
        return Estimate(shares.ravel(), np.sqrt(variance).ravel(), self.n, whole_domain=True)

    def _mean(self, yes: float, no: float, other_yes: float, other_no: float) -> FloatArray:
        """Return the mean over the reports of a product that depends on what they support."""
        both, n = self._both, self.n
        first, second = self._single[0][:, None], self._single[1][None, :]
        total: FloatArray = (
            both * (yes * other_yes)
            + (first - both) * (yes * other_no)
            + (second - both) * (no * other_yes)
            + (n - first - second + both) * (no * other_no)
        )
        return total / n


@dataclass(frozen=True)
class _Scores:
    """What a report says about a value: if it supports it, and if it does not."""

    yes: float
    no: float

    @classmethod
    def of(cls, part: SupportRandomizer) -> _Scores:
        _, q = part.support_probabilities
        return cls((1 - q) / part.support_advantage, -q / part.support_advantage)


def _support(randomizer: Joint, place: int) -> SupportRandomizer:
    part = randomizer.parts[place]
    if not isinstance(part, SupportRandomizer):
        raise TypeError(f"cross tables need attributes whose frequencies are estimated, got {part}")
    return part
