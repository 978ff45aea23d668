"""Shuffled normal noise through its Rényi divergence."""

from __future__ import annotations

import math
from itertools import product

import pytest

from shuffledp import Gaussian, ShuffleAccountant
from shuffledp.comparison.published import LiewRenyi
from shuffledp.comparison.published.liew import _divergences


@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_sum_over_all_compositions(sigma, n):
    found = dict(_divergences(sigma, n))
    for order in (2, 3, 5):
        total = 0.0
        for ks in product(range(order + 1), repeat=n):
            if sum(ks) == order:
                ways = math.factorial(order) / math.prod(map(math.factorial, ks))
                total += ways * math.exp((sum(k * k for k in ks) - order) / (2 * sigma**2))
        wanted = math.log(total / n**order) / (order - 1)
        assert float(found[order]) == pytest.approx(wanted, rel=1e-12)


def test_alone_it_is_the_divergence_of_normal_noise():
    for order, divergence in _divergences(2.0, 1):
        assert float(divergence) == pytest.approx(order / 8, rel=1e-12)


def test_published_value_is_ten_times_ours():
    mechanism = Gaussian(sigma=1.0)
    published = LiewRenyi(mechanism, 10_000).get_epsilon(1e-6)
    assert published == pytest.approx(0.5886, abs=1e-4)
    assert published > 9 * ShuffleAccountant(mechanism, 10_000, rtol=1e-2).get_epsilon(1e-6)


@pytest.mark.parametrize(("sigma", "n"), [(0.5, 10), (1.0, 100), (3.0, 10_000)])
def test_what_two_datasets_reveal_is_below(sigma, n):
    mechanism = Gaussian(sigma)
    attained = ShuffleAccountant(mechanism, n, rtol=1e-2).epsilon_lower_bound(1e-6)
    assert LiewRenyi(mechanism, n).get_epsilon(1e-6) >= attained


def test_delta_inverts_epsilon():
    bound = LiewRenyi(Gaussian(sigma=1.0), 10_000)
    for delta in (1e-3, 1e-6, 1e-12):
        assert bound.get_delta(bound.get_epsilon(delta)) == pytest.approx(delta, rel=1e-9)
    assert bound.get_epsilon(1.0) == 0.0
