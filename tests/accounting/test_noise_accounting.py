"""Laplace, Gaussian and discrete Laplace noise against integrals over their densities."""

from __future__ import annotations

import math
import warnings

import mpmath
import numpy as np
import pytest
from blankets import blanket_accountant, width_asked
from noise_reference import (
    Estimate,
    GaussianNoise,
    LaplaceNoise,
    few_users,
    inverted_delta,
    many_users,
)

from shuffledp import (
    KRR,
    DiscreteLaplace,
    Gaussian,
    Interval,
    Laplace,
    MatrixRandomizer,
    Pair,
)
from shuffledp.accounting.sum_view import sum_of_noise
from shuffledp.basics.errors import AccuracyWarning

LEVELS = [0.1, 1.0, 4.0]
SIGMAS = [1.0, 5.0]


@pytest.fixture(autouse=True)
def _wide_enclosures_are_allowed_to_say_so() -> None:
    warnings.simplefilter("ignore", AccuracyWarning)


def meets(interval: Interval, estimate: Estimate) -> bool:
    return interval.lower <= estimate.upper and estimate.lower <= interval.upper


@pytest.mark.parametrize("epsilon0", LEVELS)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_one_laplace_report(epsilon0: float, share: float) -> None:
    epsilon = share * epsilon0
    interval = blanket_accountant(Laplace(epsilon0=epsilon0), 1).log_delta_interval(epsilon)
    exact = float(mpmath.log(LaplaceNoise(epsilon0).alone(epsilon)))
    assert interval.lower <= exact <= interval.upper
    assert interval.width <= 1e-4
    # The quadrature is right: the divergence of two Laplace laws has a closed form.
    assert exact == pytest.approx(math.log(-math.expm1((epsilon - epsilon0) / 2)), rel=1e-12)


@pytest.mark.parametrize("sigma", [0.3, 0.5, *SIGMAS, 50.0])
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0, 3.0])
def test_one_normal_report(sigma: float, share: float) -> None:
    epsilon = share / sigma
    interval = blanket_accountant(Gaussian(sigma=sigma), 1).log_delta_interval(epsilon)
    exact = float(mpmath.log(GaussianNoise(sigma, 12.0).alone(epsilon)))
    assert interval.lower <= exact <= interval.upper
    assert interval.width <= 1e-3


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(
    ("sigma", "epsilon"),
    [(1.0, 10.0), (1.0, 30.0), (1.0, 36.0), (1.0, 37.0), (5.0, 7.4), (5.0, 10.0)],
)
def test_normal_noise_has_no_largest_ratio(sigma: float, epsilon: float) -> None:
    """However large epsilon is, delta is positive, if only by its logarithm."""
    exact = float(mpmath.log(GaussianNoise(sigma, 12.0).alone(epsilon)))
    assert exact < -40
    interval = blanket_accountant(Gaussian(sigma=sigma), 1).log_delta_interval(epsilon)
    assert interval.lower <= exact <= interval.upper
    more = blanket_accountant(Gaussian(sigma=sigma), 10).log_delta_interval(epsilon)
    assert more.upper > -math.inf


@pytest.mark.parametrize("n", [1, 10, 1000])
def test_normal_noise_never_reaches_delta_zero(n: int) -> None:
    assert blanket_accountant(Gaussian(sigma=1.0), n).get_epsilon(0.0) == math.inf


