"""Estimates from a published sum are those from the reports."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp import Aggregator, parse
from shuffledp.deployment.files.estimation import leaves

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


def test_joint_reports_have_a_sum_for_each_attribute():
    noise, bits = "laplace(epsilon0=1, domain='interval')", "oue(epsilon0=1, domain_size=4)"
    text = f"joint(krr(k=3, epsilon0=1), joint({noise}, {bits}))"
    randomizer, rng = parse(text), np.random.default_rng(5)
    ages, pages = rng.random(500), rng.integers(0, 4, 500)
    reports = randomizer.randomize((rng.integers(0, 3, 500), (ages, pages)), rng)
    whole, added = Aggregator(randomizer), Aggregator(randomizer)
    whole.add(reports)
    colours, (sum_of_ages, _) = whole.total
    assert sum(colours) == 500
    assert sum_of_ages == pytest.approx(reports["part1"]["part0"].sum())
    added.add_sum(whole.total, 500)
    for ours, theirs in zip(leaves(whole.estimate()), leaves(added.estimate()), strict=True):
        np.testing.assert_array_equal(ours.values, theirs.values)
        np.testing.assert_array_equal(ours.standard_errors, theirs.standard_errors)
    twice = Aggregator(randomizer)
    twice.add(reports[:200])
    rest = Aggregator(randomizer)
    rest.add(reports[200:])
    twice.add_sum(rest.total, 300)
    assert twice.total[0] == whole.total[0]
    assert twice.n == 500


@pytest.mark.parametrize(
    ("total", "error", "said"),
    [
        (5, TypeError, "a list of 2 sums, one per attribute, got 5"),
        ([5, 4], ValueError, "attribute 0 of joint: total must be one-dimensional"),
        ([[5, 4]], ValueError, "2 sums, one per attribute, got 1"),
        ([[5, 4], [9, 1]], ValueError, "attribute 1 of joint: total must have the sum n = 9"),
        ([[5, 4], [9, 0, 0]], ValueError, "attribute 1 of joint: total must have one count"),
    ],
)
def test_sums_that_no_joint_reports_have(total, error, said):
    aggregator = Aggregator("joint(krr(k=2, epsilon0=1), krr(k=2, epsilon0=1))")
    with pytest.raises(error, match=said):
        aggregator.add_sum(total, 9)
    assert aggregator.n == 0
