"""The mechanisms themselves, run many times: users report, the shuffler forgets who sent what.

Unlike the simulation of matrices, the reports come from the code that collects data about people.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy.special import betaincinv

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    DiscreteLaplace,
    HadamardResponse,
    MatrixRandomizer,
    ShuffleAccountant,
    SubsetSelection,
    UnaryEncoding,
    joint,
    parallel,
    subsample,
)
from shuffledp.mechanisms import LocalRandomizer, Parallel, Subsample
from shuffledp.mechanisms.sampling.layout import as_bytes

RUNS = 60_000
RISK = 1e-7  # that a correct bound fails one of these tests

MECHANISMS: list[LocalRandomizer] = [
    KRR(k=4, epsilon0=1.5),
    RAPPOR(epsilon0=2.0, domain_size=2),
    OUE(epsilon0=1.5, domain_size=3),
    UnaryEncoding(p=0.25, q=0.75, domain_size=2),
    HadamardResponse(epsilon0=1.5, domain_size=3),
    SubsetSelection(epsilon0=1.5, domain_size=4, size=2),
    DiscreteLaplace(epsilon0=1.5, bound=2),
    MatrixRandomizer([[0.625, 0.25, 0.125], [0.125, 0.125, 0.75], [0.25, 0.5, 0.25]]),
    joint(KRR(k=2, epsilon0=1.0), KRR(k=2, epsilon0=0.5)),
    parallel({KRR(k=2, epsilon0=2.0): 0.5, OUE(epsilon0=1.0, domain_size=2): 0.5}),
    subsample(KRR(k=3, epsilon0=2.0), 0.5),
]


def one_input(randomizer: LocalRandomizer, x: object) -> object:
    """What a user of a parallel composition holds: one value, which all parts see."""
    if isinstance(randomizer, Subsample):
        return one_input(randomizer.part, x)
    return x[0] if isinstance(randomizer, Parallel) and isinstance(x, tuple) else x


def collect(
    randomizer: LocalRandomizer, inputs: list[object], rng: np.random.Generator
) -> Counter[bytes]:
    """How often each multiset of reports was seen."""
    held = [one_input(randomizer, x) for x in inputs] * RUNS
    columns = (
        [np.array(column) for column in zip(*held, strict=True)] if is_tuple(held[0]) else held
    )
    reports = randomizer.randomize(columns, rng)
    numbers = np.zeros((reports.size, 8), dtype=np.uint8)
    numbers[:, : reports.itemsize] = as_bytes(reports)
    runs = np.sort(numbers.view("<u8").reshape(RUNS, len(inputs)), axis=1)
    return Counter(map(bytes, runs))


def is_tuple(x: object) -> bool:
    return isinstance(x, tuple)


def bounds_of(hits: int) -> tuple[float, float]:
    """Clopper-Pearson bounds on a probability, each wrong with probability RISK."""
    lower = 0.0 if hits == 0 else float(betaincinv(hits, RUNS - hits + 1, RISK))
    upper = 1.0 if hits == RUNS else float(betaincinv(hits + 1, RUNS - hits, 1 - RISK))
    return lower, upper


def divergence(
    randomizer: LocalRandomizer, first: list[object], second: list[object], level: float
) -> tuple[float, float]:
    """Enclose P0(A) - level P1(A) for an event A that other runs have chosen."""
    rng = np.random.default_rng(1)
    chosen0, chosen1 = (collect(randomizer, inputs, rng) for inputs in (first, second))
    event = {reports for reports in chosen0 if chosen0[reports] > level * chosen1[reports]}
    (low0, high0), (low1, high1) = (
        bounds_of(sum(count for key, count in seen.items() if key in event))
        for seen in (collect(randomizer, inputs, rng) for inputs in (first, second))
    )
    return low0 - level * high1, high0 - level * low1


@pytest.mark.heavy
@pytest.mark.parametrize("randomizer", MECHANISMS, ids=str)
@pytest.mark.parametrize(("n", "epsilon"), [(3, 0.25)])
def test_runs_on_the_named_datasets_show_the_lower_bound(randomizer, n, epsilon):
    report = ShuffleAccountant(randomizer, n).delta_report(epsilon)
    named = report.datasets
    others = [named.other] * (n - 1)
    low, high = divergence(
        randomizer, [named.pair.first, *others], [named.pair.second, *others], math.exp(epsilon)
    )
    assert low <= report.lower_bound <= high
    assert low <= report.guarantee.upper
    assert low > 0.5 * report.lower_bound  # the runs tell something


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("randomizer", MECHANISMS, ids=str)
def test_runs_on_other_datasets_stay_below_the_guarantee(randomizer):
    """The others hold different inputs, which no lower bound looks at."""
    pair = randomizer.neighbours()[0]
    guarantee = ShuffleAccountant(randomizer, 4).get_delta(0.1)
    others: list[object] = [pair.first, pair.second, randomizer.common_inputs(pair)[-1]]
    low, _ = divergence(randomizer, [pair.first, *others], [pair.second, *others], math.exp(0.1))
    assert low <= guarantee