@pytest.mark.heavy
@pytest.mark.parametrize("epsilon", [5.0, 20.0, 30.0])
def test_more_users_never_make_the_certified_delta_larger(epsilon: float) -> None:
    one = blanket_accountant(Gaussian(sigma=1.0), 1).log_delta_interval(epsilon)
    ten = blanket_accountant(Gaussian(sigma=1.0), 10).log_delta_interval(epsilon)
    assert ten.upper <= one.upper + 1e-3


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("epsilon0", LEVELS)
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_two_and_three_laplace_reports(epsilon0: float, n: int, share: float) -> None:
    epsilon = share * epsilon0
    interval = blanket_accountant(Laplace(epsilon0=epsilon0), n).delta_interval(epsilon)
    estimate = few_users(LaplaceNoise(epsilon0), n, epsilon)
    assert meets(interval, estimate)
    assert estimate.above < 1e-5 * estimate.value
    assert interval.width <= 2e-4 * interval.upper


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_two_and_three_normal_reports(sigma: float, n: int, epsilon: float) -> None:
    interval = blanket_accountant(Gaussian(sigma=sigma), n).delta_interval(epsilon)
    estimate = few_users(GaussianNoise(sigma, 12.0), n, epsilon)
    assert meets(interval, estimate)
    assert estimate.above < 4e-4 * estimate.value  # four times what is expected of the sum
    assert interval.width <= 2e-3 * interval.upper


@pytest.mark.heavy(keep=8)
@pytest.mark.parametrize("epsilon0", LEVELS)
@pytest.mark.parametrize("n", [10**3, 10**4, 10**6])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-30])
def test_many_laplace_reports(epsilon0: float, n: int, delta: float) -> None:
    accountant = blanket_accountant(Laplace(epsilon0=epsilon0), n)
    epsilon = accountant.get_epsilon(delta)
    interval = accountant.delta_interval(epsilon)
    estimate = many_users(LaplaceNoise(epsilon0), n, epsilon)
    assert meets(interval, estimate)
    # Cells and contour are planned, not fitted: a very narrow width may be missed by a fifth.
    asked = max(width_asked(accountant, epsilon), 1.2e-4)
    assert interval.width <= 1.05 * asked * interval.upper
    if epsilon > 0:
        assert estimate.value == pytest.approx(delta, rel=1e-3)


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("n", [10**3, 10**4, 10**6])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_many_normal_reports(sigma: float, n: int, delta: float) -> None:
    accountant = blanket_accountant(Gaussian(sigma=sigma), n)
    epsilon = accountant.get_epsilon(delta)
    interval = accountant.delta_interval(epsilon)
    for reach in (6.0, 7.0, 8.0, 9.0):  # a longer range needs a finer grid
        estimate = many_users(GaussianNoise(sigma, reach), n, epsilon)
        if estimate.above < 1e-4 * estimate.value:
            break
    assert meets(interval, estimate)
    assert estimate.above < 4e-4 * estimate.value  # four times what is expected of the sum
    assert interval.width <= 1e-2 * interval.upper


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("sigma", [0.5, 1.0, 5.0])
@pytest.mark.parametrize("n", [2, 5, 100, 10**6])
def test_epsilon_of_normal_noise_is_narrow(sigma: float, n: int) -> None:
    """Few users, and rare large ratios, need other cells than many and ordinary ones."""
    epsilon = blanket_accountant(Gaussian(sigma=sigma), n).epsilon_interval(1e-6)
    assert 0 < epsilon.lower <= epsilon.upper <= 1.0007 * epsilon.lower


@pytest.mark.parametrize("domain", ["binary", "interval"])
def test_both_domains_of_laplace_noise_have_the_same_bounds(domain: str) -> None:
    accountant = blanket_accountant(Laplace(epsilon0=2.0, domain=domain), 500)
    plain = blanket_accountant(Laplace(epsilon0=2.0), 500)
    assert accountant.epsilon_interval(1e-6) == plain.epsilon_interval(1e-6)


def clamped_geometric(epsilon0: float, bound: int) -> MatrixRandomizer:
    """Two-sided geometric noise on {0..B}, the report clamped to the same range."""
    alpha = math.exp(-epsilon0 / bound)
    share = 1 / (1 + alpha)
    grid = np.arange(bound + 1)
    matrix = (1 - alpha) * share * alpha ** np.abs(np.subtract.outer(grid, grid))
    matrix[:, 0] = share * alpha**grid
    matrix[:, -1] = share * alpha ** (bound - grid)
    return MatrixRandomizer(matrix)


