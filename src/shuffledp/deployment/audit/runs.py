"""Runs of a shuffled mechanism on two neighbouring datasets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.datasets import Datasets
from shuffledp.basics.arrays import FloatArray, IntArray
from shuffledp.mechanisms import Input, LocalRandomizer
from shuffledp.mechanisms.base import Values
from shuffledp.mechanisms.sampling import Bits, below

#: More runs are not made.
MAX_TRIALS = 10**9

#: About so many reports are drawn together.
_REPORTS = 1 << 16

#: Decimals of a ratio that rounding errors do not reach: equal multisets have equal ratios, in
#: whatever order they were added. A rounded ratio is a statistic of the reports like any other.
_DIGITS = 10


def enough_trials(gap: float, epsilon: float, risk: float) -> int | None:
    r"""Return so many runs that an event with :math:`P-e^\varepsilon Q\ge` ``gap`` shows.

    Half of the runs, m, are counted. With :math:`r=\sqrt{\log(1/\text{risk})/(2m)}` Hoeffding's
    inequality says that the shares seen are within r of P and Q, each except with probability
    ``risk``, and that the limits of Clopper and Pearson are within r of the shares. So the lower
    limit of P exceeds :math:`e^\varepsilon` times the upper limit of Q where
    :math:`2r(1+e^\varepsilon)` is below the gap.

    Args:
        gap: what the event reveals.
        epsilon: at most 300.
        risk: of each of the two limits.

    Returns:
        the number of runs on each dataset, None if there is no gap or they are too many to make.

    >>> enough_trials(0.1, 0.0, 0.0005), enough_trials(1e-6, 0.0, 0.0005)
    (12162, None)
    """
    if gap <= 0:
        return None
    counted = 2 * math.log(1 / risk) * ((1 + math.exp(epsilon)) / gap) * (1 + math.exp(epsilon))
    trials = 2 * counted / gap
    return 2 * math.floor(trials / 2) + 2 if trials < MAX_TRIALS else None


def run(
    randomizer: LocalRandomizer, datasets: Datasets, n: int, runs: int, bits: Bits
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the log likelihood ratios of runs on the first and on the second dataset, in batches.

    The user in whom the datasets differ gets a random place. All others hold the same input, so
    this is what a shuffler makes of the reports.
    """
    batch = max(1, _REPORTS // n)
    for start in range(0, runs, batch):
        size = min(batch, runs - start)
        first, second = (
            _ratios(randomizer, datasets, own, n, size, bits)
            for own in (datasets.pair.first, datasets.pair.second)
        )
        yield first, second


def _ratios(
    randomizer: LocalRandomizer, datasets: Datasets, own: Input, n: int, runs: int, bits: Bits
) -> FloatArray:
    places = n * np.arange(runs) + below(bits, n, runs).astype(np.int64)
    values = randomizer.check_values(inputs(datasets.other, own, places, n * runs))
    reports = randomizer.draw_in_blocks(values, bits)
    return np.round(log_likelihood_ratio(randomizer, reports, datasets, n), _DIGITS)


def inputs(other: Input, own: Input, places: IntArray, size: int) -> Values:
    """Return the inputs of users who hold ``other``, except those at some places who hold ``own``.

    >>> inputs((0, 5), (1, 6), np.array([2]), 3)
    (array([0, 0, 1]), array([5, 5, 6]))
    """
    if isinstance(other, tuple) and isinstance(own, tuple):
        return tuple(inputs(x, y, places, size) for x, y in zip(other, own, strict=True))
    values = np.full(size, other)
    values[places] = own
    return values


def log_likelihood_ratio(
    randomizer: LocalRandomizer, reports: NDArray[Any], datasets: Datasets, n: int
) -> FloatArray:
    r"""Return for every n reports how much likelier the first dataset makes their multiset.

    Any of the n reports may be the one of the user in question, all others are drawn from R(other):

    .. math:: \log\frac{\sum_iR(x_1)(y_i)/R(x)(y_i)}{\sum_iR(x_1')(y_i)/R(x)(y_i)}.

    A report that R(other) cannot produce is the user's own and settles the ratio alone.
    """
    first, second, other = (
        randomizer.log_likelihood(reports, x).reshape(-1, n)
        for x in (datasets.pair.first, datasets.pair.second, datasets.other)
    )
    own = other == -np.inf
    settled = own.any(axis=1)
    result = np.empty(settled.size)
    result[settled] = first[own] - second[own]
    rows = ~settled
    result[rows] = _log_sum(first[rows] - other[rows]) - _log_sum(second[rows] - other[rows])
    return result


def _log_sum(logs: FloatArray) -> FloatArray:
    """Return the logarithm of the sum of exponentials of each row."""
    top = logs.max(axis=1, initial=-np.inf)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total: FloatArray = np.log(np.exp(logs - shift[:, None]).sum(axis=1))
    return total + shift
