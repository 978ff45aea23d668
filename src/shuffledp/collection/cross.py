"""Several attributes of one report together: how often each combination of values occurs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.errors import check_integer
from shuffledp.collection.combination import unit_variances
from shuffledp.collection.estimate import Estimate
from shuffledp.collection.moments import Moments
from shuffledp.mechanisms import Joint
from shuffledp.mechanisms.support.support import SupportRandomizer

_ROWS = 1 << 14  # reports whose support is spelled out at a time, at most
_ENTRIES = 1 << 22  # of what is spelled out


class CrossTable:
    r"""Adds up joint reports and estimates the shares of combinations of values.

    Given the inputs, the entries of a report are independent, so that the product of their
    estimates :math:`\hat s=(s-q)/(p-q)`, s whether a value is supported, is unbiased for whether a
    user holds all these values: the exact inverse of the product channel. The variance given the
    inputs is :math:`(\overline{E\prod_i\hat s_i^2}-f)/n`, which the mean over the reports less the
    estimated share estimates without bias.

    Args:
        randomizer: the joint composition that made the reports.
        places: the numbers of two or more attributes.

    >>> from shuffledp import joint
    >>> mechanism = joint("krr(k=2, epsilon0=3)", "krr(k=3, epsilon0=3)")
    >>> table = CrossTable(mechanism, 0, 1)
    >>> values = (np.array([0, 1] * 5000), np.array([0, 2] * 5000))
    >>> table.add(mechanism.randomize(values, np.random.default_rng(1)))
    >>> shares = table.estimate().values.reshape(table.shape)
    >>> bool((abs(shares - [[0.5, 0, 0], [0, 0, 0.5]]) < 0.05).all())
    True

    Raises:
        TypeError: if the mechanism is no joint composition, or frequencies of one of the
            attributes cannot be estimated.
    """

    def __init__(self, randomizer: Joint, *places: int) -> None:
        if not isinstance(randomizer, Joint):
            raise TypeError(f"cross tables need joint reports, got {randomizer}")
        last = len(randomizer.parts) - 1
        self._randomizer = randomizer
        self._places = tuple(check_integer("places", place, 0, last) for place in places)
        if len(set(self._places)) < max(len(places), 2):
            raise ValueError(f"a cross table needs two different attributes or more, got {places}")
        self._parts = tuple(_support(randomizer, place) for place in self._places)
        # Along each axis the values, then all reports together.
        self._counts = np.zeros([size + 1 for size in self.shape], dtype=np.int64)

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of values."""
        return tuple(part.known_inputs() for part in self._parts)

    @property
    def n(self) -> int:
        """The number of reports so far."""
        return int(self._counts.flat[-1])

    def add(self, reports: NDArray[Any]) -> None:
        """Add a batch of reports; if one of them is wrong, none is added."""
        checked = self._randomizer.check_reports(reports)
        counts = np.zeros_like(self._counts)
        step = max(1, min(_ROWS, _ENTRIES // math.prod(counts.shape[:-1])))
        for start in range(0, checked.size, step):
            rows = checked[start : start + step]
            spelled = [
                _spell(part, rows[f"part{place}"])
                for part, place in zip(self._parts, self._places, strict=True)
            ]
            together = spelled[0]
            for further in spelled[1:-1]:
                together = (together[:, None, :] * further).reshape(-1, rows.size)
            found = np.rint(together @ spelled[-1].T).astype(np.int64)
            counts += found.reshape(counts.shape)
        self._counts += counts

    def estimate(self) -> Estimate:
        """Return unbiased shares of all cells, the last attribute varying fastest.

        Raises:
            ValueError: if there are no reports.
        """
        return self.moments().estimate(self.n)

    def moments(self) -> Moments:
        """Return the shares of all cells with the reasons why they vary.

        Raises:
            ValueError: if there are no reports.
        """
        scores = self._scores()
        shares = self._mean([(one.yes, one.no) for one in scores])
        squares = self._mean([(one.yes**2, one.no**2) for one in scores])
        cells = math.prod(self.shape)
        at_random = math.prod(one.second_moments for one in scores) - 1
        return Moments(
            values=shares.ravel(),
            noise_variance=np.maximum(squares - shares, 0.0).ravel() / self.n,
            concentration=1 / self.n,
            spread=None,
            unit_variance=at_random / cells,
            whole_domain=True,
        )

    def combination(self, weights: Sequence[ArrayLike]) -> Moments:
        r"""Return the estimate of :math:`\sum f_{x_1x_2\dots}\prod_iw_i(x_i)`.

        A report gives :math:`\prod_iT_i` with :math:`T_i=\sum_xw_i(x)\hat s_x`. Given the inputs z
        its variance is :math:`\prod_iE[T_i^2]-\prod_iw_i(z_i)^2`, where :math:`E[T_i^2]` is
        :math:`w_i(z_i)^2` and the variance that :func:`unit_variances` gives. The mean over all
        users is linear in the shares of the cells, so that it is estimated without bias.

        Args:
            weights: for each attribute one number for each of its values.

        Raises:
            TypeError: if it depends on the values how often three of them are supported together.
            ValueError: if there are no reports, or not one weight for each value.
        """
        vectors = [np.asarray(one, dtype=np.float64) for one in weights]
        shapes = tuple(vector.shape for vector in vectors)
        if shapes != tuple((size,) for size in self.shape):
            raise ValueError(f"weights must be one number for each value, got shapes {shapes}")
        for part in self._parts:
            if not part.triples_look_alike:
                raise TypeError(f"the errors of weighted sums are not known for {part}")
        shares = self._mean([(one.yes, one.no) for one in self._scores()])
        squares = [vector**2 for vector in vectors]
        pairs = zip(self._parts, vectors, squares, strict=True)
        second = [unit_variances(part, vector) + square for part, vector, square in pairs]
        value, held = _contract(shares, vectors), _contract(shares, squares)
        noise = max(_contract(shares, second) - held, 0.0)
        return Moments(
            values=np.array([value]),
            noise_variance=np.array([noise / self.n]),
            concentration=1 / self.n,
            spread=max(held - value**2, 0.0),
            unit_variance=math.prod(float(one.mean()) for one in second),
            whole_domain=False,
        )

    def _scores(self) -> list[_Scores]:
        if not self.n:
            raise ValueError("an estimate needs at least one report, got none")
        return [_Scores.of(part) for part in self._parts]

    def _mean(self, values: Sequence[tuple[float, float]]) -> FloatArray:
        """Return the mean over the reports of a product that depends on what they support."""
        total: FloatArray = self._counts / self.n
        for axis, (yes, no) in enumerate(values):
            supported = np.delete(total, -1, axis)
            total = supported * yes + (total.take([-1], axis) - supported) * no
        return total


def _contract(shares: FloatArray, vectors: Sequence[FloatArray]) -> float:
    """Return the sum of all shares, each times one entry of every vector."""
    for vector in reversed(vectors):
        shares = shares @ vector
    return float(shares)


def _spell(part: SupportRandomizer, reports: NDArray[Any]) -> FloatArray:
    """Return for every value 1 where a report supports it, else 0, and then 1 for all reports."""
    part.support_counts(reports, [0])  # raises for reports that cannot be
    values = range(part.known_inputs())
    rows = [part.supports(reports, x) for x in values]
    return np.array([*rows, np.ones(reports.size, dtype=bool)], dtype=np.float64)


@dataclass(frozen=True)
class _Scores:
    """What a report says about a value: if it supports it, and if it does not.

    Attributes:
        yes: if it does.
        no: if it does not.
        second_moments: the sum over all values of the expected squares.
    """

    yes: float
    no: float
    second_moments: float

    @classmethod
    def of(cls, part: SupportRandomizer) -> _Scores:
        p, q = part.support_probabilities
        yes, no = (1 - q) / part.support_advantage, -q / part.support_advantage
        own, other = p * yes**2 + (1 - p) * no**2, q * yes**2 + (1 - q) * no**2
        return cls(yes, no, own + (part.known_inputs() - 1) * other)


def _support(randomizer: Joint, place: int) -> SupportRandomizer:
    part = randomizer.parts[place]
    if not isinstance(part, SupportRandomizer):
        raise TypeError(f"cross tables need attributes whose frequencies are estimated, got {part}")
    return part
