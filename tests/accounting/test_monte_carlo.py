"""The real thing: users, a shuffler, histograms, and how often an adversary's test fires."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv

from shuffledp import KRR, Gaussian, MatrixRandomizer, ShuffleAccountant
from shuffledp.mechanisms import LocalRandomizer

RUNS = 200_000
RISK = 1e-6  # that a correct bound fails one of these tests


def randomized_response(k: int, epsilon0: float) -> NDArray[np.float64]:
    matrix = np.ones((k, k)) + (math.exp(epsilon0) - 1) * np.eye(k)
    return matrix / matrix.sum(axis=1, keepdims=True)


def simulate(
    matrix: NDArray[np.float64], inputs: list[int], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Histograms of many runs: every user reports, the shuffler forgets who."""
    outputs = matrix.shape[1]
    histograms = np.zeros((RUNS, outputs), dtype=np.int64)
    for x in inputs:
        reports = rng.choice(outputs, size=RUNS, p=matrix[x])
        histograms[np.arange(RUNS), reports] += 1
    return histograms


def frequency_bounds(hits: int) -> tuple[float, float]:
    """Clopper-Pearson bounds on a probability, each wrong with probability RISK."""
    lower = 0.0 if hits == 0 else float(betaincinv(hits, RUNS - hits + 1, RISK))
    upper = 1.0 if hits == RUNS else float(betaincinv(hits + 1, RUNS - hits, 1 - RISK))
    return lower, upper


def test_frequency_bounds_are_those_of_a_binomial() -> None:
    lower, upper = frequency_bounds(1000)
    assert lower < 1000 / RUNS < upper
    assert betainc(1000, RUNS - 999, lower) == pytest.approx(RISK)


def divergence_bounds(
    matrix: NDArray[np.float64], first: int, second: int, others: list[int], epsilon: float
) -> tuple[float, float]:
    """Enclose P0(A) - e^epsilon P1(A) for an event A learnt from separate runs, at high confidence.

    The divergence is the largest such difference, so the lower end bounds it for any A; the upper
    end does so if A is the best event, which these small histograms allow to find.
    """
    rng = np.random.default_rng(20240611)
    runs = [simulate(matrix, [x, *others], rng) for x in (first, second) for _ in range(2)]
    training = [Counter(map(tuple, h.tolist())) for h in (runs[0], runs[2])]
    event = {
        h for h in training[0] | training[1] if training[0][h] > math.exp(epsilon) * training[1][h]
    }
    hits = [
        sum(n for h, n in Counter(map(tuple, r.tolist())).items() if h in event)
        for r in (runs[1], runs[3])
    ]
    (low0, high0), (low1, high1) = map(frequency_bounds, hits)
    return low0 - math.exp(epsilon) * high1, high0 - math.exp(epsilon) * low1


CASES = [
    (randomized_response(2, 1.0), KRR(k=2, epsilon0=1.0), 4, 0.2),
    (randomized_response(2, 2.0), KRR(k=2, epsilon0=2.0), 8, 0.5),
    (randomized_response(3, 1.5), KRR(k=3, epsilon0=1.5), 5, 0.3),
    (randomized_response(3, 3.0), KRR(k=3, epsilon0=3.0), 10, 0.8),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("matrix", "randomizer", "n", "epsilon"), CASES, ids=str)
def test_the_lower_bound_is_what_the_named_datasets_reveal(
    matrix: NDArray[np.float64], randomizer: LocalRandomizer, n: int, epsilon: float
) -> None:
    report = ShuffleAccountant(randomizer, n).delta_report(epsilon)
    named = report.datasets
    assert named is not None
    others = [named.other] * (n - 1)
    low, high = divergence_bounds(matrix, named.pair.first, named.pair.second, others, epsilon)
    assert low <= report.lower_bound <= high
    assert high - low < 0.03


