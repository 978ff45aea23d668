"""What concrete datasets reveal: close to the guarantee where it can be, and the best choice."""

from __future__ import annotations

import math
import warnings

import pytest
from blankets import blanket_accountant, enclose_log_delta

from shuffledp import KRR, Gaussian, Laplace, MatrixRandomizer, ShuffleAccountant
from shuffledp.accounting import Datasets
from shuffledp.basics.errors import AccuracyWarning
from shuffledp.mechanisms import LocalRandomizer, Pair


@pytest.fixture(autouse=True)
def _wide_enclosures_are_allowed_to_say_so() -> None:
    warnings.simplefilter("ignore", AccuracyWarning)


@pytest.mark.heavy(keep=15)
@pytest.mark.parametrize("k", [3, 10, 100])
@pytest.mark.parametrize("epsilon0", [0.1, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("n", [1000, 10**4, 10**6, 10**9])
def test_randomized_response_with_a_third_value_is_tight(k: int, epsilon0: float, n: int) -> None:
    accountant = ShuffleAccountant(KRR(k=k, epsilon0=epsilon0), n)
    upper, lower = accountant.get_epsilon(1e-6), accountant.epsilon_lower_bound(1e-6)
    assert lower <= upper
    assert upper - lower <= 0.002 * upper


#: mechanism, epsilon0, n, epsilon: what is revealed if the others hold x0, if they hold x1, and the
#: guarantee, to two digits.
BINARY = [
    (KRR(k=2, epsilon0=3.0), 1000, 0.5, 4.4e-5, 1.6e-7, 3.3e-4),
    (KRR(k=2, epsilon0=3.0), 1000, 1.0, 1.6e-9, 3e-28, 2.6e-8),
    (Laplace(epsilon0=1.0), 1000, 0.1, 3.8e-6, 1.6e-6, 2.5e-5),
    (Laplace(epsilon0=3.0), 1000, 0.5, 1.5e-6, 2.2e-9, 3.4e-5),
]


@pytest.mark.parametrize(
    ("randomizer", "n", "epsilon", "same", "other", "guarantee"), BINARY, ids=str
)
def test_two_inputs_use_the_better_background(
    randomizer: LocalRandomizer, n: int, epsilon: float, same: float, other: float, guarantee: float
) -> None:
    accountant = blanket_accountant(randomizer, n)
    assert accountant.get_delta(epsilon) == pytest.approx(guarantee, rel=0.05)
    assert accountant.delta_lower_bound(epsilon) == pytest.approx(same, rel=0.05)
    report = accountant.delta_report(epsilon)
    assert report.lower_bound == accountant.delta_lower_bound(epsilon)
    assert report.datasets is not None
    assert report.datasets.other == report.datasets.pair.first
    pair = Pair(0, 1)
    worse = enclose_log_delta(randomizer.decomposition(pair, 1), n, epsilon)
    assert math.exp(worse.upper) == pytest.approx(other, rel=0.15)


def test_three_values_prefer_the_third() -> None:
    """All others hold a third value: much more than if they share one of the victim's inputs."""
    accountant = ShuffleAccountant(KRR(k=10, epsilon0=3.0), 1000)
    report = accountant.delta_report(0.5)
    assert report.datasets == Datasets(Pair(0, 1), 2)
    assert report.lower_bound == pytest.approx(5.09e-5, rel=0.01)
    assert report.guarantee.upper == pytest.approx(5.10e-5, rel=0.01)
    for holder, expected in ((0, 2.3e-6), (1, 5.7e-9)):
        value = enclose_log_delta(
            KRR(k=10, epsilon0=3.0).decomposition(Pair(0, 1), holder), 1000, 0.5
        )
        assert math.exp(value.upper) == pytest.approx(expected, rel=0.05)


@pytest.mark.heavy(keep=7)
@pytest.mark.parametrize("randomizer", [KRR(k=2, epsilon0=1.0), Laplace(epsilon0=1.0)], ids=str)
@pytest.mark.parametrize("n", [1, 2, 10, 1000, 10**6])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-20])
def test_lower_and_upper_of_two_inputs(randomizer: LocalRandomizer, n: int, delta: float) -> None:
    accountant = ShuffleAccountant(randomizer, n)
    lower = accountant.epsilon_lower_bound(delta)
    assert lower <= accountant.get_epsilon(delta)
    if n == 1:
        assert lower == pytest.approx(accountant.get_epsilon(delta), rel=2e-4)


def test_a_matrix_tries_all_pairs_and_backgrounds() -> None:
    matrix = [[0.6, 0.3, 0.1], [0.1, 0.6, 0.3], [0.3, 0.1, 0.6]]
    randomizer = MatrixRandomizer(matrix)
    accountant = ShuffleAccountant(randomizer, 30)
    best = max(
        math.exp(enclose_log_delta(randomizer.decomposition(Pair(x, y), z), 30, 0.3).lower)
        for x in range(3)
        for y in range(3)
        for z in range(3)
        if x != y
    )
    assert accountant.delta_lower_bound(0.3) == pytest.approx(best, rel=1e-6)
    assert best <= accountant.get_delta(0.3)


def test_normal_noise() -> None:
    accountant = ShuffleAccountant(Gaussian(sigma=2.0), 1000)
    lower, upper = accountant.epsilon_lower_bound(1e-6), accountant.get_epsilon(1e-6)
    assert 0.5 * upper < lower < upper
