"""Numbers known from direct sums, computed twice elsewhere, and published formulas."""

from __future__ import annotations

import pytest

from shuffledp import RAPPOR, ShuffleAccountant
from shuffledp.accounting.messages import (
    FabricatedMessages,
    NoisyCounts,
    fewest_devices,
    least_fabricated,
    least_noise,
)
from shuffledp.mechanisms.messages.fabricated import FixedNumber, PoissonPerValue

POISSON = [
    (1.0, 1e-6, 34.07, 42.65),
    (1.0, 1e-9, 57.02, 72.06),
    (0.5, 1e-6, 90.14, 136.10),
    (2.0, 1e-6, 17.31, 18.09),
    (5.0, 1e-6, 13.82, 13.82),
    (10.0, 1e-6, 13.82, 13.82),
]


@pytest.mark.parametrize(("k", "number"), [(50, 2128), (10, 422), (2, 80)])
def test_fixed_numbers(k, number):
    """A published formula, 14 k ln(2/delta)/epsilon^2, asks for five times as many."""
    found = least_fabricated(
        f"identity(k={k})", 1000, "fixed", target_epsilon=1.0, target_delta=1e-6
    )
    assert found.fabricated.number == number
    assert found.meets(1.0, 1e-6)
    fewer = FabricatedMessages(f"identity(k={k})", 1000, FixedNumber(number - 1))
    assert fewer.delta_lower_bound(1.0) > 1e-6


@pytest.mark.parametrize(("epsilon", "delta", "removed", "replaced"), POISSON)
def test_poisson_means(epsilon, delta, removed, replaced):
    for relation, mean in (("add or remove", removed), ("replace", replaced)):
        found = least_fabricated(
            "identity(k=10)",
            1,
            "poisson",
            target_epsilon=epsilon,
            target_delta=delta,
            relation=relation,
        )
        assert found.fabricated.mean == pytest.approx(mean, abs=0.0051)
        assert found.meets(epsilon, delta)
        less = PoissonPerValue(found.fabricated.mean * (1 - 1e-4))
        fewer = FabricatedMessages("identity(k=10)", 1, less, relation=relation)
        assert fewer.delta_lower_bound(epsilon) > delta


@pytest.mark.parametrize(
    ("epsilon", "delta", "number"),
    [(1.0, 1e-6, 80), (1.0, 2**-29, 131), (0.5, 1e-6, 268), (0.1, 1e-6, 5279), (3.0, 1e-6, 20)],
)
def test_coins_in_one_count(epsilon, delta, number):
    """The formula of draft-case-ppm-binomial-dp asks for 1483, 2062, 2705, 24650, 1483."""
    found = least_noise(
        "coins", target_epsilon=epsilon, target_delta=delta, relation="add or remove"
    )
    assert found.noise.number == number


@pytest.mark.parametrize(("epsilon", "delta", "number"), [(1.0, 1e-6, 148), (0.5, 2**-29, 882)])
def test_coins_in_histograms(epsilon, delta, number):
    """The formula of the draft asks for 2119 and 6808."""
    assert least_noise("coins", target_epsilon=epsilon, target_delta=delta).noise.number == number


@pytest.mark.parametrize(
    ("level", "published", "guarantee", "lower"),
    [
        pytest.param(5.0, 0.317, 0.2989, 0.2974, marks=pytest.mark.heavy),
        (6.5, 0.906, 0.7037, 0.7002),
        pytest.param(7.0, 1.528, 0.9533, 0.9504, marks=pytest.mark.heavy),
    ],
)
def test_client_noise_of_the_draft(level, published, guarantee, lower):
    """Table 1 of draft-wang-ppm-differential-privacy: deletion level E is rappor(2E)."""
    sums = ShuffleAccountant(RAPPOR(2 * level), n=100_000, view="sum")
    report = sums.epsilon_report(1e-9)
    assert report.guarantee.upper <= guarantee * 1.004 < published  # what sums of bits aim for
    assert report.lower_bound >= lower * 0.999


@pytest.mark.parametrize(
    ("sigma", "published"), [(23.3903, 0.317), (8.5402, 0.906), (5.1904, 1.528)]
)
def test_aggregator_noise_of_the_draft(sigma, published):
    """Table 2, whose sigma is that of continuous noise."""
    counts = NoisyCounts(f"discrete_gaussian({sigma})", added_by="aggregators")
    found = counts.epsilon_interval(1e-9)
    assert found.lower <= found.upper <= found.lower * 1.001
    assert found.upper == pytest.approx(published, rel=2e-3)


def test_the_reporting_threshold():
    found = fewest_devices(
        "identity(k=10)", PoissonPerValue(0.05), target_epsilon=1.0, target_delta=1e-6
    )
    assert found.n == 854
    fewer = FabricatedMessages("identity(k=10)", 853, PoissonPerValue(0.05))
    assert fewer.delta_lower_bound(1.0) > 1e-6


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9, 10**15])
def test_the_cost_is_flat(n):
    """The same mean of 42.7 hides as much among any number of devices, and means may be huge."""
    same = FabricatedMessages("identity(k=50)", n, PoissonPerValue(42.7 / n))
    assert same.get_epsilon(1e-6) == pytest.approx(0.9993, rel=1e-4)
    assert FabricatedMessages("identity(k=50)", n, PoissonPerValue(0.25)).get_epsilon(1e-6) < 0.5
