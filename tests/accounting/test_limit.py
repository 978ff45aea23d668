"""The limit of many users: closed forms of its variance, and how near certified answers come."""

from __future__ import annotations

import math

import pytest

from shuffledp import ShuffleAccountant
from shuffledp.accounting.limit import limiting_epsilon, limiting_mu

E = math.exp(1.0)


@pytest.mark.parametrize(
    ("text", "variance"),
    [
        ("krr(k=2, epsilon0=1)", (E - 1) ** 2 / E),
        ("krr(k=7, epsilon0=1)", 2 * (E - 1) ** 2 / (E + 6)),
        ("subsample(krr(k=2, epsilon0=1), rate=0.25)", (E - 1) ** 2 / E / 4),
        ("laplace(epsilon0=1)", 2 / 3 * E + E**-2 / 3 - 1),
        ("gaussian(sigma=1)", E - 1),
    ],
)
def test_variance(text, variance):
    assert limiting_mu(text, 10_000) == pytest.approx(math.sqrt(variance / 10_000), rel=1e-3)


@pytest.mark.parametrize(
    "text", ["krr(k=2, epsilon0=1)", "oue(epsilon0=2)", "joint(laplace(epsilon0=1), krr(3, 1))"]
)
def test_certified_answers_tend_to_it(text):
    errors = []
    for n in (10**4, 10**6, 10**8):
        report = ShuffleAccountant(text, n, rtol=1e-3).epsilon_report(1e-6)
        errors.append(abs(report.lower_bound / limiting_epsilon(text, n, 1e-6) - 1))
    assert errors[0] < 0.03
    assert errors[2] < 2e-3
    assert errors[2] < errors[0]


def test_ends():
    assert limiting_epsilon("krr(k=3, epsilon0=1)", 100, 1.0) == 0.0
    assert limiting_epsilon("krr(k=3, epsilon0=1)", 100, 0.0) == math.inf
    assert limiting_mu("matrix([[0.5, 0.5, 0], [0.5, 0.25, 0.25]])", 100) == math.inf
    assert limiting_epsilon("matrix([[0.5, 0.5, 0], [0.5, 0.25, 0.25]])", 100, 1e-6) == math.inf
    assert limiting_epsilon("matrix([[0.5, 0.5], [0.5, 0.5]])", 100, 1e-6) == 0.0
    with pytest.raises(ValueError, match="n must be"):
        limiting_mu("krr(k=3, epsilon0=1)", 0)
