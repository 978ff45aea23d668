"""The predicted error of means, against sums over all reports and all values."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import KRR, DiscreteLaplace, Laplace
from shuffledp.planning.mean_task import AnsweredMean, Mean


def rounding(x: float, bound: int) -> float:
    """Variance of x rounded at random to a multiple of 1/bound."""
    low = math.floor(x * bound + 1e-9)
    up = x * bound - low
    return (up * (low + 1 - x * bound) ** 2 + (1 - up) * (low - x * bound) ** 2) / bound**2


def by_summation(mechanism, x: float) -> float:
    """Variance of one user's estimate, summed over the rounded values and the reports."""
    if isinstance(mechanism, KRR):
        E, bound = math.exp(mechanism.epsilon0), mechanism.k - 1
        keep, other = E / (E + bound), 1 / (E + bound)
        low = math.floor(x * bound + 1e-9)
        held = {low: low + 1 - x * bound, low + 1: x * bound - low}
        values = [
            (
                (y / bound - other * mechanism.k / 2) / (keep - other),
                sum(p * (keep if y == v else other) for v, p in held.items() if v <= bound),
            )
            for y in range(mechanism.k)
        ]
    else:
        bound, alpha = mechanism.bound, math.exp(-mechanism.epsilon0 / mechanism.bound)
        low = math.floor(x * bound + 1e-9)
        share = (1 - alpha) / (1 + alpha)
        noise = [(z, share * alpha ** abs(z)) for z in range(-1000, 1001)]
        values = [
            ((start + z) / bound, weight * p)
            for start, weight in ((low, low + 1 - x * bound), (low + 1, x * bound - low))
            for z, p in noise
        ]
    mean = math.fsum(v * p for v, p in values)
    assert mean == pytest.approx(x, abs=1e-9)
    return math.fsum((v - x) ** 2 * p for v, p in values)


MECHANISMS = [
    KRR(k=2, epsilon0=0.7),
    KRR(k=2, epsilon0=5.0),
    KRR(k=5, epsilon0=0.4),
    KRR(k=8, epsilon0=6.0),
    DiscreteLaplace(epsilon0=0.7, bound=2),
    DiscreteLaplace(epsilon0=3.0, bound=6),
    DiscreteLaplace(epsilon0=9.0, bound=7),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("size", [2, 5, 8])
def test_sums_over_all_reports(mechanism, size):
    values = [i / (size - 1) for i in range(size)]
    wanted = [by_summation(mechanism, x) / 30 for x in values]
    shares = tuple((i + 1) / (size * (size + 1) / 2) for i in range(size))
    task = Mean(30, size, shares)
    assert task.worst_case(mechanism).squared_error == pytest.approx(max(wanted), rel=1e-9)
    average = math.fsum(s * w for s, w in zip(shares, wanted, strict=True))
    expected = task.expected(mechanism)
    assert expected.squared_error == pytest.approx(average, rel=1e-9)
    assert expected.rms_error == expected.max_error == math.sqrt(expected.squared_error)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_worst_case_of_the_interval(mechanism):
    worst = Mean(30, None).worst_case(mechanism).squared_error
    points = 840 if isinstance(mechanism, KRR) else 4 * mechanism.bound
    looked = [by_summation(mechanism, x / points) / 30 for x in range(points + 1)]
    assert max(looked) == pytest.approx(worst, rel=1e-5)
    assert max(looked) <= worst * (1 + 1e-9)


@pytest.mark.parametrize("mechanism", [KRR(k=3, epsilon0=1.0), KRR(k=6, epsilon0=7.0)], ids=str)
def test_no_answer_is_one_more_value_of_the_report(mechanism):
    """The variance of the ratio estimate, at the worst value and the worst mean."""
    levels = mechanism.k - 1
    E = math.exp(mechanism.epsilon0)
    keep, other = E / (E + levels), 1 / (E + levels)

    def variance(x, mean):
        weights = [j / (levels - 1) - mean for j in range(levels)] + [0.0]
        low = min(math.floor(x * (levels - 1) + 1e-9), levels - 2)
        up = x * (levels - 1) - low
        chances = [
            (1 - up) * (keep if y == low else other) + up * (keep if y == low + 1 else other)
            for y in range(levels + 1)
        ]
        moments = [
            math.fsum(p * w**power for p, w in zip(chances, weights, strict=True))
            for power in (1, 2)
        ]
        return (moments[1] - moments[0] ** 2) / (keep - other) ** 2

    grid = [i / 120 for i in range(121)]
    looked = max(variance(x, mean) for x in grid for mean in (0.0, 0.3, 0.5, 1.0))
    predicted = AnsweredMean(1, None).worst_case(mechanism).squared_error
    assert looked == pytest.approx(predicted, rel=1e-3)
    assert looked <= predicted * (1 + 1e-9)


def test_many_values_count_as_all_of_the_interval():
    mechanism = KRR(k=4, epsilon0=5.0)
    anything = Mean(10, None).worst_case(mechanism)
    assert Mean(10, 10**9).worst_case(mechanism) == anything
    assert Mean(10, 4000).worst_case(mechanism).rms_error == pytest.approx(anything.rms_error)


@given(st.integers(1, 60), st.integers(2, 60))
def test_worst_rounding_of_equidistant_values(bound, size):
    mechanism = DiscreteLaplace(epsilon0=300.0, bound=bound)
    worst = Mean(1, size).worst_case(mechanism).squared_error
    noise = Mean(1, bound + 1).worst_case(mechanism).squared_error  # these need no rounding
    wanted = max(rounding(i / (size - 1), bound) for i in range(size))
    assert worst - noise == pytest.approx(wanted, abs=1e-12)


def test_only_discrete_noise_is_planned_with():
    with pytest.raises(TypeError, match="or discrete_laplace, got laplace"):
        Mean(50, 3).worst_case(Laplace(epsilon0=0.5))


@given(st.floats(1e-6, 100), st.floats(1.001, 3), st.integers(0, 40), st.sampled_from([None, 2, 5]))
def test_error_falls_with_epsilon0(epsilon0, factor, choice, size):
    task = Mean(100, size)
    families = [family for choices in task.mechanisms().values() for family in choices]
    family = families[choice % len(families)]
    assert task.error(family(epsilon0)) >= task.error(family(epsilon0 * factor))


def test_choices():
    bounds = [f(1.0).bound for f in Mean(100, None).mechanisms()["discrete_laplace"]]
    assert bounds[:15] == list(range(2, 17))
    assert bounds[-1] == 256
    exact = [f(1.0).bound for f in Mean(100, 42).mechanisms()["discrete_laplace"]]
    assert {41, 82, 123, 164} <= set(exact)
    assert exact == sorted(set(exact))
    large = [f(1.0).bound for f in Mean(100, 10**6).mechanisms()["discrete_laplace"]]
    assert large == bounds
    levels = [f(1.0).k for f in Mean(100, 100).mechanisms()["krr"]]
    assert levels[:15] == list(range(2, 17))
    assert levels[-2:] == [64, 100]
    assert next(f(1.0).k for f in AnsweredMean(100, 100).mechanisms()["krr"]) == 3


def test_a_large_known_domain_is_summed_once_per_grid():
    task = Mean(100, 1001, (1 / 1001,) * 1001)
    first = task.expected(DiscreteLaplace(1.0, 8))
    assert task.expected(DiscreteLaplace(1.0, 8)) == first
    assert list(task._known_roundings) == [8]


def test_bad_arguments():
    with pytest.raises(ValueError, match="domain_size must be an integer of at least 2"):
        Mean(100, 1)