@pytest.mark.heavy
@pytest.mark.parametrize(("matrix", "randomizer", "n", "epsilon"), CASES, ids=str)
def test_no_dataset_reveals_more_than_the_guarantee(
    matrix: NDArray[np.float64], randomizer: LocalRandomizer, n: int, epsilon: float
) -> None:
    guarantee = ShuffleAccountant(randomizer, n).get_delta(epsilon)
    inputs = np.random.default_rng(7).integers(0, len(matrix), n - 1).tolist()
    low, _ = divergence_bounds(matrix, 0, 1, inputs, epsilon)
    assert low <= guarantee


@pytest.mark.heavy
def test_an_uneven_matrix() -> None:
    rows = [
        [Fraction(5, 8), Fraction(2, 8), Fraction(1, 8)],
        [Fraction(1, 8)] * 2 + [Fraction(6, 8)],
    ]
    matrix = np.array([[float(p) for p in row] for row in rows])
    accountant = ShuffleAccountant(MatrixRandomizer(matrix), 6)
    report = accountant.delta_report(0.4)
    named = report.datasets
    assert named is not None
    others = [named.other] * 5
    low, high = divergence_bounds(matrix, named.pair.first, named.pair.second, others, 0.4)
    assert low <= report.lower_bound <= high


def shuffled_densities(
    reports: NDArray[np.float64], x: float, groups: tuple[float, int, float], sigma: float
) -> NDArray[np.float64]:
    """About the density of unordered reports: one user holds x, so many a, all others b."""
    a, count, b = groups
    own, ratio = (
        np.exp(((reports - b) ** 2 - (reports - held) ** 2) / (2 * sigma**2)) for held in (x, a)
    )
    # sums[u][c]: products over the reports so far, u of them the user's and c of the first group.
    sums = np.zeros((2, count + 2, len(reports)))
    sums[0, 0] = 1.0
    for j in range(reports.shape[1]):
        following = sums.copy()
        following[1] += sums[0] * own[:, j]
        following[:, 1:] += sums[:, :-1] * ratio[:, j]
        sums = following
    return sums[1, count]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("sigma", "n", "epsilon", "pair", "groups"),
    [
        (1.0, 8, 0.2, (0.0, 1.0), (0.5, 0, 1.0)),
        (1.0, 8, 0.2, (1.0, 0.0), (0.5, 0, 1.0)),
        (1.0, 12, 0.15, (0.0, 1.0), (0.0, 5, 1.0)),
        (0.8, 12, 0.1, (0.0, 1.0), (0.9, 6, 1.0)),
        (0.8, 30, 0.1, (0.0, 1.0), (0.0, 3, 1.0)),
        (0.72, 30, 0.05, (0.0, 0.7), (0.3, 10, 1.0)),
        (2.0, 20, 0.1, (0.0, 1.0), (0.5, 0, 1.0)),
        (2.0, 20, 0.1, (0.2, 1.0), (0.0, 10, 1.0)),
        (5.0, 10, 0.05, (0.0, 1.0), (0.0, 4, 1.0)),
    ],
)
def test_shuffled_normal_reports_reveal_no_more(
    sigma: float,
    n: int,
    epsilon: float,
    pair: tuple[float, float],
    groups: tuple[float, int, float],
) -> None:
    """The most powerful event, from exact likelihoods, of datasets in which others differ."""
    rng = np.random.default_rng(n)
    a, count, b = groups
    hits = []
    for x in pair:
        inputs = [x, *[a] * count, *[b] * (n - 1 - count)]
        reports = rng.normal(inputs, sigma, (RUNS, n))
        first, second = (shuffled_densities(reports, held, groups, sigma) for held in pair)
        hits.append(int((first > math.exp(epsilon) * second).sum()))
    (low, high), (least, most) = map(frequency_bounds, hits)
    proved = ShuffleAccountant(Gaussian(sigma=sigma), n).get_delta(epsilon)
    assert low - math.exp(epsilon) * most <= proved
    if pair == (0.0, 1.0) and count == 0:
        assert high - math.exp(epsilon) * least >= 0.8 * proved  # they attain nearly as much
