"""Estimates from a published sum are those from the reports."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp import Aggregator, parse

RNG = np.random.default_rng(3)


def sums(text: str, values: list[int]) -> tuple[Aggregator, Aggregator]:
    """An aggregator that saw the reports, and one that saw their sum."""
    randomizer = parse(text)
    reports = randomizer.randomize(values, RNG)
    seen, told = Aggregator(randomizer), Aggregator(randomizer)
    seen.add(reports)
    if randomizer.estimates == "mean":
        told.add_sum(reports.sum(), len(values))
    elif randomizer.name == "matrix":
        told.add_sum(np.bincount(reports, minlength=3), len(values))
    else:
        told.add_sum(randomizer.support_counts(reports), len(values))
    return seen, told


@pytest.mark.parametrize(
    "text",
    [
        "krr(k=3, epsilon0=1)",
        "oue(epsilon0=1, domain_size=3)",
        "hadamard(epsilon0=1, domain_size=3)",
        "subset(epsilon0=1, domain_size=3)",
        "matrix([[.5, .3, .2], [.2, .5, .3], [.1, .2, .7]])",
        "laplace(epsilon0=1, domain='interval')",
        "discrete_laplace(epsilon0=1, bound=2)",
        "gaussian(sigma=1)",
    ],
)
def test_the_estimate_is_the_same(text):
    values = [0, 1, 1, 0, 0] * 20
    seen, told = sums(text, values)
    assert told.n == seen.n == 100
    for one, other in ((seen.estimate(), told.estimate()),):
        np.testing.assert_allclose(one.values, other.values, rtol=1e-12)
        np.testing.assert_allclose(one.standard_errors, other.standard_errors, rtol=1e-12)
    seen.merge(told)
    assert seen.n == 200
    np.testing.assert_allclose(seen.estimate().values, told.estimate().values, rtol=1e-12)


def test_huge_sums_of_integers_are_exact():
    aggregator = Aggregator("discrete_laplace(epsilon0=1, bound=2)")
    aggregator.add_sum(-(2**60) + 1, 2**40)
    assert aggregator.estimate().values[0] == (-(2**60) + 1) / 2**40


@pytest.mark.parametrize(
    ("text", "total", "n", "error"),
    [
        ("krr(k=3, epsilon0=1)", [1, 2], 3, ValueError),
        ("krr(k=3, epsilon0=1)", [1, 2, 4], 3, ValueError),
        ("krr(k=3, epsilon0=1)", [1, -1, 2], 3, ValueError),
        ("krr(k=3, epsilon0=1)", [1, 1, 1], 0, ValueError),
        ("krr(k=3, epsilon0=1)", "many", 3, ValueError),
        ("matrix([[.5, .5], [.2, .8]])", [1, 1], 3, ValueError),
        ("laplace(epsilon0=1)", [1.0], 3, TypeError),
        ("laplace(epsilon0=1)", float("nan"), 3, ValueError),
        ("discrete_laplace(epsilon0=1, bound=2)", 0.5, 3, ValueError),
        ("joint(krr(k=3, epsilon0=1), laplace(epsilon0=1))", 1.0, 3, TypeError),
    ],
)
def test_what_cannot_be_a_sum_is_refused(text, total, n, error):
    with pytest.raises(error):
        Aggregator(text).add_sum(total, n)