@pytest.mark.heavy
@pytest.mark.parametrize("bound", [1, 2, 3, 6])
@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("n", [1, 3, 100, 10**5])
def test_discrete_laplace_is_a_matrix(epsilon0: float, bound: int, n: int) -> None:
    """All ordered pairs of the matrix are compared: the end points must be the worst."""
    noise = blanket_accountant(DiscreteLaplace(epsilon0=epsilon0, bound=bound), n)
    matrix = blanket_accountant(clamped_geometric(epsilon0, bound), n)
    for share in (0.0, 0.2 / math.sqrt(n), 0.9):
        first = noise.log_delta_interval(share * epsilon0)
        report = matrix.delta_report(share * epsilon0)
        assert (
            first.lower <= math.log(report.guarantee.upper) + 1e-9 if report.guarantee.upper else 1
        )
        second = matrix.log_delta_interval(share * epsilon0)
        assert first.lower <= second.upper + 1e-9
        assert second.lower <= first.upper + 1e-9
        if report.guarantee.lower > 1e-300 and share:
            assert report.worst_pair in {Pair(0, bound), Pair(bound, 0)}
    assert noise.delta_lower_bound(0.1 * epsilon0) == pytest.approx(
        matrix.delta_lower_bound(0.1 * epsilon0), rel=1e-3
    )


def test_fine_geometric_noise_approaches_laplace_noise() -> None:
    fine = blanket_accountant(DiscreteLaplace(epsilon0=1.0, bound=10**6), 1000)
    limit = blanket_accountant(Laplace(epsilon0=1.0), 1000)
    assert fine.get_epsilon(1e-6) == pytest.approx(limit.get_epsilon(1e-6), rel=1e-4)


@pytest.mark.heavy(keep=4)
@pytest.mark.parametrize("n", [1000, 10**5, 10**9])
@pytest.mark.parametrize("outputs", [100, 400])
def test_a_matrix_with_many_outputs(n: int, outputs: int) -> None:
    """Laws of so many atoms are enclosed between two small ones; the reference uses them all."""
    rng = np.random.default_rng(outputs)
    matrix = np.exp(0.7 * rng.random((2, outputs)))
    matrix /= matrix.sum(axis=1, keepdims=True)
    accountant = blanket_accountant(MatrixRandomizer(matrix), n)
    common = matrix.min(axis=0)
    for sigmas in (0.0, 2.0, 6.0):
        spread = float(((matrix[0] - matrix[1]) ** 2 / common).sum())
        epsilon = math.log1p(sigmas * math.sqrt(spread / n))
        best = 0.0
        for first, second in (matrix, matrix[::-1]):
            values = np.append((first - math.exp(epsilon) * second) / common, 0.0)
            weights = np.append(common, 1 - common.sum())
            best = max(best, inverted_delta(values, weights, n))
        interval = accountant.delta_interval(epsilon)
        assert interval.lower <= best * (1 + 1e-7)
        assert interval.upper >= best * (1 - 1e-7)
        assert interval.width <= 1.05 * width_asked(accountant, epsilon) * interval.upper


def test_where_little_is_known_one_number_bounds_the_delta_of_more() -> None:
    """Deep in the tail cells say little; more users reveal no more than one alone."""
    one, many = (blanket_accountant(Gaussian(sigma=1.0), n) for n in (1, 10))
    assert many.log_delta_interval(30.0).upper <= one.log_delta_interval(30.0).upper


class Sharper(Gaussian):
    """A class of one's own, which may state another law."""


def test_the_bound_of_one_number_is_of_known_laws_only() -> None:
    assert sum_of_noise(Sharper(sigma=1.0), 1) is None
    assert sum_of_noise(KRR(k=3, epsilon0=1.0), 1) is None
    curve = sum_of_noise(Gaussian(sigma=1.0), 1)
    assert curve is not None
    assert math.exp(curve.above(1.0).log) == pytest.approx(0.126936737506644)
