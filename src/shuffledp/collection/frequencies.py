"""Frequencies of the values of a finite domain."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.collection.estimate import FloatArray
from shuffledp.collection.moments import Moments
from shuffledp.collection.tally import State, Tally, check_counts, check_some, number_of
from shuffledp.mechanisms import KRR, MatrixRandomizer
from shuffledp.mechanisms.base import Values
from shuffledp.mechanisms.finite.masses import working_digits
from shuffledp.mechanisms.sampling import Bits
from shuffledp.mechanisms.support.counting import count_values
from shuffledp.mechanisms.support.support import SupportRandomizer

#: More than the errors of a few operations and of inverting a matrix.
_OUTWARDS = 1 + 1e-9


def largest_shift(randomizer: SupportRandomizer, corrupted: int, n: int) -> float:
    """Return how far f of n users who choose their reports can move a frequency: f/(n(p-q)).

    A report counts for a value once, or not at all. A mean of levels between 0 and 1 moves no
    farther: with p and q those of ``krr``, a report counts for it by at most 1.

    >>> from shuffledp import KRR
    >>> round(largest_shift(KRR(k=10, epsilon0=2.0), 500, 10_000), 3)
    0.128
    """
    return corrupted / n / randomizer.support_advantage * _OUTWARDS


class SupportTally(Tally):
    r"""How many reports support each value.

    With the support probabilities p and q, :math:`\hat f=(C/n-q)/(p-q)` is unbiased, and its
    variance given the inputs is :math:`(fp(1-p)+(1-f)q(1-q))/(n(p-q)^2)`, linear in f.

    Args:
        randomizer: the mechanism.
        candidates: the values to estimate; None for the whole domain.
    """

    def __init__(self, randomizer: SupportRandomizer, candidates: ArrayLike | None) -> None:
        self.randomizer: SupportRandomizer = randomizer
        self._candidates = (
            None if candidates is None else randomizer.check_candidates(candidates).copy()
        )

    @property
    def arrays(self) -> int:
        """Two."""
        return 2

    def count(self, reports: NDArray[Any]) -> State:
        """Return the number of reports and the counts."""
        counts = self.randomizer.support_counts(reports, self._candidates)
        return [np.array([reports.size], dtype=np.int64), counts]

    def total(self, state: Sequence[NDArray[Any]]) -> list[int]:
        """Return the counts."""
        counts: list[int] = state[1].tolist()
        return counts

    def published(self, total: object, n: int) -> State:
        """Return n and how many reports support each value."""
        counts = check_counts(total, self.empty[1].size, n)
        if isinstance(self.randomizer, KRR) and self._candidates is None:
            _check_shared(counts, n)
        return [np.array([n], dtype=np.int64), counts]

    @property
    def subject(self) -> str:
        """The frequencies of the candidates, or of all values."""
        if self._candidates is not None:
            return f"frequencies of {self._candidates.tolist()}"
        return f"frequencies of all {self.randomizer.inputs} values"

    def results(self, state: Sequence[NDArray[Any]]) -> Moments:
        """Return the frequencies."""
        return self._frequencies(check_some(state), state[1], 0.0)

    def results_without(self, state: Sequence[NDArray[Any]], dummies: int) -> Moments:
        """Return the frequencies less what m dummies add to a count: s m, with variance s(1-s)m.

        s is the share of a value in the blanket law, which has to be the same for all outputs.
        """
        self.randomizer.draw_dummies(0, Bits(None))  # raises if there are none for this mechanism
        with working_digits(self.randomizer.digits):
            own, other = (float(self.randomizer.support_mass(i, 1)) for i in (1, 0))
        share = own / (own + other)
        n = number_of(state) - dummies
        noise = dummies * share * (1 - share) / (n * self.randomizer.support_advantage) ** 2
        return self._frequencies(n, state[1] - dummies * share, noise)

    def largest_shifts(self, state: Sequence[NDArray[Any]], corrupted: int, n: int) -> FloatArray:
        """Return the same for all values."""
        return np.full(state[1].size, largest_shift(self.randomizer, corrupted, n))

    def _frequencies(self, n: int, counts: NDArray[Any], further_variance: float) -> Moments:
        _, q = self.randomizer.support_probabilities
        values = (counts / n - q) / self.randomizer.support_advantage
        typical = 1 / counts.size
        return Moments(
            values=values,
            noise_variance=self._unit_noise(values) / n + further_variance,
            concentration=1 / n,
            spread=None,
            unit_variance=float(self._unit_noise(typical)) + typical * (1 - typical),
            whole_domain=self._candidates is None,
        )

    def _unit_noise(self, frequency: ArrayLike) -> FloatArray:
        """Return the variance for one user; not negative for any frequency counts can give."""
        p, q = self.randomizer.support_probabilities
        frequency = np.asarray(frequency)
        variance = frequency * (p * (1 - p)) + (1 - frequency) * (q * (1 - q))
        unit: FloatArray = np.maximum(variance, 0.0) / self.randomizer.support_advantage**2
        return unit

    def truth(self, values: Values) -> FloatArray:
        """Return the frequencies of the inputs."""
        inputs = np.asarray(values)
        return count_values(inputs, self.randomizer.known_inputs(), self._candidates) / inputs.size


class MatrixTally(Tally):
    r"""How often each output of a matrix occurs.

    If the rows of the matrix M are linearly independent, the least-squares solution
    :math:`\hat f=L\,C/n` with the left inverse L of :math:`M^T` is unbiased. Its variance given the
    inputs is :math:`(\sum_yL_{xy}^2P(y)-f_x)/n` with the probabilities P of the outputs, estimated
    by C/n and, in the rare case that this is negative, taken as 0.

    Args:
        randomizer: the matrix.
    """

    def __init__(self, randomizer: MatrixRandomizer) -> None:
        self.randomizer: MatrixRandomizer = randomizer

    @cached_property
    def _inverse(self) -> FloatArray:
        matrix = self.randomizer.matrix
        if np.linalg.matrix_rank(matrix) < matrix.shape[0]:
            raise ValueError(
                f"the rows of {self.randomizer} are linearly dependent: different frequencies of "
                "inputs give the same reports, so they cannot be estimated"
            )
        return np.asarray(np.linalg.pinv(matrix.T))

    @property
    def arrays(self) -> int:
        """Two."""
        return 2

    def count(self, reports: NDArray[Any]) -> State:
        """Return the number of reports and how often each output occurs."""
        outputs = self.randomizer.matrix.shape[1]
        counts = count_values(self.randomizer.check_reports(reports), outputs)
        return [np.array([reports.size], dtype=np.int64), counts]

    def total(self, state: Sequence[NDArray[Any]]) -> list[int]:
        """Return the counts."""
        counts: list[int] = state[1].tolist()
        return counts

    def published(self, total: object, n: int) -> State:
        """Return n and how often each output occurs; together, n times."""
        counts = check_counts(total, self.randomizer.matrix.shape[1], n)
        _check_shared(counts, n)
        return [np.array([n], dtype=np.int64), counts]

    @property
    def subject(self) -> str:
        """The frequencies of all inputs."""
        return f"frequencies of all {self.randomizer.matrix.shape[0]} values"

    def results(self, state: Sequence[NDArray[Any]]) -> Moments:
        """Return the frequencies.

        Raises:
            ValueError: if the rows of the matrix are linearly dependent.
        """
        n, inverse, matrix = check_some(state), self._inverse, self.randomizer.matrix
        shares = state[1] / n
        values = inverse @ shares
        typical = inverse**2 @ matrix.mean(axis=0) - 1 / matrix.shape[0] ** 2
        return Moments(
            values=values,
            noise_variance=np.maximum(inverse**2 @ shares - values, 0.0) / n,
            concentration=1 / n,
            spread=None,
            unit_variance=float(typical.mean()),
            whole_domain=True,
        )

    def largest_shifts(self, state: Sequence[NDArray[Any]], corrupted: int, n: int) -> FloatArray:
        r"""Return :math:`f\max_{y,y'}(L_{xy}-L_{xy'})/n`, from one output to another."""
        return np.asarray(corrupted / n * np.ptp(self._inverse, axis=1) * _OUTWARDS)

    def truth(self, values: Values) -> FloatArray:
        """Return the frequencies of the inputs."""
        inputs = np.asarray(values)
        return count_values(inputs, self.randomizer.matrix.shape[0]) / inputs.size


def _check_shared(counts: NDArray[np.int64], n: int) -> None:
    """Refuse counts of which every report has not exactly one."""
    if int(counts.sum()) != n:
        raise ValueError(f"total must have the sum n = {n}, got {int(counts.sum())}")
